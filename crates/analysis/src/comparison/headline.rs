//! The verdict on the whole, and its sentence.

use super::model::{ComparedMetric, ComparedRow, ComparedSubject, ComparisonVerdict, RowVerdict, RunDifference, SubjectKind};

/// Over all rows but the signals, of which nobody knows which way is better.
pub(super) fn verdict(subjects: &[ComparedSubject], differences: &[RunDifference]) -> ComparisonVerdict {
    let judged = || subjects.iter().filter(|subject| subject.kind.has_a_better_way()).flat_map(|subject| &subject.rows);
    let any = |verdict| judged().any(|row: &ComparedRow| row.verdict == verdict);
    if differences.iter().any(|difference| difference.forbids) {
        return ComparisonVerdict::NotComparable;
    }
    match (any(RowVerdict::Worse), any(RowVerdict::Better)) {
        (true, true) => ComparisonVerdict::Mixed,
        (true, false) => ComparisonVerdict::Worse,
        (false, true) => ComparisonVerdict::Better,
        // That rates are as asked for says nothing of how the system coped.
        (false, false) => match judged().any(|row| row.verdict == RowVerdict::Same && row.metric > ComparedMetric::Failures) {
            true => ComparisonVerdict::Same,
            false => ComparisonVerdict::CannotTell,
        },
    }
}

pub(super) fn sentence(verdict: ComparisonVerdict, subjects: &[ComparedSubject], differences: &[RunDifference], effect: f64) -> String {
    let judged: Vec<(&ComparedSubject, &ComparedRow)> = subjects
        .iter()
        .filter(|subject| subject.kind.has_a_better_way())
        .flat_map(|subject| subject.rows.iter().map(move |row| (subject, row)))
        .collect();
    let told = |wanted: RowVerdict| -> String {
        let mut found: Vec<_> = judged.iter().filter(|(_, row)| row.verdict == wanted).collect();
        found.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
        // All requests together say less than the one that moved.
        found.sort_by_key(|(subject, _)| subject.kind == SubjectKind::All);
        let first = found.first().map_or_else(String::new, |(subject, row)| row_in_words(subject, row));
        if found.len() > 1 { format!("{first}, and {} more", found.len() - 1) } else { first }
    };
    let untold = judged.iter().filter(|(_, row)| row.verdict == RowVerdict::CannotTell).count();
    let rest = if untold == 0 { String::new() } else { format!("; of {} of {} numbers it cannot be told", untold, judged.len()) };
    match verdict {
        ComparisonVerdict::NotComparable => {
            let why: Vec<&str> =
                differences.iter().filter(|difference| difference.forbids).map(|difference| difference.what.as_str()).collect();
            format!("the two cannot be compared: {}", why.join(", "))
        }
        ComparisonVerdict::Worse => format!("worse: {}", told(RowVerdict::Worse)),
        ComparisonVerdict::Better => format!("better: {}", told(RowVerdict::Better)),
        ComparisonVerdict::Mixed => format!("worse: {}; better: {}", told(RowVerdict::Worse), told(RowVerdict::Better)),
        ComparisonVerdict::Same => format!("no change of {} or more was found{rest}", units::share(effect)),
        ComparisonVerdict::CannotTell => {
            let needed = judged.iter().filter(|(_, row)| row.metric == ComparedMetric::P50).filter_map(|(_, row)| row.minutes_needed);
            match needed.min_by(f64::total_cmp) {
                Some(minutes) => {
                    format!("cannot tell: the runs are too short; medians need about {} each", units::seconds(60.0 * minutes.ceil()))
                }
                None => "cannot tell: too little was measured".to_owned(),
            }
        }
    }
}

/// A share that may be negative.
fn percent(value: f64) -> String {
    if value < 0.0 { format!("−{}", units::share(-value)) } else { units::share(value) }
}

fn size(row: &ComparedRow) -> f64 {
    row.change.map_or(0.0, |change| if row.metric.is_difference() { change.abs() } else { change.ln().abs() })
}

/// `p95 of "Buy" is 12.1 % higher (8.30 % to 16.0 %)`.
pub(super) fn row_in_words(subject: &ComparedSubject, row: &ComparedRow) -> String {
    let of = if subject.kind == SubjectKind::All { "all requests".to_owned() } else { format!("\"{}\"", subject.name) };
    let name = row.metric.name();
    let Some(change) = row.change else { return format!("{name} of {of}") };
    if row.metric.is_difference() {
        let (old, new) = (row.baseline.unwrap_or(0.0), row.candidate.unwrap_or(0.0));
        return format!("{name} of {of} went from {} to {}", percent(old), percent(new));
    }
    let (way, turned) = if change >= 1.0 { ("higher", 1.0) } else { ("lower", -1.0) };
    let size = |ratio: f64| turned * (ratio - 1.0);
    let interval = row.low.zip(row.high).map(|(low, high)| if turned > 0.0 { (low, high) } else { (high, low) });
    let interval = interval.map_or_else(String::new, |(from, to)| format!(" ({} to {})", percent(size(from)), percent(size(to))));
    format!("{name} of {of} is {} {way}{interval}", percent(size(change)))
}
