//! The option `rps`: a limit on the requests of all VUs together.

use std::sync::atomic::{AtomicU64, Ordering};

use loadstone_metrics::Nanos;

/// Gives every request a time before which it does not begin. As in k6, nothing is saved up while no request is sent.
#[derive(Debug)]
pub(crate) struct RequestRateLimit {
    interval_ns: Nanos,
    /// The earliest time of the next request.
    next: AtomicU64,
}

impl RequestRateLimit {
    /// `None`: no limit.
    pub(crate) fn per_second(rate: f64) -> Option<Self> {
        (rate > 0.0).then(|| Self { interval_ns: (1e9 / rate) as Nanos, next: AtomicU64::new(0) })
    }

    /// Reserves the next time, at or after `now`.
    pub(crate) fn reserve(&self, now: Nanos) -> Nanos {
        let after = |next: Nanos| next.max(now).saturating_add(self.interval_ns);
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| Some(after(next)));
        next.unwrap_or(now).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spread_and_a_pause_saves_nothing_up() {
        let limit = RequestRateLimit::per_second(10.0).unwrap();
        let ms = |now: u64| limit.reserve(now * 1_000_000) / 1_000_000;
        assert_eq!([ms(0), ms(0), ms(0), ms(250)], [0, 100, 200, 300]);
        assert_eq!([ms(5_000), ms(5_000)], [5_000, 5_100]);
        assert!(RequestRateLimit::per_second(0.0).is_none());
    }
}
