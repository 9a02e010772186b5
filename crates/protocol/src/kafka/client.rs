//! A producer for one user.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::join_all;
use loadstone_metrics::Nanos;

use super::address::KafkaAddress;
use super::brokers::{KafkaBroker, KafkaBrokers, TopicLayout};
use super::calls::{KafkaAcks, KafkaWriting, produce, read_produced};
use super::link::KafkaLimits;
use super::partitioning::partition_of;
use super::records::{KafkaRecord, write_batch};
use super::refusal::{KafkaProblem, KafkaRefusal, NO_LEADER, UNKNOWN_PARTITION};
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::RawTimes;

/// Sends records to the leaders of their partitions, over one connection to each, opened at the first use. Requests to a broker whose connection is
/// busy wait in order.
#[derive(Debug)]
pub struct KafkaClient {
    brokers: KafkaBrokers,
    /// Counts the requests whose records have no key. Each goes to another partition.
    turn: Cell<usize>,
}

/// The position of a written record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KafkaPlace {
    pub partition: i32,
    /// `None`: the broker was not asked to report it.
    pub offset: Option<i64>,
}

/// The result of a produce operation.
#[derive(Debug)]
pub struct KafkaExchange {
    pub times: RawTimes,
    /// In the order of the records.
    pub result: Result<Vec<KafkaPlace>, KafkaProblem>,
}

/// Records for the partitions of one broker.
struct LeaderPart {
    broker: Rc<KafkaBroker>,
    /// A partition, and the indices of its records.
    partitions: Vec<(i32, Vec<usize>)>,
}

/// The records of one produce operation.
struct Sending<'a> {
    topic: &'a str,
    records: &'a [KafkaRecord],
    writing: KafkaWriting,
    limits: KafkaLimits,
}

impl KafkaClient {
    pub fn new(network: Rc<Network>, address: KafkaAddress) -> Self {
        // Users start at different partitions.
        let turn = network.random() as usize;
        Self { brokers: KafkaBrokers::new(network, address), turn: Cell::new(turn) }
    }

    pub fn address(&self) -> &KafkaAddress {
        &self.brokers.address
    }

    /// Whether there is a connection, or one is being opened.
    pub fn is_connected(&self) -> bool {
        self.brokers.is_connected()
    }

    /// Closes the connections that are not in use.
    pub fn close(&self) {
        self.brokers.close();
    }

    /// Writes records. A record goes to its partition, or to the partition of its key. All others go together to the next partition in turn. Records
    /// of one partition form one batch, and those of one broker form one request. If the future is dropped early, the connections in use are closed.
    pub async fn produce(
        &self,
        topic: &str,
        records: &[KafkaRecord],
        writing: KafkaWriting,
        timeout_ns: u64,
        bytes_max: u64,
    ) -> KafkaExchange {
        let mut times = RawTimes::from(self.brokers.now());
        let limits = KafkaLimits { due: times.started.saturating_add(timeout_ns), bytes_max };
        let result = self.perform(&Sending { topic, records, writing, limits }, &mut times).await;
        if result.is_err() {
            // The leader may have changed.
            self.brokers.forget(topic);
        }
        if times.ended == 0 {
            times.ended = self.brokers.now();
        }
        KafkaExchange { times, result }
    }

    async fn perform(&self, sending: &Sending<'_>, times: &mut RawTimes) -> Result<Vec<KafkaPlace>, KafkaProblem> {
        let layout = self.brokers.layout(sending.topic, sending.limits, times).await?;
        let parts = self.parts(sending.records, &layout)?;
        let mut places = vec![KafkaPlace { partition: 0, offset: None }; sending.records.len()];
        let before = *times;
        let sent = join_all(parts.iter().map(|part| async move {
            let mut own = before;
            let result = self.send(part, sending, &mut own).await;
            (own, result)
        }));
        let mut problem = None;
        for (part, (own, result)) in parts.iter().zip(sent.await) {
            add(times, &before, &own, self.brokers.now());
            match result {
                Ok(offsets) => {
                    for ((partition, numbers), offset) in part.partitions.iter().zip(offsets) {
                        for (place, number) in (0..).zip(numbers) {
                            places[*number] = KafkaPlace { partition: *partition, offset: offset.map(|first| first + place) };
                        }
                    }
                }
                Err(failed) => problem = problem.or(Some(failed)),
            }
        }
        problem.map_or(Ok(places), Err)
    }

