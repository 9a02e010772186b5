//! A synthetic run, second by second through the real recorder and journey book: 50 requests in 10 groups, 200 signals, a flow with a backlog of a
//! million. One request in a hundred fails, in one of 40 ways.

use std::sync::Arc;

use loadstone_metrics::{
    FlowBook, FlowDefinition, FlowEvent, FlowKey, FlowStep, LeafChange, MarkKind, Outcome, Phases, Recorder, Sample, SeriesId, SeriesKey,
    SeriesKind, Signal, SignalKind, SignalPoint, Snapshot,
};
use loadstone_plan::{FlowSpec, LoadProfile, TestPlan};
use loadstone_run_directory::{HostFacts, RunInfo, SignalSeries};

const SECOND_NS: u64 = 1_000_000_000;
const REQUESTS: usize = 50;
const GROUPS: usize = 10;
const SIGNALS: usize = 200;
const FAILURE_KINDS: u64 = 40;
const FLOW: &str = "Delivery";

/// Generates the seconds of a run.
pub(crate) struct SyntheticRun {
    recorder: Recorder,
    requests: Vec<SeriesId>,
    groups: Vec<SeriesId>,
    iterations: SeriesId,
    failures: Vec<String>,
    signals: Vec<Signal>,
    levels: Vec<f64>,
    book: FlowBook,
    flow: FlowLoad,
    /// Journeys that have started, and that have finished.
    journeys: (u64, u64),
    iterations_per_second: u64,
    draws: u64,
}

/// Parameters of the flow.
#[derive(Clone, Copy)]
pub(crate) struct FlowLoad {
    /// Journeys that remain open, and the seconds until that number is reached.
    pub(crate) backlog: u64,
    pub(crate) within_s: u64,
    /// Journeys that finish.
    pub(crate) per_second: u64,
}

pub(crate) fn plan(hours: f64, iterations_per_second: u64) -> TestPlan {
    let profile = LoadProfile::rate(iterations_per_second as f64, (hours * 3600e9) as u64);
    let flow = FlowSpec { name: FLOW.to_owned(), timeout_ns: None, drain_ns: 0, stages: Vec::new() };
    TestPlan { flows: vec![flow], target: Some("http://127.0.0.1:8080".to_owned()), ..TestPlan::of_scenario("days", "Shop", profile) }
}

pub(crate) fn info() -> RunInfo {
    RunInfo {
        loadstone: "0.1.0".to_owned(),
        started: "2026-11-20T18:30:05Z".to_owned(),
        workers: 1,
        host: HostFacts { cores: 2, ..HostFacts::default() },
        ..RunInfo::default()
    }
}

