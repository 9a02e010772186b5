//! A listener for StatsD and DogStatsD packets.
//!
//! Counters become totals; timers become a count, a sum, and the largest of the interval; sets become the number of different values
//! of the interval. The socket is drained twenty times a second, so that the kernel's buffer need not hold a second's packets.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

use loadstone_metrics::{SignalKind, unit};

use crate::collector::{MetricSpec, SERIES_MAX, SignalCollector, label};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::pools;
use crate::reader::{PendingRead, SignalReader, at_once};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "statsd",
    watches: "a service that sends StatsD",
    example: "observe.statsd({ listen: \"127.0.0.1:8125\" })",
    alternatives: "",
    reports: "what the service sends; point it there",
    options: &[ObserverOption {
        name: "listen",
        takes: OptionValue::Text { default: Some("127.0.0.1:8125") },
        help: "listen address, by UDP",
    }],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(StatsdListener::from_description(description)?)),
};

const PACKETS: MetricSpec<'_> = MetricSpec::counter("packets", unit::COUNT, "StatsD packets received");
const UNREADABLE: MetricSpec<'_> = MetricSpec::counter("unreadable", unit::COUNT, "StatsD lines that could not be read");

/// Distinct values of a set per interval.
const SET_MAX: usize = 10_000;
/// Maximum number of packets per drain, so that a flood cannot block the thread.
const PACKETS_MAX: usize = 20_000;

/// The listener could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {listen}: {problem}")]
struct ListenError {
    listen: SocketAddr,
    problem: std::io::Error,
}

#[derive(Debug)]
struct StatsdListener {
    listen: SocketAddr,
    socket: Option<UdpSocket>,
    /// Drains per report.
    drains: u64,
    drained: u64,
    /// By name and tags.
    series: BTreeMap<StatsdKey, StatsdSeries>,
    packets: u64,
    unreadable: u64,
}

/// The name of a metric, and its tags in one string: `env=prod,host=a`.
type StatsdKey = (String, String);

#[derive(Debug)]
enum StatsdSeries {
    Counter(f64),
    Gauge(f64),
    Timer { count: f64, sum_ms: f64, max_ms: f64 },
    Set(HashSet<String>),
}

impl SignalReader for StatsdListener {
    fn period_ns(&self, every_ns: u64) -> u64 {
        Self::DRAIN_NS.min(every_ns)
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        at_once(self.look(out))
    }
}

