//! Computes the numbers of a run. Definitions: docs/metrics.md.

use std::collections::HashMap;

use loadstone_metrics::{FailureSample, Histogram, Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot, Tags};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{Run, RunInfo};

use crate::censored::CensoredTimes;
use crate::percentile::{stats, stats_of};
use crate::statistics::Intervals;
use crate::tally::{RunTally, SeriesTally};
use crate::{
    ChangeRow, CheckRow, ErrorRow, ErrorSample, FlowRow, LoadSource, MetricRow, RequestRow, RequestSpans, ResourceRow, RunTotals,
    RuntimeProfile, SignalRow, Summary, TaggedRow, TimeStats, Verdict,
};

/// Maximum number of rows in the list of errors.
const ERROR_ROWS_MAX: usize = 100;

impl Summary {
    pub const SCHEMA: u32 = 2;
}

/// The numbers of a run, without the verdict.
pub(crate) struct Numbers {
    pub(crate) totals: RunTotals,
    pub(crate) response: TimeStats,
    pub(crate) requests: Vec<RequestRow>,
    pub(crate) groups: Vec<RequestRow>,
    pub(crate) scenarios: Vec<RequestRow>,
    pub(crate) flows: Vec<FlowRow>,
    checks: Vec<CheckRow>,
    metrics: Vec<MetricRow>,
    tagged: Vec<TaggedRow>,
    errors: Vec<ErrorRow>,
}

/// Everything in a summary except the numbers.
pub(crate) struct Conclusions {
    pub(crate) signals: Vec<SignalRow>,
    pub(crate) changes: Vec<ChangeRow>,
    pub(crate) resources: Vec<ResourceRow>,
    pub(crate) spans: Vec<RequestSpans>,
    pub(crate) profiles: Vec<RuntimeProfile>,
    pub(crate) verdict: Verdict,
}

impl Numbers {
    pub(crate) fn of(run: &Run, tally: &RunTally) -> Self {
        let histories = Histories::of(&run.slices);
        let times = |merged: &SeriesSlice| with_intervals(merged, &histories.of_series(&merged.key));
        Self::with(tally, times, response_of_all(tally, &histories))
    }

    /// The numbers while a run is in progress: without intervals, which need every single second.
    pub(crate) fn so_far(tally: &RunTally) -> Self {
        let times = |merged: &SeriesSlice| stats(CensoredTimes::response(merged), |_| (None, None));
        let response = tally.together(SeriesKind::Request).map_or_else(TimeStats::default, |all| times(&all));
        Self::with(tally, times, response)
    }

    fn with(tally: &RunTally, times: impl Fn(&SeriesSlice) -> TimeStats, response: TimeStats) -> Self {
        let rows = |kind| {
            let mut rows: Vec<RequestRow> = tally.of_kind(kind).map(|series| row(series, times(&series.merged))).collect();
            rows.sort_by(|a, b| a.key.cmp(&b.key));
            rows
        };
        Self {
            totals: totals(tally),
            response,
            requests: rows(SeriesKind::Request),
            groups: rows(SeriesKind::Group),
            scenarios: rows(SeriesKind::Iteration),
            flows: tally.flows().iter().map(|flow| flow.row(tally.load_end())).collect(),
            checks: checks(tally),
            metrics: tally.metrics().rows(),
            tagged: tally.tagged().map(tagged).collect(),
            errors: errors(tally),
        }
    }

    pub(crate) fn into_summary(self, info: &RunInfo, plan: &TestPlan, conclusions: Conclusions) -> Summary {
        Summary {
            schema: Summary::SCHEMA,
            id: info.id.clone(),
            test: plan.name.clone(),
            started: info.started.clone(),
            source: LoadSource::of(plan),
            totals: self.totals,
            response: self.response,
            requests: self.requests,
            groups: self.groups,
            scenarios: self.scenarios,
            flows: self.flows,
            checks: self.checks,
            metrics: self.metrics,
            tagged: self.tagged,
            errors: self.errors,
            signals: conclusions.signals,
            changes: conclusions.changes,
            resources: conclusions.resources,
            spans: conclusions.spans,
            profiles: conclusions.profiles,
            proofs: Vec::new(),
            verdict: conclusions.verdict,
        }
    }
}

/// Response times of each series, second by second.
struct Histories<'a> {
    by_key: HashMap<&'a SeriesKey, Vec<&'a Histogram>>,
    requests: Vec<Vec<&'a Histogram>>,
}

impl<'a> Histories<'a> {
    fn of(slices: &'a [Snapshot]) -> Self {
        let mut by_key: HashMap<&SeriesKey, Vec<&Histogram>> = HashMap::new();
        for series in slices.iter().flat_map(|slice| &slice.series) {
            if series.key.kind != SeriesKind::Check {
                by_key.entry(&series.key).or_default().push(&series.response);
            }
        }
        let requests = slices.iter().map(|slice| {
            slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| &series.response).collect()
        });
        Self { by_key, requests: requests.filter(|second: &Vec<_>| !second.is_empty()).collect() }
    }

    fn of_series(&self, key: &SeriesKey) -> Vec<Vec<&'a Histogram>> {
        self.by_key.get(key).into_iter().flatten().map(|histogram| vec![*histogram]).collect()
    }
}