    /// Assigns each record to a partition.
    fn parts(&self, records: &[KafkaRecord], layout: &TopicLayout) -> Result<Vec<LeaderPart>, KafkaRefusal> {
        let mut in_turn = None;
        let mut parts: Vec<LeaderPart> = Vec::new();
        for (number, record) in records.iter().enumerate() {
            let partition = match (record.partition, &record.key) {
                (Some(wanted), _) => wanted,
                (None, Some(key)) => partition_of(key, layout.leaders.len()) as i32,
                (None, None) => match in_turn {
                    Some(known) => known,
                    None => *in_turn.insert(self.next_in_turn(layout)?),
                },
            };
            let broker = layout.leader(partition)?;
            let part = match parts.iter().position(|part| Rc::ptr_eq(&part.broker, broker)) {
                Some(known) => &mut parts[known],
                None => {
                    parts.push(LeaderPart { broker: Rc::clone(broker), partitions: Vec::new() });
                    let last = parts.len() - 1;
                    &mut parts[last]
                }
            };
            match part.partitions.iter_mut().find(|(known, _)| *known == partition) {
                Some((_, numbers)) => numbers.push(number),
                None => part.partitions.push((partition, vec![number])),
            }
        }
        Ok(parts)
    }

    /// The next partition that has a leader.
    fn next_in_turn(&self, layout: &TopicLayout) -> Result<i32, KafkaRefusal> {
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        let count = layout.leaders.len();
        let found = (0..count).map(|step| turn.wrapping_add(step) % count).find(|place| layout.leaders[*place].is_some());
        found.map(|place| place as i32).ok_or_else(|| KafkaRefusal::new(NO_LEADER, format!("the topic {}", layout.topic)))
    }

    /// Sends the records of one broker. Returns the offset of the first record of each partition.
    async fn send(&self, part: &LeaderPart, sending: &Sending<'_>, times: &mut RawTimes) -> Result<Vec<Option<i64>>, KafkaProblem> {
        let Sending { topic, records, writing, limits } = sending;
        let batch =
            |numbers: &Vec<usize>| write_batch(&numbers.iter().map(|number| &records[*number]).collect::<Vec<_>>(), writing.packing);
        let batches = part.partitions.iter().map(|(partition, numbers)| Ok((*partition, batch(numbers)?)));
        let batches: Vec<(i32, Vec<u8>)> = batches.collect::<std::io::Result<_>>().map_err(unpackable)?;
        let left_ms = i32::try_from(limits.due.saturating_sub(self.brokers.now()) / 1_000_000).unwrap_or(i32::MAX);
        let answer = self.brokers.call(&part.broker, &produce(topic, *writing, left_ms.max(1), &batches), *limits, times).await?;
        if writing.acks == KafkaAcks::None {
            return Ok(vec![None; batches.len()]);
        }
        let answers = read_produced(&answer, writing.packing).map_err(Failure::from)?;
        let of = |(partition, _): &(i32, Vec<usize>)| {
            let about = || format!("partition {partition} of {topic}");
            let answer = answers.iter().find(|answer| answer.partition == *partition);
            let answer = answer.ok_or_else(|| KafkaRefusal::new(UNKNOWN_PARTITION, about()))?;
            if answer.error == 0 { Ok(Some(answer.offset)) } else { Err(KafkaRefusal::new(answer.error, about())) }
        };
        Ok(part.partitions.iter().map(of).collect::<Result<_, KafkaRefusal>>()?)
    }
}

fn unpackable(error: std::io::Error) -> Failure {
    Failure::unsendable(format!("the records cannot be compressed: {error}"))
}

/// Adds the times of one part. The part that ended last determines the phases.
fn add(times: &mut RawTimes, before: &RawTimes, own: &RawTimes, now: Nanos) {
    let own_ended = if own.ended == 0 { now } else { own.ended };
    let (bytes_sent, bytes_received) =
        (times.bytes_sent + own.bytes_sent - before.bytes_sent, times.bytes_received + own.bytes_received - before.bytes_received);
    let connected = times.connected || own.connected;
    if own_ended >= times.ended {
        *times = RawTimes { ended: own_ended, ..*own };
    }
    (times.bytes_sent, times.bytes_received, times.connected) = (bytes_sent, bytes_received, connected);
}
