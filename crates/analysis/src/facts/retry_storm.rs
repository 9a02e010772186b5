//! Whether retries keep a system down after a spike of the load is over: a metastable failure (Bronson et al. 2021; Huang et al. 2022).
//!
//! Users that give up repeat their requests. The system works through requests that nobody waits for any more, so that the next ones are late, too. The load
//! that it served before the spike is then too much for it, because each arrival sends several requests.

use super::strain::Strain;

/// Seconds of the load before the spike, and after it.
const BEFORE_MIN_S: f64 = 5.0;
const AFTER_MIN_S: f64 = 10.0;
/// The load of the spike over that after it.
const SPIKE_FACTOR_MIN: f64 = 1.3;
/// The range of the load that counts as that after the spike, as a part of it.
const SAME_LOAD_PART: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Share of failed requests up to which the load was served.
const SERVED_FAILED_SHARE_MAX: f64 = 0.05;
/// Share of failed requests in each third of the time after the spike.
const DOWN_FAILED_SHARE_MIN: f64 = 0.2;
/// Requests for each arrival, over those before the spike.
const ATTEMPTS_FACTOR_MIN: f64 = 1.3;
/// Time in the system, over that before the spike. Requests that fail at once leave no queue.
const SLOWER_FACTOR_MIN: f64 = 3.0;
/// Consecutive seconds whose successes show how many the system can answer.
const ANSWERED_OVER_S: usize = 3;

/// Share of the requests that a system answers in time from which it is not broken.
const ANSWERED_SHARE_MIN: f64 = 0.05;
/// Seconds before the spike in which its effects may appear: readings and the spike have different seconds.
const EARLIER_MAX_S: f64 = 1.0;

/// Requests that fail at a load that was served before, because they are repeated.
#[derive(Debug, Clone)]
pub(crate) struct RetryStorm {
    /// The spike, and the end of the load at the level before it. Seconds since the run began.
    pub(crate) spike: (f64, f64),
    pub(crate) to: f64,
    /// When this load was served before.
    pub(crate) served: (f64, f64),
    /// Arrivals per second then and after the spike, and in the spike.
    pub(crate) load: f64,
    pub(crate) spike_load: f64,
    /// Requests for each arrival before and after.
    pub(crate) attempts: (f64, f64),
    /// Requests per second after the spike, and the most that the system ever answered.
    pub(crate) sent: f64,
    pub(crate) answered_max: f64,
    /// Share of failed requests before and after.
    pub(crate) failed: (f64, f64),
}

impl RetryStorm {
    /// Whether the system answers some requests, so that no part of it is broken.
    pub(crate) fn answers_some(&self) -> bool {
        self.failed.1 < 1.0 - ANSWERED_SHARE_MIN
    }

    /// Whether what began at an instant began with the spike.
    pub(crate) fn explains(&self, at: f64) -> bool {
        self.answers_some() && at >= self.spike.0 - EARLIER_MAX_S
    }
}

pub(super) fn find(strain: &Strain) -> Option<RetryStorm> {
    let (begin, to) = strain.last_asked()?;
    let load = strain.asked(to - BEFORE_MIN_S, to);
    let is_same = |asked: f64| SAME_LOAD_PART.contains(&(asked / load));
    let loads = strain.loads();
    // The begin of the seconds before an instant for which all loads are of a kind.
    let since = |end: f64, is_of_kind: &dyn Fn(f64) -> bool| {
        let before = loads.iter().rev().skip_while(|(from, _)| *from >= end);
        before.take_while(|(_, asked)| is_of_kind(*asked)).last().map(|(from, _)| *from)
    };
    let after = since(to, &is_same)?;
    let spike_from = since(after, &|asked| asked > load * SAME_LOAD_PART.end())?;
    let served = since(spike_from, &is_same)?;
    let peak = loads.iter().filter(|(from, _)| (spike_from..after).contains(from)).map(|(_, asked)| *asked).fold(0.0, f64::max);
    let (before, after) = ((served.max(begin), spike_from), (after, to));
    if load <= 0.0 || peak < SPIKE_FACTOR_MIN * load || before.1 - before.0 < BEFORE_MIN_S || after.1 - after.0 < AFTER_MIN_S {
        return None;
    }
    let attempts = |(from, to): (f64, f64)| strain.throughput(from, to) / strain.asked(from, to).max(1e-9);
    let attempts = (attempts(before), attempts(after));
    let time = |(from, to): (f64, f64)| Some(strain.in_system(from, to)? / strain.throughput(from, to).max(1e-9));
    let failed = (strain.failed_share(before), strain.failed_share(after));
    let third = (after.1 - after.0) / 3.0;
    let is_down = (0..3).all(|part| {
        let from = after.0 + f64::from(part) * third;
        strain.failed_share((from, from + third)) >= DOWN_FAILED_SHARE_MIN
    });
    let (sent, answered_max) = (strain.throughput(after.0, after.1), strain.most_passed(ANSWERED_OVER_S));
    let is_storm = is_down
        && failed.0 <= SERVED_FAILED_SHARE_MAX
        && attempts.1 >= ATTEMPTS_FACTOR_MIN * attempts.0
        && time(after)? >= SLOWER_FACTOR_MIN * time(before)?
        && sent >= answered_max;
    is_storm.then(|| RetryStorm {
        spike: (spike_from, after.0),
        to,
        served: before,
        load,
        spike_load: strain.asked(spike_from, after.0),
        attempts,
        sent,
        answered_max,
        failed,
    })
}
