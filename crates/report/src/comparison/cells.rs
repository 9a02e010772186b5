//! Formats the parts of a comparison that all renderers share: values, changes, verdicts. Selects the rows worth showing.

use loadstone_analysis::{
    ComparedMetric, ComparedRow, ComparedRun, ComparedSubject, ComparisonVerdict, FindingMove, FindingState, GateState, RowVerdict,
    RunComparison, RunDifference, Side, SubjectKind,
};

use crate::terminal::Paint;

/// A value: `≥ 12.0 s` if only a lower bound is known.
pub(super) fn value(row: &ComparedRow, side: Side) -> String {
    let value = match side {
        Side::Baseline => row.baseline,
        Side::Candidate => row.candidate,
    };
    let Some(value) = value else { return loadstone_units::NONE.to_owned() };
    let least = if row.at_least.contains(&side) { "≥ " } else { "" };
    format!("{least}{}", known(row, value))
}

fn known(row: &ComparedRow, value: f64) -> String {
    match row.metric {
        ComparedMetric::Rate => loadstone_units::rate(value),
        ComparedMetric::Failures => loadstone_units::share(value),
        ComparedMetric::Memory => loadstone_units::in_unit(value, "bytes"),
        ComparedMetric::Value | ComparedMetric::ValueP50 | ComparedMetric::ValueP95 | ComparedMetric::ValueP99 => {
            loadstone_units::in_unit(value, &row.unit)
        }
        ComparedMetric::AddedRate => format!("{}/s", loadstone_analysis::in_unit(value, &row.unit)),
        ComparedMetric::Share => loadstone_units::share(value),
        _ => loadstone_units::seconds(value),
    }
}

/// The change: `+5.12 %`, `−3.10 %`, `× 750`; percentage points for failures. `≥ +512 %` and `≤ −31 %` if one side is a lower bound.
pub(super) fn change(row: &ComparedRow) -> String {
    let bound = match row.at_least.first() {
        Some(Side::Baseline) => "≤ ",
        Some(Side::Candidate) => "≥ ",
        None => "",
    };
    row.change.map_or_else(|| loadstone_units::NONE.to_owned(), |change| format!("{bound}{}", signed(row, change)))
}

/// The interval: `+3.0 to +7.1 %`, `× 612 to × 894`; `above +3.0 %` if one end is unknown, and `within ±0.1 %` if both ends round to 0.
pub(super) fn interval(row: &ComparedRow) -> String {
    let tenths = |change: f64| (1000.0 * if row.metric.is_difference() { change } else { change - 1.0 }).round();
    let (unit, as_factor) = (if row.metric.is_difference() { " points" } else { " %" }, row.reads_as_factor());
    let end = |change: f64| match tenths(change) {
        _ if as_factor => loadstone_units::factor(change),
        0.0 => "0.0".to_owned(),
        tenths => format!("{}{:.1}", if tenths < 0.0 { "−" } else { "+" }, tenths.abs() / 10.0),
    };
    let after = if as_factor { "" } else { unit };
    match (row.low, row.high) {
        (Some(low), Some(high)) if tenths(low) == 0.0 && tenths(high) == 0.0 => format!("within ±0.1{unit}"),
        (Some(low), Some(high)) => format!("{} to {}{after}", end(low), end(high)),
        (Some(low), None) => format!("above {}{after}", end(low)),
        (None, Some(high)) => format!("below {}{after}", end(high)),
        (None, None) => loadstone_units::NONE.to_owned(),
    }
}

/// A share as a user enters it: `3 %`.
fn round(share: f64) -> String {
    format!("{} %", loadstone_units::number((share * 1e6).round() / 1e4))
}

fn signed(row: &ComparedRow, change: f64) -> String {
    match row.metric.is_difference() {
        true => loadstone_units::signed_share(change).replace(" %", " points"),
        false if row.reads_as_factor() => loadstone_units::factor(change),
        false => loadstone_units::change(change),
    }
}

pub(super) fn verdict(row: &ComparedRow, effect: f64) -> String {
    match row.verdict {
        RowVerdict::Better => "better".to_owned(),
        RowVerdict::Worse => "worse".to_owned(),
        RowVerdict::Moved => "moved".to_owned(),
        RowVerdict::Same if is_none_twice(row) => "same: none".to_owned(),
        RowVerdict::Same if row.metric.is_difference() => "same (±0.1 points)".to_owned(),
        RowVerdict::Same => format!("same (±{})", round(effect)),
        RowVerdict::CannotTell => match row.minutes_needed {
            Some(minutes) => format!("cannot tell (needs {})", loadstone_units::seconds(60.0 * minutes.ceil())),
            None => "cannot tell".to_owned(),
        },
    }
}

/// Both counts are 0. The interval in the next column shows how many failures are possible nonetheless.
fn is_none_twice(row: &ComparedRow) -> bool {
    row.metric.is_difference() && row.baseline == Some(0.0) && row.candidate == Some(0.0)
}

