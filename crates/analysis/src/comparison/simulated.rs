//! Simulated runs of systems whose truth is known, under a constant load or a ramp: queues with Poisson arrivals, whose neighbouring
//! response times are correlated, and services without a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loadstone_metrics::{LeafChange, LeafSlice, Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_plan::{ClosedStage, LoadProfile, OpenStage, TestPlan, Timing};
use loadstone_run_directory::{Run, RunEnd, RunInfo};

use super::{ComparedInput, EFFECT, RunComparison, compare};
use crate::statistics::draws::Draws;
use crate::summary::{Conclusions, Numbers};
use crate::{Findings, Grade, RunTally, Summary, Validity, Verdict};

/// Standard deviation of the logarithm of a service time without a queue.
const LOG_DEVIATION: f64 = 0.5;

/// The load that sends the requests.
#[derive(Debug, Clone, Copy)]
pub(super) enum SimulatedLoad {
    /// Poisson arrivals per second, with a warm-up of half a minute.
    Constant(f64),
    /// Poisson arrivals whose rate rises linearly.
    Ramp { from: f64, to: f64 },
    /// A number of users that start evenly spaced, and wait for 100 ms on average after each response.
    Users(u32),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct System {
    pub(super) name: &'static str,
    /// 0: unlimited.
    pub(super) servers: usize,
    pub(super) load: SimulatedLoad,
    /// Mean service time. Seconds.
    pub(super) service: f64,
    pub(super) seconds: usize,
}

impl System {
    /// `slower`: factor of the service times; `failing`: share of the requests that fail.
    pub(super) fn run(self, seed: u64, slower: f64, failing: f64) -> (Run, Summary) {
        let warm_up = if let SimulatedLoad::Constant(_) = self.load { 30.0 } else { 0.0 };
        let mut draws = Draws::new(seed);
        let mut arrivals = Arrivals::of(self.load, warm_up + self.seconds as f64);
        let empty = || (SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "Buy", "Buy")), 0);
        let mut seconds: Vec<(SeriesSlice, u64)> = (0..self.seconds).map(|_| empty()).collect();
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.servers).map(|_| Reverse(0)).collect();
        while let Some(now) = arrivals.next(&mut draws) {
            let end = match free.pop() {
                Some(Reverse(free_ns)) => {
                    let end = now.max(free_ns as f64 / 1e9) + draws.exponential(self.service * slower);
                    free.push(Reverse((end * 1e9) as u64));
                    end
                }
                None => now + self.service * slower * (LOG_DEVIATION * draws.normal()).exp(),
            };
            let fails = draws.uniform() < failing;
            arrivals.ended(end, &mut draws);
            if warm_up == 0.0 {
                // The run continues until all requests have ended.
                seconds.resize_with(seconds.len().max(end as usize + 1), empty);
                seconds[now as usize].1 += 1;
            }
            if end >= warm_up
                && let Some((second, _)) = seconds.get_mut((end - warm_up) as usize)
            {
                let ns = ((end - now) * 1e9) as u64;
                second.count += 1;
                second.failed += u64::from(fails);
                second.response.record(ns);
                second.service.record(ns);
            }
        }
        let slices: Vec<Snapshot> = seconds.into_iter().zip(0u32..).map(|(second, slice)| self.slice(slice, second)).collect();
        let plan = TestPlan::of_scenario("queue", "Buy", self.profile());
        let run = Run { end: Some(RunEnd::Completed), ..Run::new(RunInfo::default(), plan, slices) };
        let summary = summary(&run);
        (run, summary)
    }

    fn profile(self) -> LoadProfile {
        let duration_ns = self.seconds as u64 * 1_000_000_000;
        match self.load {
            SimulatedLoad::Constant(rate) => LoadProfile::rate(rate, duration_ns),
            SimulatedLoad::Ramp { from, to } => {
                LoadProfile::Open { stages: vec![OpenStage::Rate { from, to, duration_ns, timing: Timing::Poisson }] }
            }
            SimulatedLoad::Users(to) => LoadProfile::Closed { stages: vec![ClosedStage { from: 0, to: u64::from(to), duration_ns }] },
        }
    }

    fn slice(self, slice: u32, (series, arrivals_due): (SeriesSlice, u64)) -> Snapshot {
        let start = u64::from(slice) * 1_000_000_000;
        let outcomes = vec![(Outcome::Passed, series.count - series.failed), (Outcome::Status, series.failed)];
        let series = SeriesSlice { outcomes, ..series };
        let began = LeafChange::Began { at: 0, scenario: "Buy".into() };
        let changes = if slice == 0 { vec![began] } else { Vec::new() };
        let leaves = match self.load {
            SimulatedLoad::Constant(_) => Vec::new(),
            SimulatedLoad::Ramp { .. } => vec![LeafSlice { arrivals_due, changes, ..LeafSlice::default() }],
            SimulatedLoad::Users(to) => {
                let users_asked =
                    if (slice as usize) < self.seconds { u64::from(to) * u64::from(slice + 1) / self.seconds as u64 } else { 0 };
                vec![LeafSlice { users_asked, changes, ..LeafSlice::default() }]
            }
        };
        Snapshot { slice, start, end: start + 1_000_000_000, series: vec![series], leaves, ..Snapshot::default() }
    }

    pub(super) fn pair(self, seed: u64, slower: f64, failing: f64) -> RunComparison {
        let (a, b) = (self.run(2 * seed, 1.0, 0.0), self.run(2 * seed + 1, slower, failing));
        compare(input(&a), input(&b), EFFECT)
    }
}

