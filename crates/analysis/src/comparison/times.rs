//! Requests, groups, scenarios and flows: rates, failures and response times.

use loadstone_metrics::{Histogram, SeriesKey};
use loadstone_run_directory::Run;

use super::change::{self, Estimate};
use super::model::{ComparedSubject, PERCENTILES, ShiftPoint, Side, SubjectKind};
use super::same_load::SameLoad;
use super::series::{self, Pairing, SeriesNumbers, SeriesPairs};
use super::side::{RunSide, SecondsInOrder, SeriesSecond, TimesHistory};
use crate::statistics::{Intervals, samples_needed};
use crate::{FlowRow, Percentile, RequestRow, TimeStats};

/// The quantiles of the shift function.
const SHIFTS: [f64; 14] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999];

/// All requests together, then each series that either run has.
pub(super) fn subjects(baseline: &RunSide<'_>, candidate: &RunSide<'_>, load: Option<&SameLoad>, effect: f64) -> Vec<ComparedSubject> {
    let pairing = &Pairing::of(load, baseline, candidate);
    let mut subjects = vec![all(baseline, candidate, pairing, effect)];
    for (kind, rows) in [(SubjectKind::Request, requests as RowsOf), (SubjectKind::Group, groups), (SubjectKind::Scenario, scenarios)] {
        let (a, b) = (rows(baseline), rows(candidate));
        for old in a {
            subjects.push(match b.iter().find(|new| new.key == old.key) {
                Some(new) => of_series(kind, (baseline, old), (candidate, new), pairing, effect),
                None => alone(kind, &old.key, Side::Baseline),
            });
        }
        let new = b.iter().filter(|new| !a.iter().any(|old| old.key == new.key));
        subjects.extend(new.map(|new| alone(kind, &new.key, Side::Candidate)));
    }
    subjects.extend(flows(baseline, candidate, pairing, effect));
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

fn all(baseline: &RunSide<'_>, candidate: &RunSide<'_>, pairing: &Pairing<'_>, effect: f64) -> ComparedSubject {
    let histories = (baseline.history_of_all(), candidate.history_of_all());
    let of = |side: &RunSide<'_>, history: &TimesHistory<'_>| {
        let (loaded, times) = (side.loaded(), &side.summary.response);
        let percentiles = percentiles(side.run, times, loaded.seconds.len(), history);
        SeriesNumbers::of(loaded, side.summary.totals.request_rate, times, percentiles, &history.seconds)
    };
    let numbers = (of(baseline, &histories.0), of(candidate, &histories.1));
    let pairs = pairing.pairs((&numbers.0, &histories.0), (&numbers.1, &histories.1));
    ComparedSubject {
        kind: SubjectKind::All,
        name: "all requests".to_owned(),
        scenario: String::new(),
        group: String::new(),
        only_in: None,
        rows: series::rows(&numbers.0, &numbers.1, pairs.as_ref(), effect),
        shift: shift(&histories.0, &histories.1, pairs.as_ref()),
    }
}

fn of_series(
    kind: SubjectKind,
    (baseline, old): (&RunSide<'_>, &RequestRow),
    (candidate, new): (&RunSide<'_>, &RequestRow),
    pairing: &Pairing<'_>,
    effect: f64,
) -> ComparedSubject {
    let numbers = |side: &RunSide<'_>, row: &RequestRow, history: &TimesHistory<'_>| {
        let seconds = side.seconds.get(&row.key).cloned().unwrap_or_default();
        let percentiles = percentiles(side.run, &row.response, seconds.seconds.len(), history);
        SeriesNumbers::of(seconds, row.rate, &row.response, percentiles, &history.seconds)
    };
    let none = TimesHistory::default();
    let (a, b) = (baseline.histories.get(&old.key).unwrap_or(&none), candidate.histories.get(&old.key).unwrap_or(&none));
    let numbers = (numbers(baseline, old, a), numbers(candidate, new, b));
    let pairs = pairing.pairs((&numbers.0, a), (&numbers.1, b));
    ComparedSubject {
        rows: series::rows(&numbers.0, &numbers.1, pairs.as_ref(), effect),
        shift: shift(a, b, pairs.as_ref()),
        ..subject(kind, &old.key)
    }
}

/// `history`: the times of all requests that ended, by second. A request that was given up counts with its time limit.
fn percentiles(run: &Run, times: &TimeStats, seconds: usize, history: &TimesHistory<'_>) -> Vec<Option<Estimate>> {
    let ended = &history.seconds;
    let event = |value: f64| {
        let (from, to) = history.event(value)?;
        Some((run.slices.get(from)?.start as f64 / 1e9, run.slices.get(to)?.end as f64 / 1e9))
    };
    let of = |quantile: f64| {
        let shown = shown_at(times, quantile)?;
        let Some(value) = shown.value else {
            let (bound, merged) = (shown.low?, merged(ended));
            return Some(Estimate::at_least(bound, Intervals::of(ended, &merged).at(quantile).0, ended.len()));
        };
        let bounded = Estimate::percentile(value, (shown.low, shown.high), seconds);
        let event = if shown.high.is_none() { event(value) } else { None };
        Some(Estimate { uncertainty: shown.uncertainty.unwrap_or(0.0), event, ..bounded })
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

/// The change of each quantile that both runs have enough samples for.
fn shift(baseline: &TimesHistory<'_>, candidate: &TimesHistory<'_>, pairs: Option<&SeriesPairs<'_>>) -> Vec<ShiftPoint> {
    let both = (merged(&baseline.seconds), merged(&candidate.seconds));
    let intervals = (Intervals::of(&baseline.seconds, &both.0), Intervals::of(&candidate.seconds, &both.1));
    let estimate = |of: &Histogram, intervals: &Intervals<'_>, quantile: f64, seconds: usize| {
        let value = of.quantile(quantile).filter(|_| of.count() >= samples_needed(quantile))? as f64 / 1e9;
        Some(Estimate::percentile(value, intervals.at(quantile), seconds))
    };
    let point = |quantile: f64| {
        let old = estimate(&both.0, &intervals.0, quantile, baseline.seconds.len())?;
        let new = estimate(&both.1, &intervals.1, quantile, candidate.seconds.len())?;
        let ratio = change::log_ratio(old, new, pairs.and_then(|pairs| pairs.quantile(quantile, old, new)))?;
        let (low, high) = (ratio.low.map(f64::exp), ratio.high.map(f64::exp));
        Some(ShiftPoint { quantile, baseline: old.value, candidate: new.value, low, high })
    };
    SHIFTS.into_iter().filter_map(point).collect()
}

fn flows(baseline: &RunSide<'_>, candidate: &RunSide<'_>, pairing: &Pairing<'_>, effect: f64) -> Vec<ComparedSubject> {
    let both =
        baseline.summary.flows.iter().filter_map(|old| Some((old, candidate.summary.flows.iter().find(|new| new.name == old.name)?)));
    both.map(|(old, new)| of_flow((baseline, old), (candidate, new), pairing, effect)).collect()
}

fn of_flow(
    (baseline, old): (&RunSide<'_>, &FlowRow),
    (candidate, new): (&RunSide<'_>, &FlowRow),
    pairing: &Pairing<'_>,
    effect: f64,
) -> ComparedSubject {
    let (a, b) = (TimesHistory::of_flow(baseline.run, &old.name), TimesHistory::of_flow(candidate.run, &new.name));
    let numbers = |side: &RunSide<'_>, row: &FlowRow, history: &TimesHistory<'_>| {
        SeriesNumbers::of(flow_seconds(side, &row.name), row.finish_rate, &row.time, flow_percentiles(side, row), &history.seconds)
    };
    // For journeys that did not finish, only a lower bound of the time is known.
    let all_finished = old.finished == old.started && new.finished == new.started;
    let none = TimesHistory::default();
    let (c, d) = if all_finished { (&a, &b) } else { (&none, &none) };
    let numbers = (numbers(baseline, old, c), numbers(candidate, new, d));
    let pairs = pairing.pairs((&numbers.0, c), (&numbers.1, d));
    ComparedSubject {
        kind: SubjectKind::Flow,
        name: old.name.clone(),
        scenario: String::new(),
        group: String::new(),
        only_in: None,
        rows: series::rows(&numbers.0, &numbers.1, pairs.as_ref(), effect),
        shift: shift(&a, &b, pairs.as_ref()),
    }
}

/// Times by second, including journeys that did not finish: each counts in the second in which it started, with its known minimum time.
/// Therefore the lower ends of intervals are valid for all that started. If any did not finish, no upper end is known.
fn flow_percentiles(side: &RunSide<'_>, row: &FlowRow) -> Vec<Option<Estimate>> {
    let history = started_history(side, &row.name);
    let history: Vec<Vec<&Histogram>> = history.iter().map(|second| vec![second]).collect();
    let merged = merged(&history);
    let intervals = Intervals::of(&history, &merged);
    let of = |quantile: f64| {
        let (shown, (low, high)) = (shown_at(&row.time, quantile)?, intervals.at(quantile));
        let Some(value) = shown.value else { return Some(Estimate::at_least(shown.low?, low, history.len())) };
        let high = high.filter(|_| row.finished == row.started);
        let bounded = Estimate::percentile(value, (low, high), history.len());
        Some(Estimate { uncertainty: shown.uncertainty.unwrap_or(0.0), ..bounded })
    };
    PERCENTILES.iter().map(|(_, quantile)| of(*quantile)).collect()
}

fn started_history(side: &RunSide<'_>, name: &str) -> Vec<Histogram> {
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
    history.into_iter().filter(|second| !second.is_empty()).collect()
}

/// Journeys that ended; lost ones count as failures.
fn flow_seconds(side: &RunSide<'_>, name: &str) -> SecondsInOrder {
    let second = |flow: &loadstone_metrics::FlowSlice| SeriesSecond {
        count: (flow.finished + flow.timed_out) as f64,
        failed: flow.timed_out as f64,
        time: flow.time.sum() as f64 / 1e9,
        planned: 1.0,
    };
    let nothing = SeriesSecond { planned: 1.0, ..SeriesSecond::default() };
    let of_slice = |slice: &loadstone_metrics::Snapshot| slice.flows.iter().find(|flow| *flow.name == *name).map_or(nothing, second);
    SecondsInOrder::trimmed(&side.run.slices.iter().map(of_slice).collect::<Vec<_>>())
}
