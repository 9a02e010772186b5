//! The overall verdict, and the reason for it.

use super::model::{
    ComparedMetric, ComparedRow, ComparedSubject, ComparisonVerdict, RowVerdict, RunDifference, SubjectKind, ThresholdMove,
};
use super::row::FAILURES_EFFECT;

/// The verdict over all rows except signals, whose better direction is unknown.
pub(super) fn verdict(subjects: &[ComparedSubject], differences: &[RunDifference], thresholds: &[ThresholdMove]) -> ComparisonVerdict {
    let any = |verdict| judged(subjects).any(|row: &ComparedRow| row.verdict == verdict);
    if differences.iter().any(|difference| difference.forbids) {
        return ComparisonVerdict::NotComparable;
    }
    match (any(RowVerdict::Worse) || thresholds.iter().any(ThresholdMove::is_broken), any(RowVerdict::Better)) {
        (true, true) => ComparisonVerdict::Mixed,
        (true, false) => ComparisonVerdict::Worse,
        (false, true) if more_failures(subjects).is_some() => ComparisonVerdict::CannotTell,
        (false, true) => ComparisonVerdict::Better,
        // Equal rates only show that both runs had the same load, so they do not count.
        (false, false) => match judged(subjects).any(|row| row.verdict == RowVerdict::Same && row.metric > ComparedMetric::Failures) {
            true if Undecided::most(subjects).is_some() => ComparisonVerdict::CannotTell,
            true => ComparisonVerdict::Same,
            false => ComparisonVerdict::CannotTell,
        },
    }
}

/// The row of all requests, if more of them failed than before and chance may explain the difference. Failed requests are often faster than
/// successful ones, so response times are then no evidence for the whole.
fn more_failures(subjects: &[ComparedSubject]) -> Option<(&ComparedSubject, &ComparedRow)> {
    let all = subjects.iter().find(|subject| subject.kind == SubjectKind::All)?;
    let undecided = |row: &&ComparedRow| row.metric == ComparedMetric::Failures && row.verdict == RowVerdict::CannotTell;
    let rises = |row: &&ComparedRow| row.candidate.zip(row.baseline).is_some_and(|(new, old)| new - old >= FAILURES_EFFECT);
    all.rows.iter().find(undecided).filter(rises).map(|row| (all, row))
}

/// Numbers of one kind whose change is undecided. If most are undecided, the result cannot be "same", even if the others are the same.
struct Undecided<'a> {
    /// `medians`.
    what: &'static str,
    undecided: Vec<&'a ComparedRow>,
    decided: usize,
}

impl<'a> Undecided<'a> {
    /// The kinds that must be decided for a verdict. The median is the most precise number of a series; the others include what users notice
    /// first, such as a longer tail.
    fn kinds(subjects: &'a [ComparedSubject]) -> [Self; 2] {
        [
            Self::of("medians", judged(subjects).filter(|row| row.metric == ComparedMetric::P50)),
            Self::of("most numbers", judged(subjects).filter(|row| is_measured(row))),
        ]
    }

    fn of(what: &'static str, rows: impl Iterator<Item = &'a ComparedRow>) -> Self {
        let (undecided, decided): (Vec<_>, Vec<_>) = rows.partition(|row| row.verdict == RowVerdict::CannotTell);
        Self { what, undecided, decided: decided.len() }
    }

    /// The first kind of which most numbers are undecided.
    fn most(subjects: &'a [ComparedSubject]) -> Option<Self> {
        Self::kinds(subjects).into_iter().find(|kind| kind.undecided.len() > kind.decided)
    }

    /// The required length of the runs, so that at most half of the numbers are undecided; `None`: longer runs alone do not help.
    fn minutes_needed(&self) -> Option<f64> {
        let mut needed: Vec<f64> = self.undecided.iter().filter_map(|row| row.minutes_needed).collect();
        needed.sort_by(f64::total_cmp);
        // If no number is decided, the first one determines the required length.
        let missing = (self.undecided.len() - self.decided.min(self.undecided.len())).div_ceil(2).max(1);
        needed.get(missing - 1).copied()
    }

    /// The reason of the first undecided number.
    fn why(&self) -> &str {
        self.undecided.iter().map(|row| row.why.as_str()).find(|why| !why.is_empty()).unwrap_or("too little was measured")
    }
}