impl SyntheticRun {
    pub(crate) fn new(iterations_per_second: u64, flow: FlowLoad) -> Self {
        let mut recorder = Recorder::new(0, 500);
        let mut series =
            |kind, group: String, name: String| recorder.series(&SeriesKey { group: group.into(), ..SeriesKey::new(kind, "Shop", name) });
        let group = |n: usize| format!("Group {}", n % GROUPS);
        let requests = (0..REQUESTS).map(|n| series(SeriesKind::Request, group(n), format!("Request {n}"))).collect();
        let groups = (0..GROUPS).map(|n| series(SeriesKind::Group, String::new(), group(n))).collect();
        let iterations = series(SeriesKind::Iteration, String::new(), "Shop".to_owned());
        let signal = |n: usize| {
            let kind = if n.is_multiple_of(4) { SignalKind::Counter } else { SignalKind::Gauge };
            Signal::new(&format!("service{}", n / 20), &format!("metric{n}"), kind, "")
        };
        let definition = FlowDefinition { name: Arc::from(FLOW), timeout_ns: None, stages: Vec::new() };
        Self {
            recorder,
            requests,
            groups,
            iterations,
            failures: (0..FAILURE_KINDS).map(|kind| format!("status 5{kind:02}, expected 200")).collect(),
            signals: (0..SIGNALS).map(signal).collect(),
            levels: (0..SIGNALS).map(|n| 100.0 * n as f64).collect(),
            book: FlowBook::new([definition]),
            flow,
            journeys: (0, 0),
            iterations_per_second,
            draws: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// The readings and measurements of a second.
    pub(crate) fn second(&mut self, number: u32) -> (Vec<SignalSeries>, Snapshot) {
        let begin = u64::from(number) * SECOND_NS;
        for n in 0..self.iterations_per_second {
            self.iteration(begin + n * SECOND_NS / self.iterations_per_second);
        }
        self.generator();
        let readings = self.readings(begin + SECOND_NS / 2);
        if number == 0 {
            self.recorder.leaf_changed(0, LeafChange::Began { at: 0, scenario: "Shop".into() });
            self.recorder.mark(0, MarkKind::LeafBegan, "Shop begins");
        }
        let leaf = self.recorder.leaf(0);
        leaf.arrivals_due += self.iterations_per_second;
        leaf.started += self.iterations_per_second;
        leaf.ended += self.iterations_per_second;
        self.walk(begin);
        let mut snapshot = self.recorder.drain(number, begin, begin + SECOND_NS);
        self.book.take(std::mem::take(&mut snapshot.flow_events));
        snapshot.flows = self.book.drain(snapshot.end);
        snapshot.pack();
        (readings, snapshot)
    }

    fn iteration(&mut self, begin: u64) {
        let mut at = begin;
        for n in 0..REQUESTS {
            // Log-normal about 2 to 12 ms.
            let wait = (2e6 * (1.0 + n as f64 / 10.0) * (0.5 * self.normal()).exp()) as u64;
            let body = 20_000 + self.draw() % 60_000;
            let fails = self.draw().is_multiple_of(100);
            let sample = Sample {
                scheduled: if n == 0 { begin.saturating_sub(15_000) } else { at },
                started: at,
                ended: at + wait + body,
                phases: Phases { wait, body, ..Phases::default() },
                outcome: if fails { Outcome::Status } else { Outcome::Passed },
                status: if fails { 500 } else { 200 },
                bytes_sent: 120,
                bytes_received: 900,
                retried: 0,
                trace: None,
            };
            self.recorder.request_began(sample.started);
            self.recorder.request_ended(sample.ended);
            self.recorder.record(self.requests[n], &sample);
            if fails {
                let kind = (self.draw() % FAILURE_KINDS) as usize;
                self.recorder.failed(self.requests[n], &sample, &self.failures[kind]);
            }
            let whole =
                Sample { outcome: Outcome::Passed, status: 0, phases: Phases::default(), bytes_sent: 0, bytes_received: 0, ..sample };
            self.recorder.record(self.groups[n % GROUPS], &whole);
            at = sample.ended;
        }
        let whole = Sample {
            scheduled: begin,
            started: begin,
            ended: at,
            phases: Phases::default(),
            outcome: Outcome::Passed,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        self.recorder.record(self.iterations, &whole);
    }

    fn generator(&mut self) {
        let lags: Vec<u64> = (0..50).map(|_| 5_000 + self.draw() % 60_000).collect();
        let generator = self.recorder.generator();
        (generator.wall_ns, generator.busy_ns, generator.raw_ns, generator.connections) = (SECOND_NS, SECOND_NS / 5, SECOND_NS, 40);
        lags.into_iter().for_each(|lag| {
            generator.timer_lag.record(lag);
            generator.read_lag.record(lag / 2);
        });
    }

    /// Counters grow by whole numbers. A third of the levels changes in each second.
    fn readings(&mut self, at: u64) -> Vec<SignalSeries> {
        let mut batch = Vec::with_capacity(SIGNALS);
        for n in 0..SIGNALS {
            let draw = self.draw();
            match self.signals[n].kind {
                SignalKind::Counter => self.levels[n] += (draw % 1000) as f64,
                SignalKind::Gauge if n % 3 == 0 => self.levels[n] = n as f64 + (draw % 100_000) as f64 / 1e3,
                SignalKind::Gauge => {}
            }
            batch.push(SignalSeries { signal: self.signals[n].clone(), points: vec![SignalPoint { at, value: self.levels[n] }] });
        }
        batch
    }

    fn walk(&mut self, begin: u64) {
        let FlowLoad { backlog, within_s, per_second } = self.flow;
        let add = if self.journeys.0 - self.journeys.1 < backlog { backlog.div_ceil(within_s) } else { 0 };
        for n in 0..add + per_second {
            let event = |key: u64, step| FlowEvent { flow: 0, key: FlowKey::of(&key.to_string()), step, at: begin + n };
            self.recorder.flow(event(self.journeys.0, FlowStep::Start));
            self.journeys.0 += 1;
            if n >= add && self.journeys.0 > self.journeys.1 + 1 {
                self.recorder.flow(event(self.journeys.1, FlowStep::Finish));
                self.journeys.1 += 1;
            }
        }
    }

    /// Marsaglia (2003), "Xorshift RNGs".
    fn draw(&mut self) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        self.draws >> 8
    }

    /// The sum of twelve uniform draws (the central limit theorem is accurate enough here).
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.draw() % (1 << 20)) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
    }
}
