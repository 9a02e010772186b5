//! The messages with spans that exporters send, in order of their arrival, for a reader on another thread.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as BoundListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use prost::bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::LocalSet;

use super::message::{MessageError, OtlpSignal};
use super::server::{OtlpMessageSink, accept};

/// Places in the queue. While none is free, exporters wait for their answer, and send again later.
const PLACES: usize = 4096;
/// A message takes a place for each of these bytes, so that the queue has at most 96 MiB.
const PLACE_BYTES: usize = 24 << 10;

/// A message, and its place in the queue.
type Waiting = (Result<Bytes, MessageError>, OwnedSemaphorePermit);

/// A listener. Dropping it closes the port.
pub struct OtlpMessages {
    address: SocketAddr,
    messages: Receiver<Waiting>,
    end: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl OtlpMessages {
    /// Listens for OTLP over HTTP and gRPC. Metrics and logs are accepted and dropped.
    ///
    /// # Errors
    /// The address is in use, or no thread can be created.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let bound = BoundListener::bind(address)?;
        bound.set_nonblocking(true)?;
        let address = bound.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (queue, messages) = sync_channel(PLACES);
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            let sink = Rc::new(MessageQueue { queue, free: Arc::new(Semaphore::new(PLACES)) });
            LocalSet::new().block_on(&runtime, async move {
                let Ok(listener) = TcpListener::from_std(bound) else { return };
                tokio::select! {
                    never = accept(listener, sink) => match never {},
                    _ = ended => {}
                }
            });
        })?;
        Ok(Self { address, messages, end: Some(end), thread: Some(thread) })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next message as protobuf, or why one was refused. `None`: nothing waits.
    pub fn next_waiting(&self) -> Option<Result<Bytes, MessageError>> {
        self.messages.try_recv().ok().map(|(message, _)| message)
    }
}

impl Drop for OtlpMessages {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct MessageQueue {
    queue: SyncSender<Waiting>,
    free: Arc<Semaphore>,
}

impl OtlpMessageSink for MessageQueue {
    async fn take(&self, signal: OtlpSignal, message: Bytes) -> Result<(), MessageError> {
        if signal == OtlpSignal::Traces {
            let places = (message.len() / PLACE_BYTES + 1).min(PLACES) as u32;
            // The semaphore is never closed.
            if let Ok(permit) = Arc::clone(&self.free).acquire_many_owned(places).await {
                // With a permit, there is room. The reader may be gone, at the end.
                let _ = self.queue.try_send((Ok(message), permit));
            }
        }
        Ok(())
    }

    fn refused(&self, problem: MessageError) {
        // Behind a full queue, one refusal more does not matter.
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            let _ = self.queue.try_send((Err(problem), permit));
        }
    }
}
