//! The brokers of a cluster for one user: a connection to each, and the leaders of partitions.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::Nanos;
use loadstone_wire_formats::kafka::MalformedKafka;
use tokio::sync::Mutex;

use super::address::KafkaAddress;
use super::calls::{KafkaCall, metadata, read_metadata};
use super::link::{BrokerLink, KafkaLimits};
use super::refusal::{KafkaProblem, KafkaRefusal, NO_LEADER, UNKNOWN_PARTITION};
use crate::connect::within;
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::{RawTarget, RawTimes};

/// Maximum number of brokers that a refusal lists.
const REFUSED_SHOWN_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct KafkaBrokers {
    network: Rc<Network>,
    pub(super) address: KafkaAddress,
    brokers: RefCell<Vec<Rc<KafkaBroker>>>,
    topics: RefCell<HashMap<String, Rc<TopicLayout>>>,
}

#[derive(Debug)]
pub(super) struct KafkaBroker {
    pub(super) target: RawTarget,
    /// Used by one call at a time. `None` if there is no connection, or while a call uses it that may not complete.
    link: Mutex<Option<BrokerLink>>,
}

/// Brokers, each with partitions that it leads.
pub(super) type LedPartitions = Vec<(Rc<KafkaBroker>, Vec<i32>)>;

/// The leader of each partition of a topic, by partition number. `None`: the partition has no leader.
#[derive(Debug)]
pub(super) struct TopicLayout {
    pub(super) topic: String,
    pub(super) leaders: Vec<Option<Rc<KafkaBroker>>>,
}

impl TopicLayout {
    /// The leader of a partition.
    ///
    /// # Errors
    /// The partition has no leader, or does not exist.
    pub(super) fn leader(&self, partition: i32) -> Result<&Rc<KafkaBroker>, KafkaRefusal> {
        let about = || format!("partition {partition} of {}", self.topic);
        let known = usize::try_from(partition).ok().and_then(|place| self.leaders.get(place));
        let known = known.ok_or_else(|| KafkaRefusal::new(UNKNOWN_PARTITION, about()))?;
        known.as_ref().ok_or_else(|| KafkaRefusal::new(NO_LEADER, about()))
    }

    /// Partitions by leader, in order.
    pub(super) fn by_leader(&self, partitions: impl Iterator<Item = i32>) -> Result<LedPartitions, KafkaRefusal> {
        let mut all = LedPartitions::new();
        for partition in partitions {
            let leader = self.leader(partition)?;
            match all.iter_mut().find(|(known, _)| Rc::ptr_eq(known, leader)) {
                Some((_, partitions)) => partitions.push(partition),
                None => all.push((Rc::clone(leader), vec![partition])),
            }
        }
        Ok(all)
    }
}

impl KafkaBrokers {
    pub(super) fn new(network: Rc<Network>, address: KafkaAddress) -> Self {
        Self { network, address, brokers: RefCell::default(), topics: RefCell::default() }
    }

    pub(super) fn now(&self) -> Nanos {
        self.network.clock().now()
    }

    /// Whether there is a connection, or one is being opened.
    pub(super) fn is_connected(&self) -> bool {
        self.brokers.borrow().iter().any(|broker| broker.link.try_lock().map_or(true, |link| link.is_some()))
    }

    /// Closes the connections that are not in use, and forgets the layout of topics.
    pub(super) fn close(&self) {
        for broker in self.brokers.borrow().iter() {
            if let Ok(mut link) = broker.link.try_lock() {
                *link = None;
            }
        }
        self.topics.borrow_mut().clear();
    }

    /// Forgets the layout of a topic, since it is outdated.
    pub(super) fn forget(&self, topic: &str) {
        self.topics.borrow_mut().remove(topic);
    }

    fn at(&self, target: RawTarget) -> Rc<KafkaBroker> {
        let mut brokers = self.brokers.borrow_mut();
        if let Some(known) = brokers.iter().find(|broker| broker.target == target) {
            return Rc::clone(known);
        }
        let broker = Rc::new(KafkaBroker { target, link: Mutex::default() });
        brokers.push(Rc::clone(&broker));
        broker
    }

    /// Sends a request over the broker's connection, which is opened if necessary. If the future is dropped early, the connection is closed.
    pub(super) async fn call(
        &self,
        broker: &KafkaBroker,
        call: &KafkaCall,
        limits: KafkaLimits,
        times: &mut RawTimes,
    ) -> Result<Bytes, KafkaProblem> {
        let clock = self.network.clock();
        let mut place = match broker.link.try_lock() {
            Ok(place) => place,
            Err(_) => {
                let (timer, begun) = (clock.timer(), clock.now());
                timer.reset(limits.due);
                let place = within(&timer, "waiting for the user's connection", broker.link.lock()).await;
                times.phases.queue += clock.now() - begun;
                place?
            }
        };
        let mut link = match place.take().filter(|link| !link.is_unusable()) {
            Some(link) => link,
            None => Box::pin(BrokerLink::open(&self.network, &broker.target, &self.address, limits, times)).await?,
        };
        let answer = link.call(call, limits, times).await?;
        *place = Some(link);
        Ok(answer)
    }

