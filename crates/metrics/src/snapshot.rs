//! One second of measurements: what workers hand over, disks keep and pages draw.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::failure_sample::FailureSample;
use crate::flow::{FlowEvent, FlowSlice};
use crate::histogram::Histogram;
use crate::outcome::Outcome;
use crate::own_metric::MetricSlice;
use crate::sample::Phases;
use crate::series::SeriesKey;
use crate::tags::Tags;
use crate::trace::TraceId;

/// What one worker (or, once merged, the whole run) measured in one slice of time. Merging is associative and commutative
/// up to the order of the lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the slice; slices are one second long and start at 0.
    pub slice: u32,
    pub start: Nanos,
    pub end: Nanos,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<SeriesSlice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<LeafSlice>,
    /// One per worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generator: Vec<GeneratorSlice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorGroup>,
    /// The slowest samples of the slice, slowest first; at most [`Snapshot::SLOW_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<SlowSample>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// One per flow of the plan, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSlice>,
    /// What scenarios reported of journeys, on its way to the book that makes `flows` of it.
    #[serde(skip)]
    pub flow_events: Vec<FlowEvent>,
    /// Samples whose name came after the bound on series was reached.
    #[serde(default)]
    pub series_overflow: u64,
    /// Metrics of the test's own; of each, all of it and its parts by tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSlice>,
    /// Parts of `series` by tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tagged: Vec<TaggedSlice>,
    /// Values and samples whose tags came after the bound on them was reached: they are in no part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tags_overflow: u64,
    /// Of a run over a fleet: what is known of each agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSlice>,
    /// Further seconds that were folded into this one, see [`Snapshot::extend`].
    #[serde(default, skip_serializing_if = "is_none_folded")]
    pub folded: u32,
}

/// One series in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesSlice {
    #[serde(flatten)]
    pub key: SeriesKey,
    /// Ended, passed and failed alike; interrupted ones are not in it.
    pub count: u64,
    pub failed: u64,
    /// Ended by outcome, ascending; `Passed` is included.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Answers by status, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<(u16, u64)>,
    /// Response time of all `count`; a timed-out request stands in it with the time it was given.
    pub response: Histogram,
    pub service: Histogram,
    /// Schedule lag; only what had a schedule.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lag: Histogram,
    /// The part of `response` that failed.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub failed_response: Histogram,
    /// Lower bounds: the part of `response` that timed out, and interrupted ones (which are not in `response`).
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub censored: Histogram,
    #[serde(default, skip_serializing_if = "PhaseSlice::is_empty")]
    pub phases: PhaseSlice,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Requests sent again, since the connection they went out on was being closed as idle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// Of `service`, what timed out.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service_timed_out: Histogram,
    /// Lower bounds of service times: what timed out, and interrupted ones (which are not in `service`).
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service_censored: Histogram,
    /// Of iterations: errors that scripts threw and nothing caught. Without one, a failed iteration held a failed step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub script_errors: u64,
}

/// The part of a series that carries exactly these tags, in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaggedSlice {
    pub tags: Tags,
    #[serde(flatten)]
    pub series: SeriesSlice,
}

impl TaggedSlice {
    /// Adds the parts of another slice to a list.
    pub fn merge_all(into: &mut Vec<TaggedSlice>, from: Vec<TaggedSlice>) {
        for theirs in from {
            match into.iter_mut().find(|mine| mine.tags == theirs.tags && mine.series.key == theirs.series.key) {
                Some(mine) => mine.series.merge(&theirs.series),
                None => into.push(theirs),
            }
        }
    }
}

/// Time per phase; only requests that had the phase are in its histogram.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseSlice {
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub queue: Histogram,
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub dns: Histogram,
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub connect: Histogram,
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub tls: Histogram,
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub wait: Histogram,
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub body: Histogram,
}

/// How one leaf of the load tree kept up with what was asked of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LeafSlice {
    pub leaf: u32,
    /// Open: arrivals that came due in the slice.
    pub arrivals_due: u64,
    /// Iterations that started in the slice.
    pub started: u64,
    pub ended: u64,
    pub failed: u64,
    /// Cut off at the end of the run.
    pub interrupted: u64,
    /// Closed: users that the profile wants at the slice's end.
    pub users_asked: u64,
    /// Users with an iteration running, at the slice's end.
    pub users_active: u64,
    /// Most users with an iteration running at once. Merged: the workers' peaks added, which may lie some moments apart.
    #[serde(default)]
    pub users_peak: u64,
    /// Open: arrivals that are due but wait for a free user, as the target holds up as many as there may be (`users_max`), at the slice's end.
    pub waiting: u64,
    /// Of several seconds: the most that waited at the end of any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting_peak: u64,
    /// Open: arrivals that started over a millisecond late, not for want of a user but because the generator itself was behind.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_back: u64,
    /// Time integral of the active users over the slice. User-nanoseconds.
    pub active_ns: u64,
    /// An iteration found its data used up, and the leaf ended for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhausted: bool,
    /// In the order in which they happened; told by one worker for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LeafChange>,
}

