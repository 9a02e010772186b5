//! What the searches for resources at their limit have in common: their input, and from when on a resource is at its limit.

use loadstone_run_directory::Run;

use super::path::Path;
use super::signals::ObservedSignals;
use super::strain::Strain;
use crate::RunTally;

/// Part of the places in use from which a resource is used up.
pub(crate) const FULL_PART_MIN: f64 = 0.93;
/// Readings at the limit.
pub(crate) const READINGS_MIN: usize = 5;
/// And seconds.
pub(crate) const LENGTH_MIN_S: f64 = 5.0;
/// Part of the requests in the system that must wait in one place for that place to be what they wait for.
pub(super) const SYSTEM_PART_MIN: f64 = 0.3;

/// The input of a search.
pub(super) struct Search<'f, 'a> {
    pub(super) run: &'f Run,
    pub(super) tally: &'f RunTally,
    pub(super) signals: &'f ObservedSignals<'a>,
    pub(super) path: &'f Path<'a>,
    pub(super) strain: &'f Strain,
}

/// A resource at its limit: when, which, its places if requests queue for them, and the signals that show it.
pub(super) struct AtLimit<T> {
    pub(super) span: (f64, f64),
    pub(super) resource: T,
    pub(super) places: f64,
    pub(super) series: Vec<String>,
}

/// Whether two stretches overlap by at least half of either. Seconds since the run began.
pub(crate) fn overlap_by_half((from, to): (f64, f64), (other_from, other_to): (f64, f64)) -> bool {
    let shared = to.min(other_to) - from.max(other_from);
    shared > 0.0 && shared >= 0.5 * f64::min(to - from, other_to - other_from)
}

#[cfg(test)]
mod tests {
    use super::overlap_by_half;

    #[test]
    fn half_of_the_shorter_stretch_is_enough() {
        assert!(overlap_by_half((0.0, 10.0), (8.0, 12.0)) && overlap_by_half((8.0, 12.0), (0.0, 10.0)));
        assert!(!overlap_by_half((0.0, 10.0), (9.0, 12.0)) && !overlap_by_half((0.0, 10.0), (10.0, 12.0)));
    }
}
