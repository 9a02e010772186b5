//! The thread that reads for the consumers of a test, from the start of the run on.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::join_all;
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_protocol::{Network, NetworkOptions};
use tokio::sync::{mpsc, oneshot};

use crate::error::ScriptError;
use crate::inbound::{ConsumerInbox, ConsumerNews, DeclaredConsumer, OpenConsumer};
use crate::loaded::Loaded;

/// Messages that wait for their function.
const MESSAGES_MAX: usize = 4_096;
/// Precision of the time limits on this thread, which has no worker's timer.
const TICK: Duration = Duration::from_millis(10);

/// Reads until it is dropped.
pub(super) struct ConsumerThread {
    /// Dropping it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ConsumerThread {
    /// Opens all consumers of the test and then reads for them.
    ///
    /// # Errors
    /// A consumer cannot be opened.
    pub(super) fn start(loaded: &Arc<Loaded>) -> Result<(Self, mpsc::Receiver<ConsumerNews>), ScriptError> {
        let (news, receiver) = mpsc::channel(MESSAGES_MAX);
        let (stop, stopped) = oneshot::channel();
        let (report, opened) = sync_channel(1);
        let loaded = Arc::clone(loaded);
        let thread = std::thread::Builder::new().name("consumers".to_owned());
        let thread = thread.spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let reading = ConsumerReading::new(loaded);
                let open = match reading.open().await {
                    Ok(open) => open,
                    Err(error) => return drop(report.send(Err(error))),
                };
                let _ = report.send(Ok(()));
                tokio::select! {
                    _ = stopped => {}
                    () = reading.run(&open, &news) => {}
                }
            });
        });
        let thread = thread.map_err(|error| ScriptError::new(format!("the thread for consumers did not start: {error}")))?;
        opened.recv().unwrap_or_else(|_| Err(ScriptError::new("the consumers of the test could not be started")))?;
        Ok((Self { stop: Some(stop), thread: Some(thread) }, receiver))
    }
}

impl Drop for ConsumerThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct ConsumerReading {
    loaded: Arc<Loaded>,
    monotonic: Monotonic,
    clock: Clock,
}

impl ConsumerReading {
    fn new(loaded: Arc<Loaded>) -> Self {
        let monotonic = Monotonic::start();
        Self { loaded, monotonic, clock: Clock::real(monotonic) }
    }

    /// Fires the clock's timers while `work` runs.
    async fn with_timers<T>(&self, work: impl Future<Output = T>) -> T {
        let ticks = async {
            loop {
                tokio::time::sleep(TICK).await;
                self.clock.fire();
            }
        };
        tokio::select! {
            value = work => value,
            () = ticks => unreachable!("the ticks do not end"),
        }
    }

    async fn open(&self) -> Result<Vec<Box<dyn OpenConsumer>>, ScriptError> {
        // Consumers are no load: what limits load does not apply to them.
        let options = NetworkOptions { connections_per_second: None, ..self.loaded.network.clone() };
        let network = Network::new(self.clock.clone(), options).map_err(|error| ScriptError::new(error.to_string()))?;
        let mut open = Vec::new();
        for DeclaredConsumer { kind, consumer } in &self.loaded.consumers {
            let opened = self.with_timers(consumer.open(&network)).await;
            open.push(opened.map_err(|error| match self.loaded.program.call_place(kind.name) {
                Some(place) => error.at(place),
                None => error,
            })?);
        }
        Ok(open)
    }

    async fn run(&self, open: &[Box<dyn OpenConsumer>], news: &mpsc::Sender<ConsumerNews>) {
        let inbox =
            |consumer| ConsumerInbox { consumer, news: news.clone(), clock: self.clock.clone(), origin_ns: self.monotonic.origin_ns() };
        let each = open.iter().enumerate().map(|(number, consumer)| consumer.receive(inbox(number)));
        self.with_timers(join_all(each)).await;
    }
}
