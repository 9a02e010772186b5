//! The numbers of a series of requests or journeys that are compared, and the pairing of seconds with the same load.

use loadstone_metrics::Histogram;

use super::change::{ChangeErrors, Estimate};
use super::lasting::QueuedTimes;
use super::model::{ComparedMetric, ComparedRow, PERCENTILES, Side};
use super::quantile_pairs::QuantilePairs;
use super::row::RowInput;
use super::same_load::SameLoad;
use super::separation::{self, RunParts};
use super::side::{RunSide, SecondsInOrder, SeriesSecond, TimesHistory};
use super::{blocks, pairs, row};
use crate::TimeStats;

const QUEUE_LASTED: &str =
    "requests queued for so long that the length of the queue is random, and one ramp shows it only once; use a lower, constant load";

/// The sum of a second, and its divisor.
type SumOf = fn(&SeriesSecond) -> (f64, f64);

/// A change of the planned load is not random variation of the rate, so each second is compared with its plan.
const COUNT: SumOf = |second| (second.count, second.planned);
const FAILED: SumOf = |second| (second.failed, second.count);
const TIME: SumOf = |second| (second.time, second.count);

/// The numbers of a series that are compared.
pub(super) struct SeriesNumbers {
    rate: Option<Estimate>,
    failures: Option<Estimate>,
    mean: Option<Estimate>,
    percentiles: Vec<Option<Estimate>>,
    seconds: SecondsInOrder,
    parts: RunParts,
}

impl SeriesNumbers {
    /// `percentiles`: in the order of [`PERCENTILES`]. `history`: the times by second; empty if some are only lower bounds.
    pub(super) fn of(
        seconds: SecondsInOrder,
        rate: f64,
        times: &TimeStats,
        percentiles: Vec<Option<Estimate>>,
        history: &[Vec<&Histogram>],
    ) -> Self {
        let sums = |of: SumOf| seconds.seconds.iter().map(of).collect::<Vec<_>>();
        // The first and the last second are rarely complete. The rate itself is that of the summary.
        let counts = sums(COUNT);
        let by_block = blocks::ratio_of_sums(counts.get(1..counts.len().saturating_sub(1)).unwrap_or(&[]));
        let by_block = by_block.filter(|by_block| by_block.value > 0.0);
        let rate = by_block.map_or_else(|| Estimate::bare(rate), |by_block| by_block.scaled_to(rate));
        let mean = blocks::ratio_of_sums(&sums(TIME));
        Self {
            rate: Some(rate),
            failures: blocks::share(&sums(FAILED)),
            mean: mean.map(|mean| Estimate { uncertainty: times.mean_uncertainty.unwrap_or(0.0), ..mean }),
            percentiles,
            seconds,
            parts: RunParts::of(history),
        }
    }
}

/// How the seconds of two runs are compared.
pub(super) struct Pairing<'a> {
    /// `None`: the load is constant, differs, or has too few requests to detect a queue.
    load: Option<&'a SameLoad>,
    /// The queue of all requests; `None`: the load is closed, which bounds every queue.
    queue: Option<QueuedTimes>,
}

impl<'a> Pairing<'a> {
    pub(super) fn of(load: Option<&'a SameLoad>, baseline: &RunSide<'_>, candidate: &RunSide<'_>) -> Self {
        let times = |load: &SameLoad, side, of: &RunSide<'_>| load.aligned(side, of.requests.iter().map(TIME).enumerate());
        let open = load.filter(|load| load.is_open);
        let queue = open.and_then(|load| QueuedTimes::of(&times(load, Side::Baseline, baseline), &times(load, Side::Candidate, candidate)));
        Self { load: load.filter(|load| queue.is_some() || !load.is_open), queue }
    }

    pub(super) fn pairs(
        &self,
        old: (&SeriesNumbers, &TimesHistory<'_>),
        new: (&SeriesNumbers, &TimesHistory<'_>),
    ) -> Option<SeriesPairs<'_>> {
        let load = self.load?;
        let aligned = |of: SumOf| {
            let seconds =
                |side, numbers: &SeriesNumbers| load.aligned(side, (numbers.seconds.first..).zip(numbers.seconds.seconds.iter().map(of)));
            (seconds(Side::Baseline, old.0), seconds(Side::Candidate, new.0))
        };
        let (counts, failed, times) = (whole_in_both(aligned(COUNT)), aligned(FAILED), aligned(TIME));
        let histories = (load.aligned(Side::Baseline, old.1.by_slice()), load.aligned(Side::Candidate, new.1.by_slice()));
        Some(SeriesPairs {
            rate: pairs::ratio(&counts.0, &counts.1),
            failures: pairs::share(&failed.0, &failed.1),
            mean: pairs::ratio(&times.0, &times.1),
            quantiles: QuantilePairs::of(&histories.0, &histories.1),
            queue: if load.is_open { QueuedTimes::of(&times.0, &times.1) } else { None },
            queue_of_all: self.queue.as_ref(),
        })
    }
}

type BothSides = (Vec<(f64, f64)>, Vec<(f64, f64)>);

/// Keeps the seconds in which neither run began or ended.
fn whole_in_both((mut old, mut new): BothSides) -> BothSides {
    let whole = |seconds: &[(f64, f64)]| {
        let from = seconds.iter().position(|second| second.1 > 0.0).map_or(seconds.len(), |from| from + 1);
        from..seconds.iter().rposition(|second| second.1 > 0.0).unwrap_or(0)
    };
    let both = (whole(&old), whole(&new));
    for second in (0..old.len()).filter(|second| !both.0.contains(second) || !both.1.contains(second)) {
        (old[second], new[second]) = ((0.0, 0.0), (0.0, 0.0));
    }
    (old, new)
}

/// The errors of the changes of a series, if seconds with the same load were compared.
pub(super) struct SeriesPairs<'a> {
    rate: Option<ChangeErrors>,
    failures: Option<ChangeErrors>,
    mean: Option<ChangeErrors>,
    quantiles: Option<QuantilePairs>,
    queue: Option<QueuedTimes>,
    queue_of_all: Option<&'a QueuedTimes>,
}

