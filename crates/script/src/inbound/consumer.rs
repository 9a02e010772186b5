//! A consumer: a function of the test file that receives a protocol's messages outside the load.
//!
//! A protocol that can receive returns its [`ConsumerKind`] from `Capability::consumers`. Read [`Consumer`], then [`OpenConsumer`].

use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Clock;
use loadstone_protocol::Network;
use rquickjs::{Ctx, Value};
use tokio::sync::mpsc;

use crate::error::ScriptError;
use crate::extract::cache::Compiled;

/// How one protocol receives.
#[derive(Debug)]
pub(crate) struct ConsumerKind {
    /// The export of the `"loadstone"` module that declares consumers, such as `kafka`. Errors name its first call as their place.
    pub(crate) name: &'static str,
    /// What a consumer reads, such as `topic`.
    pub(crate) source: &'static str,
    /// What it receives, in the singular, such as `record`.
    pub(crate) unit: &'static str,
    /// Reads the declaration that the protocol's TypeScript wrote.
    pub(crate) read: fn(serde_json::Value) -> serde_json::Result<Box<dyn Consumer>>,
}

/// A consumer of a test file.
#[derive(Debug)]
pub(crate) struct DeclaredConsumer {
    pub(crate) kind: &'static ConsumerKind,
    pub(crate) consumer: Box<dyn Consumer>,
}

/// What a test file declares of one consumer.
pub(crate) trait Consumer: Debug + Send + Sync {
    /// The name of what it reads, such as a topic's.
    fn source(&self) -> &str;

    /// Starts to listen. Messages that are sent from then on are received.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    fn open<'c>(&'c self, network: &'c Rc<Network>) -> LocalBoxFuture<'c, Result<Box<dyn OpenConsumer>, ScriptError>>;
}

/// A consumer that listens.
pub(crate) trait OpenConsumer {
    /// Receives until the inbox is closed, or until it is dropped.
    fn receive(&self, inbox: ConsumerInbox) -> LocalBoxFuture<'_, ()>;
}

/// A message on its way to the function of its consumer.
pub(crate) trait ConsumedMessage: Send {
    /// The object that the function receives.
    fn into_object<'js>(self: Box<Self>, ctx: &Ctx<'js>, compiled: &Rc<RefCell<Compiled>>) -> rquickjs::Result<Value<'js>>;
}

/// What a consumer received, or why it receives nothing for a while.
pub(crate) struct ConsumerNews {
    /// Position in the test file, from 0.
    pub(crate) consumer: usize,
    pub(crate) received: Result<Box<dyn ConsumedMessage>, String>,
    /// When it was received, on CLOCK_MONOTONIC. Nanoseconds.
    pub(crate) at_ns: u64,
}

/// Takes what one consumer receives.
pub(crate) struct ConsumerInbox {
    /// Position in the test file, from 0.
    pub(crate) consumer: usize,
    pub(crate) news: mpsc::Sender<ConsumerNews>,
    /// The clock of the consumers' network, with its origin on CLOCK_MONOTONIC. Nanoseconds.
    pub(crate) clock: Clock,
    pub(crate) origin_ns: u64,
}

impl ConsumerInbox {
    /// Waits for room. `at` is on the inbox's clock. Returns `false` when the run has ended.
    pub(crate) async fn put(&self, received: Result<Box<dyn ConsumedMessage>, String>, at: Nanos) -> bool {
        let news = ConsumerNews { consumer: self.consumer, received, at_ns: self.origin_ns.saturating_add(at) };
        self.news.send(news).await.is_ok()
    }
}
