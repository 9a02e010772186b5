//! Verdicts and summaries as data. This is also the schema of `summary.json`.

use loadstone_metrics::span::SpanKind;
use loadstone_metrics::{Outcome, SeriesKey, Tags, TraceId};
use loadstone_plan::Threshold;
use serde::{Deserialize, Serialize};

use crate::FlowRow;
use crate::finding::{FindingProof, Findings};
use crate::load_source::LoadSource;
use crate::own_metrics::MetricRow;
use crate::time_stats::TimeStats;

/// How far a measurement can be trusted; ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Valid,
    Suspect,
    Invalid,
}

/// One validity check. Definitions and limits: docs/validity.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ValidityCheck {
    /// Stable identifier: `offered-rate`, `schedule-lag`, …
    pub id: String,
    pub title: String,
    /// `None`: nothing to judge (no open load, no data).
    pub grade: Option<Grade>,
    /// What was measured, with numbers, in one sentence.
    pub evidence: String,
    /// From where on it is suspect, and from where on invalid.
    pub limits: String,
    /// What to do about it; empty when fine.
    pub advice: String,
    /// Numbers of the evidence that a chart shows. Only for findings that rest on the check.
    #[serde(skip)]
    pub levels: Vec<CheckLevel>,
}

/// A number of a check's evidence, as a level of a series of the charts.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckLevel {
    pub series: String,
    /// In a few words: `longest`.
    pub label: &'static str,
    pub value: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Validity {
    /// The worst of the checks.
    pub grade: Grade,
    pub checks: Vec<ValidityCheck>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ThresholdState {
    Passed,
    Failed,
    /// Nothing that it judges was measured. Counts as failed at the end of a run.
    NoData,
    /// Not met, but the generator, or too few samples, may be why.
    Undecided,
    /// While running: not yet decided.
    Pending,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ThresholdResult {
    pub threshold: Threshold,
    pub state: ThresholdState,
    /// In the metric's base unit (seconds, count, per second, share). For windows: of the worst window.
    pub measured: Option<f64>,
    /// For windows: where the worst window began. Seconds since the run began.
    pub at_seconds: Option<f64>,
    /// While running: it does not hold with what was measured so far, and may yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failing: bool,
    /// One sentence: `p99 was 38.2 ms (95 % interval 37.1–40.0 ms), bound 50 ms`.
    pub detail: String,
    /// The sentence without the bound, for lines that name the threshold. Empty without data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
}

/// A request, group or iteration series over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RequestRow {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub count: u64,
    pub failed: u64,
    /// Ended per second, over the time from its first to its last slice.
    pub rate: f64,
    pub response: TimeStats,
    pub service: TimeStats,
    pub lag: TimeStats,
    /// `(phase, times)` in the order in which they happen; phases that never happened are left out.
    pub phases: Vec<(String, TimeStats)>,
    pub outcomes: Vec<(Outcome, u64)>,
    pub statuses: Vec<(u16, u64)>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Resent because the server had not processed them: it was closing the idle connection, or refused the HTTP/2 stream. Absent
    /// from the files of earlier versions.
    #[serde(default)]
    pub retried: u64,
    /// By how much `rate` may be too low, at most, as the load generator asked for less than it should have. Where it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_uncertainty: Option<f64>,
    /// How many of `failed` may have been answered in time, at most, and were read late. Where it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_uncertainty: Option<u64>,
}

/// The part of a request, group or check that carries certain tags, over the whole run. It is in its row of that name, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TaggedRow {
    pub tags: Tags,
    #[serde(flatten)]
    pub row: RequestRow,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CheckRow {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub passed: u64,
    pub failed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ErrorRow {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub outcome: Outcome,
    pub message: String,
    pub count: u64,
    pub first_at_seconds: f64,
    /// The trace of the first, where requests carry one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// What the first of them were answered with, where there was an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<ErrorSample>,
}

/// The answer to a request that failed, without secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ErrorSample {
    pub at_seconds: f64,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Its beginning; empty where it is no text.
    pub body: String,
    /// Of the whole body, decompressed.
    pub body_bytes: u64,
}

/// A signal of the system that is worth a look: a finding rests on it, or it moved during the run. docs/metrics.md says which do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SignalRow {
    /// `process:8080/cpu`, as its observer calls it.
    pub name: String,
    /// Of the readings as shown, see [`loadstone_metrics::Signal::unit_shown`]: those of a counter are its growth per second.
    pub unit: String,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// When it was first at its maximum. Seconds since the run began.
    pub max_at_seconds: f64,
}

