//! Maps the wall clock, in which records give their times, to the clock of the run, and detects steps of the wall clock.

use std::collections::VecDeque;

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::{Monotonic, wall_ns};

/// A change between two readings that NTP cannot have caused by slewing (at most 0.5 ms per second). Nanoseconds.
const STEP_NS_MIN: u64 = 10_000_000;
/// A change from which the mapping follows. Nanoseconds.
const FOLLOWED_NS_MIN: u64 = 500_000;
/// Changes that are remembered. Older times have been delivered.
const SEGMENTS_MAX: usize = 16;

/// From an instant of the run on, the wall clock is ahead of the run's clock by this much.
#[derive(Debug, Clone, Copy)]
struct ClockSegment {
    from: Nanos,
    ahead_ns: u64,
}

/// The mapping.
#[derive(Debug)]
pub(crate) struct WallClock {
    /// In order.
    segments: VecDeque<ClockSegment>,
}

/// Both clocks at about the same instant.
pub(crate) fn read(zero: Monotonic) -> (Nanos, u64) {
    let before = zero.now();
    let wall = wall_ns();
    (before.midpoint(zero.now()), wall)
}

impl WallClock {
    pub(crate) fn new((at, wall_ns): (Nanos, u64)) -> Self {
        Self { segments: VecDeque::from([ClockSegment { from: 0, ahead_ns: wall_ns.saturating_sub(at) }]) }
    }

    /// Adds a reading of both clocks. Returns the size of a step since the last reading. Nanoseconds.
    pub(crate) fn observe(&mut self, (at, wall_ns): (Nanos, u64)) -> Option<u64> {
        let ahead_ns = wall_ns.saturating_sub(at);
        let changed = self.segments.back().map_or(0, |last| last.ahead_ns.abs_diff(ahead_ns));
        if changed < FOLLOWED_NS_MIN {
            return None;
        }
        if self.segments.len() == SEGMENTS_MAX {
            self.segments.pop_front();
        }
        self.segments.push_back(ClockSegment { from: at, ahead_ns });
        (changed >= STEP_NS_MIN).then_some(changed)
    }

    /// The instant of the run at a wall time. Negative: before its start.
    pub(crate) fn instant(&self, wall_ns: u64) -> i128 {
        let at = |segment: &ClockSegment| i128::from(wall_ns) - i128::from(segment.ahead_ns);
        let in_force = self.segments.iter().rev().find(|segment| at(segment) >= i128::from(segment.from));
        in_force.or_else(|| self.segments.front()).map_or(0, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn times_before_and_after_a_step_keep_their_instants() {
        let mut clock = WallClock::new((0, 1_000 * S));
        assert_eq!(clock.observe((5 * S, 1_005 * S)), None);
        // An hour forwards, then two hours back.
        assert_eq!(clock.observe((6 * S, 4_606 * S)), Some(3_600 * S));
        assert_eq!(clock.instant(1_004 * S), 4 * i128::from(S));
        assert_eq!(clock.instant(4_608 * S), 8 * i128::from(S));
        assert_eq!(clock.observe((10 * S, 4_610 * S - 7_200 * S % (3_000 * S))), Some(1_200 * S));
        assert_eq!(clock.instant(3_412 * S), 12 * i128::from(S));
    }

    #[test]
    fn slewing_is_followed_without_a_step() {
        let mut clock = WallClock::new((0, 1_000 * S));
        for second in 1..100 {
            assert_eq!(clock.observe((second * S, 1_000 * S + second * (S + 500_000))), None);
        }
        assert_eq!(clock.instant(1_000 * S + 99 * (S + 500_000)), i128::from(99 * S));
        assert!(clock.instant(0) < 0);
    }
}
