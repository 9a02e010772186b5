//! The uncertainty of each series of a run, collected slice by slice.

use std::collections::BTreeMap;

use loadstone_metrics::{GeneratorSlice, Histogram, LeafSlice, Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_plan::{LoadProfile, OpenStage, ScenarioRun, TestPlan};

use super::ladder::LatenessLadder;
use super::series::{ReadLateness, SeriesUncertainty};
use super::shortfall::shortfall;
use crate::LeafTally;
use crate::summary::outcome;

/// From this lateness on, a response that arrived before a time limit may have been read after it. Nanoseconds.
const TIMEOUT_LATENESS_NS: f64 = 1_000_000.0;

/// Its memory grows with the number of series, not with the length of the run.
#[derive(Debug, Clone)]
pub(crate) struct UncertaintyTally {
    leaves: Vec<LeafRule>,
    /// Sorted, so that the requests of an iteration are summed in one order: the same run always gives the same numbers.
    series: BTreeMap<SeriesKey, SeriesUncertainty>,
    /// Schedule lag that the generator caused, of all requests.
    lag: LatenessLadder,
    reads: LatenessLadder,
}

/// The properties of a leaf that decide how its slices count.
#[derive(Debug, Clone)]
struct LeafRule {
    scenario: String,
    users_max: u64,
    is_open: bool,
    in_bursts: bool,
    /// Arrivals have waited for a user that the target held. From then on the target causes the lag.
    users_held: bool,
}

impl UncertaintyTally {
    pub(crate) fn new(plan: &TestPlan) -> Self {
        let rule = |run: &ScenarioRun| LeafRule {
            scenario: plan.scenarios.get(run.scenario.0 as usize).map_or_else(String::new, |scenario| scenario.name.clone()),
            users_max: run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX),
            is_open: run.profile.is_open(),
            in_bursts: matches!(&run.profile, LoadProfile::Open { stages } if stages.iter().any(|stage| matches!(stage, OpenStage::Burst { .. }))),
            users_held: false,
        };
        let leaves = plan.load.leaves().into_iter().map(rule).collect();
        Self { leaves, series: BTreeMap::new(), lag: LatenessLadder::default(), reads: LatenessLadder::default() }
    }

    /// Collects the slices that `wanted` selects. The others only show when the target began to detect_held_users users.
    pub(crate) fn of<'a>(plan: &TestPlan, slices: impl IntoIterator<Item = &'a Snapshot>, wanted: impl Fn(&Snapshot) -> bool) -> Self {
        let mut tally = Self::new(plan);
        for slice in slices {
            tally.detect_held_users(&slice.leaves);
            if wanted(slice) {
                tally.add(slice);
            }
        }
        tally
    }

    pub(crate) fn push(&mut self, slice: &Snapshot) {
        self.detect_held_users(&slice.leaves);
        self.add(slice);
    }

    fn detect_held_users(&mut self, leaves: &[LeafSlice]) {
        for leaf in leaves {
            let Some(rule) = self.leaves.get_mut(leaf.leaf as usize) else { continue };
            let busiest = leaf.users_peak.max(leaf.users_active);
            rule.users_held |= rule.is_open && leaf.waiting_most() > 0 && busiest.saturating_mul(10) >= rule.users_max.saturating_mul(9);
        }
    }

    fn add(&mut self, slice: &Snapshot) {
        let reads = read_lateness(slice);
        let timers = timer_lateness(&slice.generator);
        self.reads.add(&reads.late, |late| late);
        for series in slice.series.iter().filter(|series| series.key.kind != SeriesKind::Check) {
            let mut of_scenario = self.leaves.iter().filter(|leaf| *leaf.scenario == *series.key.scenario);
            let users_held = of_scenario.clone().any(|leaf| leaf.users_held);
            let in_bursts = of_scenario.any(|leaf| leaf.in_bursts);
            if !self.series.contains_key(&series.key) {
                self.series.insert(series.key.clone(), SeriesUncertainty::new(in_bursts, 1.0));
            }
            let Some(uncertainty) = self.series.get_mut(&series.key) else { continue };
            uncertainty.add_times(if users_held { &series.response } else { &series.service });
            if users_held {
                // The target causes the lag of the arrivals, but not the lag of the timers that started some of them.
                uncertainty.add_reads(series.lag.count(), &timers.clone().for_requests(series.lag.count()));
            } else {
                uncertainty.lag.merge(&series.lag);
                if !series.lag.is_empty() {
                    uncertainty.span_ns += slice.end.saturating_sub(slice.start);
                }
            }
            if series.key.kind == SeriesKind::Request {
                uncertainty.add_reads(series.count, &reads);
                uncertainty.add_connections(&series.phases);
                uncertainty.timeouts_read_late += timeouts_read_late(series, &reads);
                if !users_held && !series.lag.is_empty() {
                    self.lag.add(&LatenessLadder::of(&series.lag), |late| late);
                }
            }
        }
    }

    /// The uncertainty of one series. A group and an iteration are read as late as all their requests. `None`: nothing was measured for it.
    pub(crate) fn of_series(&self, key: &SeriesKey, count: u64) -> Option<SeriesUncertainty> {
        let mut uncertainty = self.series.get(key)?.clone();
        if matches!(key.kind, SeriesKind::Group | SeriesKind::Iteration) {
            let is_part = |other: &SeriesKey| {
                other.kind == SeriesKind::Request
                    && other.scenario == key.scenario
                    && (key.kind == SeriesKind::Iteration || other.group == key.name)
            };
            let mut requests = 0;
            for (_, part) in self.series.iter().filter(|(other, _)| is_part(other)) {
                uncertainty.add_reads_of(part);
                requests += part.count();
            }
            uncertainty.parts = (requests as f64 / count.max(1) as f64).ceil();
        }
        Some(uncertainty)
    }

    /// The uncertainty of several series together.
    pub(crate) fn of_all<'k>(&self, series: impl IntoIterator<Item = (&'k SeriesKey, u64)>) -> SeriesUncertainty {
        let mut all = SeriesUncertainty::default();
        series.into_iter().filter_map(|(key, count)| self.of_series(key, count)).for_each(|uncertainty| all.merge(&uncertainty));
        all
    }

    /// The share of a scenario's load that was not generated, of its leaf with the largest shortfall. `leaves` are those of the run.
    pub(super) fn shortfall_of(&self, scenario: &str, leaves: &[LeafTally]) -> f64 {
        let of_scenario = leaves.iter().filter(|leaf| self.leaves.get(leaf.leaf as usize).is_some_and(|rule| rule.scenario == scenario));
        of_scenario.map(shortfall).fold(0.0, f64::max)
    }

    /// Timed-out requests of the wanted series whose responses may have arrived in time.
    pub(super) fn timeouts_read_late(&self, wanted: impl Fn(&SeriesKey) -> bool) -> u64 {
        self.series.iter().filter(|(key, _)| wanted(key)).map(|(_, uncertainty)| uncertainty.timeouts_read_late).sum()
    }

    /// The uncertainty of a flow: a journey starts with a request, and may be measured from the time when that was due.
    pub(crate) fn of_flow(&self, times: &Histogram) -> SeriesUncertainty {
        let mut late = self.lag.clone();
        late.add(&self.reads, |late| late);
        let count = times.count();
        let reads = ReadLateness { late, sum_ns: 0.0, requests: count };
        // Late to start, and late to read.
        let mut uncertainty = SeriesUncertainty::new(true, 2.0);
        uncertainty.add_times(times);
        uncertainty.add_reads(count, &reads);
        uncertainty
    }
}

