//! Requests, groups, scenarios and flows: rates, failures and response times.

use metrics::{Histogram, SeriesKey};

use super::change::Estimate;
use super::model::{ComparedMetric, ComparedSubject, ShiftPoint, Side, SubjectKind};
use super::row::RowInput;
use super::side::{RunSide, SeriesSecond};
use super::{blocks, change, row};
use crate::interval::Intervals;
use crate::percentile::samples_needed;
use crate::{FlowRow, Percentile, RequestRow, TimeStats};

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
    let histories = (baseline.history_of_all(), candidate.history_of_all());
    let of = |side: &RunSide<'_>, history: &[Vec<&Histogram>]| {
        let (seconds, times) = (side.loaded(), &side.summary.response);
        SeriesNumbers::of(seconds, side.summary.totals.request_rate, times, percentiles(times, seconds.len(), history))
    };
    ComparedSubject {
        kind: SubjectKind::All,
        name: "all requests".to_owned(),
        scenario: String::new(),
        group: String::new(),
        only_in: None,
        rows: rows(&of(baseline, &histories.0), &of(candidate, &histories.1), effect),
        shift: shift(&histories.0, &histories.1),
    }
}

fn of_series(
    kind: SubjectKind,
    (baseline, old): (&RunSide<'_>, &RequestRow),
    (candidate, new): (&RunSide<'_>, &RequestRow),
    effect: f64,
) -> ComparedSubject {
    let numbers = |side: &RunSide<'_>, row: &RequestRow, history: &[Vec<&Histogram>]| {
        let seconds = side.seconds.get(&row.key).map_or(&[] as &[SeriesSecond], Vec::as_slice);
        SeriesNumbers::of(seconds, row.rate, &row.response, percentiles(&row.response, seconds.len(), history))
    };
    let history = |side: &RunSide<'_>| -> Vec<Vec<Histogram>> {
        side.histories.get(&old.key).into_iter().flatten().map(|second| vec![(*second).clone()]).collect()
    };
    let (a, b) = (history(baseline), history(candidate));
    let (a, b) = (borrowed(&a), borrowed(&b));
    ComparedSubject {
        rows: rows(&numbers(baseline, old, &a), &numbers(candidate, new, &b), effect),
        shift: shift(&a, &b),
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
    /// `percentiles`: as listed in [`PERCENTILES`].
    fn of(seconds: &[SeriesSecond], rate: f64, times: &TimeStats, percentiles: Vec<Option<Estimate>>) -> Self {
        let sums = |of: &dyn Fn(&SeriesSecond) -> (f64, f64)| seconds.iter().map(of).collect::<Vec<_>>();
        // The first and the last second are seldom whole; the rate itself is that of the summary.
        let whole = seconds.get(1..seconds.len().saturating_sub(1)).unwrap_or(&[]);
        // A load that the plan changes is no scatter: what is held against each other is what each second did of it.
        let counts: Vec<(f64, f64)> = whole.iter().map(|second| (second.count, second.planned)).collect();
        let by_block = blocks::ratio_of_sums(&counts).filter(|by_block| by_block.value > 0.0);
        let rate = by_block.map_or_else(|| Estimate::bare(rate), |by_block| by_block.scaled_to(rate));
        let mean = blocks::ratio_of_sums(&sums(&|second| (second.time, second.count)));
        Self {
            rate: Some(rate),
            failures: blocks::share(&sums(&|second| (second.failed, second.count))),
            mean: mean.map(|mean| Estimate { doubt: times.mean_doubt.unwrap_or(0.0), ..mean }),
            percentiles,
            seconds: seconds.len() as f64,
        }
    }
}

/// `ended`: the times of all that ended, by second; what was given up counts with the time that it was given.
fn percentiles(times: &TimeStats, seconds: usize, ended: &[Vec<&Histogram>]) -> Vec<Option<Estimate>> {
    let of = |quantile: f64| {
        let shown = shown_at(times, quantile)?;
        let Some(value) = shown.value else {
            let (bound, merged) = (shown.low?, merged(ended));
            return Some(Estimate::at_least(bound, Intervals::of(ended, &merged).at(quantile).0, ended.len()));
        };
        let bounded = Estimate::percentile(value, (shown.low, shown.high), seconds);
        Some(Estimate { doubt: shown.doubt.unwrap_or(0.0), ..bounded })
    };
    PERCENTILES.iter().map(|(_, quantile)| of(*quantile)).collect()
}

fn shown_at(times: &TimeStats, quantile: f64) -> Option<&Percentile> {
    times.percentiles.iter().find(|shown| (shown.quantile - quantile).abs() < 1e-9)
}

fn merged(seconds: &[Vec<&Histogram>]) -> Histogram {
    let mut merged = Histogram::new();
    seconds.iter().flatten().for_each(|second| merged.merge(second));
    merged
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
    let (a, b) = (flow_history(baseline, &old.name), flow_history(candidate, &new.name));
    let numbers = |side: &RunSide<'_>, row: &FlowRow| {
        let seconds = flow_seconds(side, &row.name);
        SeriesNumbers::of(&seconds, row.finish_rate, &row.time, flow_percentiles(side, row))
    };
    ComparedSubject {
        kind: SubjectKind::Flow,
        name: old.name.clone(),
        scenario: String::new(),
        group: String::new(),
        only_in: None,
        rows: rows(&numbers(baseline, old), &numbers(candidate, new), effect),
        shift: shift(&borrowed(&a), &borrowed(&b)),
    }
}

fn flow_history(side: &RunSide<'_>, name: &str) -> Vec<Vec<Histogram>> {
    let of_flow = side.run.slices.iter().flat_map(|slice| &slice.flows).filter(|flow| *flow.name == *name);
    of_flow.filter(|flow| !flow.time.is_empty()).map(|flow| vec![flow.time.clone()]).collect()
}

/// Times by second, those of journeys that did not finish among them: each in the second in which it started, with what it is known to have taken at least.
/// So the lower ends of intervals hold of all that started. Where any did not finish, no upper end is known.
fn flow_percentiles(side: &RunSide<'_>, row: &FlowRow) -> Vec<Option<Estimate>> {
    let history = started_history(side, &row.name);
    let history = borrowed(&history);
    let merged = merged(&history);
    let intervals = Intervals::of(&history, &merged);
    let of = |quantile: f64| {
        let (shown, (low, high)) = (shown_at(&row.time, quantile)?, intervals.at(quantile));
        let Some(value) = shown.value else { return Some(Estimate::at_least(shown.low?, low, history.len())) };
        let high = high.filter(|_| row.finished == row.started);
        let bounded = Estimate::percentile(value, (low, high), history.len());
        Some(Estimate { doubt: shown.doubt.unwrap_or(0.0), ..bounded })
    };
    PERCENTILES.iter().map(|(_, quantile)| of(*quantile)).collect()
}

fn started_history(side: &RunSide<'_>, name: &str) -> Vec<Vec<Histogram>> {
    let slices = &side.run.slices;
    let mut history: Vec<Histogram> = vec![Histogram::new(); slices.len()];
    for (index, slice) in slices.iter().enumerate() {
        for flow in slice.flows.iter().filter(|flow| *flow.name == *name) {
            history[index].merge(&flow.time);
            for (at_least, _, count) in flow.censored.bars() {
                let started = slice.end.saturating_sub(at_least);
                let second = slices.partition_point(|slice| slice.end < started).min(index);
                history[second].record_n(at_least, count);
            }
        }
    }
    history.into_iter().filter(|second| !second.is_empty()).map(|second| vec![second]).collect()
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
