//! Whether a queue lasted for longer than the parts that are held against each other. How long it grew is then chance that no part shows: neighbouring
//! parts share it, and a system that is beyond its limit has one such queue in the whole run.

use super::pairs::{PARTS, used};

/// Stretches of a run of which response times are looked at.
const STRETCHES: usize = 20;
/// Requests without which one says nothing, and stretches without which the run does not.
const REQUESTS_MIN: f64 = 10.0;
const STRETCHES_MIN: usize = 4;

/// Mean times of two runs, stretch by stretch.
pub(super) struct QueuedTimes {
    baseline: SideQueue,
    candidate: SideQueue,
    /// Of a part.
    seconds: f64,
}

impl QueuedTimes {
    /// Of every second of the same load: all response times, in seconds, and requests. `None`: too few.
    pub(super) fn of(baseline: &[(f64, f64)], candidate: &[(f64, f64)]) -> Option<Self> {
        let used = used(baseline.len(), |second| baseline[second].1 > 0.0 || candidate[second].1 > 0.0)?;
        let seconds = used.len() as f64 / PARTS.min(used.len()) as f64;
        Some(Self { baseline: SideQueue::of(&baseline[used.clone()])?, candidate: SideQueue::of(&candidate[used])?, seconds })
    }

    /// A queue in which requests took up to so long (the baseline's, the candidate's; seconds) lasted for longer than a part.
    pub(super) fn lasted(&self, up_to: (f64, f64)) -> bool {
        self.baseline.lasts(up_to.0).max(self.candidate.lasts(up_to.1)) > self.seconds
    }
}

struct SideQueue {
    /// Requests a second, and their mean time in seconds without what chance may add to it.
    stretches: Vec<(f64, f64)>,
    /// What a request takes without a queue. Seconds.
    unqueued: f64,
}

impl SideQueue {
    fn of(seconds: &[(f64, f64)]) -> Option<Self> {
        let count = STRETCHES.min(seconds.len());
        let mut sums = vec![(0.0, 0.0); count];
        for (index, (time, requests)) in seconds.iter().enumerate() {
            let sum = &mut sums[index * count / seconds.len()];
            *sum = (sum.0 + time, sum.1 + requests);
        }
        sums.retain(|(_, requests)| *requests >= REQUESTS_MIN);
        if sums.len() < STRETCHES_MIN {
            return None;
        }
        let mut means: Vec<f64> = sums.iter().map(|(time, requests)| time / requests).collect();
        means.sort_by(f64::total_cmp);
        let length = seconds.len() as f64 / count as f64;
        // Less two standard errors of as many exponential times.
        let stretch = |(time, requests): (f64, f64)| (requests / length, time / requests * (1.0 - 2.0 / requests.sqrt()));
        Some(Self { stretches: sums.into_iter().map(stretch).collect(), unqueued: means[means.len() / 4] })
    }

    /// Seconds for which chance keeps a queue as long as it is: 4λW² of one in which λ requests a second wait for W (the relaxation time of a queue at high
    /// load, 2σ²/m² of a Brownian motion that a wall turns back, with σ² = 2λ and a mean of λW = σ²/2m; Abate and Whitt, "Transient behavior of regulated
    /// Brownian motion", Advances in Applied Probability 1987).
    fn lasts(&self, up_to: f64) -> f64 {
        let lasts = |(rate, time): &(f64, f64)| 4.0 * rate * (time.min(up_to) - self.unqueued).max(0.0).powi(2);
        self.stretches.iter().map(lasts).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute at 100 requests a second that take 20 ms, and in its last quarter so much longer. Seconds.
    fn minute(longer: f64) -> Vec<(f64, f64)> {
        (0..60).map(|second| (100.0 * (0.02 + if second < 45 { 0.0 } else { longer }), 100.0)).collect()
    }

    #[test]
    fn a_short_queue_is_over_within_a_part_and_a_long_one_is_not() {
        let lasted = |longer, up_to| QueuedTimes::of(&minute(0.0), &minute(longer)).unwrap().lasted((up_to, up_to));
        // 4 · 100/s · (40 ms)² = 0.64 s; of 200 ms, 16 s.
        assert!(!lasted(0.04, f64::INFINITY) && lasted(0.2, f64::INFINITY));
        // Of those that took no more than 50 ms, the same queue was no longer than in 4 · 100/s · (30 ms)² = 0.36 s.
        assert!(!lasted(0.2, 0.05));
    }

    #[test]
    fn a_few_requests_say_nothing() {
        assert!(QueuedTimes::of(&[(0.02, 1.0); 60], &[(0.02, 1.0); 60]).is_none());
    }
}