impl StatsdListener {
    const DRAIN_NS: u64 = 50_000_000;

    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let listen = description.text("listen").unwrap_or_default();
        let wrong = |_| description.problem(format!("listen \"{listen}\" is not an address such as \"127.0.0.1:8125\""));
        let listen = listen.parse().map_err(wrong)?;
        let drains = (description.duration_ns("every") / Self::DRAIN_NS).max(1);
        Ok(Self { listen, socket: None, drains, drained: 0, series: BTreeMap::new(), packets: 0, unreadable: 0 })
    }

    /// # Errors
    /// When the address is taken.
    fn look(&mut self, out: &mut SignalCollector) -> Result<(), ListenError> {
        if self.socket.is_none() {
            let bound = UdpSocket::bind(self.listen).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
            self.socket = Some(bound.map_err(|problem| ListenError { listen: self.listen, problem })?);
        }
        self.drain();
        self.drained += 1;
        if self.drained >= self.drains {
            self.drained = 0;
            self.report(out);
        }
        Ok(())
    }

    fn drain(&mut self) {
        let mut buffer = vec![0; 65_536];
        for _ in 0..PACKETS_MAX {
            let Some(socket) = &self.socket else { return };
            match socket.recv(&mut buffer) {
                Ok(count) => self.packet(&String::from_utf8_lossy(&buffer[..count])),
                Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn packet(&mut self, text: &str) {
        self.packets += 1;
        for line in text.lines().filter(|line| !line.is_empty()) {
            if self.line(line).is_none() {
                self.unreadable += 1;
            }
        }
    }

    /// `name:value[:value…]|type[|@share][|#tag:value,…]`.
    fn line(&mut self, line: &str) -> Option<()> {
        let mut parts = line.split('|');
        let (name, values) = parts.next()?.split_once(':')?;
        let kind = parts.next()?;
        let (mut share, mut tags) = (1.0, "");
        for part in parts {
            if let Some(text) = part.strip_prefix('@') {
                share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0)?;
            } else if let Some(text) = part.strip_prefix('#') {
                tags = text;
            }
        }
        let key = (label(name), label(&tags.replace(':', "=")));
        if !self.series.contains_key(&key) && self.series.len() >= SERIES_MAX {
            return None;
        }
        values.split(':').try_for_each(|value| self.value(&key, kind, value, share))
    }

    fn value(&mut self, key: &StatsdKey, kind: &str, value: &str, share: f64) -> Option<()> {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let fresh = match kind {
            "c" => StatsdSeries::Counter(0.0),
            "g" => StatsdSeries::Gauge(0.0),
            "ms" | "h" | "d" => StatsdSeries::Timer { count: 0.0, sum_ms: 0.0, max_ms: 0.0 },
            "s" => StatsdSeries::Set(HashSet::new()),
            _ => return None,
        };
        match (self.series.entry(key.clone()).or_insert(fresh), kind) {
            (StatsdSeries::Counter(total), "c") => *total += number? / share,
            // A sign means that the value is a change of the gauge.
            (StatsdSeries::Gauge(level), "g") if value.starts_with(['+', '-']) => *level += number?,
            (StatsdSeries::Gauge(level), "g") => *level = number?,
            (StatsdSeries::Timer { count, sum_ms, max_ms }, "ms" | "h" | "d") => {
                *count += 1.0 / share;
                *sum_ms += number? / share;
                *max_ms = max_ms.max(number?);
            }
            (StatsdSeries::Set(values), "s") => {
                if values.len() < SET_MAX {
                    values.insert(value.to_owned());
                }
            }
            // The same name with another type.
            _ => return None,
        }
        Some(())
    }

    fn report(&mut self, out: &mut SignalCollector) {
        use SignalKind::{Counter, Gauge};
        for ((name, tags), series) in &mut self.series {
            let mut put = |kind, suffix: &str, help: &str, value| put(out, kind, &format!("{name}{suffix}"), tags, help, value);
            match series {
                StatsdSeries::Counter(total) => put(Counter, "", "StatsD counter", *total),
                StatsdSeries::Gauge(level) => put(Gauge, "", "StatsD gauge", *level),
                StatsdSeries::Timer { count, sum_ms, max_ms } => {
                    put(Counter, "_count", "Values of a StatsD timer", *count);
                    put(Counter, "_sum", "Sum of a StatsD timer's values, usually milliseconds", *sum_ms);
                    put(Gauge, "_max", "Largest value since the last reading", *max_ms);
                    *max_ms = 0.0;
                }
                StatsdSeries::Set(values) => {
                    put(Gauge, "", "Different values of a StatsD set since the last reading", values.len() as f64);
                    values.clear();
                }
            }
        }
        out.put(PACKETS, self.packets as f64);
        out.put(UNREADABLE, self.unreadable as f64);
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::{BTreeMap, SignalCollector, StatsdListener};

    pub(in crate::kinds) fn packet(text: &str, out: &mut SignalCollector) {
        let (listen, series) = (([127, 0, 0, 1], 0).into(), BTreeMap::new());
        let mut listener = StatsdListener { listen, socket: None, drains: 1, drained: 0, series, packets: 0, unreadable: 0 };
        listener.packet(text);
        listener.report(out);
    }
}

/// A tag may have no value.
fn put(out: &mut SignalCollector, kind: SignalKind, name: &str, tags: &str, help: &str, value: f64) {
    let tags = tags.split(',').filter(|_| !tags.is_empty());
    let tags: Vec<(&str, Option<&str>)> =
        tags.map(|tag| tag.split_once('=').map_or((tag, None), |(name, value)| (name, Some(value)))).collect();
    out.put_described(MetricSpec::new(kind, name, unit::COUNT, help), &tags, value, pools::with_meaning);
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_metrics::Role;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::HashMap;

    fn statsd() -> StatsdListener {
        let value = json!({ "kind": "statsd" });
        let description = ObserverDescription::new(KIND.name, KIND.options, value.as_object().unwrap()).unwrap();
        StatsdListener::from_description(&description).unwrap()
    }

    fn report(statsd: &mut StatsdListener) -> HashMap<String, f64> {
        let mut out = SignalCollector::new("statsd");
        statsd.report(&mut out);
        out.finish(0).into_iter().map(|(signal, point)| (signal.name.strip_prefix("statsd/").unwrap().to_owned(), point.value)).collect()
    }

    #[test]
    fn every_type() {
        let mut statsd = statsd();
        statsd.packet("hits:2|c\nhits:1|c|@0.1\nload:5|g\nload:-2|g\nwait:10:30|ms|#env:prod,host:a\nwho:ann|s\nwho:bob|s\nwho:ann|s");
        statsd.packet("bad\nx:y|c\nx:1|q\nhits:1|g");
        let seen = report(&mut statsd);
        for (name, value) in [
            ("hits", 12.0),
            ("load", 3.0),
            ("wait_count{env=prod,host=a}", 2.0),
            ("wait_sum{env=prod,host=a}", 40.0),
            ("wait_max{env=prod,host=a}", 30.0),
            ("who", 2.0),
            ("packets", 2.0),
            ("unreadable", 4.0),
        ] {
            assert_eq!(seen.get(name), Some(&value), "{name} in {seen:?}");
        }
        statsd.packet("hits:1|c");
        let seen = report(&mut statsd);
        assert_eq!((seen["hits"], seen["who"], seen["wait_max{env=prod,host=a}"]), (13.0, 0.0, 0.0));
    }

    #[test]
    fn tags_stand_in_the_name_as_they_were_sent() {
        let mut statsd = statsd();
        statsd.packet("db.pool.waiting:3|g|#canary,url:http://a,shard:1,\ndb.pool.idle:0|g|#canary,url:http://a,shard:1,");
        let mut out = SignalCollector::new("statsd");
        statsd.report(&mut out);
        let signals: Vec<_> = out.finish(0).into_iter().map(|(signal, _)| signal).filter(|signal| signal.role.is_some()).collect();
        assert_eq!(signals[1].name, "statsd/db.pool.waiting{canary,url=http=//a,shard=1,}");
        assert_eq!(signals[1].label_value("url"), Some("http=//a"));
        assert_eq!(signals.iter().map(|signal| signal.role).collect::<Vec<_>>(), [Some(Role::PoolIdle), Some(Role::PoolWaiting)]);
        assert_eq!(signals[0].part, signals[1].part);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[ -~\n|:@#]{0,200}") {
            statsd().packet(&text);
        }
    }
}
