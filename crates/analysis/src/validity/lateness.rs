//! How the generator's own lateness is compared with the times that it reports: by the same percentile of both.

use super::check::grade_of;
use crate::Grade;
use crate::percentile::samples_needed;

/// Lateness below this is never held against a run. It is what an idle machine's timers and scheduler take (two to four context
/// switches of tens of µs), it is contained in the response time, and no network path to a target repeats better.
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

/// Seconds, both at the same percentile.
pub(super) fn grade(late: f64, reported: f64) -> Grade {
    if late <= FLOOR_SECONDS { Grade::Valid } else { grade_of(late / reported, 0.05, 0.25) }
}

pub(super) fn evidence(what: &str, quantile: f64, late: f64, reported: f64) -> String {
    let name = units::percentile(quantile);
    let share = units::share(if reported > 0.0 { late / reported } else { 0.0 });
    format!("{name} of the {what} was {}, {share} of the reported {name} of {}", units::seconds(late), units::seconds(reported))
}