fn judged(subjects: &[ComparedSubject]) -> impl Iterator<Item = &ComparedRow> {
    subjects.iter().filter(|subject| subject.kind.has_known_direction()).flat_map(|subject| &subject.rows)
}

/// A percentile that both runs have too few samples for is not a number to decide.
fn is_measured(row: &ComparedRow) -> bool {
    row.baseline.is_some() || row.candidate.is_some()
}

/// Without the verdict: renderers put its word first, see [`RunComparison::sentence`](super::RunComparison::sentence).
pub(super) fn headline(
    verdict: ComparisonVerdict,
    subjects: &[ComparedSubject],
    differences: &[RunDifference],
    thresholds: &[ThresholdMove],
    effect: f64,
) -> String {
    let judged: Vec<(&ComparedSubject, &ComparedRow)> = subjects
        .iter()
        .filter(|subject| subject.kind.has_known_direction())
        .flat_map(|subject| subject.rows.iter().map(move |row| (subject, row)))
        .collect();
    let describe = |wanted: RowVerdict| -> String {
        let mut found: Vec<_> = judged.iter().filter(|(_, row)| row.verdict == wanted).collect();
        found.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
        // What users notice precedes resource use. A single request is more specific than all requests together.
        found.sort_by_key(|(subject, _)| (subject.kind == SubjectKind::Target, subject.kind == SubjectKind::All));
        let first = found.first().map_or_else(String::new, |(subject, row)| row_in_words(subject, row));
        if found.len() > 1 { format!("{first}, and {} more", found.len() - 1) } else { first }
    };
    let worse = || match thresholds.iter().find(|threshold| threshold.is_broken()) {
        Some(broken) => {
            let rows = describe(RowVerdict::Worse);
            let rows = if rows.is_empty() { rows } else { format!("; {rows}") };
            format!("the threshold \"{}\" passed and now fails: {}{rows}", broken.label, broken.detail)
        }
        None => describe(RowVerdict::Worse),
    };
    let numbers = Undecided::of("numbers", judged.iter().map(|(_, row)| *row).filter(|row| is_measured(row)));
    let (undecided, of) = (numbers.undecided.len(), numbers.undecided.len() + numbers.decided);
    let rest = if undecided == 0 { String::new() } else { format!("; {undecided} of {of} numbers are undecided") };
    match verdict {
        ComparisonVerdict::NotComparable => {
            let why: Vec<&str> =
                differences.iter().filter(|difference| difference.forbids).map(|difference| difference.what.as_str()).collect();
            format!("the runs cannot be compared: different {}", why.join(", "))
        }
        ComparisonVerdict::Worse => format!("{}{}", worse(), largest_undecided(&judged)),
        ComparisonVerdict::Better => format!("{}{}", describe(RowVerdict::Better), largest_undecided(&judged)),
        ComparisonVerdict::Mixed => format!("worse: {}; better: {}", worse(), describe(RowVerdict::Better)),
        ComparisonVerdict::Same => format!("no change of {} or more was found{rest}", round(effect)),
        ComparisonVerdict::CannotTell if judged.iter().any(|(_, row)| row.verdict == RowVerdict::Better) => {
            let failures =
                more_failures(subjects).map_or_else(String::new, |(all, row)| format!("{}, which may be chance; ", row_in_words(all, row)));
            format!("{failures}better: {}", describe(RowVerdict::Better))
        }
        ComparisonVerdict::CannotTell => {
            let [medians, _] = Undecided::kinds(subjects);
            let open = Undecided::most(subjects).unwrap_or(medians);
            match open.minutes_needed() {
                Some(minutes) => {
                    let each = loadstone_units::seconds(60.0 * minutes.ceil());
                    format!("the runs are too short; {} need runs of about {each} each{rest}{}", open.what, largest_undecided(&judged))
                }
                None => format!("{}{rest}{}", open.why(), largest_undecided(&judged)),
            }
        }
    }
}