/// How late the responses of a second were read. Where the kernel timestamped none, the stalls of the workers give the bound.
pub(super) fn read_lateness(slice: &Snapshot) -> ReadLateness {
    let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum();
    let workers = &slice.generator;
    let mut timestamped = Histogram::new();
    workers.iter().for_each(|worker| timestamped.merge(&worker.read_lag));
    if !timestamped.is_empty() {
        // At high rates only a sample is timestamped. It represents all responses.
        let times = f64::max(1.0, requests as f64 / timestamped.count() as f64);
        let sum_ns = timestamped.sum() as f64 * (requests as f64 / timestamped.count() as f64);
        return ReadLateness { late: LatenessLadder::of(&timestamped).scaled(times), sum_ns, requests };
    }
    let mut reads = ReadLateness { requests, ..ReadLateness::default() };
    let measured: Vec<&GeneratorSlice> = workers.iter().filter(|worker| worker.wall_ns > 0).collect();
    for worker in &measured {
        // A response that arrives in a stall waits for its end. Those that arrive more than x before the end are read later than x.
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

/// Timed-out requests that the target may have answered in time: at most the number of responses that were read late in that second.
fn timeouts_read_late(series: &SeriesSlice, reads: &ReadLateness) -> u64 {
    outcome(series, Outcome::Timeout).min(reads.late.beyond(TIMEOUT_LATENESS_NS).ceil() as u64)
}

impl ReadLateness {
    /// Scales the lateness to the number of requests that a timer may have started.
    fn for_requests(self, requests: u64) -> Self {
        let times = (requests as f64 / self.requests.max(1) as f64).min(1.0);
        Self { late: self.late.scaled(times), sum_ns: self.sum_ns * times, requests }
    }
}
