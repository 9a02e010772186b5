//! Synthetic seconds of a run for tests: response times of 1 ms, 2 ms, …, so that every percentile is known.

use std::time::{Duration, SystemTime};

use loadstone_metrics::{
    FlowSlice, Histogram, LeafSlice, MetricSlice, MetricValue, Outcome, Phases, Recorder, Sample, SeriesKey, SeriesKind, Signal,
    SignalKind, SignalPoint, Snapshot, Tags, ValueHistogram,
};
use loadstone_outputs::{Destination, Outputs, RunLabels};
use loadstone_plan::{LoadProfile, TestPlan};

/// Requests per second. The n-th takes n milliseconds; the last one of a second fails.
pub(crate) const REQUESTS: u64 = 100;
/// A name that every format must quote in its own way.
pub(crate) const NAME: &str = "GET /a, b=\"c d\"";

pub(crate) fn plan() -> TestPlan {
    TestPlan::of_scenario("Shop", "Buy", LoadProfile::rate(100.0, 3_000_000_000))
}

/// A run that began a moment ago: receivers refuse what is too old or lies ahead.
pub(crate) fn run(id: &str) -> RunLabels {
    let begun = SystemTime::now() - Duration::from_secs(20);
    let since = begun.duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
    RunLabels::new("Shop", id, since.as_nanos() as u64)
}

pub(crate) fn second(number: u32) -> Snapshot {
    let mut recorder = Recorder::new(0, 100);
    let begin = u64::from(number) * 1_000_000_000;
    let request = recorder.series(&SeriesKey::new(SeriesKind::Request, "Buy", NAME));
    let iteration = recorder.series(&SeriesKey::new(SeriesKind::Iteration, "Buy", "Buy"));
    for n in 1..=REQUESTS {
        let ended = begin + n * 1_000_000;
        let outcome = if n == REQUESTS { Outcome::Status } else { Outcome::Passed };
        let status = if n == REQUESTS { 503 } else { 200 };
        let phases = Phases { wait: n * 1_000_000, ..Phases::default() };
        let sample = Sample {
            scheduled: begin,
            started: begin,
            ended,
            phases,
            outcome,
            status,
            bytes_sent: 10,
            bytes_received: 90,
            retried: 0,
            trace: None,
        };
        recorder.record(request, &sample);
        recorder.record(iteration, &sample);
    }
    let mut snapshot = recorder.drain(number, begin, begin + 1_000_000_000);
    snapshot.leaves = vec![LeafSlice { leaf: 0, arrivals_due: REQUESTS, started: REQUESTS, users_active: 7, ..LeafSlice::default() }];
    let mut time = Histogram::new();
    time.record_n(20_000_000, 4);
    snapshot.flows =
        vec![FlowSlice { name: "Delivery".into(), started: 5, finished: 4, backlog: u64::from(number) + 1, time, ..FlowSlice::default() }];
    let mut values = ValueHistogram::default();
    [5.0, -2.5].into_iter().for_each(|value| values.record(value));
    let metric = |name: &str, tags: &[(&str, &str)], value| MetricSlice {
        name: name.into(),
        unit: "EUR".into(),
        tags: Tags::new(tags.iter().copied()),
        value,
    };
    snapshot.metrics = vec![
        metric("Order value", &[], MetricValue::Trend(values)),
        metric("Orders", &[], MetricValue::Counter { count: 3, sum: 4.5 }),
        metric("Orders", &[("country", "DE")], MetricValue::Counter { count: 1, sum: 1.5 }),
    ];
    snapshot
}

/// What observers have read in a second: sessions by what they wait for (−1, then 0, …), CPU (half a core), memory, bytes, commits.
fn signals() -> [Signal; 6] {
    let signal = |metric: &str, kind, unit: &str| Signal::new("postgres", metric, kind, unit);
    let (gauge, counter) = (SignalKind::Gauge, SignalKind::Counter);
    [
        signal("sessions", gauge, "sessions").label("wait", "Lock:tuple"),
        signal("cpu", counter, "seconds"),
        signal("memory", gauge, "bytes"),
        signal("read", counter, "bytes"),
        signal("commits", counter, "1"),
        signal("oldest_transaction", gauge, "seconds"),
    ]
}

/// Pushes a second with the readings at its end.
pub(crate) fn push(outputs: &mut Outputs, number: u32) {
    let n = f64::from(number);
    let values = [n - 1.0, 100.0 + 0.5 * n, 1e6, 5e6 * n, 20.0 * n, 1.5];
    let at = u64::from(number + 1) * 1_000_000_000;
    let signals = signals();
    let readings = signals.iter().zip(values).map(|(signal, value)| (signal, SignalPoint { at, value }));
    outputs.push(&second(number), readings);
}

/// Sends these seconds to one destination and says how that went.
pub(crate) fn send(destination: &str, id: &str, seconds: u32) -> loadstone_outputs::OutputDelivery {
    let to: Destination = destination.parse().expect("a destination");
    let mut outputs = Outputs::start(&[to], &[], None, &plan(), &run(id)).expect("it starts");
    (0..seconds).for_each(|number| push(&mut outputs, number));
    outputs.finish().remove(0)
}