/// The largest change that users would notice and that is undecided, if its own interval excludes no change and no decided change is as
/// large. Among many numbers, chance causes such an interval now and then, so it is no verdict.
fn largest_undecided(judged: &[(&ComparedSubject, &ComparedRow)]) -> String {
    let decided = judged.iter().filter(|(_, row)| matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse));
    let largest = decided.filter(|(subject, _)| subject.kind != SubjectKind::Target).map(|(_, row)| size(row)).fold(0.0, f64::max);
    let open = judged.iter().filter(|(subject, row)| {
        row.verdict == RowVerdict::CannotTell && subject.kind != SubjectKind::Target && row.excludes_no_change() && size(row) > largest
    });
    let first = open.max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)));
    first.map_or_else(String::new, |(subject, row)| format!("; largest undecided change: {}", row_in_words(subject, row)))
}

/// A share that a user set, rounded: `3 %`.
fn round(share: f64) -> String {
    format!("{} %", loadstone_units::number((share * 1e6).round() / 1e4))
}

/// A share that may be negative.
fn percent(value: f64) -> String {
    if value < 0.0 { format!("−{}", loadstone_units::share(-value)) } else { loadstone_units::share(value) }
}

fn size(row: &ComparedRow) -> f64 {
    row.change.map_or(0.0, |change| if row.metric.is_difference() { change.abs() } else { change.ln().abs() })
}

