//! Consumers of topics: each reads from the end that its topic has when the run begins.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use loadstone_protocol::Network;
use loadstone_protocol::kafka::{KafkaAddress, KafkaProblem, KafkaReadRecord, KafkaTail};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::consumed::ConsumedRecord;
use crate::error::ScriptError;
use crate::inbound::{ConsumedMessage, Consumer, ConsumerInbox, ConsumerKind, OpenConsumer};

pub(super) static CONSUMERS: ConsumerKind = ConsumerKind {
    name: "kafka",
    source: "topic",
    unit: "record",
    read: |declaration| Ok(Box::new(serde_json::from_value::<TopicConsumer>(declaration)?)),
};

/// Pause before a topic that could not be read is tried again.
const PAUSE_NS: u64 = 1_000_000_000;

/// A consumer of a test file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicConsumer {
    url: String,
    topic: Arc<str>,
}

impl Consumer for TopicConsumer {
    fn source(&self) -> &str {
        &self.topic
    }

    fn open<'c>(&'c self, network: &'c Rc<Network>) -> LocalBoxFuture<'c, Result<Box<dyn OpenConsumer>, ScriptError>> {
        Box::pin(async move {
            let unreadable =
                |problem: &str| ScriptError::new(format!("kafka.consume(…): the topic \"{}\" cannot be read: {problem}", self.topic));
            let address = KafkaAddress::parse(&self.url).map_err(|problem| unreadable(&problem.to_string()))?;
            let shown = address.shown();
            let tail = KafkaTail::open(network, address, &self.topic).await.map_err(|problem| {
                let help = "create the topic before the run, and see that its brokers can be reached from here";
                unreadable(&problem.text()).help(format!("it is read from {shown}; {help}"))
            })?;
            Ok(Box::new(OpenTopic { tail, topic: Arc::clone(&self.topic) }) as Box<dyn OpenConsumer>)
        })
    }
}

/// A topic that is being read.
struct OpenTopic {
    tail: KafkaTail,
    topic: Arc<str>,
}

impl OpenTopic {
    fn received(&self, read: Result<KafkaReadRecord, KafkaProblem>) -> Result<Box<dyn ConsumedMessage>, String> {
        match read {
            Ok(read) => Ok(Box::new(ConsumedRecord { read, topic: Arc::clone(&self.topic) })),
            Err(problem) => {
                Err(format!("kafka.consume(…): the topic \"{}\" could not be read for a while: {}", self.topic, problem.text()))
            }
        }
    }

    async fn follow(&self, inbox: ConsumerInbox) {
        let (sink, mut source) = mpsc::channel::<Result<KafkaReadRecord, KafkaProblem>>(1);
        let passing = async {
            while let Some(read) = source.recv().await {
                let at = read.as_ref().map_or_else(|_| inbox.clock.now(), |record| record.read_at);
                if !inbox.put(self.received(read), at).await {
                    return;
                }
            }
        };
        let reading = async {
            loop {
                let problem = self.tail.read(&sink).await;
                let _ = sink.send(Err(problem)).await;
                inbox.clock.sleep(PAUSE_NS).await;
            }
        };
        tokio::select! {
            () = passing => {}
            () = reading => {}
        }
    }
}

impl OpenConsumer for OpenTopic {
    fn receive(&self, inbox: ConsumerInbox) -> LocalBoxFuture<'_, ()> {
        Box::pin(self.follow(inbox))
    }
}
