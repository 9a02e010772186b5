//! The statistics of a test's stubs per second, as signals of an observer named `stub:NAME`.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{Nanos, Role, Signal, SignalBatch, SignalKind, SignalPoint, stub_observer, unit};
use loadstone_script::Stubs;
use loadstone_stub::{NameSecond, Recording, SecondCounts};

use crate::system_signals::SignalSource;

const SECOND_NS: Nanos = 1_000_000_000;

/// Metric, unit, role, and a description.
const SIGNALS: [(&str, &str, Role, &str); 7] = [
    ("calls", unit::PER_SECOND, Role::Calls, "Calls that arrived at the stub"),
    ("in_flight", unit::CALLS, Role::CallsInFlight, "Calls in the stub, mean over the second"),
    ("in_flight_max", unit::CALLS, Role::CallsInFlightMax, "Calls in the stub, maximum"),
    ("hold", unit::SECONDS, Role::CallHold, "Mean time that the stub held a call by its own delay"),
    ("answered", unit::PER_SECOND, Role::CallsAnswered, "Calls answered normally"),
    ("rejected", unit::PER_SECOND, Role::CallsRejected, "Calls rejected by a limit of the stub"),
    ("faulted", unit::PER_SECOND, Role::CallsFaulted, "Calls with an injected fault"),
];

/// The stubs as a source of signals.
pub(crate) struct StubSignals {
    stubs: Rc<Stubs>,
    known: HashMap<String, [Arc<Signal>; SIGNALS.len()]>,
    /// By observer and name.
    names: HashMap<(String, String), [Arc<Signal>; 3]>,
}

impl StubSignals {
    pub(crate) fn new(stubs: Rc<Stubs>) -> Self {
        Self { stubs, known: HashMap::new(), names: HashMap::new() }
    }

    fn batches(&mut self) -> Vec<SignalBatch> {
        let mut batches = Vec::new();
        for (name, seconds) in self.stubs.seconds() {
            let observer = stub_observer::of_stub(&name);
            let signals = self.known.entry(observer.clone()).or_insert_with(|| signals(&observer));
            let points = seconds.iter().flat_map(|second| points(second, signals)).collect();
            let (notices, flow_events, traces) = (Vec::new(), Vec::new(), TraceBatch::default());
            batches.push(SignalBatch { observer: observer.into(), points, notices, flow_events, traces });
        }
        for (server, seconds) in self.stubs.names() {
            let observer = stub_observer::of_stub(&server);
            let points = seconds.iter().flat_map(|second| self.name_points(&observer, second)).collect();
            let (notices, flow_events, traces) = (Vec::new(), Vec::new(), TraceBatch::default());
            batches.push(SignalBatch { observer: observer.into(), points, notices, flow_events, traces });
        }
        batches
    }

    /// Queries to a name server for one name, and the addresses of the name.
    fn name_points(&mut self, observer: &str, second: &NameSecond) -> [(Arc<Signal>, SignalPoint); 3] {
        let [lookups, believed, address] = self.names.entry((observer.to_owned(), second.name.clone())).or_insert_with(|| {
            let signal = |metric: &str, unit: &str, role, help: &str| {
                Arc::new(Signal::new(observer, metric, SignalKind::Gauge, unit).help(help).role(role).label("name", &second.name))
            };
            [
                signal("lookups", unit::PER_SECOND, Role::NameLookups, "Queries for the name"),
                signal("ttl", unit::SECONDS, Role::NameBelieved, "Time to live of an answer"),
                signal("address_number", unit::COUNT, Role::NameAddress, "Index of the address that the name resolves to, from 1"),
            ]
        });
        let at = second.number * SECOND_NS + SECOND_NS / 2;
        let point = |value: f64| SignalPoint { at, value };
        [
            (Arc::clone(lookups), point(second.lookups as f64)),
            (Arc::clone(believed), point(second.ttl_ns as f64 / 1e9)),
            (Arc::clone(address), point(second.address_number as f64)),
        ]
    }
}

impl SignalSource for StubSignals {
    fn begin(&mut self, zero: Monotonic) {
        self.stubs.begin(zero);
    }

    fn take(&mut self) -> Vec<SignalBatch> {
        self.batches()
    }

    fn finish(mut self: Box<Self>) -> Vec<SignalBatch> {
        self.batches()
    }
}

fn signals(observer: &str) -> [Arc<Signal>; SIGNALS.len()] {
    SIGNALS.map(|(metric, unit, role, help)| Arc::new(Signal::new(observer, metric, SignalKind::Gauge, unit).help(help).role(role)))
}

/// In the order of [`SIGNALS`]. The point of a second is at its middle. Hold times are missing in a second in which no call ended.
fn points<'a>(
    second: &SecondCounts,
    signals: &'a [Arc<Signal>; SIGNALS.len()],
) -> impl Iterator<Item = (Arc<Signal>, SignalPoint)> + use<'a> {
    let at = second.number * SECOND_NS + SECOND_NS / 2;
    let ended = second.answered + second.faulted;
    let values = [
        Some(second.calls as f64),
        Some(second.in_flight_ns as f64 / SECOND_NS as f64),
        Some(second.in_flight_max as f64),
        (ended > 0).then(|| second.held_ns as f64 / ended as f64 / 1e9),
        Some(second.answered as f64),
        Some(second.rejected as f64),
        Some(second.faulted as f64),
    ];
    signals.iter().zip(values).filter_map(move |(signal, value)| Some((Arc::clone(signal), SignalPoint { at, value: value? })))
}

/// Calls that matched no route of a stub, in one sentence per stub. The usual cause is a wrong address.
pub(crate) fn unmatched(recordings: &[(String, Recording)]) -> Vec<String> {
    let sentence = |(name, recording): &(String, Recording)| {
        let calls = loadstone_units::counted(recording.unmatched, "call");
        format!(
            "{} had {calls} that none of its routes matched; they were answered with 404, those of gRPC with UNIMPLEMENTED",
            stub_observer::of_stub(name)
        )
    };
    recordings.iter().filter(|(_, recording)| recording.unmatched > 0).map(sentence).collect()
}

/// Calls that the stubs still hold when the run ends, in a sentence.
pub(crate) fn held(recordings: &[(String, Recording)]) -> Option<String> {
    let calls: u64 = recordings.iter().map(|(_, recording)| recording.in_flight).sum();
    (calls > 0)
        .then(|| format!("{} to stubs still open: waiting up to ten seconds for the response", loadstone_units::counted(calls, "call")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_becomes_a_point_of_each_signal() {
        let second = SecondCounts {
            number: 3,
            calls: 20,
            in_flight_ns: 12 * SECOND_NS,
            in_flight_max: 14,
            answered: 8,
            faulted: 2,
            held_ns: 5 * SECOND_NS,
            ..SecondCounts::default()
        };
        let signals = signals("stub:hook");
        let values: Vec<(&str, f64)> = points(&second, &signals)
            .map(|(signal, point)| {
                assert_eq!(point.at, 3_500_000_000);
                (SIGNALS[signals.iter().position(|known| *known == signal).unwrap()].0, point.value)
            })
            .collect();
        let expected = [
            ("calls", 20.0),
            ("in_flight", 12.0),
            ("in_flight_max", 14.0),
            ("hold", 0.5),
            ("answered", 8.0),
            ("rejected", 0.0),
            ("faulted", 2.0),
        ];
        assert_eq!(values, expected);
        assert_eq!(points(&SecondCounts::default(), &signals).count(), 6, "no call ended, so there is no hold");
    }
}
