//! One second of measurements: sent by workers, stored on disk, drawn by pages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::error_cause::ErrorCause;
use crate::failure_sample::FailureSample;
use crate::flow::{FlowEvent, FlowSlice};
use crate::histogram::Histogram;
use crate::outcome::Outcome;
use crate::own_metric::MetricSlice;
use crate::record_slice::RecordSlice;
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
    /// Events of journeys that scenarios reported, for the book that computes `flows` from them.
    #[serde(skip)]
    pub flow_events: Vec<FlowEvent>,
    /// Samples whose name appeared after the bound on series was reached.
    #[serde(default)]
    pub series_overflow: u64,
    /// Custom metrics. Each has one entry for all values, and one per set of tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSlice>,
    /// Parts of `series` by tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tagged: Vec<TaggedSlice>,
    /// Values and samples whose tags appeared after the bound on tags was reached. They are in no tagged part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tags_overflow: u64,
    /// For a run over a fleet: the state of each agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSlice>,
    /// For load of another tool: what its record showed about itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordSlice>,
    /// Further seconds that were folded into this one, see [`Snapshot::extend`].
    #[serde(default, skip_serializing_if = "is_none_folded")]
    pub folded: u32,
}

/// One series in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesSlice {
    #[serde(flatten)]
    pub key: SeriesKey,
    /// Ended, passed and failed alike. Interrupted ones are not included.
    pub count: u64,
    pub failed: u64,
    /// Ended by outcome, ascending. `Passed` is included.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Responses by status, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<(u16, u64)>,
    /// Response times of all `count`. A timed-out request is included with its time limit.
    pub response: Histogram,
    pub service: Histogram,
    /// Schedule lag. Only of items with a schedule.
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
    /// Requests that were resent because the server had not processed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// The part of `service` that timed out.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service_timed_out: Histogram,
    /// Lower bounds of service times: those that timed out, and interrupted ones (which are not in `service`).
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service_censored: Histogram,
    /// For iterations: errors that scripts threw and nothing caught. Without one, a failed iteration contained a failed step.
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

/// Time per phase. Each histogram contains only requests that had the phase.
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

/// How one leaf of the load tree kept up with its planned load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LeafSlice {
    pub leaf: u32,
    /// Open: arrivals that came due in the slice.
    pub arrivals_due: u64,
    /// Iterations that started in the slice.
    pub started: u64,
    pub ended: u64,
    pub failed: u64,
    /// Interrupted by the end of the run.
    pub interrupted: u64,
    /// Closed: users that the profile requires at the slice's end.
    pub users_asked: u64,
    /// Users with an iteration running, at the slice's end.
    pub users_active: u64,
    /// Most users with an iteration running at once. Merging adds the workers' peaks, which may occur at different times.
    #[serde(default)]
    pub users_peak: u64,
    /// Open: arrivals at the slice's end that are due but wait for a free user, since the target occupies as many as allowed (`users_max`).
    pub waiting: u64,
    /// For several seconds: the most that waited at the end of any second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting_peak: u64,
    /// Open: arrivals that started over a millisecond late because the generator was behind, and not because all users were busy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_back: u64,
    /// Time integral of the active users over the slice. User-nanoseconds.
    pub active_ns: u64,
    /// An iteration found no more data, so the leaf ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhausted: bool,
    /// In the order in which they happened. One worker records them for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LeafChange>,
}

/// A change of a leaf's load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeafChange {
    /// Its load begins.
    Began { at: Nanos, scenario: Arc<str> },
    /// From here on the load is `factor` times the profile. 0 pauses it.
    Scaled { at: Nanos, factor: f64 },
    /// The load has ended: its profile is over, or it was stopped.
    LoadEnded { at: Nanos },
}

/// What one worker of the generator did during the slice. All validity checks are based on it.
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
    /// How long responses waited in the kernel until they were read. If the kernel stamps packets: all responses at a low rate, a sample at a high
    /// one.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub read_lag: Histogram,
    /// Turns of the event loop that delayed everything else for over a millisecond.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub stalls: Histogram,
    /// Garbage collections of script realms.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub collections: Histogram,
    /// Connections open, at the slice's end.
    pub connections: u64,
    /// Connections opened in the slice.
    pub connections_opened: u64,
    /// TLS handshakes that ended in the slice, and those of them that resumed an earlier session.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tls_handshakes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tls_resumed: u64,
    /// Bytes read of HTTP responses, including responses in progress. A series counts a response's bytes when it ends.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_received: u64,
    /// TCP segments retransmitted, whole machine (`/proc/net/snmp`); 0 for all but worker 0.
    pub retransmits: u64,
    /// The part of these that were connection requests (`/proc/net/netstat`). 0 for all but worker 0.
    #[serde(default)]
    pub syn_retransmits: u64,
    /// The slice's length on the uncorrected clock (CLOCK_MONOTONIC_RAW). 0 for all but worker 0.
    #[serde(default)]
    pub raw_ns: u64,
    /// The kernel counts neither waits for a core, steal, throttling and retransmissions, nor a second clock (macOS). Their zeros mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_kernel_counters: bool,
}

