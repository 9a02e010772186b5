//! How the generator's own lateness is told: beside the same percentile of the times that it reports.

use crate::statistics::samples_needed;

/// Lateness below this is that of an idle machine's timers and scheduler. Seconds.
const FLOOR_SECONDS: f64 = 200e-6;

/// Percentiles that are compared, the first that has enough samples. A maximum is not among them: one late wake-up of a whole machine
/// says nothing about a run, and one slow response must not excuse it either.
const COMPARED: [f64; 4] = [0.99, 0.95, 0.9, 0.5];
/// Samples below which not even medians are compared.
const SAMPLES_MIN: u64 = 20;

/// The percentile to compare when both have at least so many samples.
pub(super) fn compared(samples: u64) -> Option<f64> {
    COMPARED.into_iter().find(|quantile| samples >= samples_needed(*quantile).max(SAMPLES_MIN))
}

/// Whether it is worth a look. Seconds, both at the same percentile.
pub(super) fn is_late(late: f64, reported: f64) -> bool {
    late > FLOOR_SECONDS && late > 0.05 * reported
}

pub(super) fn evidence(what: &str, quantile: f64, late: f64, reported: f64) -> String {
    let name = loadstone_units::percentile(quantile);
    let share = loadstone_units::share(if reported > 0.0 { late / reported } else { 0.0 });
    format!(
        "{name} of the {what} was {}, {share} of the reported {name} of {}",
        loadstone_units::seconds(late),
        loadstone_units::seconds(reported)
    )
}