    /// The leaders of a topic's partitions. Requesting them is part of connecting.
    pub(super) async fn layout(&self, topic: &str, limits: KafkaLimits, times: &mut RawTimes) -> Result<Rc<TopicLayout>, KafkaProblem> {
        if let Some(known) = self.topics.borrow().get(topic) {
            return Ok(Rc::clone(known));
        }
        let mut learning = RawTimes::from(self.now());
        let asked = self.call(&self.at(self.address.target.clone()), &metadata(topic), limits, &mut learning).await;
        let (took, own) = (self.now() - learning.started, learning.phases);
        let phases = &mut times.phases;
        (phases.queue, phases.dns, phases.tls) = (phases.queue + own.queue, phases.dns + own.dns, phases.tls + own.tls);
        phases.connect += took.saturating_sub(own.queue + own.dns + own.tls);
        times.connected |= learning.connected;
        times.bytes_sent += learning.bytes_sent;
        times.bytes_received += learning.bytes_received;
        let layout = self.read_layout(topic, &asked?)?;
        self.topics.borrow_mut().insert(topic.to_owned(), Rc::clone(&layout));
        Ok(layout)
    }

    fn read_layout(&self, topic: &str, answer: &[u8]) -> Result<Rc<TopicLayout>, KafkaProblem> {
        let places = read_metadata(answer).map_err(Failure::from)?;
        if places.error != 0 || places.leaders.is_empty() {
            let code = if places.error == 0 { UNKNOWN_PARTITION } else { places.error };
            return Err(KafkaRefusal::new(code, format!("the topic {topic}")).into());
        }
        let target = |id: i32| {
            let place = places.brokers.iter().find(|place| place.id == id)?;
            let port = u16::try_from(place.port).ok()?;
            Some(RawTarget { host: place.host.clone(), port, tls: self.address.target.tls })
        };
        // Partitions are numbered without gaps. A missing one has no leader.
        let mut leaders = vec![None; places.leaders.len()];
        for (number, leader) in &places.leaders {
            let place = usize::try_from(*number).unwrap_or(usize::MAX);
            let place = leaders.get_mut(place).ok_or(MalformedKafka).map_err(Failure::from)?;
            *place = target(*leader).map(|target| self.at(target));
        }
        self.check_named(&leaders)?;
        Ok(Rc::new(TopicLayout { topic: topic.to_owned(), leaders }))
    }

    /// The addresses of brokers are the target's word: without permission, neither load nor the login goes there. The failure lists all of them at
    /// once.
    fn check_named(&self, leaders: &[Option<Rc<KafkaBroker>>]) -> Result<(), Failure> {
        let is_refused = |target: &&RawTarget| self.network.check_host(&target.host, target.port).is_err();
        let refused: BTreeSet<&str> =
            leaders.iter().flatten().map(|broker| &broker.target).filter(is_refused).map(|target| target.host.as_str()).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let shown = |prefix: &str, separator: &str| {
            let hosts = refused.iter().take(REFUSED_SHOWN_MAX).map(|host| format!("{prefix}{host}"));
            hosts.collect::<Vec<_>>().join(separator)
        };
        Err(Failure::unsendable(format!(
            "the broker {} reports brokers that the test does not name: {}; if they belong to the cluster, add `{}`",
            self.address.target.host,
            shown("", ", "),
            shown("--allow-net ", " ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::clock::{Clock, Monotonic};

    use super::*;
    use crate::allowed_hosts::AllowedHosts;
    use crate::options::NetworkOptions;

    /// A metadata response in version 4, as the Kafka protocol guide defines it: a partition for each broker.
    fn metadata(hosts: &[&str]) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as i16).to_be_bytes()[..], text.as_bytes()].concat();
        let int = |number: usize| (number as i32).to_be_bytes().to_vec();
        let mut bytes = [int(0), int(hosts.len())].concat();
        for (id, host) in hosts.iter().enumerate() {
            bytes.extend([int(id), text(host), int(9_092), text("rack")].concat());
        }
        bytes.extend([text("cluster"), int(0), int(1), vec![0, 0], text("orders"), vec![0], int(hosts.len())].concat());
        for id in 0..hosts.len() {
            bytes.extend([vec![0, 0], int(id), int(id), int(0), int(0)].concat());
        }
        bytes
    }

    #[test]
    fn brokers_that_the_test_does_not_name_are_refused_together() {
        let layout = |allowed: &[&str], hosts: &[&str]| {
            let allowed_hosts = AllowedHosts::only(allowed.iter().map(|host| host.parse().unwrap()));
            let options = NetworkOptions { allowed_hosts, ..NetworkOptions::default() };
            let network = Network::new(Clock::real(Monotonic::start()), options).unwrap();
            let brokers = KafkaBrokers::new(network, KafkaAddress::parse("kafka://ann:pw@b1").unwrap());
            brokers.read_layout("orders", &metadata(hosts)).map(|layout| layout.leaders.len())
        };
        assert_eq!(layout(&["b1"], &["b1", "b1"]).unwrap(), 2);
        assert_eq!(layout(&["b1", "*.kafka.internal"], &["b1", "2.kafka.internal"]).unwrap(), 2);
        let Err(KafkaProblem::Failed(failure)) = layout(&["b1"], &["b1", "evil.example", "169.254.169.254"]) else { panic!("refused") };
        assert_eq!(failure.outcome, loadstone_metrics::Outcome::Unsendable, "it is no answer of the target");
        let wanted = "add `--allow-net 169.254.169.254 --allow-net evil.example`";
        assert!(failure.message.ends_with(wanted), "{}", failure.message);
    }
}
