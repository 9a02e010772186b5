//! The verdict on the whole, and its sentence.

use super::model::{ComparedMetric, ComparedRow, ComparedSubject, ComparisonVerdict, RowVerdict, RunDifference, SubjectKind};
use super::row::FAILURES_EFFECT;

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
        (false, true) if more_failures(subjects).is_some() => ComparisonVerdict::CannotTell,
        (false, true) => ComparisonVerdict::Better,
        // That rates are as asked for says nothing of how the system coped.
        (false, false) => match judged().any(|row| row.verdict == RowVerdict::Same && row.metric > ComparedMetric::Failures) {
            true if UntoldMedians::of(subjects).are_most() => ComparisonVerdict::CannotTell,
            true => ComparisonVerdict::Same,
            false => ComparisonVerdict::CannotTell,
        },
    }
}

/// All requests, where more of them failed than before and it cannot be told whether that is chance. What fails is often faster than what does not, so
/// that times say nothing of the whole then.
fn more_failures(subjects: &[ComparedSubject]) -> Option<(&ComparedSubject, &ComparedRow)> {
    let all = subjects.iter().find(|subject| subject.kind == SubjectKind::All)?;
    let untold = |row: &&ComparedRow| row.metric == ComparedMetric::Failures && row.verdict == RowVerdict::CannotTell;
    let rises = |row: &&ComparedRow| row.candidate.zip(row.baseline).is_some_and(|(new, old)| new - old >= FAILURES_EFFECT);
    all.rows.iter().find(untold).filter(rises).map(|row| (all, row))
}

/// The medians of which it cannot be told whether they changed. They are what is known best of any series: where most of them cannot be told, that one
/// number or another is the same says nothing of the whole.
struct UntoldMedians<'a> {
    untold: Vec<&'a ComparedRow>,
    told: usize,
}

impl<'a> UntoldMedians<'a> {
    fn of(subjects: &'a [ComparedSubject]) -> Self {
        let judged = subjects.iter().filter(|subject| subject.kind.has_a_better_way()).flat_map(|subject| &subject.rows);
        let (untold, told): (Vec<_>, Vec<_>) =
            judged.filter(|row| row.metric == ComparedMetric::P50).partition(|row| row.verdict == RowVerdict::CannotTell);
        Self { untold, told: told.len() }
    }

    fn are_most(&self) -> bool {
        self.untold.len() > self.told
    }

    /// How long the runs must be until no more than half are untold; `None`: time alone does not help.
    fn minutes_needed(&self) -> Option<f64> {
        let mut needed: Vec<f64> = self.untold.iter().filter_map(|row| row.minutes_needed).collect();
        needed.sort_by(f64::total_cmp);
        // Without any that was told, the first one says how long it takes to be told anything.
        let missing = (self.untold.len() - self.told.min(self.untold.len())).div_ceil(2).max(1);
        needed.get(missing - 1).copied()
    }

    /// What stands in the way of the first.
    fn why(&self) -> &str {
        self.untold.iter().map(|row| row.why.as_str()).find(|why| !why.is_empty()).unwrap_or("too little was measured")
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
        ComparisonVerdict::Same => format!("no change of {} or more was found{rest}", round(effect)),
        ComparisonVerdict::CannotTell if judged.iter().any(|(_, row)| row.verdict == RowVerdict::Better) => {
            let failures =
                more_failures(subjects).map_or_else(String::new, |(all, row)| format!("{}, which may be chance; ", row_in_words(all, row)));
            format!("cannot tell: {failures}better: {}", told(RowVerdict::Better))
        }
        ComparisonVerdict::CannotTell => {
            let medians = UntoldMedians::of(subjects);
            match medians.minutes_needed() {
                Some(minutes) => {
                    let each = loadstone_units::seconds(60.0 * minutes.ceil());
                    format!("cannot tell: the runs are too short; medians need about {each} each{rest}")
                }
                None => format!("cannot tell: {}{rest}", medians.why()),
            }
        }
    }
}

/// A round share, as somebody set it: `3 %`.
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

