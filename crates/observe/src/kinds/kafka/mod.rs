//! Kafka: messages written to topics, and the lag of each consumer group.
//!
//! Read [`requests`] first. A reading asks one broker for the topics, each leader for the ends of its partitions, and each broker for the groups that it
//! coordinates, with their committed offsets and members. The lag of a group is a queue: the messages between its committed offset and the end.

mod connection;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use loadstone_wire_formats::kafka::KafkaReader;

    use super::requests;

    pub(in crate::kinds) fn responses(input: &[u8]) {
        let reader = || KafkaReader::new(input);
        let _ = (requests::metadata(&[]).read)(&mut reader());
        let _ = (requests::ends(&[]).read)(&mut reader());
        let _ = (requests::groups().read)(&mut reader());
        let _ = (requests::committed("group").read)(&mut reader());
        let _ = (requests::members(&[]).read)(&mut reader());
    }
}
mod requests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use loadstone_metrics::{NoticeKind, Role, unit};
use loadstone_wire_formats::kafka::{KafkaMetadata, KafkaTopic, PartitionOffset};

use crate::collector::{MetricSpec, SignalCollector, label};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::reader::{HostPermission, PendingRead, SignalReader};
use connection::{Connections, KafkaError};
use requests::{Broker, code};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "kafka",
    watches: "Kafka",
    example: "observe.kafka({ brokers: \"127.0.0.1:9092\" })",
    alternatives: "",
    reports: "`produced{topic=…}` (messages), `lag{group=…,topic=…}` (messages that a consumer group has yet to read), `members{group=…}`, \
        `under_replicated`",
    options: &[
        ObserverOption {
            name: "brokers",
            takes: OptionValue::RequiredText,
            help: "one or more `host:port`, separated by commas; they report the others, whose hosts must be listed here or permitted",
        },
        ObserverOption { name: "topics", takes: OptionValue::Texts, help: "names of topics; if empty, all except Kafka's own" },
        ObserverOption { name: "groups", takes: OptionValue::Texts, help: "names of consumer groups; if empty, all" },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Kafka::from_description(description)?)),
};

/// Limits on topics, on their partitions in total, and on groups.
const TOPICS_MAX: usize = 64;
const PARTITIONS_MAX: usize = 10_000;
const GROUPS_MAX: usize = 64;
/// Hosts that the notice about unnamed brokers lists.
const UNNAMED_SHOWN_MAX: usize = 8;
/// Readings between two listings of all topics, whose cost is proportional to the number of topics.
const LOOK_AGAIN: u32 = 10;

const PRODUCED: MetricSpec<'_> =
    MetricSpec::counter("produced", unit::COUNT, "Messages written to the topic (the ends of all its partitions)");
const LAG: MetricSpec<'_> =
    MetricSpec::gauge("lag", unit::COUNT, "Messages of the topic after the group's committed offset").role(Role::QueueLength);
const MEMBERS: MetricSpec<'_> = MetricSpec::gauge("members", unit::COUNT, "Consumers in the group");
const PARTITIONS: MetricSpec<'_> = MetricSpec::gauge("partitions", unit::COUNT, "Partitions of the topic");
const BROKERS: MetricSpec<'_> = MetricSpec::gauge("brokers", unit::COUNT, "Brokers that are up");
const UNDER_REPLICATED: MetricSpec<'_> = MetricSpec::gauge("under_replicated", unit::COUNT, "Partitions with a missing or lagging replica");
const LEADERLESS: MetricSpec<'_> =
    MetricSpec::gauge("leaderless", unit::COUNT, "Partitions without a leader, which can be neither written nor read");

/// KafkaTopic and partition.
type PartitionKey = (Arc<str>, i32);

struct Kafka {
    brokers: Vec<String>,
    /// Further hosts that the run may connect to.
    permitted: Option<HostPermission>,
    topics: Vec<String>,
    groups: Vec<String>,
    connections: Connections,
    /// Names of the topics that are read.
    chosen: Vec<String>,
    readings: u32,
    /// Last known ends, used while a partition has no leader.
    ends: HashMap<PartitionKey, i64>,
    /// Notices that were sent, since each is sent once.
    notified: HashSet<String>,
}

/// A group, as far as it was read.
struct ReadGroup {
    name: String,
    members: Option<usize>,
    committed: Vec<PartitionOffset>,
}

impl SignalReader for Kafka {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn permits_hosts(&mut self, hosts: &HostPermission) {
        self.permitted = Some(Arc::clone(hosts));
    }

    fn reset(&mut self) {
        self.connections = Connections::default();
        self.readings = 0;
    }
}

