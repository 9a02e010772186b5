//! One step of the time axis: the measurements of one or several seconds, merged.

use std::cell::OnceCell;
use std::sync::Arc;

use loadstone_metrics::{FlowSlice, Histogram, LeafSlice, Outcome, SeriesKind, Snapshot};
use loadstone_run_directory::{KeptFailure, KeptSecond};

use super::bins;
use super::digest::{StepDigest, TimeDigest};

/// Lowest and highest value of the merged seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl ValueRange {
    pub(crate) fn merge(mine: &mut Option<ValueRange>, theirs: Option<ValueRange>) {
        let Some(theirs) = theirs else { return };
        let merged = mine.map_or(theirs, |mine| ValueRange { low: mine.low.min(theirs.low), high: mine.high.max(theirs.high) });
        *mine = Some(merged);
    }
}

/// One worker's time within a step. Nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerTime {
    pub(crate) wall_ns: u64,
    pub(crate) busy_ns: u64,
    pub(crate) run_queue_ns: u64,
}

/// The users of a step. Levels are the highest of its seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UserLevels {
    pub(crate) active: u64,
    pub(crate) asked: u64,
    pub(crate) waiting: u64,
}

/// One flow within a step. Levels are the highest of its seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimelineFlow {
    pub(crate) name: Arc<str>,
    pub(crate) time: Histogram,
    pub(crate) started: u64,
    pub(crate) finished: u64,
    pub(crate) overtaken: u64,
    pub(crate) backlog: u64,
    pub(crate) oldest_ns: u64,
    /// Name, and backlog.
    pub(crate) stages: Vec<(Arc<str>, u64)>,
}

impl TimelineFlow {
    fn of(slice: &FlowSlice) -> Self {
        Self {
            name: Arc::clone(&slice.name),
            time: slice.time.clone(),
            started: slice.started,
            finished: slice.finished,
            overtaken: slice.overtaken.count(),
            backlog: slice.backlog,
            oldest_ns: slice.oldest_ns,
            stages: slice.stages.iter().map(|stage| (Arc::clone(&stage.name), stage.backlog)).collect(),
        }
    }

    fn merge(&mut self, other: TimelineFlow) {
        self.time.merge(&other.time);
        self.started += other.started;
        self.finished += other.finished;
        self.overtaken += other.overtaken;
        self.backlog = self.backlog.max(other.backlog);
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
        for (mine, theirs) in self.stages.iter_mut().zip(other.stages) {
            mine.1 = mine.1.max(theirs.1);
        }
    }
}

/// A failed request, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FailedAs {
    pub(crate) outcome: Outcome,
    pub(crate) request: Arc<str>,
}

/// Maximum number of separate kinds of failure in a step.
const FAILURE_KINDS_MAX: usize = 40;
const OTHER_REQUESTS: &str = "other requests";

/// The measurements of one step. Two steps merge into a longer one.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimelineStep {
    /// Time that the merged slices cover; zero if nothing was measured. Nanoseconds.
    pub(crate) covered_ns: u64,
    pub(crate) response: Histogram,
    pub(crate) lag: Histogram,
    pub(crate) timer_lag: Histogram,
    pub(crate) read_lag: Histogram,
    pub(crate) stall_ns_max: u64,
    /// Ascending; at most [`FAILURE_KINDS_MAX`], and further ones by outcome alone.
    pub(crate) failures: Vec<(FailedAs, u64)>,
    /// Range of the requests per second.
    pub(crate) request_rate: Option<ValueRange>,
    pub(crate) arrivals_due: u64,
    pub(crate) arrivals_started: u64,
    /// Iterations of open load that ended.
    pub(crate) iterations_ended: u64,
    /// Sums over all requests, in the order of `PhaseSlice::all`. Nanoseconds.
    pub(crate) phase_ns: [u128; 6],
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) users: UserLevels,
    /// By worker number.
    pub(crate) workers: Vec<WorkerTime>,
    pub(crate) steal_ns: u64,
    pub(crate) throttled_ns: u64,
    pub(crate) in_flight_ns: u64,
    pub(crate) connections: u64,
    /// In the order of the plan.
    pub(crate) flows: Vec<TimelineFlow>,
    digest: OnceCell<StepDigest>,
}

/// Shorter slices (the cut-off end of a run) cover too little time for a meaningful rate. Nanoseconds.
const RATE_NS_MIN: u64 = 250_000_000;

/// Buckets of a step of several seconds: over a range of 1 to 30, a value is read within 1.6 %, mostly half of that.
const BUCKETS_MAX: usize = 400;
/// The same for the generator's lags, within 3.1 %.
const LAG_BUCKETS_MAX: usize = 200;

