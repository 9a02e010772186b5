//! How much more CPU time a request needs while work is held up, and the function that accounts for it, from [`FunctionProfile`].

use super::profiles::{ComparedStretches, FunctionProfile, FunctionTime};
use loadstone_metrics::function_labels::OTHER;

/// Factor by which the CPU time of a request must grow.
const GROWTH_FACTOR_MIN: f64 = 1.25;
/// Part of the growth that a function must account for.
const GROWTH_PART_MIN: f64 = 0.4;
/// CPU seconds that must have been sampled in the function: about 50 samples at 99 per second.
const SAMPLED_MIN_S: f64 = 0.5;
/// Share of the readings that must show the growth: a few outliers may move a mean.
const READINGS_SHARE_MIN: f64 = 0.75;

pub(crate) struct CpuGrowth<'a> {
    pub(crate) observer: &'a str,
    pub(crate) function: &'a str,
    /// The system's own functions that called it, innermost first. It may be empty.
    pub(crate) under: &'a str,
    pub(crate) series: String,
    /// CPU seconds per request in the function: while no work was held up, and while work was.
    pub(crate) part: (f64, f64),
    /// The same in all functions.
    pub(crate) whole: (f64, f64),
    /// Requests that ended per second while work was held up.
    pub(crate) rate: f64,
    /// From the first held-up second to the last. Seconds since the run began.
    pub(crate) span: (f64, f64),
    /// Readings in either stretch.
    pub(crate) readings: (usize, usize),
    /// Significant digits that the number of samples supports.
    pub(crate) digits: CpuGrowthDigits,
}

/// For the function's time and the time of all functions, in either stretch, and for the function's share of the growth.
pub(crate) struct CpuGrowthDigits {
    pub(crate) part: (usize, usize),
    pub(crate) whole: (usize, usize),
    pub(crate) share: usize,
}

impl CpuGrowth<'_> {
    /// The function's share of the growth.
    pub(crate) fn share(&self) -> f64 {
        ((self.part.1 - self.part.0) / (self.whole.1 - self.whole.0)).min(1.0)
    }
}

/// The largest growth among all runtimes whose functions were sampled.
pub(super) fn find<'a>(profiles: &[FunctionProfile<'a>]) -> Option<CpuGrowth<'a>> {
    let by = |growth: &CpuGrowth<'_>| growth.whole.1 - growth.whole.0;
    profiles.iter().filter(|profile| profile.is_cpu_time).filter_map(growth).max_by(|a, b| by(a).total_cmp(&by(b)))
}

fn digits(seconds: (f64, f64), both: &ComparedStretches, samples_per_second: f64) -> (usize, usize) {
    let of = |seconds: f64, requests: f64| loadstone_units::digits_of(samples_per_second * seconds * requests);
    (of(seconds.0, both.requests.0), of(seconds.1, both.requests.1))
}

fn growth<'a>(profile: &FunctionProfile<'a>) -> Option<CpuGrowth<'a>> {
    let both = profile.compared.as_ref()?;
    let whole = profile.functions.iter().fold((0.0, 0.0), |all, one| (all.0 + one.each.0, all.1 + one.each.1));
    let grown = whole.1 - whole.0;
    if whole.1 < GROWTH_FACTOR_MIN * whole.0 || grown <= 0.0 {
        return None;
    }
    let by = |one: &FunctionTime<'_>| one.each.1 - one.each.0;
    let named = profile.functions.iter().filter(|one| !matches!(one.function, "" | OTHER));
    let most = named.max_by(|a, b| by(a).total_cmp(&by(b)))?;
    let seen_s = most.each.1 * both.rates.1 * both.held_seconds();
    let above = both.held_readings(&most.cpu).filter(|cores| *cores > most.each.0 * both.rates.1).count();
    let digits = |seconds: (f64, f64)| digits(seconds, both, profile.samples_per_second);
    let is_carried = by(most) >= GROWTH_PART_MIN * grown && seen_s >= SAMPLED_MIN_S;
    (is_carried && above as f64 >= READINGS_SHARE_MIN * both.readings.1 as f64).then(|| CpuGrowth {
        observer: profile.observer,
        function: most.function,
        under: most.under,
        series: most.cpu.name(),
        part: most.each,
        whole,
        rate: both.rates.1,
        span: both.span(),
        readings: both.readings,
        digits: CpuGrowthDigits { part: digits(most.each), whole: digits(whole), share: digits((by(most), by(most))).1 },
    })
}
