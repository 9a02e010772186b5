//! Requests, groups, scenarios and flows: rates, failures and response times.

use metrics::{Histogram, SeriesKey};

use super::change::Estimate;
use super::model::{ComparedMetric, ComparedSubject, ShiftPoint, Side, SubjectKind};
use super::row::RowInput;
use super::side::{RunSide, SeriesSecond};
use super::{blocks, change, row};
use crate::interval::Intervals;
use crate::percentile::samples_needed;
use crate::{FlowRow, RequestRow, TimeStats};

const PERCENTILES: [(ComparedMetric, f64); 5] = [
    (ComparedMetric::P50, 0.5),
    (ComparedMetric::P90, 0.9),
    (ComparedMetric::P95, 0.95),
    (ComparedMetric::P99, 0.99),
    (ComparedMetric::P999, 0.999),
];
/// The quantiles of a shift function.
const SHIFTS: [f64; 14] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999];

/// All requests together, then each series that either run has.
pub(super) fn subjects(baseline: &RunSide<'_>, candidate: &RunSide<'_>, effect: f64) -> Vec<ComparedSubject> {
    let mut subjects = vec![all(baseline, candidate, effect)];
    for (kind, rows) in [(SubjectKind::Request, requests as RowsOf), (SubjectKind::Group, groups), (SubjectKind::Scenario, scenarios)] {
        let (a, b) = (rows(baseline), rows(candidate));
        for old in a {
            subjects.push(match b.iter().find(|new| new.key == old.key) {
                Some(new) => of_series(kind, (baseline, old), (candidate, new), effect),
                None => alone(kind, &old.key, Side::Baseline),
            });
        }
        let new = b.iter().filter(|new| !a.iter().any(|old| old.key == new.key));
        subjects.extend(new.map(|new| alone(kind, &new.key, Side::Candidate)));
    }
    subjects.extend(flows(baseline, candidate, effect));
    subjects
}

type RowsOf = for<'s> fn(&'s RunSide<'_>) -> &'s [RequestRow];

fn requests<'s>(side: &'s RunSide<'_>) -> &'s [RequestRow] {
    &side.summary.requests
}

fn groups<'s>(side: &'s RunSide<'_>) -> &'s [RequestRow] {
    &side.summary.groups
}

fn scenarios<'s>(side: &'s RunSide<'_>) -> &'s [RequestRow] {
    &side.summary.scenarios
}

fn alone(kind: SubjectKind, key: &SeriesKey, side: Side) -> ComparedSubject {
    ComparedSubject { only_in: Some(side), ..subject(kind, key) }
}

fn subject(kind: SubjectKind, key: &SeriesKey) -> ComparedSubject {
    ComparedSubject {
        kind,
        name: key.name.to_string(),
        scenario: key.scenario.to_string(),
        group: key.group.to_string(),
        only_in: None,
        rows: Vec::new(),
        shift: Vec::new(),
    }
}

fn all(baseline: &RunSide<'_>, candidate: &RunSide<'_>, effect: f64) -> ComparedSubject {
    let of = |side: &RunSide<'_>| SeriesNumbers::of(side.loaded(), side.summary.totals.request_rate, &side.summary.response);
    let histories = (baseline.history_of_all(), candidate.history_of_all());
    ComparedSubject {
        kind: SubjectKind::All,
        name: "all requests".to_owned(),
        scenario: String::new(),
        group: String::new(),
        only_in: None,
        rows: rows(&of(baseline), &of(candidate), effect),
        shift: shift(&histories.0, &histories.1),
    }
}

fn of_series(
    kind: SubjectKind,
    (baseline, old): (&RunSide<'_>, &RequestRow),
    (candidate, new): (&RunSide<'_>, &RequestRow),
    effect: f64,
) -> ComparedSubject {
    let numbers = |side: &RunSide<'_>, row: &RequestRow| {
        let seconds = side.seconds.get(&row.key).map_or(&[] as &[SeriesSecond], Vec::as_slice);
        SeriesNumbers::of(seconds, row.rate, &row.response)
    };
    let history = |side: &RunSide<'_>| -> Vec<Vec<Histogram>> {
        side.histories.get(&old.key).into_iter().flatten().map(|second| vec![(*second).clone()]).collect()
    };
    let (a, b) = (history(baseline), history(candidate));
    ComparedSubject {
        rows: rows(&numbers(baseline, old), &numbers(candidate, new), effect),
        shift: shift(&borrowed(&a), &borrowed(&b)),
        ..subject(kind, &old.key)
    }
}

