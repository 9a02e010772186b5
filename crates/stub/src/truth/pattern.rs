//! Response times that change with the time since the first request, in closed form.
//!
//! Pure arithmetic, as in `queue`. The patterns are those of two publications on the errors of load generators: the companion repository of
//! "Coordinated Omission: Why Your Latency Numbers Lie" (hiccup, slowdown, recurring pauses) and the artifact of "Load Fiction: How Your Load
//! Generator is Misleading You" (alternating phases, with and without a limited pool of servers).

use serde::{Deserialize, Serialize};

/// How the service time of a request depends on its arrival. All times in nanoseconds, `since` the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Pattern {
    /// Takes `base_ns`, and waits for the end of a pause of `length_ns` that begins `begin_ns` after the start of each period.
    Pauses { base_ns: u64, every_ns: u64, begin_ns: u64, length_ns: u64 },
    /// Each period begins with `slow_for_ns` in which a request takes `slow_ns`. In the rest of the period it takes `fast_ns`.
    Phases { fast_ns: u64, slow_ns: u64, every_ns: u64, slow_for_ns: u64 },
    /// Takes `from_ns` until `begin_ns`, `to_ns` from `end_ns` on, and changes linearly between them.
    Ramp { from_ns: u64, to_ns: u64, begin_ns: u64, end_ns: u64 },
}

impl Pattern {
    /// The service time of a request that arrives at this time. A period of 0 counts as one that never ends.
    pub fn service_ns(&self, since_ns: u64) -> u64 {
        match *self {
            Self::Pauses { base_ns, every_ns, begin_ns, length_ns } => {
                let within_ns = since_ns.checked_rem(every_ns).unwrap_or(since_ns);
                let end_ns = begin_ns.saturating_add(length_ns);
                let wait_ns = if (begin_ns..end_ns).contains(&within_ns) { end_ns - within_ns } else { 0 };
                base_ns.saturating_add(wait_ns)
            }
            Self::Phases { fast_ns, slow_ns, every_ns, slow_for_ns } => {
                let within_ns = since_ns.checked_rem(every_ns).unwrap_or(since_ns);
                if within_ns < slow_for_ns { slow_ns } else { fast_ns }
            }
            Self::Ramp { from_ns, to_ns, begin_ns, end_ns } => {
                let done = if end_ns > begin_ns {
                    (since_ns.saturating_sub(begin_ns) as f64 / (end_ns - begin_ns) as f64).min(1.0)
                } else {
                    f64::from(u8::from(since_ns >= end_ns))
                };
                (from_ns as f64 + (to_ns as f64 - from_ns as f64) * done).round() as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Quantiles of arrivals at a constant rate of 1,000 per second.
    fn quantiles(pattern: Pattern, seconds: u64, quantiles: [f64; 3]) -> [f64; 3] {
        let mut times: Vec<u64> = (0..seconds * 1_000).map(|index| pattern.service_ns(index * MS)).collect();
        times.sort_unstable();
        quantiles.map(|q| times[(q * times.len() as f64) as usize] as f64 / 1e6)
    }

    /// As for one stall: the excess at quantile q is `length − (1−q)·every`.
    #[test]
    fn recurring_pauses_follow_their_closed_form() {
        let pauses = Pattern::Pauses { base_ns: 10 * MS, every_ns: 2_500 * MS, begin_ns: 1_000 * MS, length_ns: 200 * MS };
        for (seen, q) in quantiles(pauses, 10, [0.5, 0.95, 0.99]).into_iter().zip([0.5, 0.95, 0.99]) {
            let truth = 10.0 + (200.0 - (1.0 - q) * 2_500.0_f64).max(0.0);
            assert!((seen - truth).abs() < 1.5, "q {q}: {seen} vs {truth}");
        }
    }

    #[test]
    fn a_slow_phase_takes_its_share_of_the_requests() {
        let phases = Pattern::Phases { fast_ns: 10 * MS, slow_ns: 200 * MS, every_ns: 4_000 * MS, slow_for_ns: 1_500 * MS };
        assert_eq!(quantiles(phases, 12, [0.5, 0.62, 0.63]), [10.0, 10.0, 200.0]);
    }

    #[test]
    fn a_ramp_is_linear_between_its_ends() {
        let ramp = Pattern::Ramp { from_ns: 10 * MS, to_ns: 100 * MS, begin_ns: 2_000 * MS, end_ns: 6_000 * MS };
        assert_eq!([0, 2_000, 4_000, 6_000, 60_000].map(|ms| ramp.service_ns(ms * MS) / MS), [10, 10, 55, 100, 100]);
        let sudden = Pattern::Ramp { from_ns: 1, to_ns: 9, begin_ns: 5, end_ns: 5 };
        assert_eq!([4, 5].map(|ns| sudden.service_ns(ns)), [1, 9]);
    }
}