/// What a [`ChangeRow`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ChangedThing {
    Request,
    Group,
    Scenario,
    Flow,
    Signal,
}

/// Something that changed at an instant while the load stayed the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ChangeRow {
    pub of: ChangedThing,
    /// Of a request, group or scenario; empty of what belongs to none. Absent from the files of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub name: String,
    /// `service.p50` and `service.mean` in seconds, `failures.share`, or `value.p50` of a signal's readings as shown.
    pub metric: String,
    /// Seconds since the run began, and by how much that may be off either way.
    pub at_seconds: f64,
    pub at_error_seconds: f64,
    /// When it was over; `None`: it lasted.
    pub until_seconds: Option<f64>,
    pub before: f64,
    pub after: f64,
    pub samples_before: u64,
    pub samples_after: u64,
}

/// What kind of thing a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// What the load had in flight.
    Load,
    Process,
    Thread,
    Group,
    Machine,
    Pool,
    /// A database's sessions.
    Sessions,
    /// What the system calls: a stub.
    Endpoint,
    Queue,
    Heap,
    EventLoop,
    Descriptors,
    Disk,
    Network,
}

/// How a resource was used at some load: a row of Gregg's USE method (2013), utilisation, saturation and errors. `None`: not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ResourceUse {
    /// Places in use, in the row's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// Share of the places or of the time in use, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// How many wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
    /// Per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<f64>,
}

/// A resource along the request path: what was observed of it at low and at high load, or that it was not observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ResourceRow {
    pub kind: ResourceKind,
    /// `process:8080`, `db_pool`, `sda`.
    pub name: String,
    /// Of `used` and `limit`: `cores`, `connections`, `bytes`; empty where only a share is known.
    pub unit: String,
    /// Places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// `None`: the load did not vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<ResourceUse>,
    /// `None`: not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<ResourceUse>,
}

/// A span of a request by where it stands, over the whole run. Times are means, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SpanRow {
    /// How many of the rows before it stand above it: 0 is an entry.
    pub depth: u32,
    pub service: String,
    pub name: String,
    pub kind: SpanKind,
    /// Per request.
    pub calls: f64,
    pub errors: u64,
    /// Of each call, from its start to its end.
    pub mean_seconds: f64,
    pub p95_seconds: f64,
    /// Of that, without a child under way.
    pub own_seconds: f64,
    /// Per request, on its critical path: what it does itself or waits for. Over all spans of a request this adds up to its `seconds`.
    pub path_seconds: f64,
    /// Per request, right before its calls: part of the `path_seconds` of the span above.
    pub before_seconds: f64,
    /// `path_seconds` at low and at high load, where the load varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_path_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_path_seconds: Option<f64>,
}

/// The parts of a request's time, as the spans of its traces show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RequestSpans {
    pub scenario: String,
    pub name: String,
    /// Traces that were put together.
    pub traces: u64,
    /// Mean time within the system: from the first span's start to the last entry's end.
    pub seconds: f64,
    /// In the order of the tree: each behind the span that it stands below.
    pub spans: Vec<SpanRow>,
}