fn borrowed(history: &[Vec<Histogram>]) -> Vec<Vec<&Histogram>> {
    history.iter().map(|second| second.iter().collect()).collect()
}

/// What is compared of a series.
struct SeriesNumbers {
    rate: Option<Estimate>,
    failures: Option<Estimate>,
    mean: Option<Estimate>,
    percentiles: Vec<Option<Estimate>>,
    seconds: f64,
}

impl SeriesNumbers {
    fn of(seconds: &[SeriesSecond], rate: f64, times: &TimeStats) -> Self {
        let sums = |of: &dyn Fn(&SeriesSecond) -> (f64, f64)| seconds.iter().map(of).collect::<Vec<_>>();
        // The first and the last second are seldom whole; the rate itself is that of the summary.
        let whole = seconds.get(1..seconds.len().saturating_sub(1)).unwrap_or(&[]);
        // A load that the plan changes is no scatter: what is held against each other is what each second did of it.
        let counts: Vec<(f64, f64)> = whole.iter().map(|second| (second.count, second.planned)).collect();
        let by_block = blocks::ratio_of_sums(&counts).filter(|by_block| by_block.value > 0.0);
        let rate = by_block.map_or_else(|| Estimate::bare(rate), |by_block| by_block.scaled_to(rate));
        let mean = blocks::ratio_of_sums(&sums(&|second| (second.time, second.count)));
        let percentile = |quantile: f64| {
            let shown = times.percentiles.iter().find(|shown| (shown.quantile - quantile).abs() < 1e-9)?;
            let bounded = Estimate::percentile(shown.value?, (shown.low, shown.high), seconds.len());
            Some(Estimate { doubt: shown.doubt.unwrap_or(0.0), ..bounded })
        };
        Self {
            rate: Some(rate),
            failures: blocks::share(&sums(&|second| (second.failed, second.count))),
            mean: mean.map(|mean| Estimate { doubt: times.mean_doubt.unwrap_or(0.0), ..mean }),
            percentiles: PERCENTILES.iter().map(|(_, quantile)| percentile(*quantile)).collect(),
            seconds: seconds.len() as f64,
        }
    }
}

fn rows(baseline: &SeriesNumbers, candidate: &SeriesNumbers, effect: f64) -> Vec<super::model::ComparedRow> {
    let seconds = baseline.seconds.min(candidate.seconds);
    let row = |metric, baseline, candidate| row::of(RowInput { metric, unit: "", baseline, candidate, effect, seconds });
    let mut rows = vec![
        row(ComparedMetric::Rate, baseline.rate, candidate.rate),
        row(ComparedMetric::Failures, baseline.failures, candidate.failures),
        row(ComparedMetric::Mean, baseline.mean, candidate.mean),
    ];
    let percentiles = PERCENTILES.iter().zip(baseline.percentiles.iter().zip(&candidate.percentiles));
    rows.extend(percentiles.map(|((metric, _), (old, new))| row(*metric, *old, *new)));
    rows
}

/// What became of each quantile that both runs have samples enough for.
fn shift(baseline: &[Vec<&Histogram>], candidate: &[Vec<&Histogram>]) -> Vec<ShiftPoint> {
    let merged = |seconds: &[Vec<&Histogram>]| {
        let mut merged = Histogram::new();
        seconds.iter().flatten().for_each(|second| merged.merge(second));
        merged
    };
    let both = (merged(baseline), merged(candidate));
    let intervals = (Intervals::of(baseline, &both.0), Intervals::of(candidate, &both.1));
    let estimate = |of: &Histogram, intervals: &Intervals<'_>, quantile: f64, seconds: usize| {
        let value = of.quantile(quantile).filter(|_| of.count() >= samples_needed(quantile))? as f64 / 1e9;
        Some(Estimate::percentile(value, intervals.at(quantile), seconds))
    };
    let point = |quantile: f64| {
        let (old, new) =
            (estimate(&both.0, &intervals.0, quantile, baseline.len())?, estimate(&both.1, &intervals.1, quantile, candidate.len())?);
        let ratio = change::log_ratio(old, new)?;
        let (low, high) = (ratio.low.map(f64::exp), ratio.high.map(f64::exp));
        Some(ShiftPoint { quantile, baseline: old.value, candidate: new.value, low, high })
    };
    SHIFTS.into_iter().filter_map(point).collect()
}