/// A change of what a leaf asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeafChange {
    /// Its load begins.
    Began { at: Nanos, scenario: Arc<str> },
    /// From here on it asks for `factor` times its profile; 0 is a pause.
    Scaled { at: Nanos, factor: f64 },
    /// It asks for nothing more: its profile is over, or it was stopped.
    LoadEnded { at: Nanos },
}

/// What one worker of the generator did with its slice: the ground of every validity check.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSlice {
    pub worker: u32,
    pub wall_ns: u64,
    /// CPU time of the worker's thread.
    pub busy_ns: u64,
    /// Time the thread was runnable but not on a core (`/proc/thread-self/schedstat`).
    pub run_queue_ns: u64,
    /// Time stolen by the hypervisor, whole machine (`/proc/stat`); 0 for all but worker 0.
    pub steal_ns: u64,
    /// Time the cgroup was throttled; 0 for all but worker 0.
    pub throttled_ns: u64,
    /// Time integral of the requests in flight. Request-nanoseconds.
    pub in_flight_ns: u64,
    /// How late timers fired.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub timer_lag: Histogram,
    /// How long responses lay in the kernel until they were read. All of them at a low rate, a sample at a high one, where
    /// the kernel stamps packets.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub read_lag: Histogram,
    /// Turns of the loop that kept everything else waiting for over a millisecond.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub stalls: Histogram,
    /// Garbage collections of script realms.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub collections: Histogram,
    /// Connections open, at the slice's end.
    pub connections: u64,
    /// Connections opened in the slice.
    pub connections_opened: u64,
    /// Bytes of HTTP responses read, of those that have not ended, too; a series counts a response's when it ends.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_received: u64,
    /// TCP segments retransmitted, whole machine (`/proc/net/snmp`); 0 for all but worker 0.
    pub retransmits: u64,
    /// Of these, requests for a connection (`/proc/net/netstat`); 0 for all but worker 0.
    #[serde(default)]
    pub syn_retransmits: u64,
    /// The slice's length on the clock that nothing corrects (CLOCK_MONOTONIC_RAW); 0 for all but worker 0.
    #[serde(default)]
    pub raw_ns: u64,
}

/// What is known of one agent of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSlice {
    pub agent: u32,
    /// How far its clock has gone ahead of the controller's since the load began.
    pub skew_ns: i64,
    /// By how much that may be wrong.
    pub bound_ns: u64,
    /// From here on nothing came from it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Seconds of it that are in the run by now: all before the one of this number.
    #[serde(default)]
    pub told: u32,
}

impl AgentSlice {
    /// The furthest that a clock may have been off.
    pub fn skew_max_ns(&self) -> u64 {
        self.skew_ns.unsigned_abs() + self.bound_ns
    }

    /// Adds what other agents or later seconds tell.
    pub(crate) fn merge_all(into: &mut Vec<AgentSlice>, from: Vec<AgentSlice>) {
        for theirs in from {
            match into.iter_mut().find(|mine| mine.agent == theirs.agent) {
                Some(mine) => {
                    let (lost, told) = (mine.lost || theirs.lost, mine.told.max(theirs.told));
                    if theirs.skew_max_ns() > mine.skew_max_ns() {
                        *mine = theirs;
                    }
                    (mine.lost, mine.told) = (lost, told);
                }
                None => into.push(theirs),
            }
        }
    }
}

/// Equal errors, counted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorGroup {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub outcome: Outcome,
    /// What went wrong, without the parts that differ from case to case.
    pub message: Arc<str>,
    pub count: u64,
    pub first_at: Nanos,
    /// The trace of the first, where requests carry one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// What the first of the run were answered with, where there was an answer; at most [`FailureSample::OF_KIND_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<FailureSample>,
}

/// A single slow request, for the list of the slowest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SlowSample {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub started: Nanos,
    pub response_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue_ns: u64,
    pub dns_ns: u64,
    pub connect_ns: u64,
    pub tls_ns: u64,
    pub wait_ns: u64,
    pub body_ns: u64,
    pub status: u16,
    pub outcome: Outcome,
    /// Its trace, where requests carry one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
}

