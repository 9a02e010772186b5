//! Follows a topic: reads records from its current end on, in all its partitions, without a group.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::future::{LocalBoxFuture, select_all};
use loadstone_metrics::Nanos;
use loadstone_wire_formats::kafka::LogPoint;
use tokio::sync::mpsc;

use super::address::KafkaAddress;
use super::brokers::{KafkaBroker, KafkaBrokers, TopicLayout};
use super::calls::{fetch, offsets, read_fetched, read_offsets};
use super::link::KafkaLimits;
use super::records::{KafkaRecord, read_batches};
use super::refusal::{KafkaProblem, KafkaRefusal, OFFSET_OUT_OF_RANGE};
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::RawTimes;

/// A broker without new records responds within half a second. One that is silent for this long counts as failed. Nanoseconds.
const ANSWER_MAX_NS: u64 = 15_000_000_000;
const ANSWER_BYTES_MAX: u64 = 128 << 20;

/// Follows a topic.
#[derive(Debug)]
pub struct KafkaTail {
    brokers: KafkaBrokers,
    topic: String,
    /// The next offset to read, by partition.
    next: RefCell<BTreeMap<i32, i64>>,
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaReadRecord {
    pub offset: i64,
    /// When the response that contains it was read, on the network's clock.
    pub read_at: Nanos,
    pub record: KafkaRecord,
}

/// The receiver of records, and of errors between them.
type KafkaSink = mpsc::Sender<Result<KafkaReadRecord, KafkaProblem>>;

impl KafkaTail {
    /// Finds the ends of the topic's partitions. Records written from now on will be read.
    ///
    /// # Errors
    /// The topic or one of its leaders cannot be reached.
    pub async fn open(network: &Rc<Network>, address: KafkaAddress, topic: &str) -> Result<Self, KafkaProblem> {
        let brokers = KafkaBrokers::new(Rc::clone(network), address);
        let tail = Self { brokers, topic: topic.to_owned(), next: RefCell::default() };
        let layout = tail.layout().await?;
        tail.find(&layout, LogPoint::End).await?;
        Ok(tail)
    }

    /// Reads until an error occurs. Another call continues from the same position. Reading waits while the receiver is full.
    pub async fn read(&self, sink: &KafkaSink) -> KafkaProblem {
        let problem = match self.follow(sink).await {
            Ok(never) => match never {},
            Err(problem) => problem,
        };
        self.brokers.forget(&self.topic);
        problem
    }

    async fn follow(&self, sink: &KafkaSink) -> Result<std::convert::Infallible, KafkaProblem> {
        let layout = self.layout().await?;
        // For partitions that are new, or whose log was truncated at the current position.
        self.find(&layout, LogPoint::Beginning).await?;
        let each = layout.by_leader(all(&layout))?.into_iter();
        let readers: Vec<LocalBoxFuture<'_, KafkaProblem>> = each
            .map(|(broker, partitions)| -> LocalBoxFuture<'_, KafkaProblem> { Box::pin(self.read_from(broker, partitions, sink)) })
            .collect();
        Err(select_all(readers).await.0)
    }

    async fn layout(&self) -> Result<Rc<TopicLayout>, KafkaProblem> {
        self.brokers.layout(&self.topic, self.limits(), &mut RawTimes::from(self.brokers.now())).await
    }

    fn limits(&self) -> KafkaLimits {
        KafkaLimits { due: self.brokers.now().saturating_add(ANSWER_MAX_NS), bytes_max: ANSWER_BYTES_MAX }
    }

    /// Finds the starting offset of partitions without a known position.
    async fn find(&self, layout: &TopicLayout, point: LogPoint) -> Result<(), KafkaProblem> {
        let unknown: Vec<i32> = all(layout).filter(|partition| !self.next.borrow().contains_key(partition)).collect();
        for (broker, partitions) in layout.by_leader(unknown.into_iter())? {
            let call = offsets(&self.topic, &partitions, point);
            let answer = self.brokers.call(&broker, &call, self.limits(), &mut RawTimes::from(self.brokers.now())).await?;
            for answer in read_offsets(&answer).map_err(Failure::from)? {
                self.check(answer.partition, answer.error)?;
                self.next.borrow_mut().insert(answer.partition, answer.offset);
            }
        }
        Ok(())
    }

    fn check(&self, partition: i32, error: i16) -> Result<(), KafkaRefusal> {
        if error == OFFSET_OUT_OF_RANGE {
            self.next.borrow_mut().remove(&partition);
        }
        if error == 0 { Ok(()) } else { Err(KafkaRefusal::new(error, format!("partition {partition} of {}", self.topic))) }
    }

    async fn read_from(&self, broker: Rc<KafkaBroker>, partitions: Vec<i32>, sink: &KafkaSink) -> KafkaProblem {
        loop {
            if let Err(problem) = self.read_once(&broker, &partitions, sink).await {
                return problem;
            }
        }
    }

    async fn read_once(&self, broker: &KafkaBroker, partitions: &[i32], sink: &KafkaSink) -> Result<(), KafkaProblem> {
        let from: Vec<(i32, i64)> =
            partitions.iter().map(|partition| (*partition, self.next.borrow().get(partition).copied().unwrap_or_default())).collect();
        let mut times = RawTimes::from(self.brokers.now());
        let answer = self.brokers.call(broker, &fetch(&self.topic, &from), self.limits(), &mut times).await?;
        let mut problem = None;
        for fetched in read_fetched(&answer).map_err(Failure::from)? {
            if let Err(refusal) = self.check(fetched.partition, fetched.error) {
                problem = Some(refusal.into());
                continue;
            }
            let Some((partition, from)) = from.iter().find(|(partition, _)| *partition == fetched.partition) else { continue };
            let read = read_batches(fetched.log, *from);
            if let Some(why) = read.unread {
                let unread = KafkaProblem::Failed(Failure::protocol(format!("partition {partition} of {}: {why}", self.topic)));
                if read.next.is_none() {
                    problem = Some(unread);
                } else {
                    let _ = sink.send(Err(unread)).await;
                }
            }
            for (offset, record) in read.records {
                let record = KafkaRecord { partition: Some(*partition), ..record };
                // The receiver may have gone. If so, this future is dropped soon.
                let _ = sink.send(Ok(KafkaReadRecord { offset, read_at: times.ended, record })).await;
                // Updated for each record: another broker's failure may end this in between.
                self.next.borrow_mut().insert(*partition, offset.saturating_add(1));
            }
            if let Some(next) = read.next {
                self.next.borrow_mut().insert(*partition, next);
            }
        }
        problem.map_or(Ok(()), Err)
    }
}

fn all(layout: &TopicLayout) -> impl Iterator<Item = i32> + use<> {
    0..layout.leaders.len() as i32
}
