//! Compares one value of the knob with the first, round by round.

use super::block::{Block, METRICS, SubjectKey};
use super::model::{ExperimentRow, ExperimentSubject, KnobContrast};
use super::sequence::{self, Sequence};
use crate::{ComparedMetric, ComparisonVerdict, RowVerdict, SubjectKind};

/// Smallest change that matters for the share of failures: half a percentage point. A block is too short for less.
const FAILURES_EFFECT: f64 = 0.005;
/// Relative resolution of a histogram. The aim is a cause, not a precise number.
const HISTOGRAM_RESOLUTION: f64 = 0.004;
/// Larger numbers of needed rounds are not reported.
const ROUNDS_NEEDED_MAX: usize = 1_000;

/// The headline if no round counts: no round is complete, or each had an INVALID measurement (see the remarks).
const NO_ROUND: &str = "there is no usable round so far";

/// The numbers that must be decided before the experiment ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Deciding(pub(super) Vec<(SubjectKey, ComparedMetric)>);

/// A block with the first value and one with the other value, for each round that counts.
pub(super) type Pair<'a> = (&'a Block, &'a Block);

pub(super) fn of(values: (&str, &str), pairs: &[Pair<'_>], deciding: &Deciding, effect: f64) -> KnobContrast {
    let keys = pairs.first().map_or(&[] as &[_], |(first, _)| first.subjects.as_slice()).iter().map(|subject| &subject.key);
    let mut subjects: Vec<ExperimentSubject> = keys.map(|key| subject(key, pairs, deciding, effect)).collect();
    let rows = || subjects.iter().flat_map(|subject| &subject.rows);
    let different = sequence::different(&rows().filter_map(|row| row.ln_e).collect::<Vec<_>>());
    let mut different = different.into_iter();
    for row in subjects.iter_mut().flat_map(|subject| &mut subject.rows) {
        let is_different = row.ln_e.is_some() && different.next().unwrap_or(false);
        judge(row, is_different, effect);
    }
    let verdict = verdict(&subjects);
    let headline = if pairs.is_empty() { NO_ROUND.to_owned() } else { headline(verdict, &subjects, effect) };
    KnobContrast { from: values.0.to_owned(), to: values.1.to_owned(), verdict, headline, subjects }
}

fn subject(key: &SubjectKey, pairs: &[Pair<'_>], deciding: &Deciding, effect: f64) -> ExperimentSubject {
    let series = key.series.as_ref();
    ExperimentSubject {
        kind: key.kind,
        name: key.name().to_owned(),
        scenario: series.map_or_else(String::new, |key| key.scenario.to_string()),
        group: series.map_or_else(String::new, |key| key.group.to_string()),
        rows: METRICS
            .iter()
            .map(|metric| {
                let decides = deciding.0.iter().any(|(known, wanted)| known == key && wanted == metric);
                ExperimentRow { decides, ..row(key, *metric, pairs, effect) }
            })
            .collect(),
    }
}

/// The row without its verdict, which depends on all rows.
fn row(key: &SubjectKey, metric: ComparedMetric, pairs: &[Pair<'_>], effect: f64) -> ExperimentRow {
    let empty = ExperimentRow {
        metric,
        from: None,
        to: None,
        change: None,
        low: None,
        high: None,
        ln_e: None,
        verdict: RowVerdict::CannotTell,
        decides: false,
        rounds_needed: None,
        why: String::new(),
    };
    let numbers = pairs.iter().map(|(first, other)| Some((first.number(key, metric)?, other.number(key, metric)?)));
    let Some(numbers) = numbers.collect::<Option<Vec<(f64, f64)>>>().filter(|numbers| !numbers.is_empty()) else {
        return ExperimentRow { why: "too few samples in a block, or too many requests that were cut off".to_owned(), ..empty };
    };
    if metric.is_difference() {
        return share_row(&numbers, least_share(key, pairs), empty);
    }
    if numbers.iter().any(|(first, other)| *first <= 0.0 || *other <= 0.0) {
        return ExperimentRow { why: "a ratio to zero is undefined".to_owned(), ..empty };
    }
    let logs: Vec<f64> = numbers.iter().map(|(first, other)| (other / first).ln()).collect();
    let sequence = Sequence::of(&logs, resolution(key, metric, pairs));
    let mean = |of: fn(&(f64, f64)) -> f64| (numbers.iter().map(|pair| of(pair).ln()).sum::<f64>() / numbers.len() as f64).exp();
    // Time that a late generator added to the other block increases the ratio; time added to the first block decreases it.
    let to_first = added(key, metric, pairs.iter().map(|pair| pair.0));
    let to_other = added(key, metric, pairs.iter().map(|pair| pair.1));
    let why = if to_first.max(to_other) > effect.ln_1p() / 2.0 { "the generator was late and may have caused the difference" } else { "" };
    let ends = sequence.ends();
    ExperimentRow {
        from: Some(mean(|pair| pair.0)),
        to: Some(mean(|pair| pair.1)),
        change: Some(sequence.mean.exp()),
        low: ends.map(|(low, _)| (low - to_other).exp()),
        high: ends.map(|(_, high)| (high + to_first).exp()),
        ln_e: Some(sequence.nearer_to_zero(if sequence.mean > 0.0 { to_other } else { to_first }).ln_e()),
        rounds_needed: rounds_needed(&sequence, effect.ln_1p()).filter(|_| why.is_empty()),
        why: why.to_owned(),
        ..empty
    }
}

/// The maximum by which the generator can have raised the logarithm of a number, averaged over its blocks.
fn added<'b>(key: &SubjectKey, metric: ComparedMetric, blocks: impl ExactSizeIterator<Item = &'b Block>) -> f64 {
    let count = blocks.len() as f64;
    let uncertainties = blocks.filter_map(|block| block.subject(key)).map(|subject| -(1.0 - subject.uncertainty(metric).min(0.999)).ln());
    uncertainties.sum::<f64>() / count
}

fn share_row(numbers: &[(f64, f64)], least: f64, empty: ExperimentRow) -> ExperimentRow {
    let sequence = Sequence::of(&numbers.iter().map(|(first, other)| other - first).collect::<Vec<_>>(), least);
    let mean = |of: fn(&(f64, f64)) -> f64| numbers.iter().map(of).sum::<f64>() / numbers.len() as f64;
    let ends = sequence.ends();
    ExperimentRow {
        from: Some(mean(|pair| pair.0)),
        to: Some(mean(|pair| pair.1)),
        change: Some(sequence.mean),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        ln_e: Some(sequence.ln_e()),
        rounds_needed: rounds_needed(&sequence, FAILURES_EFFECT),
        ..empty
    }
}

/// One request more or less: the resolution of a share, and of a rate.
fn least_share(key: &SubjectKey, pairs: &[Pair<'_>]) -> f64 {
    let counts = pairs.iter().flat_map(|(first, other)| [first, other]).filter_map(|block| block.subject(key));
    1.0 / counts.map(|subject| subject.count).min().unwrap_or(0).max(1) as f64
}

fn resolution(key: &SubjectKey, metric: ComparedMetric, pairs: &[Pair<'_>]) -> f64 {
    if metric == ComparedMetric::Rate { least_share(key, pairs).max(HISTOGRAM_RESOLUTION) } else { HISTOGRAM_RESOLUTION }
}

fn limit(metric: ComparedMetric, effect: f64) -> f64 {
    if metric.is_difference() { FAILURES_EFFECT } else { effect.ln_1p() }
}

/// The number of rounds until the interval excludes "no change", or lies within the smallest change that matters.
fn rounds_needed(sequence: &Sequence, limit: f64) -> Option<usize> {
    let size = sequence.mean.abs();
    let wanted = if size >= limit { size * 0.8 } else { limit - size };
    sequence.rounds_until(wanted, ROUNDS_NEEDED_MAX)
}

fn judge(row: &mut ExperimentRow, different: bool, effect: f64) {
    let Some(change) = row.change else { return };
    let scale = |value: f64| if row.metric.is_difference() { value } else { value.ln() };
    let (change, limit) = (scale(change), limit(row.metric, effect));
    let within = |end: Option<f64>| end.is_some_and(|end| scale(end).abs() <= limit);
    row.verdict = if different && change.abs() >= limit {
        if row.metric.more_is_better() == Some(change > 0.0) { RowVerdict::Better } else { RowVerdict::Worse }
    } else if within(row.low) && within(row.high) {
        RowVerdict::Same
    } else {
        RowVerdict::CannotTell
    };
    if row.verdict == RowVerdict::CannotTell {
        if row.why.is_empty() {
            row.why = "the rounds so far show neither a change nor its absence".to_owned();
        }
    } else {
        (row.rounds_needed, row.why) = (None, String::new());
    }
}

fn verdict(subjects: &[ExperimentSubject]) -> ComparisonVerdict {
    let deciding = || subjects.iter().flat_map(|subject| &subject.rows).filter(|row| row.decides);
    let any = |verdict| deciding().any(|row| row.verdict == verdict);
    match (any(RowVerdict::Worse), any(RowVerdict::Better)) {
        (true, true) => ComparisonVerdict::Mixed,
        (true, false) => ComparisonVerdict::Worse,
        (false, true) => ComparisonVerdict::Better,
        (false, false) if any(RowVerdict::Same) && !any(RowVerdict::CannotTell) => ComparisonVerdict::Same,
        (false, false) => ComparisonVerdict::CannotTell,
    }
}

/// The largest change is listed first, and the rate last.
fn headline(verdict: ComparisonVerdict, subjects: &[ExperimentSubject], effect: f64) -> String {
    let deciding = || subjects.iter().flat_map(|subject| subject.rows.iter().map(move |row| (subject, row))).filter(|(_, row)| row.decides);
    let describe = |wanted: RowVerdict| {
        let mut moved: Vec<_> = deciding().filter(|(_, row)| row.verdict == wanted).collect();
        moved.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
        moved.sort_by_key(|(_, row)| row.metric == ComparedMetric::Rate);
        moved.iter().map(|(subject, row)| row_in_words(subject, row)).collect::<Vec<_>>().join(", ")
    };
    let undecided = || {
        let mut open: Vec<_> = deciding().filter(|(_, row)| row.verdict == RowVerdict::CannotTell).collect();
        open.sort_by_key(|(_, row)| row.metric == ComparedMetric::Rate);
        open.into_iter()
    };
    match verdict {
        ComparisonVerdict::Better => describe(RowVerdict::Better),
        ComparisonVerdict::Worse => describe(RowVerdict::Worse),
        ComparisonVerdict::Mixed => format!("{}; but {}", describe(RowVerdict::Better), describe(RowVerdict::Worse)),
        ComparisonVerdict::Same => format!("no change of {} or more: {}", percent(effect), describe(RowVerdict::Same)),
        ComparisonVerdict::CannotTell | ComparisonVerdict::NotComparable => match undecided().next() {
            Some((subject, row)) => format!("the rounds so far do not decide {}", row_in_words(subject, row)),
            None => "no number was measured in every block".to_owned(),
        },
    }
}

fn size(row: &ExperimentRow) -> f64 {
    row.change.map_or(0.0, |change| if row.metric.is_difference() { change.abs() } else { change.ln().abs() })
}

/// `p95 of "Check out" 120 ms → 41.0 ms (× 0.34, 0.31 to 0.37)`, `rate 98.1/s → 159/s (× 1.62, 1.58 to 1.66)`.
pub(super) fn row_in_words(subject: &ExperimentSubject, row: &ExperimentRow) -> String {
    let of = if subject.kind == SubjectKind::All { String::new() } else { format!(" of \"{}\"", subject.name) };
    let name = row.metric.name();
    let (Some(from), Some(to), Some(change)) = (row.from, row.to, row.change) else { return format!("{name}{of}") };
    let shown = |value: f64| match row.metric {
        ComparedMetric::Rate => loadstone_units::rate(value),
        ComparedMetric::Failures => loadstone_units::share(value),
        _ => loadstone_units::seconds(value),
    };
    let interval = match row.metric {
        ComparedMetric::Failures => String::new(),
        _ => {
            let end = |ratio: f64| loadstone_units::factor(ratio).replace("× ", "");
            let ends = row.low.zip(row.high).map(|(low, high)| format!(", {} to {}", end(low), end(high)));
            format!(" ({}{})", loadstone_units::factor(change), ends.unwrap_or_default())
        }
    };
    format!("{name}{of} {} → {}{interval}", shown(from), shown(to))
}

/// A share that a user set: `10 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", loadstone_units::number((share * 1e6).round() / 1e4))
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::{SeriesKey, SeriesKind};

    use super::super::block::BlockSubject;
    use super::super::model::BlockRecord;
    use super::*;
    use crate::{Grade, TimeStats};

    fn key() -> SubjectKey {
        SubjectKey { kind: SubjectKind::Request, series: Some(SeriesKey::new(SeriesKind::Request, "Buy", "Buy")) }
    }

    /// A block with this mean; the generator may have added `uncertainty` to it.
    fn block(mean: f64, uncertainty: f64) -> Block {
        let times = TimeStats { count: 100, mean: Some(mean), mean_uncertainty: Some(uncertainty), ..TimeStats::default() };
        let record = BlockRecord {
            round: 0,
            value: String::new(),
            run: String::new(),
            grade: Grade::Valid,
            invalid_because: None,
            numbers: Vec::new(),
        };
        Block { record, subjects: vec![BlockSubject::of(key(), (100, 0), 10.0, &times)] }
    }

    fn mean_row(first: f64, other: f64, (to_first, to_other): (f64, f64)) -> ExperimentRow {
        let blocks: Vec<(Block, Block)> = (0..4)
            .map(|round| 1.0 + 0.01 * f64::from(round))
            .map(|machine| (block(first * machine, to_first), block(other / machine, to_other)))
            .collect();
        let pairs: Vec<Pair<'_>> = blocks.iter().map(|(first, other)| (first, other)).collect();
        let deciding = Deciding(vec![(key(), ComparedMetric::Mean)]);
        let contrast = of(("a", "b"), &pairs, &deciding, 0.1);
        contrast.subjects[0].rows.iter().find(|row| row.decides).unwrap().clone()
    }

    #[test]
    fn a_late_generator_widens_the_interval_and_weakens_the_evidence_on_its_side() {
        let certain = mean_row(0.1, 0.2, (0.0, 0.0));
        assert_eq!(certain.verdict, RowVerdict::Worse);
        // The generator may have added half of the slower side, so no evidence remains.
        let uncertain = mean_row(0.1, 0.2, (0.0, 0.1));
        assert_eq!(uncertain.verdict, RowVerdict::CannotTell);
        assert!(uncertain.low.unwrap() < 1.0 && uncertain.high == certain.high && uncertain.why.contains("late"), "{uncertain:?}");
        // Time added to the faster side can only hide how much slower the other side is.
        let hidden = mean_row(0.1, 0.2, (0.05, 0.0));
        assert_eq!((hidden.verdict, hidden.low), (RowVerdict::Worse, certain.low));
        assert!(hidden.high > certain.high);
    }

    #[test]
    fn rows_read_well() {
        let (row, subject) = (mean_row(0.120, 0.041, (0.0, 0.0)), key());
        let subject = ExperimentSubject {
            kind: subject.kind,
            name: "Check out".to_owned(),
            scenario: String::new(),
            group: String::new(),
            rows: Vec::new(),
        };
        let words = row_in_words(&subject, &row);
        assert!(words.starts_with("mean of \"Check out\" 122 ms → 40.4 ms (× 0.33, 0."), "{words}");
        let rate = ExperimentRow {
            metric: ComparedMetric::Rate,
            from: Some(98.1),
            to: Some(159.0),
            change: Some(1.62),
            low: Some(1.58),
            high: Some(1.66),
            ..row
        };
        let all = ExperimentSubject { kind: SubjectKind::All, ..subject };
        assert_eq!(row_in_words(&all, &rate), "rate 98.1/s → 159/s (× 1.62, 1.58 to 1.66)");
    }
}