/// Workers above this number share one entry: their lines would be indistinguishable.
const WORKERS_MAX: usize = 256;

impl TimelineStep {
    /// The step of a single slice. `open` contains, for each scenario run, whether its load is open.
    pub(crate) fn of(slice: &Snapshot, open: &[bool]) -> Self {
        let mut step = TimelineStep { covered_ns: slice.end.saturating_sub(slice.start), ..TimelineStep::default() };
        step.take_series(slice);
        step.flows = slice.flows.iter().map(TimelineFlow::of).collect();
        let is_open = |leaf: &LeafSlice| open.get(leaf.leaf as usize).copied().unwrap_or(false);
        for leaf in &slice.leaves {
            if is_open(leaf) {
                step.arrivals_due += leaf.arrivals_due;
                step.arrivals_started += leaf.started;
                step.iterations_ended += leaf.ended;
            }
            step.users.active += leaf.users_active;
            step.users.asked += leaf.users_asked;
            step.users.waiting += leaf.waiting_most();
        }
        step.take_generator(slice);
        step.request_rate = step.rate(step.requests()).map(|rate| ValueRange { low: rate, high: rate });
        step
    }

    /// The step of a second's outline.
    pub(crate) fn of_kept(second: &KeptSecond, open: &[bool]) -> Self {
        let mut step = Self::of(&second.slice, open);
        for KeptFailure { request, outcome, count } in &second.failures {
            add(&mut step.failures, FailedAs { outcome: *outcome, request: Arc::clone(request) }, *count);
        }
        step
    }

    fn take_series(&mut self, slice: &Snapshot) {
        for series in &slice.series {
            match series.key.kind {
                SeriesKind::Request => {
                    self.response.merge(&series.response);
                    self.lag.merge(&series.lag);
                    for (outcome, count) in series.outcomes.iter().filter(|(outcome, _)| outcome.is_failure()) {
                        add(&mut self.failures, FailedAs { outcome: *outcome, request: Arc::clone(&series.key.name) }, *count);
                    }
                    for (sum, (_, phase)) in self.phase_ns.iter_mut().zip(series.phases.all()) {
                        *sum += phase.sum();
                    }
                    self.bytes_sent += series.bytes_sent;
                    self.bytes_received += series.bytes_received;
                }
                SeriesKind::Group | SeriesKind::Iteration | SeriesKind::Check => {}
            }
        }
    }

    fn take_generator(&mut self, slice: &Snapshot) {
        for worker in &slice.generator {
            let index = (worker.worker as usize).min(WORKERS_MAX);
            if self.workers.len() <= index {
                self.workers.resize(index + 1, WorkerTime::default());
            }
            let time = &mut self.workers[index];
            time.wall_ns += worker.wall_ns;
            time.busy_ns += worker.busy_ns;
            time.run_queue_ns += worker.run_queue_ns;
            self.steal_ns += worker.steal_ns;
            self.throttled_ns += worker.throttled_ns;
            self.in_flight_ns += worker.in_flight_ns;
            self.connections += worker.connections;
            self.timer_lag.merge(&worker.timer_lag);
            self.read_lag.merge(&worker.read_lag);
            self.stall_ns_max = self.stall_ns_max.max(worker.stalls.max());
        }
    }

    /// Reduces its memory, once it is complete.
    pub(crate) fn pack(&mut self) {
        self.pack_as(|times| times.to_packed(), |lags| lags.to_packed());
    }

    /// The same for a step of several seconds. A longer run has more values per step; its memory does not grow with them.
    pub(crate) fn pack_within_bounds(&mut self) {
        self.pack_as(|times| times.to_packed_within(BUCKETS_MAX), |lags| lags.to_packed_within(LAG_BUCKETS_MAX));
    }

    fn pack_as(&mut self, times: impl Fn(&Histogram) -> Histogram, lags: impl Fn(&Histogram) -> Histogram) {
        self.response = times(&self.response);
        self.flows.iter_mut().for_each(|flow| flow.time = times(&flow.time));
        for lag in [&mut self.lag, &mut self.timer_lag, &mut self.read_lag] {
            *lag = lags(lag);
        }
        self.failures.shrink_to_fit();
    }