/// The state of one agent of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSlice {
    pub agent: u32,
    /// How far its clock has advanced relative to the controller's since the load began.
    pub skew_ns: i64,
    /// The maximum error of `skew_ns`.
    pub bound_ns: u64,
    /// The agent sent nothing more from this slice on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// The run contains the agent's seconds before this number.
    #[serde(default, rename = "told")]
    pub seconds_received: u32,
}

impl AgentSlice {
    /// The largest possible deviation of its clock.
    pub fn skew_max_ns(&self) -> u64 {
        self.skew_ns.unsigned_abs() + self.bound_ns
    }

    /// Adds the reports of other agents or later seconds.
    pub(crate) fn merge_all(into: &mut Vec<AgentSlice>, from: Vec<AgentSlice>) {
        for theirs in from {
            match into.iter_mut().find(|mine| mine.agent == theirs.agent) {
                Some(mine) => {
                    let (lost, seconds_received) = (mine.lost || theirs.lost, mine.seconds_received.max(theirs.seconds_received));
                    if theirs.skew_max_ns() > mine.skew_max_ns() {
                        *mine = theirs;
                    }
                    (mine.lost, mine.seconds_received) = (lost, seconds_received);
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
    /// The error message, without the parts that differ from case to case.
    pub message: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<ErrorCause>,
    /// These are all errors beyond those that are kept, counted together: see [`Snapshot::ERRORS_MAX`]. Request and outcome are those of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rest: bool,
    pub count: u64,
    pub first_at: Nanos,
    /// The trace of the first error, if requests carry one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// The first responses of the run with this error, if there were any. At most [`FailureSample::SAMPLES_PER_KIND_MAX`].
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
    /// Its trace, if requests carry one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
}

impl ErrorGroup {
    /// One error without a response.
    pub fn new(key: SeriesKey, outcome: Outcome, message: &str, first_at: Nanos) -> Self {
        Self { key, outcome, message: message.into(), cause: None, is_rest: false, count: 1, first_at, trace: None, samples: Vec::new() }
    }

    /// The group that counts this error and all further ones once a list is full.
    #[must_use]
    pub fn into_rest(self) -> Self {
        Self { message: "(other errors)".into(), cause: None, is_rest: true, samples: Vec::new(), ..self }
    }

    /// Adds the counts of another worker or a later second for the same error.
    pub fn merge(&mut self, other: &ErrorGroup) {
        self.count += other.count;
        if other.first_at < self.first_at {
            (self.first_at, self.trace) = (other.first_at, other.trace);
        }
        if !other.samples.is_empty() {
            self.samples.extend(other.samples.iter().cloned());
            self.samples.sort_by_key(|sample| sample.at);
            self.samples.truncate(FailureSample::SAMPLES_PER_KIND_MAX);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    LeafBegan,
    LeafEnded,
    /// All load has ended. The run continues while journeys are open.
    LoadEnded,
    /// No journey is open any more, or the run has reached its time limit for them.
    Drained,
    Stage,
    /// A user changed the load while it ran.
    Adjusted,
    Warning,
    Stopped,
}

/// An event at an instant, to be drawn on the time axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    pub at: Nanos,
    pub kind: MarkKind,
    pub text: String,
}

impl Snapshot {
    pub const SLOW_MAX: usize = 10;
    /// Distinct errors kept per slice. Further errors are counted together, in the one that [`ErrorGroup::is_rest`] marks.
    pub const ERRORS_MAX: usize = 100;
    /// Distinct errors kept when seconds are folded. It exceeds the length of any error list of a whole run.
    pub(crate) const FOLDED_ERRORS_MAX: usize = 2_000;

    /// Packs all histograms, for snapshots that are stored.
    pub fn pack(&mut self) {
        self.each_histogram(|histogram| *histogram = histogram.to_packed());
    }

    /// Unpacks all histograms, so that merging others into it is cheap. Merging into packed ones re-encodes them each time.
    pub fn unpack(&mut self) {
        self.each_histogram(Histogram::unpack);
    }

    /// Size in bytes, without strings, marks, leaves and error lists.
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

    /// Visits all histograms, always in the same order.
    pub(crate) fn each_histogram(&mut self, mut visit: impl FnMut(&mut Histogram)) {
        let of_tags = self.tagged.iter_mut().map(|part| &mut part.series);
        self.series.iter_mut().chain(of_tags).for_each(|series| series.histograms().into_iter().for_each(&mut visit));
        self.metrics.iter_mut().for_each(|metric| metric.value.each_histogram(&mut visit));
        self.flows.iter_mut().for_each(|flow| flow.each_histogram(&mut visit));
        self.record.iter_mut().for_each(|record| visit(&mut record.late_starts));
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
        RecordSlice::add(&mut self.record, other.record);
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_folded(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
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