impl Kafka {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let brokers: Vec<String> = description.required_text("brokers").split(',').map(|broker| broker.trim().to_owned()).collect();
        let is_address = |broker: &&String| {
            broker.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0))
        };
        if let Some(wrong) = brokers.iter().find(|broker| !is_address(broker)) {
            return Err(description.problem(format!("brokers: expected host:port, got \"{wrong}\"")));
        }
        Ok(Self {
            brokers,
            permitted: None,
            topics: description.texts("topics"),
            groups: description.texts("groups"),
            connections: Connections::default(),
            chosen: Vec::new(),
            readings: 0,
            ends: HashMap::new(),
            notified: HashSet::new(),
        })
    }

    /// # Errors
    /// When a broker cannot be reached, or does not answer as Kafka does.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), KafkaError> {
        let (brokers, topics) = self.read_topics(out).await?;
        // Committed offsets are read before the ends, so that a lag is never negative.
        let groups = self.read_groups(&brokers, out).await?;
        self.read_ends(&brokers, &topics).await?;
        out.put(BROKERS, brokers.len() as f64);
        self.put_topics(&topics, out);
        for group in &groups {
            self.put_group(group, out);
        }
        self.readings = (self.readings + 1) % LOOK_AGAIN;
        Ok(())
    }

    /// The addresses of the other brokers are the first broker's word: the observer connects only to hosts that its user named or permitted.
    fn check_hosts<'a>(&self, brokers: impl Iterator<Item = (&'a str, i32)>) -> Result<(), KafkaError> {
        let named: HashSet<String> = self.brokers.iter().map(|broker| host(broker).to_ascii_lowercase()).collect();
        let permits = |host: &str, port: i32| match (&self.permitted, u16::try_from(port)) {
            (Some(permits), Ok(port)) => permits(host, port),
            _ => false,
        };
        let is_permitted = |host: &str, port| named.contains(&host.to_ascii_lowercase()) || permits(host, port);
        let unnamed: BTreeSet<&str> = brokers.filter(|(host, port)| !is_permitted(host, *port)).map(|(host, _)| host).collect();
        if unnamed.is_empty() {
            return Ok(());
        }
        Err(KafkaError::Unnamed(unnamed.into_iter().take(UNNAMED_SHOWN_MAX).map(label).collect::<Vec<_>>().join(", ")))
    }

    /// The brokers, and the topics that are read.
    async fn read_topics(&mut self, out: &mut SignalCollector) -> Result<(Vec<Broker>, Vec<KafkaTopic>), KafkaError> {
        let looks_again = self.topics.is_empty() && (self.readings == 0 || self.chosen.is_empty());
        let names = if !self.topics.is_empty() { &self.topics } else { &self.chosen };
        let names = if looks_again { &[] } else { names.as_slice() };
        let KafkaMetadata { brokers, topics } = self.connections.any(&self.brokers).await?.ask(requests::metadata(names)).await?;
        self.check_hosts(brokers.iter().map(|broker| (broker.host.as_str(), broker.port)))?;
        let brokers = brokers.into_iter().map(|broker| Broker { id: broker.id, address: broker.authority() }).collect();
        for topic in topics.iter().filter(|topic| self.topics.contains(&topic.name)) {
            match topic.error {
                code::UNKNOWN_TOPIC | code::INVALID_TOPIC => {
                    notify_once(&mut self.notified, out, NoticeKind::Remark, format!("there is no topic \"{}\" yet", topic.name))
                }
                code::TOPIC_FORBIDDEN => {
                    notify_once(&mut self.notified, out, NoticeKind::Incomplete, format!("may not read the topic \"{}\"", topic.name))
                }
                _ => {}
            }
        }
        let is_wanted = |topic: &KafkaTopic| !topic.partitions.is_empty() && (!topic.is_internal || self.topics.contains(&topic.name));
        let mut topics: Vec<KafkaTopic> = topics.into_iter().filter(is_wanted).collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        let mut partitions = 0;
        let fits = |topic: &&KafkaTopic| {
            partitions += topic.partitions.len();
            partitions <= PARTITIONS_MAX
        };
        let kept = topics.iter().take(TOPICS_MAX).take_while(fits).count();
        if kept < topics.len() {
            let what = format!("reads only the first {kept} of {} topics by name; list the relevant ones in `topics`", topics.len());
            notify_once(&mut self.notified, out, NoticeKind::Incomplete, what);
        }
        topics.truncate(kept);
        self.chosen = topics.iter().map(|topic| topic.name.clone()).collect();
        Ok((brokers, topics))
    }

    /// Each broker knows the groups that it coordinates.
    async fn read_groups(&mut self, brokers: &[Broker], out: &mut SignalCollector) -> Result<Vec<ReadGroup>, KafkaError> {
        let mut listed: Vec<(String, &str)> = Vec::new();
        for broker in brokers {
            let (error, groups) = self.connections.to(&broker.address).await?.ask(requests::groups()).await?;
            if error == code::GROUP_FORBIDDEN {
                notify_once(&mut self.notified, out, NoticeKind::Incomplete, "may not list consumer groups".to_owned());
            } else if error != code::NONE {
                // The broker has just become the groups' coordinator and still loads them from its log.
                notify_once(
                    &mut self.notified,
                    out,
                    NoticeKind::Remark,
                    format!("{} could not list its groups: error {error}; the next reading tries again", broker.address),
                );
            }
            // Kafka Connect workers and schema registries use the same protocol.
            let is_wanted = |name: &String, protocol: &str| {
                if self.groups.is_empty() { matches!(protocol, "consumer" | "") } else { self.groups.contains(name) }
            };
            listed.extend(
                groups
                    .into_iter()
                    .filter(|group| is_wanted(&group.name, &group.protocol))
                    .map(|group| (group.name, broker.address.as_str())),
            );
        }
        listed.sort();
        if listed.len() > GROUPS_MAX {
            let what = format!(
                "reads only the first {GROUPS_MAX} of {} consumer groups by name; list the relevant ones in `groups`",
                listed.len()
            );
            notify_once(&mut self.notified, out, NoticeKind::Incomplete, what);
            listed.truncate(GROUPS_MAX);
        }
        let missing = self.groups.iter().filter(|name| !listed.iter().any(|(listed, _)| listed == *name));
        missing.for_each(|name| {
            notify_once(&mut self.notified, out, NoticeKind::Remark, format!("there is no consumer group \"{name}\" yet"))
        });

        let coordinators: BTreeSet<&str> = listed.iter().map(|(_, address)| *address).collect();
        let mut members: HashMap<String, Option<usize>> = HashMap::new();
        for address in coordinators {
            let own: Vec<&str> = listed.iter().filter(|(_, of)| *of == address).map(|(name, _)| name.as_str()).collect();
            members.extend(self.connections.to(address).await?.ask(requests::members(&own)).await?);
        }
        let mut groups = Vec::new();
        for (name, address) in listed {
            let (error, committed) = self.connections.to(address).await?.ask(requests::committed(&name)).await?;
            if error == code::GROUP_FORBIDDEN {
                notify_once(&mut self.notified, out, NoticeKind::Incomplete, format!("may not read the consumer group \"{name}\""));
            }
            groups.push(ReadGroup { members: members.get(&name).copied().flatten(), name, committed });
        }
        Ok(groups)
    }

    async fn read_ends(&mut self, brokers: &[Broker], topics: &[KafkaTopic]) -> Result<(), KafkaError> {
        for broker in brokers {
            let of_leader = |topic: &KafkaTopic| -> Vec<i32> {
                topic.partitions.iter().filter(|partition| partition.leader == broker.id).map(|partition| partition.number).collect()
            };
            let asked: Vec<(&str, Vec<i32>)> =
                topics.iter().map(|topic| (topic.name.as_str(), of_leader(topic))).filter(|(_, numbers)| !numbers.is_empty()).collect();
            if asked.is_empty() {
                continue;
            }
            let ends = self.connections.to(&broker.address).await?.ask(requests::ends(&asked)).await?;
            let asked: HashSet<(&str, i32)> =
                asked.iter().flat_map(|(topic, numbers)| numbers.iter().map(|number| (*topic, *number))).collect();
            // A broker may answer with partitions that nobody asked for, and with others each time.
            let known = ends.into_iter().filter(|end| end.error == code::NONE && end.offset >= 0);
            let known = known.filter(|end| asked.contains(&(&*end.topic, end.partition)));
            self.ends.extend(known.map(|end| ((end.topic, end.partition), end.offset)));
        }
        self.ends.retain(|(topic, _), _| topics.iter().any(|read| read.name == **topic));
        Ok(())
    }

    fn put_topics(&self, topics: &[KafkaTopic], out: &mut SignalCollector) {
        for topic in topics {
            let shown = label(&topic.name);
            let labels = [("topic", shown.as_str())];
            // A total over a part of the partitions would jump once the others are known.
            let name: Arc<str> = topic.name.as_str().into();
            let ends: Option<Vec<i64>> =
                topic.partitions.iter().map(|partition| self.ends.get(&(Arc::clone(&name), partition.number)).copied()).collect();
            if let Some(ends) = ends {
                out.put_labelled(PRODUCED, &labels, ends.iter().map(|end| *end as f64).sum());
            }
            out.put_labelled(PARTITIONS, &labels, topic.partitions.len() as f64);
        }
        let partitions = || topics.iter().flat_map(|topic| &topic.partitions);
        out.put(UNDER_REPLICATED, partitions().filter(|partition| partition.is_under_replicated).count() as f64);
        out.put(LEADERLESS, partitions().filter(|partition| partition.leader < 0).count() as f64);
    }

    fn put_group(&self, group: &ReadGroup, out: &mut SignalCollector) {
        let shown = label(&group.name);
        if let Some(members) = group.members {
            out.put_labelled(MEMBERS, &[("group", &shown)], members as f64);
        }
        let mut lags: BTreeMap<&str, f64> = BTreeMap::new();
        for committed in group.committed.iter().filter(|committed| committed.error == code::NONE && committed.offset >= 0) {
            if let Some(end) = self.ends.get(&(Arc::clone(&committed.topic), committed.partition)) {
                *lags.entry(&committed.topic).or_default() += (end - committed.offset).max(0) as f64;
            }
        }
        for (topic, lag) in lags {
            let topic = label(topic);
            out.put_labelled(LAG.part(&format!("messages of {topic} for {shown}")), &[("group", &shown), ("topic", &topic)], lag);
        }
    }
}

