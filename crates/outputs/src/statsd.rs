//! StatsD over UDP: counters, and gauges with the percentiles of each second. Plain StatsD has no tags, so names contain them.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use loadstone_metrics::{FlowSlice, Histogram, MetricSlice, MetricValue, SeriesKind, SeriesSlice, Signal, SignalKind};

use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::sink::{DeliveryError, OutputKind, OutputSetup, OutputSink, SinkError, StartOutput};
use crate::totals::{OutputTotals, labels, metric_labels, name_of};

/// Maximum size of a datagram, which fits into an Ethernet frame without fragmentation. Bytes.
const DATAGRAM_MAX: usize = 1432;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// `loadstone.Shop.List_products.requests.passed:3|c`
    Plain,
    /// `loadstone.requests:3|c|#scenario:Shop,name:List products,outcome:passed`
    Datadog,
}

pub(crate) const STATSD: OutputKind = OutputKind {
    name: "statsd",
    title: "StatsD",
    start: StartOutput::Socket { start: |to, setup| StatsdSink::start(to, setup, Dialect::Plain) },
};

/// StatsD with Datadog's tags.
pub(crate) const DOGSTATSD: OutputKind = OutputKind {
    name: "dogstatsd",
    title: "DogStatsD",
    start: StartOutput::Socket { start: |to, setup| StatsdSink::start(to, setup, Dialect::Datadog) },
};

struct StatsdSink {
    socket: UdpSocket,
    dialect: Dialect,
    run: RunLabels,
    /// Names the scenarios of the load's leaves.
    totals: OutputTotals,
    lines: Vec<String>,
    seconds: u64,
}

impl StatsdSink {
    /// StatsD has no headers.
    fn start(to: SocketAddr, OutputSetup { totals, run, .. }: OutputSetup<'_>, dialect: Dialect) -> Result<Box<dyn OutputSink>, SinkError> {
        let own: SocketAddr = if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let socket = UdpSocket::bind(own)?;
        socket.connect(to)?;
        Ok(Box::new(Self { socket, dialect, run, totals, lines: Vec::new(), seconds: 0 }))
    }

    fn line(&mut self, tags: &[(&str, &str)], name: &str, value: impl std::fmt::Display, kind: &str) {
        let line = match self.dialect {
            Dialect::Plain => {
                let path: String = tags.iter().map(|(_, value)| format!("{}.", plain(value))).collect();
                format!("loadstone.{path}{name}:{value}|{kind}")
            }
            Dialect::Datadog => {
                let mut line = format!("loadstone.{name}:{value}|{kind}|#");
                let run: Vec<(String, String)> = self.run.labels().collect();
                let run = run.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                for (index, (name, value)) in tags.iter().copied().chain(run).enumerate() {
                    // Formatting into a string cannot fail.
                    let _ = write!(line, "{}{name}:{}", if index == 0 { "" } else { "," }, value.replace(['|', ',', '\n', '#'], "_"));
                }
                line
            }
        };
        self.lines.push(line);
    }