fn row(series: &SeriesTally, response: TimeStats) -> RequestRow {
    let merged = &series.merged;
    RequestRow {
        key: merged.key.clone(),
        count: merged.count,
        failed: merged.failed,
        rate: series.rate(),
        response,
        service: stats(CensoredTimes::service(merged), |_| (None, None)),
        lag: stats_of(&merged.lag),
        phases: merged
            .phases
            .all()
            .into_iter()
            .filter(|(_, times)| !times.is_empty())
            .map(|(name, times)| (name.to_owned(), stats_of(times)))
            .collect(),
        outcomes: merged.outcomes.clone(),
        statuses: merged.statuses.clone(),
        bytes_sent: merged.bytes_sent,
        bytes_received: merged.bytes_received,
        retried: merged.retried,
        rate_uncertainty: None,
        failed_uncertainty: None,
    }
}

/// Without intervals: a part of a series usually has too few samples for one.
fn tagged((tags, series): (&Tags, &SeriesTally)) -> TaggedRow {
    let response = stats(CensoredTimes::response(&series.merged), |_| (None, None));
    TaggedRow { tags: tags.clone(), row: row(series, response) }
}

/// Response times with their intervals. With censored times, batches cannot be compared by their counts alone, so there are no intervals.
fn with_intervals(merged: &SeriesSlice, seconds: &[Vec<&Histogram>]) -> TimeStats {
    if !merged.censored.is_empty() {
        return stats(CensoredTimes::response(merged), |_| (None, None));
    }
    let intervals = Intervals::of(seconds, &merged.response);
    stats(CensoredTimes::response(merged), |quantile| intervals.at(quantile))
}

/// All requests together, the subject of the headline and of the validity checks.
fn response_of_all(tally: &RunTally, histories: &Histories<'_>) -> TimeStats {
    tally.together(SeriesKind::Request).map_or_else(TimeStats::default, |all| with_intervals(&all, &histories.requests))
}

pub(crate) fn totals(tally: &RunTally) -> RunTotals {
    let (tls_handshakes, tls_resumed) = tally.tls_handshakes();
    let mut totals = RunTotals {
        duration_seconds: tally.duration_seconds(),
        users_max: tally.users_max(),
        connections_opened: tally.connections_opened(),
        tls_handshakes,
        tls_resumed,
        request_rate: tally.request_rate(),
        ..RunTotals::default()
    };
    for series in tally.series() {
        let merged = &series.merged;
        match merged.key.kind {
            SeriesKind::Request => {
                totals.requests += merged.count;
                totals.requests_failed += merged.failed;
                totals.retried += merged.retried;
                totals.bytes_sent += merged.bytes_sent;
                totals.bytes_received += merged.bytes_received;
            }
            SeriesKind::Iteration => {
                totals.iterations += merged.count;
                totals.iterations_failed += merged.failed;
                totals.iterations_interrupted += outcome(merged, Outcome::Interrupted);
            }
            SeriesKind::Check => {
                totals.checks_passed += merged.count - merged.failed;
                totals.checks_failed += merged.failed;
            }
            SeriesKind::Group => {}
        }
    }
    if totals.requests > 0 {
        totals.failure_share = totals.requests_failed as f64 / totals.requests as f64;
    }
    for leaf in tally.leaves() {
        totals.arrivals_due += leaf.arrivals_due;
        // Only open leaves have arrivals; closed load has no due arrivals.
        totals.arrivals_started += if leaf.arrivals_due > 0 { leaf.started } else { 0 };
    }
    totals
}

pub(crate) fn outcome(series: &SeriesSlice, wanted: Outcome) -> u64 {
    series.outcomes.iter().find(|(outcome, _)| *outcome == wanted).map_or(0, |(_, count)| *count)
}

fn checks(tally: &RunTally) -> Vec<CheckRow> {
    let row = |series: &SeriesTally| CheckRow {
        key: series.merged.key.clone(),
        passed: series.merged.count - series.merged.failed,
        failed: series.merged.failed,
    };
    let mut rows: Vec<CheckRow> = tally.of_kind(SeriesKind::Check).map(row).collect();
    rows.sort_by(|a, b| b.failed.cmp(&a.failed).then_with(|| a.key.cmp(&b.key)));
    rows
}

fn error_sample(sample: &FailureSample) -> ErrorSample {
    let FailureSample { at, status, headers, body, body_bytes } = sample.clone();
    ErrorSample { at_seconds: at as f64 / 1e9, status, headers, body, body_bytes }
}

fn errors(tally: &RunTally) -> Vec<ErrorRow> {
    let mut rows: Vec<ErrorRow> = tally
        .errors()
        .iter()
        .map(|error| ErrorRow {
            key: error.key.clone(),
            outcome: error.outcome,
            message: error.message.to_string(),
            count: error.count,
            first_at_seconds: error.first_at as f64 / 1e9,
            trace: error.trace,
            samples: error.samples.iter().map(error_sample).collect(),
        })
        .collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.first_at_seconds.total_cmp(&b.first_at_seconds)));
    rows.truncate(ERROR_ROWS_MAX);
    rows
}
