//! A row: one number of both runs, and the verdict on its change.

use super::change::{self, ChangeErrors, Estimate, NumberChange};
use super::model::{ComparedMetric, ComparedRow, RowVerdict, Side};
use crate::instant::clock;

/// Smallest change that matters for the share of failures: a tenth of a percentage point. With a ratio, one more failure in a million would
/// count as a doubling.
pub(super) const FAILURES_EFFECT: f64 = 0.001;
/// After the correction for many numbers, a significant change has an interval about this much narrower than one that just excludes zero.
const DECIDED_INTERVAL_SHARE: f64 = 0.5;
/// Longer requirements than a day are not reported.
const MINUTES_MAX: f64 = 1_440.0;

pub(super) struct RowInput<'a> {
    pub(super) metric: ComparedMetric,
    pub(super) unit: &'a str,
    pub(super) baseline: Option<Estimate>,
    pub(super) candidate: Option<Estimate>,
    /// The error of the change, if seconds with the same load were compared.
    pub(super) paired: Option<ChangeErrors>,
    pub(super) effect: f64,
    /// Length of the shorter run.
    pub(super) seconds: f64,
}

/// The row without its verdict, unless there is nothing to compare: whether it is different depends on all rows.
pub(super) fn of(input: RowInput<'_>) -> ComparedRow {
    let RowInput { metric, unit, baseline, candidate, paired, effect, seconds } = input;
    let is_bound = |side: Option<Estimate>| side.is_some_and(|estimate| estimate.is_bound);
    let sides = [(Side::Baseline, baseline), (Side::Candidate, candidate)];
    let empty = ComparedRow {
        metric,
        unit: unit.to_owned(),
        baseline: baseline.map(|estimate| estimate.value),
        candidate: candidate.map(|estimate| estimate.value),
        at_least: sides.into_iter().filter(|(_, of)| is_bound(*of)).map(|(side, _)| side).collect(),
        change: None,
        low: None,
        high: None,
        p: None,
        verdict: RowVerdict::CannotTell,
        minutes_needed: None,
        why: String::new(),
    };
    let (Some(old), Some(new)) = (baseline, candidate) else {
        return ComparedRow { why: "too few samples".to_owned(), ..empty };
    };
    if old.is_bound && new.is_bound {
        return ComparedRow { why: "in both runs it lies among requests that had not ended".to_owned(), ..empty };
    }
    let found = if metric.is_difference() { Some(change::difference(old, new, paired)) } else { change::log_ratio(old, new, paired) };
    let Some(found) = found else {
        // Zero in both runs is the same. Zero in one run has no ratio.
        let same = old.value == 0.0 && new.value == 0.0;
        let (verdict, why) = if same { (RowVerdict::Same, "") } else { (RowVerdict::CannotTell, "a ratio to zero is undefined") };
        return ComparedRow { verdict, why: why.to_owned(), ..empty };
    };
    let shown = |value: f64| if metric.is_difference() { value } else { value.exp() };
    let width = |estimate: Estimate| estimate.low.is_some() && estimate.high.is_some();
    let bounded = paired.map_or(width(old) && width(new), |errors| errors.below.is_some() && errors.above.is_some());
    let is_uncertain = old.uncertainty > 0.0 || new.uncertainty > 0.0;
    let why = match (bounded, is_uncertain) {
        (false, _) if paired.is_some() => "the value occurs in too few seconds of the changing load for an interval".to_owned(),
        (false, _) if metric == ComparedMetric::Rate => "the runs are too short for an interval of the rate".to_owned(),
        (false, _) => without_interval(sides),
        (true, true) => "the generator was late and may have caused the difference".to_owned(),
        (true, false) => String::new(),
    };
    ComparedRow {
        change: Some(shown(found.value)),
        low: found.low.map(shown),
        high: found.high.map(shown),
        p: Some(found.p),
        minutes_needed: minutes_needed(&found, limit(metric, effect), seconds).filter(|_| !is_uncertain),
        why,
        ..empty
    }
}

/// Why a number has no interval.
fn without_interval(sides: [(Side, Option<Estimate>); 2]) -> String {
    let event = sides.iter().find_map(|(side, of)| Some((side, of.as_ref()?.event?)));
    if let Some((side, (from, to))) = event {
        let run = if *side == Side::Baseline { "the baseline" } else { "the candidate" };
        let (from, to) = (clock(from), clock(to));
        return format!("nearly all slow requests of {run} ended between {from} and {to}, and one event does not show how often it recurs");
    }
    let is_cut_off = sides.iter().any(|(_, of)| of.is_some_and(|of| of.is_bound));
    let why =
        if is_cut_off { "too many requests were cut off for an interval" } else { "too few slow requests, or too rarely, for an interval" };
    why.to_owned()
}

