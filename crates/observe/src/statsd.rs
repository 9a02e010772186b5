//! A listener for StatsD and DogStatsD packets.
//!
//! Counters become totals; timers become a count, a sum, and the largest of the interval; sets become the number of different values
//! of the interval. The socket is drained twenty times a second, so that the kernel's buffer need not hold a second's packets.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

use crate::ObserveError;
use crate::description::Description;
use crate::readings::{Readings, SERIES_MAX, label};

/// Values of a set told apart per interval.
const SET_MAX: usize = 10_000;
/// Packets read at one go, so that a flood cannot keep the thread.
const PACKETS_MAX: usize = 20_000;

#[derive(Debug)]
pub(crate) struct Statsd {
    listen: SocketAddr,
    socket: Option<UdpSocket>,
    /// How many drains make a report.
    drains: u64,
    drained: u64,
    series: BTreeMap<String, Series>,
    packets: u64,
    unreadable: u64,
}

#[derive(Debug)]
enum Series {
    Counter(f64),
    Gauge(f64),
    Timer { count: f64, sum_ms: f64, max_ms: f64 },
    Set(HashSet<String>),
}

impl Statsd {
    pub(crate) const DRAIN_NS: u64 = 50_000_000;

    pub(crate) fn from_description(description: &mut Description<'_>, every_ns: u64) -> Result<Self, ObserveError> {
        let listen = description.text("listen")?.unwrap_or("127.0.0.1:8125");
        let wrong = |_| description.problem(format!("listen \"{listen}\" is not an address such as \"127.0.0.1:8125\""));
        let listen = listen.parse().map_err(wrong)?;
        let drains = (every_ns / Self::DRAIN_NS).max(1);
        Ok(Self { listen, socket: None, drains, drained: 0, series: BTreeMap::new(), packets: 0, unreadable: 0 })
    }

    /// # Errors
    /// When the address is taken.
    pub(crate) fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        if self.socket.is_none() {
            let bound = UdpSocket::bind(self.listen).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
            self.socket = Some(bound.map_err(|problem| format!("cannot listen on {}: {problem}", self.listen))?);
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
        let key = if tags.is_empty() { label(name) } else { format!("{}{{{}}}", label(name), label(&tags.replace(':', "="))) };
        if !self.series.contains_key(&key) && self.series.len() >= SERIES_MAX {
            return None;
        }
        values.split(':').try_for_each(|value| self.value(&key, kind, value, share))
    }

    fn value(&mut self, key: &str, kind: &str, value: &str, share: f64) -> Option<()> {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let fresh = match kind {
            "c" => Series::Counter(0.0),
            "g" => Series::Gauge(0.0),
            "ms" | "h" | "d" => Series::Timer { count: 0.0, sum_ms: 0.0, max_ms: 0.0 },
            "s" => Series::Set(HashSet::new()),
            _ => return None,
        };
        match (self.series.entry(key.to_owned()).or_insert(fresh), kind) {
            (Series::Counter(total), "c") => *total += number? / share,
            // A sign makes a gauge's value a change.
            (Series::Gauge(level), "g") if value.starts_with(['+', '-']) => *level += number?,
            (Series::Gauge(level), "g") => *level = number?,
            (Series::Timer { count, sum_ms, max_ms }, "ms" | "h" | "d") => {
                *count += 1.0 / share;
                *sum_ms += number? / share;
                *max_ms = max_ms.max(number?);
            }
            (Series::Set(values), "s") => {
                if values.len() < SET_MAX {
                    values.insert(value.to_owned());
                }
            }
            // The same name with another type.
            _ => return None,
        }
        Some(())
    }

    fn report(&mut self, out: &mut Readings) {
        for (key, series) in &mut self.series {
            let suffixed = |suffix: &str| match key.split_once('{') {
                Some((name, tags)) => format!("{name}_{suffix}{{{tags}"),
                None => format!("{key}_{suffix}"),
            };
            match series {
                Series::Counter(total) => out.counter(key, "1", "StatsD counter", *total),
                Series::Gauge(level) => out.gauge(key, "1", "StatsD gauge", *level),
                Series::Timer { count, sum_ms, max_ms } => {
                    out.counter(&suffixed("count"), "1", "Values of a StatsD timer", *count);
                    out.counter(&suffixed("sum"), "1", "Sum of a StatsD timer's values, usually milliseconds", *sum_ms);
                    out.gauge(&suffixed("max"), "1", "Largest value since the last reading", *max_ms);
                    *max_ms = 0.0;
                }
                Series::Set(values) => {
                    out.gauge(key, "1", "Different values of a StatsD set since the last reading", values.len() as f64);
                    values.clear();
                }
            }
        }
        out.counter("packets", "1", "StatsD packets received", self.packets as f64);
        out.counter("unreadable", "1", "StatsD lines that could not be read", self.unreadable as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::HashMap;

    fn statsd() -> Statsd {
        let value = json!({ "kind": "statsd" });
        let mut description = Description::new(&value).unwrap();
        Statsd::from_description(&mut description, 1_000_000_000).unwrap()
    }

    fn report(statsd: &mut Statsd) -> HashMap<String, f64> {
        let mut out = Readings::new("statsd");
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

    proptest! {
        #[test]
        fn never_panics(text in "[ -~\n|:@#]{0,200}") {
            statsd().packet(&text);
        }
    }
}
