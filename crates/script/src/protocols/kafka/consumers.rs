//! Reads topics for the consumers of a test, on a thread of its own, from where they end when the run begins.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::join_all;
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_protocol::kafka::{KafkaAddress, KafkaProblem, KafkaReadRecord, KafkaTail};
use loadstone_protocol::{Network, NetworkOptions};
use tokio::sync::{mpsc, oneshot};

use super::declared::DeclaredConsumer;
use crate::error::ScriptError;
use crate::loaded::Loaded;

/// Records that wait for their function.
const RECORDS_MAX: usize = 4_096;
/// Before a topic that could not be read is tried again.
const PAUSE_NS: u64 = 1_000_000_000;
/// Precision of the time limits on this thread, which has no worker's timer.
const TICK: Duration = Duration::from_millis(10);

/// What a consumer has read, or why it reads no more for a while.
pub(crate) struct ConsumerNews {
    /// Number of the consumer.
    pub(crate) consumer: usize,
    pub(crate) read: Result<KafkaReadRecord, KafkaProblem>,
    /// CLOCK_MONOTONIC of when that was. Nanoseconds.
    pub(crate) at_ns: u64,
}

/// Reads until it is dropped.
pub(crate) struct KafkaConsumers {
    /// Closed, it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl KafkaConsumers {
    /// Finds the ends of all topics, and then reads on from there.
    ///
    /// # Errors
    /// A topic that is not there, or cannot be read.
    pub(crate) fn start(loaded: &Arc<Loaded>) -> Result<(Self, mpsc::Receiver<ConsumerNews>), ScriptError> {
        let (news, receiver) = mpsc::channel(RECORDS_MAX);
        let (stop, stopped) = oneshot::channel();
        let (report, opened) = sync_channel(1);
        let (consumers, options) = (loaded.consumers.clone(), loaded.network.clone());
        let thread = std::thread::Builder::new().name("kafka-consumers".to_owned());
        let thread = thread.spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let reading = ConsumerReading::new(consumers, options);
                let tails = match reading.open().await {
                    Ok(tails) => tails,
                    Err(error) => return drop(report.send(Err(error))),
                };
                let _ = report.send(Ok(()));
                tokio::select! {
                    _ = stopped => {}
                    () = reading.run(tails, news) => {}
                }
            });
        });
        let thread = thread.map_err(|error| ScriptError::new(format!("the thread for consumers did not start: {error}")))?;
        let opened = opened.recv().unwrap_or_else(|_| Err(ScriptError::new("the consumers of the test could not be started")));
        opened.map_err(|error| match loaded.program.call_place("kafka") {
            Some(place) => error.at(place),
            None => error,
        })?;
        Ok((Self { stop: Some(stop), thread: Some(thread) }, receiver))
    }
}

impl Drop for KafkaConsumers {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct ConsumerReading {
    consumers: Vec<DeclaredConsumer>,
    options: NetworkOptions,
    monotonic: Monotonic,
    clock: Clock,
}

impl ConsumerReading {
    fn new(consumers: Vec<DeclaredConsumer>, options: NetworkOptions) -> Self {
        let monotonic = Monotonic::start();
        Self { consumers, options, monotonic, clock: Clock::real(monotonic) }
    }

    /// Keeps time limits while something else goes on.
    async fn beside<T>(&self, work: impl Future<Output = T>) -> T {
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

    async fn open(&self) -> Result<Vec<KafkaTail>, ScriptError> {
        // Consumers are no load: what limits that does not hold for them.
        let options = NetworkOptions { connections_per_second: None, ..self.options.clone() };
        let network = Network::new(self.clock.clone(), options).map_err(|error| ScriptError::new(error.to_string()))?;
        let mut tails = Vec::new();
        for DeclaredConsumer { url, topic } in &self.consumers {
            let said = |problem: &str| format!("kafka.consume(…): the topic \"{topic}\" cannot be read: {problem}");
            let address = KafkaAddress::parse(url).map_err(|problem| ScriptError::new(said(&problem.to_string())))?;
            let shown = address.shown();
            let tail = self.beside(KafkaTail::open(&network, address, topic)).await;
            let help =
                format!("it is read from {shown}; create the topic before the run, and see that its brokers can be reached from here");
            tails.push(tail.map_err(|problem| ScriptError::new(said(&problem.text())).help(help))?);
        }
        Ok(tails)
    }

    async fn run(&self, tails: Vec<KafkaTail>, news: mpsc::Sender<ConsumerNews>) {
        let each = tails.iter().enumerate().map(|(consumer, tail)| self.follow(consumer, tail, &news));
        self.beside(join_all(each)).await;
    }

    /// Reads for one consumer until nobody listens any more.
    async fn follow(&self, consumer: usize, tail: &KafkaTail, news: &mpsc::Sender<ConsumerNews>) {
        let (sink, mut source) = mpsc::channel::<Result<KafkaReadRecord, KafkaProblem>>(1);
        let passing = async {
            while let Some(read) = source.recv().await {
                let at = read.as_ref().map_or_else(|_| self.clock.now(), |record| record.read_at);
                let told = ConsumerNews { consumer, read, at_ns: self.monotonic.origin_ns().saturating_add(at) };
                if news.send(told).await.is_err() {
                    return;
                }
            }
        };
        let reading = async {
            loop {
                let problem = tail.read(&sink).await;
                let _ = sink.send(Err(problem)).await;
                self.clock.sleep(PAUSE_NS).await;
            }
        };
        tokio::select! {
            () = passing => {}
            () = reading => {}
        }
    }
}