/// `p95 of "Buy" is 12.1 % higher (8.30 % to 16.0 %)`, `rate of "Buy" is 12.1 % lower (−16.0 % to −8.30 %)`,
/// `p95 of "Buy" is × 750 its baseline (× 612 to × 894)`.
pub(super) fn row_in_words(subject: &ComparedSubject, row: &ComparedRow) -> String {
    let of = if subject.kind == SubjectKind::All { "all requests".to_owned() } else { format!("\"{}\"", subject.name) };
    let name = row.metric.name();
    let Some(change) = row.change else { return format!("{name} of {of}") };
    if row.metric.is_difference() {
        let (old, new) = (row.baseline.unwrap_or(0.0), row.candidate.unwrap_or(0.0));
        return format!("{name} of {of} went from {} to {}", percent(old), percent(new));
    }
    let direction = if change >= 1.0 { "higher" } else { "lower" };
    let least = if row.at_least.is_empty() { "" } else { "at least " };
    // The signs are those of the table in the same report.
    let as_factor = row.reads_as_factor();
    let end = |ratio: f64| if as_factor { loadstone_units::factor(ratio) } else { percent(ratio - 1.0) };
    let interval = row.low.zip(row.high).map_or_else(String::new, |(from, to)| format!(" ({} to {})", end(from), end(to)));
    if as_factor {
        return format!("{name} of {of} is {least}{} its baseline{interval}", end(change));
    }
    format!("{name} of {of} is {least}{} {direction}{interval}", percent((change - 1.0).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(metric: ComparedMetric, verdict: RowVerdict, minutes_needed: Option<f64>) -> ComparedRow {
        ComparedRow {
            metric,
            unit: String::new(),
            baseline: Some(0.02),
            candidate: Some(0.02),
            at_least: Vec::new(),
            change: Some(1.0),
            low: Some(0.9),
            high: Some(1.1),
            p: Some(0.9),
            verdict,
            minutes_needed,
            why: String::new(),
        }
    }

    /// A request with a median of this verdict; its rate is the same.
    fn request(median: RowVerdict, minutes_needed: Option<f64>) -> ComparedSubject {
        ComparedSubject {
            kind: SubjectKind::Request,
            name: "Buy".to_owned(),
            scenario: String::new(),
            group: String::new(),
            only_in: None,
            rows: vec![row(ComparedMetric::Rate, RowVerdict::Same, None), row(ComparedMetric::P50, median, minutes_needed)],
            shift: Vec::new(),
        }
    }

    fn judged_sentence(subjects: &[ComparedSubject]) -> (ComparisonVerdict, String) {
        let verdict = verdict(subjects, &[], &[]);
        (verdict, headline(verdict, subjects, &[], &[], 0.03))
    }

    #[test]
    fn one_number_that_is_the_same_does_not_decide_the_verdict() {
        let (same, open) = (|| request(RowVerdict::Same, None), |minutes| request(RowVerdict::CannotTell, Some(minutes)));
        let (verdict, sentence) = judged_sentence(&[same(), open(4.0), open(30.0), open(9.0)]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        // Two of four are decided as soon as the fastest of the three is.
        assert_eq!(sentence, "the runs are too short; medians need runs of about 4 min each; 3 of 8 numbers are undecided");
        let (verdict, sentence) = judged_sentence(&[same(), same(), open(4.0), open(30.0)]);
        assert_eq!(
            (verdict, sentence.as_str()),
            (ComparisonVerdict::Same, "no change of 3 % or more was found; 2 of 8 numbers are undecided")
        );
        // Equal medians do not decide for tails that vary.
        let tails = |mut subject: ComparedSubject| {
            subject.rows.extend([ComparedMetric::P95, ComparedMetric::P99].map(|metric| row(metric, RowVerdict::CannotTell, Some(20.0))));
            subject.rows.push(ComparedRow { baseline: None, candidate: None, ..row(ComparedMetric::P999, RowVerdict::CannotTell, None) });
            subject
        };
        assert_eq!(judged_sentence(&[tails(same()), tails(same())]).0, ComparisonVerdict::Same, "half of them are decided");
        let (verdict, sentence) = judged_sentence(&[tails(same()), tails(same()), tails(open(9.0))]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        let expected = "the runs are too short; most numbers need runs of about 9 min each; 7 of 12 numbers are undecided";
        assert_eq!(sentence, expected);
        // A significant change is reported even if most numbers are undecided.
        assert_eq!(judged_sentence(&[request(RowVerdict::Worse, None), open(4.0), open(4.0)]).0, ComparisonVerdict::Worse);
    }

    #[test]
    fn faster_is_not_better_if_more_requests_may_fail() {
        let all = |candidate: f64, verdict| {
            let change = Some(candidate);
            let failures =
                ComparedRow { baseline: Some(0.0), candidate: Some(candidate), change, ..row(ComparedMetric::Failures, verdict, None) };
            ComparedSubject { kind: SubjectKind::All, rows: vec![failures], ..request(RowVerdict::Same, None) }
        };
        let (verdict, sentence) = judged_sentence(&[all(0.0374, RowVerdict::CannotTell), request(RowVerdict::Better, None)]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        let expected = "failures of all requests went from 0 % to 3.74 %, which may be chance; better: p50 of \"Buy\"";
        assert!(sentence.starts_with(expected), "{sentence}");
        // The difference is too small to matter, or certainly not larger.
        for all in [all(0.0005, RowVerdict::CannotTell), all(0.0374, RowVerdict::Same)] {
            assert_eq!(judged_sentence(&[all, request(RowVerdict::Better, None)]).0, ComparisonVerdict::Better);
        }
    }

    #[test]
    fn the_sentence_has_the_reason_if_longer_runs_do_not_help() {
        let mut late = request(RowVerdict::CannotTell, None);
        late.rows[1].why = "the generator was late and may have caused the difference".to_owned();
        let (verdict, sentence) = judged_sentence(&[late, request(RowVerdict::Same, None), request(RowVerdict::CannotTell, None)]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        assert!(sentence.starts_with("the generator was late"), "{sentence}");
    }

    #[test]
    fn intervals_have_the_signs_of_the_table() {
        let words = |change: f64, low: f64, high: f64| {
            let row = ComparedRow {
                change: Some(change),
                low: Some(low),
                high: Some(high),
                ..row(ComparedMetric::Rate, RowVerdict::Worse, None)
            };
            row_in_words(&request(RowVerdict::Worse, None), &row)
        };
        assert_eq!(words(0.88, 0.84, 0.92), "rate of \"Buy\" is 12.0 % lower (−16.0 % to −8.00 %)");
        assert_eq!(words(0.98, 0.95, 1.01), "rate of \"Buy\" is 2.00 % lower (−5.00 % to 1.00 %)");
        assert_eq!(words(1.12, 1.08, 1.16), "rate of \"Buy\" is 12.0 % higher (8.00 % to 16.0 %)");
        assert_eq!(words(750.24, 612.0, 894.0), "rate of \"Buy\" is × 750 its baseline (× 612 to × 894)");
        assert_eq!(words(1.5, 0.4, 21.3), "rate of \"Buy\" is × 1.50 its baseline (× 0.40 to × 21)");
    }
}