fn flows(baseline: &RunSide<'_>, candidate: &RunSide<'_>, effect: f64) -> Vec<ComparedSubject> {
    let both =
        baseline.summary.flows.iter().filter_map(|old| Some((old, candidate.summary.flows.iter().find(|new| new.name == old.name)?)));
    both.map(|(old, new)| of_flow((baseline, old), (candidate, new), effect)).collect()
}

fn of_flow((baseline, old): (&RunSide<'_>, &FlowRow), (candidate, new): (&RunSide<'_>, &FlowRow), effect: f64) -> ComparedSubject {
    let numbers = |side: &RunSide<'_>, row: &FlowRow| {
        let seconds = flow_seconds(side, &row.name);
        SeriesNumbers { percentiles: flow_percentiles(side, row), ..SeriesNumbers::of(&seconds, row.finish_rate, &row.time) }
    };
    ComparedSubject {
        kind: SubjectKind::Flow,
        name: old.name.clone(),
        scenario: String::new(),
        group: String::new(),
        only_in: None,
        rows: rows(&numbers(baseline, old), &numbers(candidate, new), effect),
        shift: shift(&borrowed(&flow_history(baseline, &old.name)), &borrowed(&flow_history(candidate, &new.name))),
    }
}

fn flow_history(side: &RunSide<'_>, name: &str) -> Vec<Vec<Histogram>> {
    let of_flow = side.run.slices.iter().flat_map(|slice| &slice.flows).filter(|flow| *flow.name == *name);
    of_flow.filter(|flow| !flow.time.is_empty()).map(|flow| vec![flow.time.clone()]).collect()
}

/// The journeys that did not finish have no place in the batches of those that did. They rank behind all of these, so that the lower ends hold with them, too,
/// and where there are any, no upper end is known.
fn flow_percentiles(side: &RunSide<'_>, row: &FlowRow) -> Vec<Option<Estimate>> {
    let history = flow_history(side, &row.name);
    let history = borrowed(&history);
    let mut merged = Histogram::new();
    history.iter().flatten().for_each(|second| merged.merge(second));
    let intervals = Intervals::of(&history, &merged);
    let of = |quantile: f64| {
        let shown = row.time.percentiles.iter().find(|shown| (shown.quantile - quantile).abs() < 1e-9)?;
        let (value, (low, high)) = (shown.value?, intervals.at(quantile));
        let high = high.filter(|_| row.finished == row.started);
        let bounded = Estimate::percentile(value, (low, high), history.len());
        Some(Estimate { doubt: shown.doubt.unwrap_or(0.0), ..bounded })
    };
    PERCENTILES.iter().map(|(_, quantile)| of(*quantile)).collect()
}

/// Journeys that ended, lost ones as failures.
fn flow_seconds(side: &RunSide<'_>, name: &str) -> Vec<SeriesSecond> {
    let of_flow = side.run.slices.iter().filter_map(|slice| slice.flows.iter().find(|flow| *flow.name == *name));
    let second = |flow: &metrics::FlowSlice| SeriesSecond {
        count: (flow.finished + flow.timed_out) as f64,
        failed: flow.timed_out as f64,
        time: flow.time.sum() as f64 / 1e9,
        planned: 1.0,
    };
    let seconds: Vec<SeriesSecond> = of_flow.map(second).collect();
    let from = seconds.iter().position(|second| second.count > 0.0).unwrap_or(0);
    let to = seconds.iter().rposition(|second| second.count > 0.0).map_or(0, |last| last + 1);
    seconds[from.min(to)..to].to_vec()
}
