//! Constructs runs for tests.

use loadstone_metrics::{
    GeneratorSlice, LeafSlice, Outcome, Phases, PoolMembers, Recorder, Role, Sample, SeriesKey, SeriesKind, Signal, SignalKind,
    SignalPoint, Snapshot,
};
use loadstone_plan::{Aggregate, ClosedStage, Comparison, LoadProfile, Metric, OpenStage, TestPlan, Threshold, Timing};
use loadstone_run_directory::{HostFacts, Run, RunEnd, RunInfo, SignalSeries};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn plan(profile: LoadProfile) -> TestPlan {
    TestPlan::of_scenario("shop", "Buy", profile)
}

pub(crate) fn open(rate: f64, seconds: u64) -> LoadProfile {
    LoadProfile::Open { stages: vec![OpenStage::Rate { from: rate, to: rate, duration_ns: seconds * SECOND, timing: Timing::Even }] }
}

pub(crate) fn closed(users: u64, seconds: u64) -> LoadProfile {
    LoadProfile::Closed { stages: vec![ClosedStage { from: users, to: users, duration_ns: seconds * SECOND }] }
}

pub(crate) fn run_of(plan: TestPlan, slices: Vec<Snapshot>) -> Run {
    let info = RunInfo {
        format: 1,
        id: "2026-11-20T18-30-05-shop".to_owned(),
        loadstone: "0.1.0".to_owned(),
        started: "2026-11-20T18:30:05Z".to_owned(),
        file: Some("test.load.ts".to_owned()),
        script: None,
        commit: None,
        branch: None,
        dirty: false,
        workers: 1,
        host: HostFacts { cores: 2, ..HostFacts::default() },
        tags: Vec::new(),
        agents: Vec::new(),
        fleet: None,
    };
    Run { end: Some(RunEnd::Completed), ..Run::new(info, plan, slices) }
}

pub(crate) fn key(kind: SeriesKind, name: &str) -> SeriesKey {
    SeriesKey { kind, scenario: "Buy".into(), group: "".into(), name: name.into() }
}

/// Builder for one second of a run.
pub(crate) struct Slice {
    number: u32,
    recorder: Recorder,
}

impl Slice {
    pub(crate) fn new(number: u32) -> Self {
        let mut recorder = Recorder::new(0, 100);
        recorder.generator().wall_ns = SECOND;
        recorder.generator().busy_ns = SECOND / 10;
        Self { number, recorder }
    }

    fn begin(&self) -> u64 {
        u64::from(self.number) * SECOND
    }

    /// A request with the given schedule lag and service time. Nanoseconds.
    pub(crate) fn request(mut self, name: &str, lag: u64, service: u64, outcome: Outcome) -> Self {
        self.record(SeriesKind::Request, name, lag, service, outcome);
        self
    }

    /// A passed request that first waits for its connection.
    pub(crate) fn request_connecting(mut self, name: &str, connect: u64, service: u64) -> Self {
        let phases = Phases { connect, wait: service - connect, ..Phases::default() };
        self.record_with(&key(SeriesKind::Request, name), 0, phases, service, Outcome::Passed);
        self
    }

    /// A passed request with the given phases.
    pub(crate) fn request_with(mut self, name: &str, phases: Phases, service: u64) -> Self {
        self.record_with(&key(SeriesKind::Request, name), 0, phases, service, Outcome::Passed);
        self
    }

    /// `count` passed requests of equal time.
    pub(crate) fn requests(mut self, name: &str, count: u64, service: u64) -> Self {
        (0..count).for_each(|_| self.record(SeriesKind::Request, name, 0, service, Outcome::Passed));
        self
    }

    /// `count` passed requests of another scenario, of equal time.
    pub(crate) fn requests_of(mut self, scenario: &str, name: &str, count: u64, service: u64) -> Self {
        let key = SeriesKey { scenario: scenario.into(), ..key(SeriesKind::Request, name) };
        (0..count).for_each(|_| self.record_as(&key, 0, service, Outcome::Passed));
        self
    }

    /// A passed request of a group.
    pub(crate) fn request_in(mut self, group: &str, name: &str, service: u64) -> Self {
        self.record_as(&SeriesKey { group: group.into(), ..key(SeriesKind::Request, name) }, 0, service, Outcome::Passed);
        self
    }

    pub(crate) fn record(&mut self, kind: SeriesKind, name: &str, lag: u64, service: u64, outcome: Outcome) {
        self.record_as(&key(kind, name), lag, service, outcome);
    }

    fn record_as(&mut self, key: &SeriesKey, lag: u64, service: u64, outcome: Outcome) {
        self.record_with(key, lag, Phases { wait: service, ..Phases::default() }, service, outcome);
    }