/// The CPU time of an observed runtime's process by function, from samples of its stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuntimeProfile {
    pub observer: String,
    pub stacks: Vec<ProfiledStack>,
    /// How many samples stand for a second of CPU time per request: over all of the load, while nothing was held up, and while work was. They say how many
    /// digits a number has.
    #[serde(default)]
    pub samples_each: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_samples_each: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_samples_each: Option<f64>,
}

/// CPU time that requests take in one function, below the functions that called it. Seconds per request that ended, of any name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ProfiledStack {
    /// The system's own functions, the outermost first; the last is the one that ran.
    pub stack: Vec<String>,
    /// Over all of the load.
    pub seconds: f64,
    /// In the seconds in which nothing was held up. Absent where work never was, or one of the two stretches is too short to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_seconds: Option<f64>,
    /// In the seconds in which work was held up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_seconds: Option<f64>,
}

/// The run in a handful of numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunTotals {
    pub duration_seconds: f64,
    pub requests: u64,
    pub requests_failed: u64,
    /// Requests resent because the server had not processed them.
    #[serde(default)]
    pub retried: u64,
    /// Requests ended per second over the run.
    pub request_rate: f64,
    /// Failed share, 0 to 1; 0 without requests.
    pub failure_share: f64,
    pub iterations: u64,
    pub iterations_failed: u64,
    pub iterations_interrupted: u64,
    /// Open load: arrivals that came due, and arrivals that started.
    pub arrivals_due: u64,
    pub arrivals_started: u64,
    pub users_max: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub checks_passed: u64,
    pub checks_failed: u64,
    pub connections_opened: u64,
    /// TLS handshakes that succeeded.
    #[serde(default)]
    pub tls_handshakes: u64,
    /// Those of them that resumed an earlier session, which costs the server less.
    #[serde(default)]
    pub tls_resumed: u64,
}

/// Every number of a run that any surface shows. `summary.json` is this, with `schema` first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Summary {
    /// Version of this schema: 2.
    pub schema: u32,
    pub id: String,
    pub test: String,
    pub started: String,
    /// What sent or carried the requests. Absent: Loadstone's own load generator.
    #[serde(default, skip_serializing_if = "LoadSource::is_own")]
    pub source: LoadSource,
    pub totals: RunTotals,
    /// Response times of all requests together.
    pub response: TimeStats,
    pub requests: Vec<RequestRow>,
    pub groups: Vec<RequestRow>,
    /// Whole iterations, by scenario.
    pub scenarios: Vec<RequestRow>,
    pub flows: Vec<FlowRow>,
    pub checks: Vec<CheckRow>,
    /// Metrics of the test's own, and their parts by tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRow>,
    /// Requests, groups and checks by their tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tagged: Vec<TaggedRow>,
    pub errors: Vec<ErrorRow>,
    /// A few of the system's own signals. Absent from the files of earlier versions.
    #[serde(default)]
    pub signals: Vec<SignalRow>,
    /// What changed in time. Absent from the files of earlier versions.
    #[serde(default)]
    pub changes: Vec<ChangeRow>,
    /// What was observed of each resource on the way, and what was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceRow>,
    /// What the time of each request is made of, if traces were observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<RequestSpans>,
    /// Which functions of the observed runtimes take their CPU time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<RuntimeProfile>,
    /// What later experiments showed about the findings. [`conclude`](crate::conclude) knows none: they are stored next to the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<FindingProof>,
    pub verdict: Verdict,
}

/// What is concluded from one run: whether the measurement was valid, whether the system met its objectives, and what limits it. Whether it is better
/// than before takes a comparison of two runs, which is not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Verdict {
    pub validity: Validity,
    pub thresholds: Vec<ThresholdResult>,
    pub findings: Findings,
}

impl Verdict {
    pub fn thresholds_failed(&self) -> bool {
        self.thresholds.iter().any(|result| matches!(result.state, ThresholdState::Failed | ThresholdState::NoData))
    }

    pub fn thresholds_undecided(&self) -> bool {
        self.thresholds.iter().any(|result| result.state == ThresholdState::Undecided)
    }
}
