//! How far an agent's clock is ahead of the controller's, and the maximum error of that value.
//!
//! A question and its answer bound the offset: the agent's clock was read between the two (Cristian, Probabilistic clock synchronization, 1989). Of
//! the last few readings, the one with the shortest round trip is used, like in NTP's clock filter (Mills, RFC 5905, 10).

use std::collections::VecDeque;

use loadstone_metrics::Nanos;

/// Number of readings considered. Newer ones follow drift; more of them contain shorter round trips.
const READINGS_MAX: usize = 16;

/// The readings of one clock.
#[derive(Debug, Default)]
pub(crate) struct ClockOffset {
    readings: VecDeque<OffsetReading>,
}

/// An offset and its bound: the truth lies within `ahead_ns` ± `bound_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetReading {
    /// The agent's clock minus the controller's.
    pub(crate) ahead_ns: i64,
    pub(crate) bound_ns: u64,
}

impl ClockOffset {
    /// `sent` and `received` are on this clock, `at` on the other.
    pub(crate) fn add(&mut self, sent: Nanos, at: Nanos, received: Nanos) {
        let Some(way) = received.checked_sub(sent) else { return };
        self.readings.push_back(OffsetReading { ahead_ns: at as i64 - (sent + way / 2) as i64, bound_ns: way.div_ceil(2) });
        if self.readings.len() > READINGS_MAX {
            self.readings.pop_front();
        }
    }

    /// Whether the clock was read often enough to begin.
    pub(crate) fn is_known(&self) -> bool {
        self.readings.len() >= READINGS_MAX / 2
    }

    /// The most precise reading.
    pub(crate) fn best(&self) -> Option<OffsetReading> {
        self.readings.iter().min_by_key(|reading| reading.bound_ns).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_lies_within_the_bound_of_the_shortest_round_trip() {
        let (truth, mut clock) = (-3_000i64, ClockOffset::default());
        assert_eq!(clock.best(), None);
        // Delays that differ between the two directions.
        for (sent, there, back) in [(10_000, 500, 100), (20_000, 10, 70), (30_000, 900, 900)] {
            clock.add(sent, (sent + there).saturating_add_signed(truth), sent + there + back);
            let best = clock.best().unwrap();
            assert!((best.ahead_ns - truth).unsigned_abs() <= best.bound_ns, "{best:?}");
        }
        assert_eq!(clock.best().unwrap().bound_ns, 40);
    }

    #[test]
    fn old_readings_are_dropped() {
        let mut clock = ClockOffset::default();
        clock.add(0, 1_000, 2);
        (0..READINGS_MAX as u64).for_each(|step| clock.add(10 * step, 10 * step + 7_000, 10 * step + 8));
        assert_eq!(clock.best().unwrap().bound_ns, 4);
    }
}
