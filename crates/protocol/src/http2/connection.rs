//! An open connection and the task that moves its bytes.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use send_wrapper::SendWrapper;
use tokio::io::AsyncWrite;

use super::end::{ConnectionEnd, Http2Need};
use super::streams::Streams;
use crate::failure::Failure;
use crate::network::Network;
use crate::stream::NetworkStream;

/// A connection that several requests share. [`Http2Connection::close`] ends it.
pub(crate) struct Http2Connection {
    streams: RefCell<Streams>,
    socket: RefCell<NetworkStream>,
    network: Rc<Network>,
    /// The kernel takes no more bytes, some of which TLS may hold, and wakes the task.
    is_blocked: Cell<bool>,
    /// Writing failed. The server's last bytes may still be readable, and matter more.
    write_failure: RefCell<Option<Failure>>,
}

impl Http2Connection {
    /// Starts the task that moves the connection's bytes, on the worker's thread. The client's preface is sent with the first request, or by the task.
    pub(crate) fn start(socket: NetworkStream, network: &Rc<Network>, need: Http2Need) -> Rc<Self> {
        let connection = Rc::new(Self {
            streams: RefCell::new(Streams::new(need)),
            socket: RefCell::new(socket),
            network: Rc::clone(network),
            is_blocked: Cell::default(),
            write_failure: RefCell::default(),
        });
        // A worker's runtime has one thread, on which all of this stays. The wrapper panics anywhere else.
        tokio::spawn(SendWrapper::new(ByteMover(Rc::clone(&connection))));
        connection
    }

    pub(crate) fn streams(&self) -> &RefCell<Streams> {
        &self.streams
    }

    /// Passes what was written to the kernel. If several streams are open, the task does that for all requests of this turn at once.
    pub(super) fn pass_on(&self, context: &mut Context<'_>) {
        if self.is_blocked.get() {
            return;
        }
        if self.streams.borrow().in_use() > 1 || self.write(context).is_pending() {
            self.streams.borrow().wake_driver();
        }
    }

    /// Passes on what no request waits for.
    pub(super) fn pass_answers(&self) {
        let streams = self.streams.borrow();
        if !streams.to_write().is_empty() && !self.is_blocked.get() || streams.is_over() {
            streams.wake_driver();
        }
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        let mut streams = self.streams.borrow_mut();
        streams.close();
        streams.wake_driver();
    }

    /// Ready when everything is written.
    fn write(&self, context: &mut Context<'_>) -> Poll<()> {
        let (mut streams, mut socket) = (self.streams.borrow_mut(), self.socket.borrow_mut());
        if streams.to_write().is_empty() && !self.is_blocked.get() || self.write_failure.borrow().is_some() {
            return Poll::Ready(());
        }
        let written = loop {
            let bytes = streams.to_write();
            if bytes.is_empty() {
                break socket.poll_flush(context);
            }
            match socket.poll_write(context, bytes, &[]) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                Poll::Ready(Ok(count)) => streams.wrote(count),
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        if let Poll::Ready(Err(error)) = &written {
            *self.write_failure.borrow_mut() = Some(Failure::broken(error));
        }
        self.is_blocked.set(written.is_pending());
        written.map(drop)
    }

    /// Ready when no more bytes come.
    fn read(&self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut streams = self.streams.borrow_mut();
            // The server must read first. The task is woken when it does.
            if streams.has_many_answers() && self.is_blocked.get() {
                return Poll::Pending;
            }
            if streams.is_over() {
                return Poll::Ready(());
            }
            let mut scratch = self.network.scratch();
            match self.socket.borrow_mut().poll_read(context, &mut scratch) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => streams.finish(self.write_failure.take().map_or(ConnectionEnd::Closed, ConnectionEnd::Broken)),
                Poll::Ready(Ok(count)) => streams.receive(&scratch[..count], self.network.clock().now()),
                Poll::Ready(Err(error)) => {
                    let failure = self.write_failure.take().unwrap_or_else(|| Failure::broken(&error));
                    streams.finish(ConnectionEnd::Broken(failure));
                }
            }
            drop((streams, scratch));
            if self.streams.borrow().has_many_answers() {
                let _ = self.write(context);
            }
        }
    }
}

impl fmt::Debug for Http2Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2Connection").field("streams", &self.streams).finish_non_exhaustive()
    }
}

/// The task of a connection.
struct ByteMover(Rc<Http2Connection>);

impl Future for ByteMover {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self(connection) = &*self;
        connection.streams.borrow_mut().driven_by(context.waker());
        let _ = connection.write(context);
        let is_read = connection.read(context);
        // Answers, and updates of windows. A server that does not read the last of them does not delay the end.
        let _ = connection.write(context);
        if is_read.is_pending() {
            return Poll::Pending;
        }
        Pin::new(&mut *connection.socket.borrow_mut()).poll_shutdown(context).map(drop)
    }
}