/// The host of `host:port`, without the brackets of an IPv6 address.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']'])
}

/// Sends each notice once.
fn notify_once(notified: &mut HashSet<String>, out: &mut SignalCollector, kind: NoticeKind, what: String) {
    if notified.insert(what.clone()) {
        out.notice(kind, what);
    }
}

#[cfg(test)]
mod tests {
    use loadstone_wire_formats::kafka::KafkaPartition;
    use serde_json::json;

    use super::*;

    fn observer(brokers: &str) -> Kafka {
        let fields = json!({ "kind": "kafka", "brokers": brokers });
        let description = ObserverDescription::new("kafka", KIND.options, fields.as_object().unwrap()).unwrap();
        Kafka::from_description(&description).unwrap()
    }

    #[test]
    fn brokers_that_the_user_did_not_list_are_refused_together() {
        let kafka = observer("Kafka-1:9092, [::1]:9093");
        assert!(kafka.check_hosts([("kafka-1", 9_092), ("::1", 1), ("KAFKA-1", 9_093)].into_iter()).is_ok());
        let refused = kafka.check_hosts([("kafka-1", 1), ("10.0.0.9", 1), ("kafka-2", 1)].into_iter()).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the cluster reports brokers that the test may not connect to: 10.0.0.9, kafka-2; if they belong to it, add them to `brokers`, or \
            permit them with `--allow-net HOST`"
        );
    }

    #[test]
    fn brokers_that_the_run_permits_are_accepted() {
        let mut kafka = observer("kafka-1:9092");
        let hosts: HostPermission = Arc::new(|host, port| (host, port) == ("kafka-2", 9_092));
        kafka.permits_hosts(&hosts);
        assert!(kafka.check_hosts([("kafka-1", 9_092), ("kafka-2", 9_092)].into_iter()).is_ok());
        let refused = kafka.check_hosts([("kafka-2", 9_093)].into_iter()).unwrap_err().to_string();
        assert!(refused.contains("may not connect to: kafka-2;"), "{refused}");
    }

    /// Offsets are the broker's word: two partitions at the largest one once ended the observer's thread.
    #[test]
    fn the_largest_offsets_add_up() {
        let partition = |number| KafkaPartition { number, leader: 1, is_under_replicated: false };
        let topic = KafkaTopic { error: 0, name: "t".into(), is_internal: false, partitions: vec![partition(0), partition(1)] };
        let committed = |partition| PartitionOffset { topic: "t".into(), partition, error: 0, offset: 0 };
        let group = ReadGroup { name: "g".into(), members: None, committed: vec![committed(0), committed(1)] };
        let mut kafka = observer("127.0.0.1:9092");
        kafka.ends = [0, 1].map(|number| (("t".into(), number), i64::MAX)).into();
        let mut out = SignalCollector::new("kafka");
        kafka.put_topics(&[topic], &mut out);
        kafka.put_group(&group, &mut out);
        let read: HashMap<String, f64> = out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), point.value)).collect();
        let both = 2.0 * i64::MAX as f64;
        assert_eq!((read["kafka/produced{topic=t}"], read["kafka/lag{group=g,topic=t}"]), (both, both));
    }
}
