//! The doubt of each series of a run, gathered slice by slice.

use std::collections::BTreeMap;

use loadstone_metrics::{GeneratorSlice, Histogram, LeafSlice, Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_plan::{LoadProfile, OpenStage, ScenarioRun, TestPlan};

use super::ladder::LatenessLadder;
use super::series::{ReadLateness, SeriesDoubt};
use super::shortfall::shortfall;
use crate::LeafTally;
use crate::summary::outcome;

/// From this lateness on, a response that came before a time limit may have been read after it. Nanoseconds.
const TIMEOUT_LATENESS_NS: f64 = 1_000_000.0;

/// Costs as much as the run has series, not as long as it lasts.
#[derive(Debug, Clone)]
pub(crate) struct DoubtTally {
    leaves: Vec<LeafRule>,
    /// In one order, in which those of an iteration are added up: the same run always gives the same numbers.
    series: BTreeMap<SeriesKey, SeriesDoubt>,
    /// Schedule lag of the generator's making, of all requests.
    lag: LatenessLadder,
    reads: LatenessLadder,
}

/// What a leaf's slices are held against.
#[derive(Debug, Clone)]
struct LeafRule {
    scenario: String,
    users_max: u64,
    is_open: bool,
    in_bursts: bool,
    /// Arrivals have waited for a user that the target held. From then on lag is the target's doing.
    held: bool,
}

impl DoubtTally {
    pub(crate) fn new(plan: &TestPlan) -> Self {
        let rule = |run: &ScenarioRun| LeafRule {
            scenario: plan.scenarios.get(run.scenario.0 as usize).map_or_else(String::new, |scenario| scenario.name.clone()),
            users_max: run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX),
            is_open: run.profile.is_open(),
            in_bursts: matches!(&run.profile, LoadProfile::Open { stages } if stages.iter().any(|stage| matches!(stage, OpenStage::Burst { .. }))),
            held: false,
        };
        let leaves = plan.load.leaves().into_iter().map(rule).collect();
        Self { leaves, series: BTreeMap::new(), lag: LatenessLadder::default(), reads: LatenessLadder::default() }
    }

    /// Of the slices that `wanted` picks; the others only tell from when on the target held users.
    pub(crate) fn of<'a>(plan: &TestPlan, slices: impl IntoIterator<Item = &'a Snapshot>, wanted: impl Fn(&Snapshot) -> bool) -> Self {
        let mut tally = Self::new(plan);
        for slice in slices {
            tally.hold(&slice.leaves);
            if wanted(slice) {
                tally.add(slice);
            }
        }
        tally
    }

    pub(crate) fn push(&mut self, slice: &Snapshot) {
        self.hold(&slice.leaves);
        self.add(slice);
    }

    fn hold(&mut self, leaves: &[LeafSlice]) {
        for leaf in leaves {
            let Some(rule) = self.leaves.get_mut(leaf.leaf as usize) else { continue };
            let busiest = leaf.users_peak.max(leaf.users_active);
            rule.held |= rule.is_open && leaf.waiting_most() > 0 && busiest.saturating_mul(10) >= rule.users_max.saturating_mul(9);
        }
    }

    fn add(&mut self, slice: &Snapshot) {
        let reads = read_lateness(slice);
        let timers = timer_lateness(&slice.generator);
        self.reads.add(&reads.late, |late| late);
        for series in slice.series.iter().filter(|series| series.key.kind != SeriesKind::Check) {
            let mut of_scenario = self.leaves.iter().filter(|leaf| *leaf.scenario == *series.key.scenario);
            let held = of_scenario.clone().any(|leaf| leaf.held);
            let in_bursts = of_scenario.any(|leaf| leaf.in_bursts);
            if !self.series.contains_key(&series.key) {
                self.series.insert(series.key.clone(), SeriesDoubt::new(in_bursts, 1.0));
            }
            let Some(doubt) = self.series.get_mut(&series.key) else { continue };
            doubt.add_times(if held { &series.response } else { &series.service });
            if held {
                // The lag of arrivals is the target's, but not that of the timers that started some of them.
                doubt.add_reads(series.lag.count(), &timers.clone().for_requests(series.lag.count()));
            } else {
                doubt.lag.merge(&series.lag);
                if !series.lag.is_empty() {
                    doubt.span_ns += slice.end.saturating_sub(slice.start);
                }
            }
            if series.key.kind == SeriesKind::Request {
                doubt.add_reads(series.count, &reads);
                doubt.add_connections(&series.phases);
                doubt.timeouts_read_late += timeouts_read_late(series, &reads);
                if !held && !series.lag.is_empty() {
                    self.lag.add(&LatenessLadder::of(&series.lag), |late| late);
                }
            }
        }
    }

    /// The doubt of one series; a group and an iteration are read as late as all their requests. `None`: nothing of it was measured.
    pub(crate) fn of_series(&self, key: &SeriesKey, count: u64) -> Option<SeriesDoubt> {
        let mut doubt = self.series.get(key)?.clone();
        if matches!(key.kind, SeriesKind::Group | SeriesKind::Iteration) {
            let is_part = |other: &SeriesKey| {
                other.kind == SeriesKind::Request
                    && other.scenario == key.scenario
                    && (key.kind == SeriesKind::Iteration || other.group == key.name)
            };
            let mut requests = 0;
            for (_, part) in self.series.iter().filter(|(other, _)| is_part(other)) {
                doubt.add_reads_of(part);
                requests += part.count();
            }
            doubt.parts = (requests as f64 / count.max(1) as f64).ceil();
        }
        Some(doubt)
    }

    /// The doubt of several series together.
    pub(crate) fn of_all<'k>(&self, series: impl IntoIterator<Item = (&'k SeriesKey, u64)>) -> SeriesDoubt {
        let mut all = SeriesDoubt::default();
        series.into_iter().filter_map(|(key, count)| self.of_series(key, count)).for_each(|doubt| all.merge(&doubt));
        all
    }

    /// The share of a scenario's load that was not made, of the leaf that fell short most; `leaves` are those of the run.
    pub(super) fn shortfall_of(&self, scenario: &str, leaves: &[LeafTally]) -> f64 {
        let of_scenario = leaves.iter().filter(|leaf| self.leaves.get(leaf.leaf as usize).is_some_and(|rule| rule.scenario == scenario));
        of_scenario.map(shortfall).fold(0.0, f64::max)
    }

    /// Timed-out requests of the wanted series that may have been answered in time.
    pub(super) fn timeouts_read_late(&self, wanted: impl Fn(&SeriesKey) -> bool) -> u64 {
        self.series.iter().filter(|(key, _)| wanted(key)).map(|(_, doubt)| doubt.timeouts_read_late).sum()
    }

    /// The doubt of a flow: a journey starts with a request, and may be measured from when that was due.
    pub(crate) fn of_flow(&self, times: &Histogram) -> SeriesDoubt {
        let mut late = self.lag.clone();
        late.add(&self.reads, |late| late);
        let count = times.count();
        let reads = ReadLateness { late, sum_ns: 0.0, requests: count };
        // Late to start and late to read.
        let mut doubt = SeriesDoubt::new(true, 2.0);
        doubt.add_times(times);
        doubt.add_reads(count, &reads);
        doubt
    }
}

