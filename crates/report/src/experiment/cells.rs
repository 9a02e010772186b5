//! Formats the parts of an experiment that all renderers share.

use loadstone_analysis::{
    ComparedMetric, ComparisonVerdict, Experiment, ExperimentRow, ExperimentStop, ExperimentSubject, KnobContrast, ProofState, RowVerdict,
    SubjectKind,
};

use crate::terminal::Paint;

pub(super) fn word(verdict: ComparisonVerdict) -> (&'static str, &'static str, Paint) {
    match verdict {
        ComparisonVerdict::Better => ("✓", "BETTER", Paint::Good),
        ComparisonVerdict::Same => ("=", "NO CHANGE", Paint::Bold),
        ComparisonVerdict::Worse => ("✗", "WORSE", Paint::Bad),
        ComparisonVerdict::Mixed => ("!", "MIXED", Paint::Warning),
        ComparisonVerdict::CannotTell | ComparisonVerdict::NotComparable => ("?", "UNDECIDED", Paint::Warning),
    }
}

pub(super) fn proof(state: ProofState) -> (&'static str, Paint) {
    match state {
        ProofState::Proved => ("PROVED", Paint::Good),
        ProofState::Refuted => ("REFUTED", Paint::Bad),
        ProofState::Undecided => ("UNDECIDED", Paint::Warning),
    }
}

pub(super) fn value(row: &ExperimentRow, value: Option<f64>) -> String {
    value.map_or_else(|| loadstone_units::NONE.to_owned(), |value| number(row.metric, value))
}

pub(super) fn number(metric: ComparedMetric, value: f64) -> String {
    match metric {
        ComparedMetric::Rate => loadstone_units::rate(value),
        ComparedMetric::Failures => loadstone_units::share(value),
        _ => loadstone_units::seconds(value),
    }
}

/// The change: `× 0.34`, or `+1.2 points` for shares.
pub(super) fn change(row: &ExperimentRow) -> String {
    row.change.map_or_else(|| loadstone_units::NONE.to_owned(), |change| end(row, change))
}

pub(super) fn interval(row: &ExperimentRow) -> String {
    match row.low.zip(row.high) {
        Some((low, high)) => format!("{} to {}", end(row, low), end(row, high)),
        None => loadstone_units::NONE.to_owned(),
    }
}

fn end(row: &ExperimentRow, change: f64) -> String {
    if row.metric.is_difference() {
        let points = 100.0 * change;
        // A change between two shares of 0 has no minus sign.
        let points = if points.abs() < 0.005 { 0.0 } else { points };
        format!("{points:+.2} points").replace('-', "−").replace("+0.00", "0.00")
    } else {
        loadstone_units::factor(change)
    }
}

pub(super) fn verdict(row: &ExperimentRow, effect: f64) -> String {
    match row.verdict {
        RowVerdict::Better => "better".to_owned(),
        RowVerdict::Worse => "worse".to_owned(),
        RowVerdict::Moved => "moved".to_owned(),
        RowVerdict::Same if row.metric.is_difference() => "same (±0.5 points)".to_owned(),
        RowVerdict::Same => format!("same (±{})", percent(effect)),
        RowVerdict::CannotTell => match row.rounds_needed {
            Some(rounds) if row.change.is_some() => format!("cannot tell (needs {})", loadstone_units::counted(rounds as u64, "round")),
            _ => "cannot tell".to_owned(),
        },
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{} %", loadstone_units::number((share * 1e6).round() / 1e4))
}

pub(super) fn title(subject: &ExperimentSubject) -> String {
    let group = if subject.group.is_empty() { String::new() } else { format!("{} / ", subject.group) };
    match subject.kind {
        SubjectKind::All => "All requests".to_owned(),
        SubjectKind::Group => format!("group {group}{}", subject.name),
        SubjectKind::Scenario => format!("iterations of {}", subject.name),
        _ => format!("{group}{}", subject.name),
    }
}

/// The title after a preposition: `all requests`.
pub(super) fn title_in_sentence(subject: &ExperimentSubject) -> String {
    if subject.kind == SubjectKind::All { "all requests".to_owned() } else { title(subject) }
}

/// Rows that decide are first. Failures are shown if there are any.
pub(super) fn shown(contrast: &KnobContrast) -> Vec<(&ExperimentSubject, Vec<&ExperimentRow>)> {
    let worth = |row: &&ExperimentRow| {
        row.change.is_some() && (row.metric != ComparedMetric::Failures || row.from != Some(0.0) || row.to != Some(0.0))
    };
    let mut shown: Vec<(&ExperimentSubject, Vec<&ExperimentRow>)> =
        contrast.subjects.iter().map(|subject| (subject, subject.rows.iter().filter(worth).collect())).collect();
    shown.retain(|(_, rows)| !rows.is_empty());
    shown.sort_by_key(|(subject, _)| !subject.rows.iter().any(|row| row.decides));
    shown
}

/// The procedure, and why it ended.
pub(super) fn how(experiment: &Experiment) -> String {
    let rounds = loadstone_units::counted(experiment.rounds as u64, "round");
    let why = match &experiment.stop {
        ExperimentStop::Running => "still running".to_owned(),
        ExperimentStop::Decided => "decided".to_owned(),
        ExperimentStop::Limit => "reached the limit (--rounds)".to_owned(),
        ExperimentStop::Spoilt => "stopped, because too many measurements were INVALID".to_owned(),
        ExperimentStop::Interrupted => "interrupted".to_owned(),
        ExperimentStop::Failed(problem) => format!("failed: {problem}"),
    };
    let warm_up = experiment.warm_up_seconds;
    let without = if warm_up == 0 { String::new() } else { format!(", without the first {warm_up} s of each") };
    format!("{rounds} with blocks of {} s{without}; {why}", experiment.block_seconds)
}

/// The statistical guarantee of all rows together.
pub(super) const PROMISE: &str = "Rows marked • decide. The 95 % intervals remain valid when they are checked repeatedly. Of the rows called \
                                  different, at most 5 % are expected to differ by chance.";