    /// Adds another step's seconds.
    pub(crate) fn merge(&mut self, other: TimelineStep) {
        self.digest.take();
        self.covered_ns += other.covered_ns;
        self.response.merge(&other.response);
        self.lag.merge(&other.lag);
        self.timer_lag.merge(&other.timer_lag);
        self.read_lag.merge(&other.read_lag);
        self.stall_ns_max = self.stall_ns_max.max(other.stall_ns_max);
        other.failures.into_iter().for_each(|(kind, count)| add(&mut self.failures, kind, count));
        ValueRange::merge(&mut self.request_rate, other.request_rate);
        self.arrivals_due += other.arrivals_due;
        self.arrivals_started += other.arrivals_started;
        self.iterations_ended += other.iterations_ended;
        self.phase_ns.iter_mut().zip(other.phase_ns).for_each(|(mine, theirs)| *mine += theirs);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.users.active = self.users.active.max(other.users.active);
        self.users.asked = self.users.asked.max(other.users.asked);
        self.users.waiting = self.users.waiting.max(other.users.waiting);
        if self.workers.len() < other.workers.len() {
            self.workers.resize(other.workers.len(), WorkerTime::default());
        }
        for (mine, theirs) in self.workers.iter_mut().zip(other.workers) {
            mine.wall_ns += theirs.wall_ns;
            mine.busy_ns += theirs.busy_ns;
            mine.run_queue_ns += theirs.run_queue_ns;
        }
        self.steal_ns += other.steal_ns;
        self.throttled_ns += other.throttled_ns;
        self.in_flight_ns += other.in_flight_ns;
        self.connections = self.connections.max(other.connections);
        for theirs in other.flows {
            match self.flows.iter_mut().find(|mine| mine.name == theirs.name) {
                Some(mine) => mine.merge(theirs),
                None => self.flows.push(theirs),
            }
        }
    }

    /// `count` per second; `None` if the step covers too little time.
    pub(crate) fn rate(&self, count: u64) -> Option<f64> {
        (self.covered_ns >= RATE_NS_MIN).then(|| count as f64 / (self.covered_ns as f64 / 1e9))
    }

    /// Share of `ns` in the covered time.
    pub(crate) fn share(&self, ns: u64) -> Option<f64> {
        (self.covered_ns >= RATE_NS_MIN).then(|| ns as f64 / self.covered_ns as f64)
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.covered_ns > 0
    }

    pub(crate) fn digest(&self) -> &StepDigest {
        self.digest.get_or_init(|| StepDigest {
            response: TimeDigest::of(&self.response),
            lag: TimeDigest::of(&self.lag),
            timer_lag: TimeDigest::of(&self.timer_lag),
            read_lag: TimeDigest::of(&self.read_lag),
            flows: self.flows.iter().map(|flow| (Arc::clone(&flow.name), TimeDigest::of(&flow.time))).collect(),
            heat: bins::counts(&self.response, bins::HEAT_PER_DECADE),
        })
    }

    /// Number of ended requests, including those that could not be sent and have no response time.
    pub(crate) fn requests(&self) -> u64 {
        let unsent = self.failures.iter().filter(|(kind, _)| kind.outcome.is_unsent());
        self.response.count() + unsent.map(|(_, count)| count).sum::<u64>()
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().map(|(_, count)| count).sum()
    }
}

fn add(list: &mut Vec<(FailedAs, u64)>, kind: FailedAs, count: u64) {
    match list.binary_search_by(|(known, _)| known.cmp(&kind)) {
        Ok(index) => list[index].1 += count,
        Err(_) if list.len() >= FAILURE_KINDS_MAX && *kind.request != *OTHER_REQUESTS => {
            add(list, FailedAs { request: OTHER_REQUESTS.into(), ..kind }, count);
        }
        Err(index) => list.insert(index, (kind, count)),
    }
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::{Phases, Recorder, Sample, SeriesKey};

    use super::*;

    #[test]
    fn what_could_not_be_sent_is_among_the_requests_and_not_among_the_times() {
        let mut recorder = Recorder::new(0, 10);
        let key = SeriesKey { scenario: "s".into(), kind: SeriesKind::Request, group: "".into(), name: "a".into() };
        let id = recorder.series(&key);
        for outcome in [Outcome::Passed, Outcome::Passed, Outcome::Passed, Outcome::DescriptorsExhausted, Outcome::PortsExhausted] {
            let sample = Sample {
                scheduled: 0,
                started: 0,
                ended: 900,
                phases: Phases::default(),
                outcome,
                status: 0,
                bytes_sent: 0,
                bytes_received: 0,
                retried: 0,
                trace: None,
            };
            recorder.record(id, &sample);
        }
        let step = TimelineStep::of(&recorder.drain(0, 0, 1_000_000_000), &[]);
        assert_eq!((step.requests(), step.failed(), step.response.count()), (5, 2, 3));
        assert_eq!(step.request_rate, Some(ValueRange { low: 5.0, high: 5.0 }));
    }
}