pub(crate) fn paint(verdict: RowVerdict) -> Option<Paint> {
    match verdict {
        RowVerdict::Better => Some(Paint::Good),
        RowVerdict::Worse => Some(Paint::Bad),
        RowVerdict::Moved => Some(Paint::Warning),
        RowVerdict::Same => None,
        RowVerdict::CannotTell => Some(Paint::Dim),
    }
}

pub(super) fn word(verdict: ComparisonVerdict) -> (&'static str, &'static str, Paint) {
    match verdict {
        ComparisonVerdict::Better => ("✓", "BETTER", Paint::Good),
        ComparisonVerdict::Same => ("✓", "NO CHANGE", Paint::Good),
        ComparisonVerdict::Worse => ("✗", "WORSE", Paint::Bad),
        ComparisonVerdict::Mixed => ("!", "MIXED", Paint::Warning),
        ComparisonVerdict::CannotTell => ("?", "CANNOT TELL", Paint::Warning),
        ComparisonVerdict::NotComparable => ("✗", "NOT COMPARABLE", Paint::Bad),
    }
}

pub(super) fn gate_sign(state: GateState) -> (&'static str, &'static str, Paint) {
    match state {
        GateState::Held => ("✓", "held", Paint::Good),
        GateState::Failed => ("✗", "failed", Paint::Bad),
        GateState::Undecided => ("?", "undecided", Paint::Warning),
    }
}

pub(super) fn title(subject: &ComparedSubject) -> String {
    let group = if subject.group.is_empty() { String::new() } else { format!("{} / ", subject.group) };
    let kind = match subject.kind {
        SubjectKind::All => return "All requests".to_owned(),
        SubjectKind::Request | SubjectKind::Target | SubjectKind::Signal => "",
        SubjectKind::Metric => "metric ",
        SubjectKind::Group => "group ",
        SubjectKind::Scenario => "iterations of ",
        SubjectKind::Flow => "flow ",
    };
    format!("{kind}{group}{}", subject.name)
}

/// Subjects with rows to show; those that became better or worse are first. With a single request, the rows of all requests together and of its
/// iterations repeat those of the request, so they are left out.
pub(super) fn shown(comparison: &RunComparison) -> Vec<&ComparedSubject> {
    let of = |kind: SubjectKind| comparison.subjects.iter().filter(move |subject| subject.kind == kind);
    let single = of(SubjectKind::Request).count() == 1;
    let worth = |subject: &&ComparedSubject| {
        let repeats = single && matches!(subject.kind, SubjectKind::All | SubjectKind::Scenario);
        subject.kind != SubjectKind::Signal && !subject.rows.is_empty() && !repeats
    };
    let mut shown: Vec<&ComparedSubject> = comparison.subjects.iter().filter(worth).collect();
    let differs = |subject: &ComparedSubject| subject.rows.iter().any(|row| matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse));
    shown.sort_by_key(|subject| !differs(subject));
    shown
}

/// The rows that became worse or better, worse ones first.
pub(super) fn changed(comparison: &RunComparison) -> Vec<(&ComparedSubject, &ComparedRow)> {
    let rows = shown(comparison).into_iter().flat_map(|subject| subject.rows.iter().map(move |row| (subject, row)));
    let mut changed: Vec<_> = rows.filter(|(_, row)| matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse)).collect();
    changed.sort_by_key(|(_, row)| row.verdict != RowVerdict::Worse);
    changed
}

/// A percentile that both runs have too few samples for is not a number to compare.
pub(super) fn is_measured(row: &ComparedRow) -> bool {
    row.baseline.is_some() || row.candidate.is_some()
}

/// How many numbers without a decided change are not shown, and how to see them. If nothing changed, the first subject is shown.
pub(super) fn folded(comparison: &RunComparison) -> Option<String> {
    let subjects_shown = usize::from(changed(comparison).is_empty());
    let rows = || shown(comparison).into_iter().skip(subjects_shown).flat_map(|subject| &subject.rows).filter(|row| is_measured(row));
    let count = |verdict| rows().filter(|row| row.verdict == verdict).count();
    let (same, undecided) = (count(RowVerdict::Same), count(RowVerdict::CannotTell));
    (same + undecided > 0).then(|| {
        format!(
            "{} without a decided change: {same} same, {undecided} undecided; `loadstone compare --all` shows them",
            loadstone_units::counted((same + undecided) as u64, "more number")
        )
    })
}

pub(super) fn moved_signals(comparison: &RunComparison) -> impl Iterator<Item = (&ComparedSubject, &ComparedRow)> {
    comparison.rows().filter(|(subject, row)| subject.kind == SubjectKind::Signal && row.verdict == RowVerdict::Moved)
}

pub(super) fn only_in_one(comparison: &RunComparison) -> impl Iterator<Item = String> + '_ {
    comparison.subjects.iter().filter_map(|subject| {
        let side = match subject.only_in? {
            Side::Baseline => "the baseline",
            Side::Candidate => "the candidate",
        };
        Some(format!("{} was measured in {side} only", title(subject)))
    })
}