    fn record_with(&mut self, key: &SeriesKey, lag: u64, phases: Phases, service: u64, outcome: Outcome) {
        // Late enough that the lag can be subtracted.
        let started = self.begin() + 1_000 * SECOND;
        let id = self.recorder.series(key);
        if key.kind == SeriesKind::Request {
            self.recorder.generator().in_flight_ns += service;
        }
        let sample = Sample {
            scheduled: started - lag,
            started,
            ended: started + service,
            phases,
            outcome,
            status: if outcome == Outcome::Passed { 200 } else { 0 },
            bytes_sent: 100,
            bytes_received: 1000,
            retried: 0,
            trace: None,
        };
        self.recorder.record(id, &sample);
    }

    pub(crate) fn check(mut self, name: &str, passed: bool) -> Self {
        let id = self.recorder.series(&key(SeriesKind::Check, name));
        self.recorder.check(id, passed);
        self
    }

    /// An iteration's function threw.
    pub(crate) fn script_error(mut self) -> Self {
        let id = self.recorder.series(&key(SeriesKind::Iteration, "Buy"));
        self.recorder.script_error(id);
        self
    }

    pub(crate) fn leaf(mut self, set: impl FnOnce(&mut LeafSlice)) -> Self {
        set(self.recorder.leaf(0));
        self
    }

    /// As many iterations of one leaf as due arrivals, all ended.
    pub(crate) fn arrivals_of(mut self, leaf: u32, count: u64) -> Self {
        let leaf = self.recorder.leaf(leaf);
        (leaf.arrivals_due, leaf.started, leaf.ended) = (count, count, count);
        self
    }

    /// As many iterations as due arrivals, all ended.
    pub(crate) fn arrivals(self, count: u64) -> Self {
        self.leaf(|leaf| {
            leaf.arrivals_due = count;
            leaf.started = count;
            leaf.ended = count;
        })
    }

    pub(crate) fn generator(mut self, set: impl FnOnce(&mut GeneratorSlice)) -> Self {
        set(self.recorder.generator());
        self
    }

    pub(crate) fn done(mut self) -> Snapshot {
        let (begin, number) = (self.begin(), self.number);
        let in_flight_ns = self.recorder.generator().in_flight_ns;
        let mut snapshot = self.recorder.drain(number, begin, begin + SECOND);
        snapshot.generator[0].in_flight_ns = in_flight_ns;
        snapshot
    }
}

pub(crate) fn threshold(metric: Metric, aggregate: Aggregate, comparison: Comparison, value: f64) -> Threshold {
    Threshold::new("threshold", metric, aggregate, comparison, value)
}

/// Builder for a signal: its name, its role, and then its readings.
#[derive(Debug, Clone)]
pub(crate) struct SyntheticSignal(Signal);

/// A level.
pub(crate) fn gauge(observer: &str, metric: &str) -> SyntheticSignal {
    SyntheticSignal(Signal {
        name: format!("{observer}/{metric}"),
        observer: observer.to_owned(),
        kind: SignalKind::Gauge,
        unit: "1".to_owned(),
        ..Signal::default()
    })
}

/// A growing total; its readings are specified as growth per second.
pub(crate) fn counter(observer: &str, metric: &str) -> SyntheticSignal {
    SyntheticSignal(Signal { kind: SignalKind::Counter, ..gauge(observer, metric).0 })
}

impl SyntheticSignal {
    pub(crate) fn role(self, role: Role) -> Self {
        Self(Signal { role: Some(role), ..self.0 })
    }

    pub(crate) fn part(self, part: &str) -> Self {
        Self(Signal { part: part.to_owned(), ..self.0 })
    }

    pub(crate) fn members(self, members: PoolMembers) -> Self {
        Self(Signal { members: Some(members), ..self.0 })
    }

    pub(crate) fn unit(self, unit: &str) -> Self {
        Self(Signal { unit: unit.to_owned(), ..self.0 })
    }

    /// Adds `{label=value}` to its name.
    pub(crate) fn label(mut self, label: &str, value: &str) -> Self {
        self.0.name = match self.0.name.strip_suffix('}') {
            Some(start) => format!("{start},{label}={value}}}"),
            None => format!("{}{{{label}={value}}}", self.0.name),
        };
        self.0.labels.push((label.to_owned(), value.to_owned()));
        self
    }

    /// Adds the signal with a value in the middle of each second. It replaces a signal with the same name.
    pub(crate) fn each_second(self, run: &mut Run, value: impl Fn(u64) -> f64) {
        let mut total = 0.0;
        let points = (0..run.slices.len() as u64).map(|second| {
            total = value(second) + if self.0.kind == SignalKind::Counter { total } else { 0.0 };
            SignalPoint { at: second * SECOND + SECOND / 2, value: total }
        });
        let points = points.collect();
        run.signals.retain(|series| series.signal.name != self.0.name);
        run.signals.push(SignalSeries { signal: self.0, points });
    }

    /// Adds one reading.
    pub(crate) fn reading(self, signals: &mut Vec<SignalSeries>, at: u64, value: f64) {
        let known = signals.iter().position(|series| series.signal.name == self.0.name).unwrap_or_else(|| {
            signals.push(SignalSeries { signal: self.0, points: Vec::new() });
            signals.len() - 1
        });
        signals[known].points.push(SignalPoint { at, value });
    }
}