/// `p95 of "Buy" is 12.1 % higher (8.30 % to 16.0 %)`, `rate of "Buy" is 12.1 % lower (−16.0 % to −8.30 %)`.
pub(super) fn row_in_words(subject: &ComparedSubject, row: &ComparedRow) -> String {
    let of = if subject.kind == SubjectKind::All { "all requests".to_owned() } else { format!("\"{}\"", subject.name) };
    let name = row.metric.name();
    let Some(change) = row.change else { return format!("{name} of {of}") };
    if row.metric.is_difference() {
        let (old, new) = (row.baseline.unwrap_or(0.0), row.candidate.unwrap_or(0.0));
        return format!("{name} of {of} went from {} to {}", percent(old), percent(new));
    }
    let way = if change >= 1.0 { "higher" } else { "lower" };
    let least = if row.at_least.is_empty() { "" } else { "at least " };
    // With the signs of the table, which stands beside it.
    let interval = row.low.zip(row.high);
    let interval = interval.map_or_else(String::new, |(from, to)| format!(" ({} to {})", percent(from - 1.0), percent(to - 1.0)));
    format!("{name} of {of} is {least}{} {way}{interval}", percent((change - 1.0).abs()))
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

    fn told(subjects: &[ComparedSubject]) -> (ComparisonVerdict, String) {
        let verdict = verdict(subjects, &[]);
        (verdict, sentence(verdict, subjects, &[], 0.03))
    }

    #[test]
    fn one_number_that_is_the_same_is_not_the_whole() {
        let (same, open) = (|| request(RowVerdict::Same, None), |minutes| request(RowVerdict::CannotTell, Some(minutes)));
        let (verdict, sentence) = told(&[same(), open(4.0), open(30.0), open(9.0)]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        // Two of four are told once the quickest of the three is.
        assert_eq!(sentence, "cannot tell: the runs are too short; medians need about 4 min each; of 3 of 8 numbers it cannot be told");
        let (verdict, sentence) = told(&[same(), same(), open(4.0), open(30.0)]);
        assert_eq!(
            (verdict, sentence.as_str()),
            (ComparisonVerdict::Same, "no change of 3 % or more was found; of 2 of 8 numbers it cannot be told")
        );
        // Something that surely changed is told, however little else can be.
        assert_eq!(told(&[request(RowVerdict::Worse, None), open(4.0), open(4.0)]).0, ComparisonVerdict::Worse);
    }

    #[test]
    fn quicker_is_not_better_where_more_may_fail() {
        let all = |candidate: f64, verdict| {
            let change = Some(candidate);
            let failures =
                ComparedRow { baseline: Some(0.0), candidate: Some(candidate), change, ..row(ComparedMetric::Failures, verdict, None) };
            ComparedSubject { kind: SubjectKind::All, rows: vec![failures], ..request(RowVerdict::Same, None) }
        };
        let (verdict, sentence) = told(&[all(0.0374, RowVerdict::CannotTell), request(RowVerdict::Better, None)]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        let said = "cannot tell: failures of all requests went from 0 % to 3.74 %, which may be chance; better: p50 of \"Buy\"";
        assert!(sentence.starts_with(said), "{sentence}");
        // No more than matters, or surely no more.
        for all in [all(0.0005, RowVerdict::CannotTell), all(0.0374, RowVerdict::Same)] {
            assert_eq!(told(&[all, request(RowVerdict::Better, None)]).0, ComparisonVerdict::Better);
        }
    }

    #[test]
    fn it_says_why_where_time_does_not_help() {
        let mut late = request(RowVerdict::CannotTell, None);
        late.rows[1].why = "the generator was late: it may have made the difference".to_owned();
        let (verdict, sentence) = told(&[late, request(RowVerdict::Same, None), request(RowVerdict::CannotTell, None)]);
        assert_eq!(verdict, ComparisonVerdict::CannotTell);
        assert!(sentence.starts_with("cannot tell: the generator was late"), "{sentence}");
    }

    #[test]
    fn intervals_have_the_signs_of_the_table() {
        let told = |change: f64, low: f64, high: f64| {
            let row = ComparedRow {
                change: Some(change),
                low: Some(low),
                high: Some(high),
                ..row(ComparedMetric::Rate, RowVerdict::Worse, None)
            };
            row_in_words(&request(RowVerdict::Worse, None), &row)
        };
        assert_eq!(told(0.88, 0.84, 0.92), "rate of \"Buy\" is 12.0 % lower (−16.0 % to −8.00 %)");
        assert_eq!(told(0.98, 0.95, 1.01), "rate of \"Buy\" is 2.00 % lower (−5.00 % to 1.00 %)");
        assert_eq!(told(1.12, 1.08, 1.16), "rate of \"Buy\" is 12.0 % higher (8.00 % to 16.0 %)");
    }
}