impl ErrorGroup {
    /// Adds what another worker or a later second has of the same error.
    pub fn merge(&mut self, other: &ErrorGroup) {
        self.count += other.count;
        if other.first_at < self.first_at {
            (self.first_at, self.trace) = (other.first_at, other.trace);
        }
        if !other.samples.is_empty() {
            self.samples.extend(other.samples.iter().cloned());
            self.samples.sort_by_key(|sample| sample.at);
            self.samples.truncate(FailureSample::OF_KIND_MAX);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    LeafBegan,
    LeafEnded,
    /// All load has ended; the run goes on while journeys are open.
    LoadEnded,
    /// No journey is open any more, or the run has waited long enough.
    Drained,
    Stage,
    /// Someone changed the load while it ran.
    Adjusted,
    Warning,
    Stopped,
}

/// Something that happened at an instant, to be drawn on the time axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    pub at: Nanos,
    pub kind: MarkKind,
    pub text: String,
}

impl Snapshot {
    pub const SLOW_MAX: usize = 10;
    /// Distinct errors kept per slice; further ones are counted under the message `(other errors)`.
    pub const ERRORS_MAX: usize = 100;
    /// Distinct errors kept of several seconds: more than any list of a whole run keeps apart.
    pub(crate) const FOLDED_ERRORS_MAX: usize = 2_000;
    pub(crate) const OTHER_ERRORS: &str = "(other errors)";

    /// Makes its histograms as small as they go: for snapshots that are kept.
    pub fn pack(&mut self) {
        self.each_histogram(|histogram| *histogram = histogram.to_packed());
    }

    /// Makes merging others into it cheap: what is packed is encoded anew each time.
    pub fn unpack(&mut self) {
        self.each_histogram(Histogram::unpack);
    }

    /// Bytes of memory, without texts, marks, leaves and the lists of errors.
    pub fn held_bytes(&mut self) -> usize {
        let of_lists = size_of_val(self.series.as_slice())
            + size_of_val(self.tagged.as_slice())
            + size_of_val(self.metrics.as_slice())
            + size_of_val(self.flows.as_slice())
            + size_of_val(self.generator.as_slice());
        let mut of_histograms = 0;
        self.each_histogram(|histogram| of_histograms += histogram.heap_bytes());
        size_of::<Self>() + of_lists + of_histograms
    }

    /// Always in the same order.
    pub(crate) fn each_histogram(&mut self, mut visit: impl FnMut(&mut Histogram)) {
        let of_tags = self.tagged.iter_mut().map(|part| &mut part.series);
        self.series.iter_mut().chain(of_tags).for_each(|series| series.histograms().into_iter().for_each(&mut visit));
        self.metrics.iter_mut().for_each(|metric| metric.value.each_histogram(&mut visit));
        self.flows.iter_mut().for_each(|flow| flow.each_histogram(&mut visit));
        for worker in &mut self.generator {
            [&mut worker.timer_lag, &mut worker.read_lag, &mut worker.stalls, &mut worker.collections].into_iter().for_each(&mut visit);
        }
    }

    /// Adds another worker's snapshot of the same slice, or a later slice when folding a run into one.
    pub fn merge(&mut self, other: Snapshot) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.series_overflow += other.series_overflow;
        self.tags_overflow += other.tags_overflow;
        MetricSlice::merge_all(&mut self.metrics, other.metrics);
        TaggedSlice::merge_all(&mut self.tagged, other.tagged);
        for theirs in other.series {
            match self.series.iter_mut().find(|mine| mine.key == theirs.key) {
                Some(mine) => mine.merge(&theirs),
                None => self.series.push(theirs),
            }
        }
        for theirs in other.leaves {
            match self.leaves.iter_mut().find(|mine| mine.leaf == theirs.leaf) {
                Some(mine) => mine.merge(&theirs),
                None => self.leaves.push(theirs),
            }
        }
        for theirs in other.errors {
            let same = |mine: &&mut ErrorGroup| mine.key == theirs.key && mine.outcome == theirs.outcome && mine.message == theirs.message;
            match self.errors.iter_mut().find(same) {
                Some(mine) => mine.merge(&theirs),
                None => self.errors.push(theirs),
            }
        }
        for theirs in other.flows {
            match self.flows.iter_mut().find(|mine| mine.name == theirs.name) {
                Some(mine) => mine.merge(&theirs),
                None => self.flows.push(theirs),
            }
        }
        self.flow_events.extend(other.flow_events);
        self.generator.extend(other.generator);
        AgentSlice::merge_all(&mut self.agents, other.agents);
        self.slow.extend(other.slow);
        self.slow.sort_by_key(|slow| std::cmp::Reverse(slow.response_ns));
        self.slow.truncate(Self::SLOW_MAX);
        self.marks.extend(other.marks);
        self.marks.sort_by_key(|mark| mark.at);
    }
}