/// Arrival times of requests. Seconds.
struct Arrivals {
    load: SimulatedLoad,
    now: f64,
    until: f64,
    /// When each user sends its next request. Nanoseconds.
    ready: BinaryHeap<Reverse<u64>>,
}

impl Arrivals {
    fn of(load: SimulatedLoad, until: f64) -> Self {
        let users = if let SimulatedLoad::Users(users) = load { users } else { 0 };
        let ready = (0..users).map(|user| Reverse((f64::from(user) / f64::from(users) * until * 1e9) as u64)).collect();
        Self { load, now: 0.0, until, ready }
    }

    fn next(&mut self, draws: &mut Draws) -> Option<f64> {
        let before = self.now;
        self.now = match self.load {
            SimulatedLoad::Constant(rate) => {
                // The first arrival after the end is the last one: requests that ended before it count.
                return (before < self.until).then(|| {
                    self.now = before + draws.exponential(1.0 / rate);
                    self.now
                });
            }
            // The next arrival is where the integral of the rate has grown by an exponential number.
            SimulatedLoad::Ramp { from, to } => {
                let slope = (to - from) / self.until;
                let wanted = from * before + slope * before * before / 2.0 + draws.exponential(1.0);
                2.0 * wanted / (from + (from * from + 2.0 * slope * wanted).sqrt())
            }
            SimulatedLoad::Users(_) => self.ready.pop()?.0 as f64 / 1e9,
        };
        (self.now < self.until).then_some(self.now)
    }

    fn ended(&mut self, end: f64, draws: &mut Draws) {
        if let SimulatedLoad::Users(_) = self.load {
            self.ready.push(Reverse(((end + draws.exponential(0.1)) * 1e9) as u64));
        }
    }
}

/// Only the numbers: findings and validity make no difference here.
fn summary(run: &Run) -> Summary {
    let verdict = Verdict {
        validity: Validity { grade: Grade::Valid, checks: Vec::new() },
        thresholds: Vec::new(),
        findings: Findings { findings: Vec::new(), remark: crate::Remark::default() },
    };
    let conclusions =
        Conclusions { signals: Vec::new(), changes: Vec::new(), resources: Vec::new(), spans: Vec::new(), profiles: Vec::new(), verdict };
    Numbers::of(run, &RunTally::of(&run.slices)).into_summary(&run.info, &run.plan, conclusions)
}

pub(super) fn input((run, summary): &(Run, Summary)) -> ComparedInput<'_> {
    ComparedInput { run, summary, load: &[] }
}
