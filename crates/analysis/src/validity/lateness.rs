//! Compares the generator's own lateness with the same percentile of the reported times.

use crate::statistics::samples_needed;

/// Lateness up to this is normal for the timers and the scheduler of an idle machine.
const NORMAL_LATENESS_MAX_SECONDS: f64 = 200e-6;

/// Quantiles to compare; the first that has enough samples is used. The maximum is not among them: one late wake-up of a whole machine is
/// not evidence about a run, and one slow response must not hide it either.
const COMPARED_QUANTILES: [f64; 4] = [0.99, 0.95, 0.9, 0.5];
/// With fewer samples, not even medians are compared.
const SAMPLES_MIN: u64 = 20;

/// The quantile to compare when both distributions have at least this many samples.
pub(super) fn compared_quantile(samples: u64) -> Option<f64> {
    COMPARED_QUANTILES.into_iter().find(|quantile| samples >= samples_needed(*quantile).max(SAMPLES_MIN))
}

/// Whether the lateness is notable. Both in seconds, at the same quantile.
pub(super) fn is_late(late: f64, reported: f64) -> bool {
    late > NORMAL_LATENESS_MAX_SECONDS && late > 0.05 * reported
}

pub(super) fn evidence(what: &str, quantile: f64, late: f64, reported: f64) -> String {
    let name = loadstone_units::percentile(quantile);
    let share = loadstone_units::share(if reported > 0.0 { late / reported } else { 0.0 });
    format!(
        "{name} of the {what} was {}, which is {share} of the reported {name} of {}",
        loadstone_units::seconds(late),
        loadstone_units::seconds(reported)
    )
}