/// Both numbers without a comparison, because they measure different things.
pub(super) fn not_comparable(row: ComparedRow, why: &str) -> ComparedRow {
    ComparedRow { change: None, low: None, high: None, p: None, minutes_needed: None, why: why.to_owned(), ..row }
}

/// The row with the reason why it is undecided, if it is: longer runs alone would not help.
pub(super) fn with_reason(row: ComparedRow, why: &str) -> ComparedRow {
    let why = if row.why.is_empty() { why.to_owned() } else { row.why };
    ComparedRow { minutes_needed: None, why, ..row }
}

/// On the scale of the verdict: differences, or logarithms of ratios.
fn limit(metric: ComparedMetric, effect: f64) -> f64 {
    if metric.is_difference() { FAILURES_EFFECT } else { effect.ln_1p() }
}

/// Decides the verdict of a row. `different`: its probability is significant among all rows.
pub(super) fn judge(row: &mut ComparedRow, different: bool, effect: f64) {
    let Some(change) = row.change else { return };
    let scale = |value: f64| if row.metric.is_difference() { value } else { value.ln() };
    let (change, limit) = (scale(change), limit(row.metric, effect));
    let within = |end: Option<f64>| end.is_some_and(|end| scale(end).abs() <= limit);
    row.verdict = if different && change.abs() >= limit {
        match row.metric.more_is_better() {
            None => RowVerdict::Moved,
            Some(more) if more == (change > 0.0) => RowVerdict::Better,
            Some(_) => RowVerdict::Worse,
        }
    } else if within(row.low) && within(row.high) || is_none_twice(row) {
        RowVerdict::Same
    } else {
        RowVerdict::CannotTell
    };
    if matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse | RowVerdict::Moved) {
        // That it changed is certain, even where the interval of how much is wider.
        let none = if row.metric.is_difference() { 0.0 } else { 1.0 };
        let end = |end: Option<f64>, to: fn(f64, f64) -> f64| end.map(|end| to(end, none));
        (row.low, row.high) = if change > 0.0 { (end(row.low, f64::max), row.high) } else { (row.low, end(row.high, f64::min)) };
    }
    if row.verdict != RowVerdict::CannotTell {
        row.minutes_needed = None;
        row.why.clear();
    }
}

/// No failure in either run. With few requests some may fail nevertheless, which the interval shows.
fn is_none_twice(row: &ComparedRow) -> bool {
    row.metric.is_difference() && row.baseline == Some(0.0) && row.candidate == Some(0.0)
}

/// An interval narrows with the square root of the time: the length that both runs would need for a decision, assuming the same change.
fn minutes_needed(found: &NumberChange, limit: f64, seconds: f64) -> Option<f64> {
    let (low, high) = (found.low?, found.high?);
    let half = (high - found.value).max(found.value - low);
    let wanted = if found.value.abs() >= limit { found.value.abs() * DECIDED_INTERVAL_SHARE } else { limit - found.value.abs() };
    let minutes = seconds / 60.0 * (half / wanted).powi(2);
    (minutes.is_finite() && minutes <= MINUTES_MAX).then_some(minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(baseline: f64, candidate: f64) -> ComparedRow {
        // For 2,000 requests each: up to one in five hundred may fail where none did.
        let share = |value: f64| Some(Estimate::new(value, Some(value - 0.002), Some(value + 0.002)));
        let input = RowInput {
            metric: ComparedMetric::Failures,
            unit: "",
            baseline: share(baseline),
            candidate: share(candidate),
            paired: None,
            effect: 0.03,
            seconds: 60.0,
        };
        let mut row = of(input);
        judge(&mut row, false, 0.03);
        row
    }

    #[test]
    fn no_failure_in_both_runs_is_the_same_and_one_failure_is_undecided() {
        let none = failures(0.0, 0.0);
        assert_eq!((none.verdict, none.minutes_needed), (RowVerdict::Same, None));
        assert!(none.high.is_some_and(|high| high > 0.002), "the bound remains");
        assert_eq!(failures(0.0, 0.0005).verdict, RowVerdict::CannotTell);
    }
}