impl SeriesPairs<'_> {
    fn queue_lasted(&self, up_to: (f64, f64)) -> bool {
        self.queue.iter().chain(self.queue_of_all).any(|queue| queue.lasted(up_to))
    }

    /// `None`: one side has no interval, because not all requests were seen to end, or a queue of requests up to these times lasted too
    /// long.
    pub(super) fn quantile(&self, quantile: f64, old: Estimate, new: Estimate) -> Option<ChangeErrors> {
        let is_known = |of: Estimate| !of.is_bound && of.value > 0.0 && of.low.is_some();
        let pairs = self.quantiles.as_ref().filter(|_| is_known(old) && is_known(new) && !self.queue_lasted((old.value, new.value)))?;
        Some(pairs.errors(quantile, (new.value / old.value).ln()))
    }
}

/// The rows of a series; `pairs` if both runs had the same changing load.
pub(super) fn rows(old: &SeriesNumbers, new: &SeriesNumbers, pairs: Option<&SeriesPairs<'_>>, effect: f64) -> Vec<ComparedRow> {
    let seconds = old.seconds.seconds.len().min(new.seconds.seconds.len()) as f64;
    let row = |metric, baseline, candidate, paired| row::of(RowInput { metric, unit: "", baseline, candidate, paired, effect, seconds });
    let lasted = |up_to| pairs.is_some_and(|pairs| pairs.queue_lasted(up_to));
    let explained = |row: ComparedRow, lasted: bool| if lasted { row::with_reason(row, QUEUE_LASTED) } else { row };
    let without_end = lasted((f64::INFINITY, f64::INFINITY));
    let mean = pairs.and_then(|pairs| pairs.mean).filter(|_| !without_end);
    let separated = |row: ComparedRow, both: Option<(Estimate, Estimate)>, lasted: bool| match both {
        Some(both) if !lasted => separation::apply(row, both, (&old.parts, &new.parts)),
        _ => row,
    };
    let mut rows = vec![
        row(ComparedMetric::Rate, old.rate, new.rate, pairs.and_then(|pairs| pairs.rate)),
        row(ComparedMetric::Failures, old.failures, new.failures, pairs.and_then(|pairs| pairs.failures)),
        separated(explained(row(ComparedMetric::Mean, old.mean, new.mean, mean), without_end), old.mean.zip(new.mean), without_end),
    ];
    let means = old.mean.zip(new.mean);
    let percentiles = PERCENTILES.iter().zip(old.percentiles.iter().zip(&new.percentiles));
    rows.extend(percentiles.map(|((metric, quantile), (old, new))| {
        let (pairs, both) = (pairs, old.zip(*new));
        let paired = both.and_then(|(old, new)| pairs?.quantile(*quantile, old, new));
        let lasted = both.is_some_and(|(old, new)| lasted((old.value, new.value)));
        let found = row(*metric, *old, *new, paired);
        let bounded = both.zip(means).filter(|_| !lasted && !found.excludes_no_change());
        let bounded = bounded.map(|(both, means)| bounded_by_means(both, means, *quantile));
        let bounded = bounded.map(|(old, new)| row(*metric, Some(old), Some(new), None)).filter(ComparedRow::excludes_no_change);
        separated(explained(bounded.unwrap_or(found), lasted), both, lasted)
    }));
    rows
}

/// Percentiles whose upper end the samples do not determine, with the one that the mean implies: at most a share `1 − quantile` of the times exceeds
/// `mean / (1 − quantile)` (Markov's inequality; Feller, *An Introduction to Probability Theory and Its Applications*, volume 2, 1971, V.7). This end is
/// far away, so it only decides large changes.
fn bounded_by_means((old, new): (Estimate, Estimate), means: (Estimate, Estimate), quantile: f64) -> (Estimate, Estimate) {
    let bounded = |of: Estimate, mean: Estimate| {
        let implied = mean.high.filter(|_| !of.is_bound).map(|high| (high / (1.0 - quantile)).max(of.value));
        Estimate { high: of.high.or(implied), ..of }
    };
    (bounded(old, means.0), bounded(new, means.1))
}
