//! The view that the terminal, the live page and the finished report draw. Its JSON is the page's only input. A test generates the page's types
//! (`web/src/generated`) from the types in this file and below it.

use loadstone_analysis::{RunComparison, Summary, WithdrawnFinding};
use loadstone_metrics::span::KeptTrace;
use loadstone_metrics::{MarkKind, SlowSample};
use serde::Serialize;

use crate::explanation::FindingExplanation;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    Completed,
    Interrupted,
    Aborted,
    Failed,
    /// The run directory has no end: the process was killed.
    Killed,
}

/// What was run, where, and with which settings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TestView {
    pub name: String,
    pub id: String,
    pub file: Option<String>,
    pub target: Option<String>,
    /// RFC 3339.
    pub started: String,
    /// Commit of the sources: `39dbcdc0…`, and whether the sources differed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub state: RunState,
    /// Why the run ended early; empty otherwise.
    pub state_detail: String,
    pub duration_seconds: f64,
    /// Length of the load as planned, if it has one.
    pub planned_seconds: Option<f64>,
    pub loadstone: String,
    /// A string if it does not fit a JavaScript number.
    #[serde(serialize_with = "as_javascript_can_hold_it")]
    #[cfg_attr(any(test, feature = "typescript"), ts(type = "number | string"))]
    pub seed: u64,
    pub workers: u32,
    /// One line: `host-1 · AMD EPYC · 2 cores · 24 GiB · Linux 6.1`.
    pub host: String,
    /// `(name, value with secrets masked, origin: default|file|environment|command_line, help)`.
    pub parameters: Vec<(String, String, String, String)>,
    /// The load in words, one line per scenario run: `Buy a ticket: 4 arrivals/s for 1m`.
    pub load: Vec<String>,
    pub tags: Vec<String>,
}

/// One line of a chart: a value per step of the timeline, `None` where there is none.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ChartColumn {
    /// Unique on the page. Findings refer to it: `rate/asked`, `response/p99`, `signal/process:8080/cpu`. docs/timeline.md lists all ids.
    pub id: String,
    pub label: String,
    pub values: Vec<Option<f64>>,
    /// For percentiles of seconds with too few samples: they are pooled, and each pool has one value. The pools cover the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<Pool>>,
}

/// Neighbouring steps that have one value together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Pool {
    pub seconds: f64,
    pub samples: u64,
}

/// One chart on the shared time axis.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Panel {
    /// `rate`, `response`, `users`, `in_flight`, `failures`, `phases`, `bytes`, `flow/NAME`, `generator`, `generator_lag`. For a signal: `signal/`
    /// and its name without the label.
    pub id: String,
    pub title: String,
    /// `s` (times, drawn in fitting units), `/s`, `users`, `bytes`, `bytes/s`, `share`, `1`, or the unit of a signal.
    pub unit: String,
    /// Draw the columns as a stacked area.
    pub stacked: bool,
    pub columns: Vec<ChartColumn>,
}

/// The signals of one observer.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Band {
    pub observer: String,
    pub panels: Vec<Panel>,
}

/// The heat map of response times: counts per time step and logarithmic response-time bin.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct HeatMap {
    /// Lower edges of the bins, seconds, ascending; the last entry is the upper edge of the last bin.
    pub edges: Vec<f64>,
    /// One list per time step: `[bin, count, bin, count, …]`, empty bins left out.
    pub steps: Vec<Vec<u64>>,
}

/// The charts of one request, on a separate grid that begins with the run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct RequestCharts {
    /// A whole multiple of the timeline's step, or a whole fraction of it.
    pub step_seconds: f64,
    /// `rate`, `response`, `failures`, and `spans` if the request's traces were observed. Empty if there are too many requests to draw each.
    pub panels: Vec<Panel>,
}

/// The requests' own series that one piece of evidence names. Empty if its series are those of the whole run, which the timeline has.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct EvidenceCharts {
    pub step_seconds: f64,
    /// One for each unit.
    pub panels: Vec<Panel>,
    /// Distribution of the requests' response times, like that of the view, if the evidence marks times in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distribution: Vec<(f64, f64, u64)>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct MarkView {
    pub at_seconds: f64,
    pub kind: MarkKind,
    pub text: String,
}

/// Everything that varies over time, on one axis.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Timeline {
    /// Start of each step, seconds since the run began.
    pub seconds: Vec<f64>,
    /// Length of a step; 1 unless a long run was downsampled.
    pub step_seconds: f64,
    pub panels: Vec<Panel>,
    pub heat: HeatMap,
    pub bands: Vec<Band>,
    pub marks: Vec<MarkView>,
    /// Parts of the run in steps of one second, if the timeline's steps are longer. Finished runs only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub close_ups: Vec<CloseUp>,
}

/// A part of the run at full resolution, for a page that is zoomed in.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct CloseUp {
    /// The second of the run at which it begins. Each value of its columns covers one second.
    pub from_seconds: u32,
    /// Panels of the timeline, by id, and of the signals that the summary shows.
    pub panels: Vec<Panel>,
}

/// The whole page.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ReportView {
    /// Version of this schema: 1.
    pub version: u32,
    pub test: TestView,
    pub summary: Summary,
    pub timeline: Timeline,
    /// Distribution of all response times: `(from seconds, to seconds, count)`, logarithmic bins.
    pub distribution: Vec<(f64, f64, u64)>,
    /// Spark lines for the table, per row of `summary.requests`: mean response time per step, at most 60 steps. Empty if a request has no slices.
    pub sparks: Vec<Vec<Option<f64>>>,
    /// Charts per row of `summary.requests`.
    pub request_charts: Vec<RequestCharts>,
    /// For each finding, and each piece of its evidence: the requests' own series that it rests on.
    pub evidence_charts: Vec<Vec<EvidenceCharts>>,
    /// For each finding: what its rule's documentation states, and the experiment that would prove it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<FindingExplanation>,
    /// The slowest requests of the run, slowest first.
    pub slowest: Vec<SlowSample>,
    /// Notes per row of `summary.flows`, in sentences.
    pub flow_notes: Vec<Vec<String>>,
    /// Notes on percentiles to which the generator may have added, in sentences. The largest share is first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertainty_notes: Vec<String>,
    /// The most that the generator may have added to each headline percentile, in a sentence; `None` if all are certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty_in_short: Option<String>,
    /// Headline percentiles that may consist of the generator's noise for a large part, by name. The verdict excepts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unusable_percentiles: Vec<String>,
    /// Address of a trace in the user's trace store, with `{trace}` for its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_link: Option<String>,
    /// Complete traces: for each request some slow ones, some failed ones, and a random sample. Empty while the run is in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<KeptTrace>,
    /// Changes to the load during the run, and warnings of the tool.
    pub notes: Vec<String>,
    /// The comparison with the baseline that the run was started with. Only in the report that the run itself writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<RunComparison>,
    /// While the run is in progress: what its findings rest on. `None` if they are final, or if there was no search for findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisional: Option<ProvisionalView>,
}

/// How reliable findings are while their run is in progress.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ProvisionalView {
    /// The findings rest on this many seconds of the run.
    pub seconds: f64,
    /// Findings that later seconds did not confirm; the latest is first.
    pub withdrawn: Vec<WithdrawnFinding>,
}

/// JavaScript's numbers are exact up to 2⁵³.
fn as_javascript_can_hold_it<S: serde::Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value <= 1 << 53 { serializer.serialize_u64(*value) } else { serializer.collect_str(value) }
}
