//! Load that was due and was not made: a rate that rests on it may be too low.

use crate::LeafTally;

/// Share of the arrivals that did not start from which the load counts as not made; the limit of `validity/offered_rate`.
const SHORT: f64 = 0.01;

/// The share of a leaf's arrivals that came due and neither started nor waited for a user that the target held; 0 where it is not worth a word. One
/// arrival is always tolerated.
pub(super) fn shortfall(leaf: &LeafTally) -> f64 {
    if leaf.arrivals_due == 0 {
        return 0.0;
    }
    let started_in_time = leaf.started.saturating_sub(leaf.late);
    let missing = leaf.arrivals_due.saturating_sub(started_in_time + leaf.waiting).saturating_sub(1);
    let share = missing as f64 / leaf.arrivals_due as f64;
    if share > SHORT { share } else { 0.0 }
}

/// By how much a rate may be too low where a share of the load was not made: the target might have served it all.
pub(super) fn missing_rate(rate: f64, share: f64) -> f64 {
    rate * share / (1.0 - share).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_target_held_up_and_what_a_single_arrival_makes_is_none() {
        let leaf = |due, started, waiting, late| LeafTally { arrivals_due: due, started, waiting, late, ..LeafTally::default() };
        assert_eq!(shortfall(&leaf(1_000, 600, 400, 0)), 0.0);
        assert_eq!(shortfall(&leaf(20, 19, 0, 0)), 0.0);
        assert_eq!(shortfall(&leaf(1_001, 800, 0, 0)), 200.0 / 1_001.0);
        assert_eq!(shortfall(&leaf(1_001, 1_001, 0, 201)), 200.0 / 1_001.0, "started after the load");
        assert_eq!(missing_rate(80.0, 0.2), 20.0);
    }
}
