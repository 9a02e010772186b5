//! Jittered reading times, so that readings do not lock onto a periodic pattern.
//!
//! Load arrives evenly, and systems have periodic work. An observer that always reads 20 ms after a whole second sees only the state at that instant.
//! Each reading is therefore delayed by a random part of its period (jittered sampling; Shapiro & Silverman 1960), so that the mean of the readings is
//! the mean over time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The maximum delay of a reading, as a part of its period. The rest of the period is for the reading itself.
const PART_MAX: f64 = 0.5;

/// The sequence of delays of one observer's readings.
pub(crate) struct Jitter {
    state: u64,
}

impl Jitter {
    /// Observers of different names do not read at the same instants.
    pub(crate) fn new(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self { state: hasher.finish() }
    }

    /// The delay of the next reading: uniform up to a part of the period.
    pub(crate) fn next(&mut self, period_ns: u64) -> Duration {
        // SplitMix64 (Steele, Lea & Flood 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        Duration::from_nanos((period_ns as f64 * PART_MAX * (mixed >> 11) as f64 / (1_u64 << 53) as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_spread_evenly_over_half_of_the_period() {
        let mut jitter = Jitter::new("postgres");
        let delays: Vec<f64> = (0..10_000).map(|_| jitter.next(1_000_000_000).as_secs_f64()).collect();
        for tenth in 0..10 {
            let inside = delays.iter().filter(|delay| **delay >= f64::from(tenth) * 0.05 && **delay < f64::from(tenth + 1) * 0.05).count();
            assert!((850..1_150).contains(&inside), "{inside} in tenth {tenth}");
        }
    }

    #[test]
    fn two_observers_read_at_different_instants() {
        let of = |name| Jitter::new(name).next(1_000_000_000);
        assert_ne!(of("postgres"), of("process:8080"));
    }
}
