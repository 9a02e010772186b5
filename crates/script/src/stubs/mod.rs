//! Stubs of a test file: their addresses while it is planned, their servers and functions while it runs. Also its consumers, whose
//! functions run on the same thread.
//!
//! Read [`Stubs`] (all of a run), then `handlers` (the realm of the functions). Deliberately absent: the servers (the `stub` crate) and the
//! protocols of consumers (`protocols`).

mod consumers;
pub(crate) mod declared;
mod grpc;
mod handlers;
mod http;
mod kind;
mod kinds;
mod reflection;
mod reply;
mod tcp;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use loadstone_metrics::FlowEvent;
use loadstone_metrics::clock::Monotonic;
use loadstone_stub::{DnsServer, NameSecond, Recording, SecondCounts, Server, StubWiring};
use tokio::sync::mpsc;

use crate::error::ScriptError;
use crate::inbound::DeclaredConsumer;
use crate::loaded::Loaded;
use crate::sinks::StubConsole;
use consumers::ConsumerThread;

/// Calls that wait for a function. When the queue is full, the stub waits.
const CALLS_MAX: usize = 4_096;
/// Batches of flow events that wait to be taken.
const BATCHES_MAX: usize = 1_024;

/// After the run: how long a stub continues for its open calls, and again for calls that arrive meanwhile, ten seconds in all. Otherwise
/// the system under test would report failed calls, and repeat them when no stub listens.
const DRAIN: Duration = Duration::from_secs(5);

/// How many messages the function of a consumer has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumedCount {
    /// What the consumer reads, such as `topic orders`.
    pub source: String,
    /// What it receives, in the singular, such as `record`.
    pub unit: &'static str,
    pub count: u64,
}

/// The running stubs and consumers of a run. Dropping it stops them.
pub struct Stubs {
    servers: RefCell<Vec<(String, Server)>>,
    name_servers: RefCell<Vec<(String, DnsServer)>>,
    consumers: RefCell<Option<ConsumerThread>>,
    handlers: RefCell<Option<JoinHandle<()>>>,
    /// By consumer: the messages that its function has received.
    consumed: Arc<[AtomicU64]>,
    loaded: Arc<Loaded>,
    events: Receiver<Vec<FlowEvent>>,
    /// CLOCK_MONOTONIC of the run's start. 0 before it.
    origin_ns: Arc<AtomicU64>,
}

impl Stubs {
    /// Starts the servers and consumers that a test declares, and a thread for their functions if there are any.
    ///
    /// # Errors
    /// An address that is not free, an invalid answer, or a topic that cannot be read.
    pub fn start(loaded: &Arc<Loaded>, console: StubConsole) -> Result<Self, ScriptError> {
        let origin_ns = Arc::new(AtomicU64::new(0));
        let (calls, requests) = mpsc::channel(CALLS_MAX);
        let (batches, events) = sync_channel(BATCHES_MAX);
        let any_function = loaded.stubs.iter().any(|stub| stub.protocol.has_functions());
        let consuming = (!loaded.consumers.is_empty()).then(|| ConsumerThread::start(loaded)).transpose()?;
        let (consumers, messages) = consuming.unzip();
        let consumed: Arc<[AtomicU64]> = loaded.consumers.iter().map(|_| AtomicU64::default()).collect();
        let is_needed = any_function || messages.is_some();
        let work = handlers::HandlerWork { calls: requests, messages, consumed: Arc::clone(&consumed) };
        let handlers = is_needed.then(|| handlers::start(loaded, work, batches, Arc::clone(&origin_ns), console)).transpose()?;
        let mut servers = Vec::new();
        for (number, declared) in loaded.stubs.iter().enumerate() {
            let place = StubWiring {
                listener: declared.listener(),
                calls: Some(calls.clone()),
                number,
                drain: Some(DRAIN),
                ..StubWiring::default()
            };
            let server = declared.protocol.start_at(place).map_err(|error| ScriptError::new(error.to_string()))?;
            servers.push((declared.name(number), server));
        }
        let start =
            |spec: &loadstone_stub::DnsSpec| Ok((spec.name.clone(), spec.start().map_err(|error| ScriptError::new(error.to_string()))?));
        let name_servers = loaded.name_servers.iter().map(start).collect::<Result<_, ScriptError>>()?;
        Ok(Self {
            servers: RefCell::new(servers),
            name_servers: RefCell::new(name_servers),
            consumers: RefCell::new(consumers),
            handlers: RefCell::new(handlers),
            consumed,
            loaded: Arc::clone(loaded),
            events,
            origin_ns,
        })
    }

    /// The run begins: later events are on its clock.
    pub fn begin(&self, clock: Monotonic) {
        self.origin_ns.store(clock.origin_ns(), Ordering::Release);
        self.servers.borrow().iter().for_each(|(_, server)| server.count_seconds(clock.origin_ns()));
        self.name_servers.borrow().iter().for_each(|(_, server)| server.begin(clock.origin_ns()));
    }

    /// Events of journeys that functions have recorded since the last call.
    pub fn flow_events(&self) -> Vec<FlowEvent> {
        self.events.try_iter().flatten().collect()
    }

    /// By stub: the seconds that have ended since the last call.
    pub fn seconds(&self) -> Vec<(String, Vec<SecondCounts>)> {
        let (servers, name_servers) = (self.servers.borrow(), self.name_servers.borrow());
        let of_servers = servers.iter().map(|(name, server)| (name.clone(), server.seconds()));
        of_servers.chain(name_servers.iter().map(|(name, server)| (name.clone(), server.seconds()))).collect()
    }

    /// By name server: the questions in the seconds that [`Stubs::seconds`] has returned.
    pub fn names(&self) -> Vec<(String, Vec<NameSecond>)> {
        self.name_servers.borrow().iter().map(|(name, server)| (name.clone(), server.names())).collect()
    }

    /// By stub: everything it has received.
    pub fn recordings(&self) -> Vec<(String, Recording)> {
        self.servers.borrow().iter().map(|(name, server)| (name.clone(), server.recording())).collect()
    }

    /// By consumer, in the order of their declaration.
    pub fn consumed(&self) -> Vec<ConsumedCount> {
        let counts = self.consumed.iter().map(|count| count.load(Ordering::Relaxed));
        let counted = |(DeclaredConsumer { kind, consumer }, count): (&DeclaredConsumer, u64)| ConsumedCount {
            source: format!("{} {}", kind.source, consumer.source()),
            unit: kind.unit,
            count,
        };
        self.loaded.consumers.iter().zip(counts).map(counted).collect()
    }

    /// Stops the servers, once they have answered their open calls, and then the functions. The remaining events of journeys can be taken
    /// afterwards.
    pub fn stop(&self) {
        // At the same time: a caller that waits for one stub may be about to call another.
        self.servers.borrow_mut().iter_mut().for_each(|(_, server)| server.stop());
        drop(self.consumers.borrow_mut().take());
        // The functions' thread ends when it has no more callers.
        self.servers.borrow_mut().clear();
        self.name_servers.borrow_mut().clear();
        if let Some(handlers) = self.handlers.borrow_mut().take() {
            let _ = handlers.join();
        }
    }
}

impl Drop for Stubs {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Stubs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers.borrow().iter().map(|(name, _)| name)).finish()
    }
}
