//! Detects a queue that lasted longer than the parts of the runs that are compared. The length of such a queue is random, and no part shows
//! how much: neighbouring parts share the queue, and an overloaded system has one such queue in the whole run.

use super::pairs::{PARTS, used};

/// Number of segments of a run whose response times are compared.
const SEGMENTS: usize = 20;
/// Minimum number of requests in a segment, and of segments in a run.
const REQUESTS_MIN: f64 = 10.0;
const SEGMENTS_MIN: usize = 4;

/// Mean times of two runs, by segment.
pub(super) struct QueuedTimes {
    baseline: SideQueue,
    candidate: SideQueue,
    /// Length of a part.
    seconds: f64,
}

impl QueuedTimes {
    /// For every second of the same load: the sum of all response times, in seconds, and the number of requests. `None`: too few.
    pub(super) fn of(baseline: &[(f64, f64)], candidate: &[(f64, f64)]) -> Option<Self> {
        let used = used(baseline.len(), |second| baseline[second].1 > 0.0 || candidate[second].1 > 0.0)?;
        let seconds = used.len() as f64 / PARTS.min(used.len()) as f64;
        Some(Self { baseline: SideQueue::of(&baseline[used.clone()])?, candidate: SideQueue::of(&candidate[used])?, seconds })
    }

    /// Whether a queue lasted longer than a part. Only requests up to the given times (baseline, candidate; seconds) count.
    pub(super) fn lasted(&self, up_to: (f64, f64)) -> bool {
        self.baseline.lasts(up_to.0).max(self.candidate.lasts(up_to.1)) > self.seconds
    }
}

struct SideQueue {
    /// Requests per second, and their mean time in seconds minus the part that chance may explain.
    segments: Vec<(f64, f64)>,
    /// Time of a request without a queue. Seconds.
    unqueued: f64,
}

impl SideQueue {
    fn of(seconds: &[(f64, f64)]) -> Option<Self> {
        let count = SEGMENTS.min(seconds.len());
        let mut sums = vec![(0.0, 0.0); count];
        for (index, (time, requests)) in seconds.iter().enumerate() {
            let sum = &mut sums[index * count / seconds.len()];
            *sum = (sum.0 + time, sum.1 + requests);
        }
        sums.retain(|(_, requests)| *requests >= REQUESTS_MIN);
        if sums.len() < SEGMENTS_MIN {
            return None;
        }
        let mut means: Vec<f64> = sums.iter().map(|(time, requests)| time / requests).collect();
        means.sort_by(f64::total_cmp);
        let length = seconds.len() as f64 / count as f64;
        // Minus two standard errors of this many exponential times.
        let segment = |(time, requests): (f64, f64)| (requests / length, time / requests * (1.0 - 2.0 / requests.sqrt()));
        Some(Self { segments: sums.into_iter().map(segment).collect(), unqueued: means[means.len() / 4] })
    }

    /// Relaxation time of a queue in seconds: how long chance keeps it at its length. It is 4λW² if λ requests a second wait for W (the
    /// relaxation time of a queue at high load, 2σ²/m² of a reflected Brownian motion, with σ² = 2λ and a mean of λW = σ²/2m; Abate and
    /// Whitt, "Transient behavior of regulated Brownian motion", Advances in Applied Probability 1987).
    fn lasts(&self, up_to: f64) -> f64 {
        let lasts = |(rate, time): &(f64, f64)| 4.0 * rate * (time.min(up_to) - self.unqueued).max(0.0).powi(2);
        self.segments.iter().map(lasts).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute at 100 requests per second of 20 ms; in its last quarter they take longer by `longer`. Seconds.
    fn minute(longer: f64) -> Vec<(f64, f64)> {
        (0..60).map(|second| (100.0 * (0.02 + if second < 45 { 0.0 } else { longer }), 100.0)).collect()
    }

    #[test]
    fn a_short_queue_ends_within_a_part_and_a_long_one_does_not() {
        let lasted = |longer, up_to| QueuedTimes::of(&minute(0.0), &minute(longer)).unwrap().lasted((up_to, up_to));
        // 4 · 100/s · (40 ms)² = 0.64 s; of 200 ms, 16 s.
        assert!(!lasted(0.04, f64::INFINITY) && lasted(0.2, f64::INFINITY));
        // For requests up to 50 ms, the same queue lasted at most 4 · 100/s · (30 ms)² = 0.36 s.
        assert!(!lasted(0.2, 0.05));
    }

    #[test]
    fn too_few_requests_give_no_queue() {
        assert!(QueuedTimes::of(&[(0.02, 1.0); 60], &[(0.02, 1.0); 60]).is_none());
    }
}
