//! Custom metrics of the tests. Their better direction is unknown, so they can move but are never better or worse.

use loadstone_metrics::{Histogram, MetricSlice, MetricValue, ValueHistogram};

use super::blocks;
use super::change::Estimate;
use super::model::{ComparedMetric, ComparedRow, ComparedSubject, Side, SubjectKind};
use super::row::{self, RowInput};
use super::side::RunSide;
use crate::MetricRow;
use crate::statistics::{Intervals, samples_needed};

const PERCENTILES: [(ComparedMetric, f64); 3] =
    [(ComparedMetric::ValueP50, 0.5), (ComparedMetric::ValueP95, 0.95), (ComparedMetric::ValueP99, 0.99)];
/// Value histograms count millionths, and intervals interpret them as nanoseconds.
const VALUES_PER_SECOND: f64 = 1e9 / 1e6;

/// Each metric that either run recorded, and its parts by tags.
pub(super) fn subjects(baseline: &RunSide<'_>, candidate: &RunSide<'_>, effect: f64) -> Vec<ComparedSubject> {
    let (old, new) = (&baseline.summary.metrics, &candidate.summary.metrics);
    let is_same = |a: &MetricRow, b: &MetricRow| a.name == b.name && a.tags == b.tags && a.kind == b.kind && a.unit == b.unit;
    let of_old = old.iter().map(|row| match new.iter().find(|other| is_same(row, other)) {
        Some(other) => subject(row, None, rows(&OwnMetric::of(baseline, row), &OwnMetric::of(candidate, other), &row.unit, effect)),
        None => subject(row, Some(Side::Baseline), Vec::new()),
    });
    let only_new = new.iter().filter(|row| !old.iter().any(|other| is_same(row, other)));
    of_old.chain(only_new.map(|row| subject(row, Some(Side::Candidate), Vec::new()))).collect()
}

fn subject(row: &MetricRow, only_in: Option<Side>, rows: Vec<ComparedRow>) -> ComparedSubject {
    let name = if row.tags.is_empty() { row.name.clone() } else { format!("{} ({})", row.name, row.tags) };
    ComparedSubject { kind: SubjectKind::Metric, name, scenario: String::new(), group: String::new(), only_in, rows, shift: Vec::new() }
}

/// The numbers of a metric that are compared, depending on its kind.
struct OwnMetric {
    numbers: Vec<(ComparedMetric, Option<Estimate>)>,
    seconds: f64,
}

fn rows(baseline: &OwnMetric, candidate: &OwnMetric, unit: &str, effect: f64) -> Vec<ComparedRow> {
    let seconds = baseline.seconds.min(candidate.seconds);
    let both = baseline.numbers.iter().zip(&candidate.numbers);
    both.map(|((metric, old), (_, new))| {
        row::of(RowInput { metric: *metric, unit, baseline: *old, candidate: *new, paired: None, effect, seconds })
    })
    .collect()
}

impl OwnMetric {
    fn of(side: &RunSide<'_>, row: &MetricRow) -> Self {
        let recorded =
            |slices: &[MetricSlice]| -> Option<usize> { slices.iter().position(|one| *one.name == *row.name && one.tags == row.tags) };
        let seconds: Vec<Option<&MetricValue>> =
            side.run.slices.iter().map(|slice| recorded(&slice.metrics).map(|index| &slice.metrics[index].value)).collect();
        // From the first to the last second in which anything was recorded.
        let from = seconds.iter().position(Option::is_some).unwrap_or(0);
        let to = seconds.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let seconds = &seconds[from.min(to)..to];
        let numbers = match seconds.iter().flatten().next() {
            Some(MetricValue::Trend(_)) => trend(seconds),
            Some(MetricValue::Counter { .. }) => vec![(ComparedMetric::AddedRate, added(seconds, row))],
            Some(MetricValue::Gauge(_)) => vec![(ComparedMetric::Value, mean(seconds))],
            Some(MetricValue::Rate { .. }) => vec![(ComparedMetric::Share, share(seconds))],
            None => Vec::new(),
        };
        Self { numbers, seconds: seconds.len() as f64 }
    }
}

fn mean(seconds: &[Option<&MetricValue>]) -> Option<Estimate> {
    let sums = seconds.iter().flatten().map(|value| match value {
        MetricValue::Trend(values) => (values.mean().unwrap_or_default() * values.count() as f64, values.count() as f64),
        MetricValue::Gauge(gauge) => (gauge.sum, gauge.count as f64),
        MetricValue::Counter { .. } | MetricValue::Rate { .. } => (0.0, 0.0),
    });
    blocks::ratio_of_sums(&sums.collect::<Vec<_>>())
}

fn share(seconds: &[Option<&MetricValue>]) -> Option<Estimate> {
    let counts = seconds.iter().flatten().map(|value| match value {
        MetricValue::Rate { count, hits } => (*hits as f64, *count as f64),
        _ => (0.0, 0.0),
    });
    blocks::share(&counts.collect::<Vec<_>>())
}

/// The increase per second: the rate of the summary, with the error estimated from whole seconds. A second without an increase counts.
fn added(seconds: &[Option<&MetricValue>], row: &MetricRow) -> Option<Estimate> {
    let rate = row.rate?;
    let whole = seconds.get(1..seconds.len().saturating_sub(1)).unwrap_or(&[]);
    let sums = whole.iter().map(|value| match value {
        Some(MetricValue::Counter { sum, .. }) => (*sum, 1.0),
        _ => (0.0, 1.0),
    });
    let by_block = blocks::ratio_of_sums(&sums.collect::<Vec<_>>()).filter(|by_block| by_block.value > 0.0);
    Some(by_block.map_or_else(|| Estimate::bare(rate), |by_block| by_block.scaled_to(rate)))
}

fn trend(seconds: &[Option<&MetricValue>]) -> Vec<(ComparedMetric, Option<Estimate>)> {
    let values: Vec<&ValueHistogram> = seconds
        .iter()
        .flatten()
        .filter_map(|value| match value {
            MetricValue::Trend(values) => Some(values),
            _ => None,
        })
        .collect();
    let mut all = ValueHistogram::default();
    values.iter().for_each(|second| all.merge(second));
    // A ratio of quantiles is only meaningful where no value is negative.
    let history: Option<Vec<Vec<&Histogram>>> = values.iter().map(|second| second.where_none_is_negative().map(|one| vec![one])).collect();
    let merged = all.where_none_is_negative();
    let intervals = history.as_ref().zip(merged).map(|(history, merged)| Intervals::of(history, merged));
    let percentile = |quantile: f64| {
        let value = all.quantile(quantile).filter(|_| all.count() >= samples_needed(quantile))?;
        let (low, high) = intervals.as_ref().map_or((None, None), |intervals| intervals.at(quantile));
        let scaled = |end: Option<f64>| end.map(|end| end * VALUES_PER_SECOND);
        Some(Estimate::percentile(value, (scaled(low), scaled(high)), seconds.len()))
    };
    let percentiles = PERCENTILES.iter().filter(|_| intervals.is_some()).map(|(metric, quantile)| (*metric, percentile(*quantile)));
    std::iter::once((ComparedMetric::Value, mean(seconds))).chain(percentiles).collect()
}