impl SeriesSlice {
    pub fn new(key: SeriesKey) -> Self {
        Self {
            key,
            count: 0,
            failed: 0,
            outcomes: Vec::new(),
            statuses: Vec::new(),
            response: Histogram::new(),
            service: Histogram::new(),
            lag: Histogram::new(),
            failed_response: Histogram::new(),
            censored: Histogram::new(),
            phases: PhaseSlice::default(),
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            service_timed_out: Histogram::new(),
            service_censored: Histogram::new(),
            script_errors: 0,
        }
    }

    pub fn merge(&mut self, other: &SeriesSlice) {
        self.count += other.count;
        self.failed += other.failed;
        other.outcomes.iter().for_each(|(outcome, count)| add_to(&mut self.outcomes, *outcome, *count));
        other.statuses.iter().for_each(|(status, count)| add_to(&mut self.statuses, *status, *count));
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.failed_response.merge(&other.failed_response);
        self.censored.merge(&other.censored);
        self.phases.merge(&other.phases);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.retried += other.retried;
        self.service_timed_out.merge(&other.service_timed_out);
        self.service_censored.merge(&other.service_censored);
        self.script_errors += other.script_errors;
    }

    pub(crate) fn histograms(&mut self) -> [&mut Histogram; 13] {
        let phases = &mut self.phases;
        [
            &mut self.response,
            &mut self.service,
            &mut self.lag,
            &mut self.failed_response,
            &mut self.censored,
            &mut self.service_timed_out,
            &mut self.service_censored,
            &mut phases.queue,
            &mut phases.dns,
            &mut phases.connect,
            &mut phases.tls,
            &mut phases.wait,
            &mut phases.body,
        ]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.censored.is_empty() && self.outcomes.is_empty() && self.script_errors == 0
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none_folded(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Adds to the entry of a short sorted list.
pub(crate) fn add_to<K: Ord + Copy>(list: &mut Vec<(K, u64)>, key: K, count: u64) {
    match list.binary_search_by_key(&key, |(k, _)| *k) {
        Ok(index) => list[index].1 += count,
        Err(index) => list.insert(index, (key, count)),
    }
}

impl PhaseSlice {
    pub fn is_empty(&self) -> bool {
        self.all().iter().all(|(_, histogram)| histogram.is_empty())
    }

    /// The phases in the order in which they happen.
    pub fn all(&self) -> [(&'static str, &Histogram); 6] {
        [
            ("queue", &self.queue),
            ("dns", &self.dns),
            ("connect", &self.connect),
            ("tls", &self.tls),
            ("wait", &self.wait),
            ("body", &self.body),
        ]
    }

    pub(crate) fn to_packed(&self) -> Self {
        Self {
            queue: self.queue.to_packed(),
            dns: self.dns.to_packed(),
            connect: self.connect.to_packed(),
            tls: self.tls.to_packed(),
            wait: self.wait.to_packed(),
            body: self.body.to_packed(),
        }
    }

    pub(crate) fn record(&mut self, phases: &Phases) {
        if phases.queue > 0 {
            self.queue.record(phases.queue);
        }
        if phases.dns > 0 {
            self.dns.record(phases.dns);
        }
        if phases.connect > 0 {
            self.connect.record(phases.connect);
        }
        if phases.tls > 0 {
            self.tls.record(phases.tls);
        }
        if phases.wait > 0 {
            self.wait.record(phases.wait);
        }
        if phases.body > 0 {
            self.body.record(phases.body);
        }
    }

    pub fn merge(&mut self, other: &PhaseSlice) {
        self.queue.merge(&other.queue);
        self.dns.merge(&other.dns);
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.wait.merge(&other.wait);
        self.body.merge(&other.body);
    }
}

impl LeafSlice {
    fn merge(&mut self, other: &LeafSlice) {
        self.arrivals_due += other.arrivals_due;
        self.started += other.started;
        self.ended += other.ended;
        self.failed += other.failed;
        self.interrupted += other.interrupted;
        self.users_asked += other.users_asked;
        self.users_active += other.users_active;
        self.users_peak += other.users_peak;
        self.waiting += other.waiting;
        self.waiting_peak += other.waiting_peak;
        self.held_back += other.held_back;
        self.active_ns += other.active_ns;
        self.exhausted |= other.exhausted;
        self.changes.extend_from_slice(&other.changes);
    }
}