    fn series(&mut self, series: &SeriesSlice) {
        let (noun, time) = match series.key.kind {
            SeriesKind::Request => ("requests", "response_time"),
            SeriesKind::Group => ("groups", "group_time"),
            SeriesKind::Iteration => ("iterations", "iteration_time"),
            SeriesKind::Check => ("checks", ""),
        };
        let labels = labels(&series.key);
        let tags: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (*name, &**value)).collect();
        for (outcome, count) in &series.outcomes {
            match self.dialect {
                Dialect::Plain => self.line(&tags, &format!("{noun}.{}", name_of(*outcome)), count, "c"),
                Dialect::Datadog => self.line(&[tags.as_slice(), &[("outcome", name_of(*outcome))]].concat(), noun, count, "c"),
            }
        }
        if !time.is_empty() {
            self.times(&tags, time, &series.response);
        }
    }

    /// Of the second, nearest rank. Seconds.
    fn times(&mut self, tags: &[(&str, &str)], name: &str, times: &Histogram) {
        for (quantile, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
            if let Some(ns) = times.quantile(share) {
                self.line(tags, &format!("{name}.{quantile}"), ns as f64 / 1e9, "g");
            }
        }
    }

    fn flow(&mut self, flow: &FlowSlice) {
        let tags = [("flow", &*flow.name)];
        for (name, count) in [("flows_started", flow.started), ("flows_finished", flow.finished), ("flows_timed_out", flow.timed_out)] {
            self.line(&tags, name, count, "c");
        }
        self.line(&tags, "flows_open", flow.backlog, "g");
        self.times(&tags, "flow_time", &flow.time);
    }

    /// A metric's values of the second. The name omits the unit, because the unit does not distinguish metrics.
    fn metric(&mut self, metric: &MetricSlice) {
        let labels = metric_labels(metric);
        let labels = labels.iter().filter(|(name, _)| self.dialect == Dialect::Datadog || *name != "unit");
        let tags: Vec<(&str, &str)> = labels.map(|(name, value)| (*name, &**value)).collect();
        for (figure, value) in metric.value.figures() {
            match metric.value {
                MetricValue::Counter { .. } => self.line(&tags, "metric.sum", value, "c"),
                _ => self.level(&tags, &format!("metric.{figure}"), value),
            }
        }
    }

    fn level(&mut self, tags: &[(&str, &str)], name: &str, value: f64) {
        if value < 0.0 && self.dialect == Dialect::Plain {
            // A sign would mean a change of the gauge (StatsD's metric types), so the gauge is set to zero first.
            self.line(tags, name, 0, "g");
        }
        self.line(tags, name, value, "g");
    }

    fn signal(&mut self, signal: &Signal) {
        let Some((value, labels)) =
            self.totals.signals.get(signal).and_then(|state| state.shown().map(|value| (value, state.labels.clone())))
        else {
            return;
        };
        let name = match signal.kind {
            SignalKind::Gauge => "signal",
            SignalKind::Counter => "signal_per_second",
        };
        // The name omits the unit, because the unit does not distinguish signals.
        let tags = labels.iter().filter(|(name, _)| self.dialect == Dialect::Datadog || *name != "unit");
        let tags: Vec<(&str, &str)> = tags.map(|(name, value)| (*name, &**value)).collect();
        self.level(&tags, name, value);
    }
}

impl OutputSink for StatsdSink {
    fn take(&mut self, second: &OutputSecond) {
        self.totals.add(second);
        second.load.series.iter().for_each(|series| self.series(series));
        second.load.flows.iter().for_each(|flow| self.flow(flow));
        second.load.metrics.iter().for_each(|metric| self.metric(metric));
        second.signals.iter().for_each(|(signal, _)| self.signal(signal));
        let load: Vec<_> = self.totals.load_by_scenario().map(|(scenario, load)| (scenario.clone(), load.active, load.waiting)).collect();
        for (scenario, active, waiting) in load {
            self.line(&[("scenario", &scenario)], "users_active", active, "g");
            self.line(&[("scenario", &scenario)], "arrivals_waiting", waiting, "g");
        }
        self.seconds += 1;
    }

    fn flush(&mut self) -> Result<u64, DeliveryError> {
        // Sent data is not sent again, because counters would count it twice.
        let lines = std::mem::take(&mut self.lines);
        let lost = |problem: std::io::Error| DeliveryError { text: problem.to_string(), is_transient: false };
        for datagram in datagrams(&lines) {
            self.socket.send(datagram.as_bytes()).map_err(lost)?;
        }
        Ok(std::mem::take(&mut self.seconds))
    }

    fn give_up(&mut self) {
        self.seconds = 0;
    }
}

/// Joins lines to datagrams. A single line that is too long is sent alone.
fn datagrams(lines: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(last) if last.len() + 1 + line.len() <= DATAGRAM_MAX => {
                last.push('\n');
                last.push_str(line);
            }
            _ => all.push(line.clone()),
        }
    }
    all
}

/// A part of a dotted name.
fn plain(value: &str) -> String {
    value.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_hold_whole_lines_and_stay_small() {
        let lines: Vec<String> = (0..100).map(|n| format!("loadstone.some.request.number.{n}:1|c")).collect();
        let sent = datagrams(&lines);
        assert!(sent.iter().all(|datagram| datagram.len() <= DATAGRAM_MAX));
        assert_eq!(sent.join("\n").lines().collect::<Vec<_>>(), lines);
    }
}