/// Why some numbers are undetermined when longer runs alone would not help: one line for each reason.
pub(super) fn reasons(comparison: &RunComparison) -> Vec<String> {
    const NAMED_MAX: usize = 3;
    let is_undetermined = |row: &&ComparedRow| {
        let is_measured = row.baseline.is_some() || row.candidate.is_some();
        row.verdict == RowVerdict::CannotTell && row.minutes_needed.is_none() && !row.why.is_empty() && is_measured
    };
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for subject in shown(comparison) {
        for row in subject.rows.iter().filter(is_undetermined) {
            let name = format!("{} of {}", row.metric.name(), title(subject));
            match by_reason.iter_mut().find(|(why, _)| *why == row.why) {
                Some((_, names)) => names.push(name),
                None => by_reason.push((&row.why, vec![name])),
            }
        }
    }
    let line = |(why, names): (&str, Vec<String>)| {
        let left = names.len().saturating_sub(NAMED_MAX);
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        format!("cannot tell {}{more}: {why}", names[..names.len() - left].join(", "))
    };
    by_reason.into_iter().map(line).collect()
}

pub(super) fn difference(difference: &RunDifference) -> String {
    let of = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    format!("{}: {} → {}; {}", difference.what, of(&difference.baseline), of(&difference.candidate), difference.meaning)
}

pub(super) fn finding(found: &FindingMove) -> (&'static str, String) {
    let claim = |claim: &Option<String>| claim.clone().unwrap_or_default();
    match found.state {
        FindingState::New => ("new", claim(&found.candidate)),
        FindingState::Gone => ("gone", claim(&found.baseline)),
        FindingState::Moved => ("moved", format!("{} (before: {})", claim(&found.candidate), claim(&found.baseline))),
        FindingState::Same => ("same", claim(&found.candidate)),
    }
}

pub(super) fn run(run: &ComparedRun) -> String {
    let tags = if run.tags.is_empty() { String::new() } else { format!(" [{}]", run.tags.join(", ")) };
    format!("{}{tags}, {}, {}", run.id, loadstone_units::seconds(run.duration_seconds), loadstone_units::counted(run.requests, "request"))
}

/// The statistical guarantee of all rows together.
pub(super) fn promise(comparison: &RunComparison) -> String {
    let compared = comparison.rows().filter(|(subject, row)| subject.kind != SubjectKind::Signal && row.p.is_some()).count();
    format!(
        "{} compared. Of those called different, at most {} are expected to differ by chance (Benjamini–Hochberg). All intervals are 95 % intervals.",
        loadstone_units::counted(compared as u64, "number"),
        round(comparison.false_share),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(metric: ComparedMetric, change: f64, (low, high): (f64, f64)) -> ComparedRow {
        ComparedRow {
            metric,
            unit: String::new(),
            baseline: Some(0.0),
            candidate: Some(0.0),
            at_least: Vec::new(),
            change: Some(change),
            low: Some(low),
            high: Some(high),
            p: Some(1.0),
            verdict: RowVerdict::Same,
            minutes_needed: None,
            why: String::new(),
        }
    }

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        let tiny = row(ComparedMetric::P95, 1.000_01, (0.999_9, 1.000_2));
        assert_eq!((change(&tiny).as_str(), interval(&tiny).as_str()), ("under 0.01 %", "within ±0.1 %"));
        let failures = row(ComparedMetric::Failures, 0.000_05, (-0.001, 0.012));
        assert_eq!((change(&failures).as_str(), interval(&failures).as_str()), ("under 0.01 points", "−0.1 to +1.2 points"));
        let risen = row(ComparedMetric::Failures, 0.0125, (0.01, 0.02));
        assert_eq!(change(&risen), "+1.25 points");
        let shrunk = row(ComparedMetric::P95, 0.969, (0.95, 0.99));
        assert_eq!((change(&shrunk).as_str(), interval(&shrunk).as_str()), ("−3.10 %", "−5.0 to −1.0 %"));
    }

    #[test]
    fn large_changes_and_their_intervals_are_factors() {
        let grown = row(ComparedMetric::P95, 750.24, (612.0, 894.0));
        assert_eq!((change(&grown).as_str(), interval(&grown).as_str()), ("× 750", "× 612 to × 894"));
        let wide = row(ComparedMetric::P95, 1.5, (0.4, 21.3));
        assert_eq!((change(&wide).as_str(), interval(&wide).as_str()), ("× 1.50", "× 0.40 to × 21"));
    }

    #[test]
    fn no_failure_twice_is_the_same_with_its_bound() {
        let none = row(ComparedMetric::Failures, 0.0, (-0.002, 0.002));
        assert_eq!((verdict(&none, 0.03).as_str(), interval(&none).as_str()), ("same: none", "−0.2 to +0.2 points"));
    }
}
