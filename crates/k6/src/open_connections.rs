//! Connections of an iteration that the script has not closed: WebSockets and gRPC streams.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use loadstone_metrics::Nanos;
use loadstone_protocol::grpc::GrpcSender;
use loadstone_protocol::ws::WebSocket;

use crate::numbered::Numbered;

/// Sent when an iteration ends before its sockets (RFC 6455, section 7.4.1).
const GOING_AWAY: u16 = 1001;

/// Records the end of a connection.
type OnEnd = Box<dyn FnOnce()>;

pub(crate) struct OpenSocket {
    pub(crate) socket: WebSocket,
    /// The name of the request that opened it.
    pub(crate) name: String,
    /// When each ping without a pong was sent, by its payload.
    pub(crate) pings: RefCell<HashMap<Vec<u8>, Nanos>>,
    on_end: RefCell<Option<OnEnd>>,
}

impl OpenSocket {
    pub(crate) fn new(socket: WebSocket, name: String, on_end: impl FnOnce() + 'static) -> Self {
        Self { socket, name, pings: RefCell::default(), on_end: RefCell::new(Some(Box::new(on_end))) }
    }

    /// It has ended.
    pub(crate) fn end(&self) {
        let on_end = self.on_end.borrow_mut().take();
        if let Some(on_end) = on_end {
            on_end();
        }
    }
}

/// A gRPC call that sends messages one by one. An operation receives.
pub(crate) struct SendingStream {
    /// The name that its call is recorded under.
    pub(crate) name: String,
    /// `None` while it is used.
    pub(crate) sender: RefCell<Option<GrpcSender>>,
    pub(crate) refusal: StreamRefusal,
}

/// Why the client itself ends a stream. The operation that receives waits for it, too.
#[derive(Default)]
pub(crate) struct StreamRefusal {
    reason: RefCell<Option<String>>,
    waker: RefCell<Option<Waker>>,
}

impl StreamRefusal {
    /// Ends the stream.
    pub(crate) fn set(&self, reason: String) {
        *self.reason.borrow_mut() = Some(reason);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<String> {
        match self.reason.take() {
            Some(reason) => Poll::Ready(reason),
            None => {
                *self.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct IterationConnections {
    pub(crate) sockets: Numbered<OpenSocket>,
    pub(crate) streams: Numbered<SendingStream>,
}

impl IterationConnections {
    /// The iteration ends.
    pub(crate) fn close(&self) {
        for socket in self.sockets.take_all() {
            socket.socket.send_close(GOING_AWAY, "");
            socket.end();
        }
        drop::<Vec<Rc<SendingStream>>>(self.streams.take_all());
    }
}