/// How late the responses of a second were read. Where the kernel stamped none, it is what the stalls of the workers can have done.
pub(super) fn read_lateness(slice: &Snapshot) -> ReadLateness {
    let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum();
    let workers = &slice.generator;
    let mut stamped = Histogram::new();
    workers.iter().for_each(|worker| stamped.merge(&worker.read_lag));
    if !stamped.is_empty() {
        // At high rates a sample is stamped; it stands for all.
        let times = f64::max(1.0, requests as f64 / stamped.count() as f64);
        let sum_ns = stamped.sum() as f64 * (requests as f64 / stamped.count() as f64);
        return ReadLateness { late: LatenessLadder::of(&stamped).scaled(times), sum_ns, requests };
    }
    let mut reads = ReadLateness { requests, ..ReadLateness::default() };
    let measured: Vec<&GeneratorSlice> = workers.iter().filter(|worker| worker.wall_ns > 0).collect();
    for worker in &measured {
        // What comes in a stall waits for its end: later than x is what comes more than x before that.
        let rate = requests as f64 / measured.len() as f64 / worker.wall_ns as f64;
        for (_, high, count) in worker.stalls.bars() {
            let (length, count) = (high as f64, count as f64);
            reads.late.add_up_to(length, |level| rate * count * (length - level));
            reads.sum_ns += rate * count * length * length / 2.0;
        }
    }
    reads
}

fn timer_lateness(workers: &[GeneratorSlice]) -> ReadLateness {
    let mut timers = Histogram::new();
    workers.iter().for_each(|worker| timers.merge(&worker.timer_lag));
    ReadLateness { late: LatenessLadder::of(&timers), sum_ns: timers.sum() as f64, requests: timers.count() }
}

/// Timed-out requests that may have been answered in time: no more than responses were read late then.
fn timeouts_read_late(series: &SeriesSlice, reads: &ReadLateness) -> u64 {
    outcome(series, Outcome::Timeout).min(reads.late.beyond(TIMEOUT_LATENESS_NS).ceil() as u64)
}

impl ReadLateness {
    /// As many as there are requests that a timer may have started.
    fn for_requests(self, requests: u64) -> Self {
        let times = (requests as f64 / self.requests.max(1) as f64).min(1.0);
        Self { late: self.late.scaled(times), sum_ns: self.sum_ns * times, requests }
    }
}
