//! Selects the responses to read with the kernel's timestamp: all at a low rate, a sample at a high one.

use std::cell::Cell;

/// Approximate number of samples per second, which suffices for a p99 of each second.
const SAMPLES_PER_SECOND: u32 = 2_000;

/// Selects one of several responses at irregular distances, so that no periodic load can synchronise with it.
#[derive(Debug)]
pub(crate) struct Sampling {
    /// The average distance between two samples.
    every: Cell<u32>,
    /// Number of responses to skip.
    left: Cell<u32>,
    /// Responses since the second began.
    seen: Cell<u32>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { every: Cell::new(1), left: Cell::new(0), seen: Cell::new(0) }
    }
}

impl Sampling {
    pub(crate) fn takes(&self, random: impl FnOnce() -> u64) -> bool {
        self.seen.set(self.seen.get().saturating_add(1));
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return false;
        }
        let every = u64::from(self.every.get());
        // 0 to 2 (every − 1), on average every − 1.
        self.left.set((random() % (2 * every - 1)) as u32);
        true
    }

    /// Ends a second. The next one is assumed to be similar.
    pub(crate) fn next_second(&self) {
        self.every.set((self.seen.take() / SAMPLES_PER_SECOND).max(1));
        self.left.set(self.left.get().min(2 * (self.every.get() - 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    /// The number of samples in each of ten seconds.
    fn taken(per_second: u32) -> Vec<u32> {
        let (sampling, state) = (Sampling::default(), Cell::new(7_u64));
        let random = || {
            state.set(state.get().wrapping_add(random::STEP));
            random::mix(state.get())
        };
        let second = |_| {
            let count = (0..per_second).filter(|_| sampling.takes(random)).count();
            sampling.next_second();
            count as u32
        };
        (0..10).map(second).collect()
    }

    #[test]
    fn all_are_sampled_at_a_low_rate_and_a_fixed_number_at_a_high_one() {
        assert_eq!(taken(1_500), [1_500; 10]);
        let fast = taken(200_000);
        assert_eq!(fast[0], 200_000, "nothing is known of the first second");
        assert!(fast[1..].iter().all(|count| (1_800..2_200).contains(count)), "{fast:?}");
    }

    #[test]
    fn periodic_load_does_not_bias_the_sample() {
        let sampling = Sampling::default();
        sampling.every.set(16);
        let state = Cell::new(7_u64);
        let random = || {
            state.set(state.get().wrapping_add(random::STEP));
            random::mix(state.get())
        };
        let mut by_place = [0; 16];
        for number in 0..160_000 {
            by_place[number % 16] += u32::from(sampling.takes(random));
        }
        assert!(by_place.iter().all(|count| (500..750).contains(count)), "{by_place:?}");
    }
}
