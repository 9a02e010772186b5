//! Load that was due and not generated: the measured rate may be too low.

use crate::LeafTally;

/// Share of missing arrivals above which the load counts as not generated; the limit of `validity/offered_rate`.
const SHORTFALL_SHARE_MIN: f64 = 0.01;

/// The share of a leaf's due arrivals that neither started nor waited for a user held by the target; 0 where it is negligible. One arrival
/// is always tolerated.
pub(super) fn shortfall(leaf: &LeafTally) -> f64 {
    if leaf.arrivals_due == 0 {
        return 0.0;
    }
    let started_in_time = leaf.started.saturating_sub(leaf.late);
    let missing = leaf.arrivals_due.saturating_sub(started_in_time + leaf.waiting).saturating_sub(1);
    let share = missing as f64 / leaf.arrivals_due as f64;
    if share > SHORTFALL_SHARE_MIN { share } else { 0.0 }
}

/// The maximum by which a rate may be too low when a share of the load was not generated: the target might have served all of it.
pub(super) fn missing_rate(rate: f64, share: f64) -> f64 {
    rate * share / (1.0 - share).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_that_wait_for_the_target_and_one_missing_arrival_are_no_shortfall() {
        let leaf = |due, started, waiting, late| LeafTally { arrivals_due: due, started, waiting, late, ..LeafTally::default() };
        assert_eq!(shortfall(&leaf(1_000, 600, 400, 0)), 0.0);
        assert_eq!(shortfall(&leaf(20, 19, 0, 0)), 0.0);
        assert_eq!(shortfall(&leaf(1_001, 800, 0, 0)), 200.0 / 1_001.0);
        assert_eq!(shortfall(&leaf(1_001, 1_001, 0, 201)), 200.0 / 1_001.0, "started after the load");
        assert_eq!(missing_rate(80.0, 0.2), 20.0);
    }
}
