//! A hump of slow requests, apart from all others of the same name, with hardly any request between the two.

use loadstone_metrics::Histogram;

/// Slow requests that a hump needs.
const SLOW_MIN: u64 = 8;
/// And their share of all requests.
const SLOW_SHARE_MIN: f64 = 0.001;
/// How many times the median of the others its fastest request must take.
const SLOWER_FACTOR_MIN: f64 = 4.0;
/// The 90th percentile within a hump over the 10th.
const WIDTH_FACTOR_MAX: f64 = 1.5;
/// The valley before a hump begins at this part of its fastest time.
pub(crate) const VALLEY_BEGIN_PART: f64 = 0.5;
/// Requests in the valley for each request in the hump.
const VALLEY_SHARE_MAX: f64 = 0.1;

/// Slow requests of one name. Times in nanoseconds.
pub(crate) struct Hump {
    /// The fastest of them.
    pub(crate) from_ns: u64,
    pub(crate) median_ns: u64,
    /// The 90th percentile within the hump minus the 10th.
    pub(crate) spread_ns: u64,
    pub(crate) count: u64,
    /// The median of the other requests.
    pub(crate) others_ns: u64,
}

/// The largest hump above a valley, if there is one with at most this share of all requests.
pub(crate) fn hump(times: &Histogram, share_max: f64) -> Option<Hump> {
    let count = times.count();
    let most = (count as f64 * share_max) as u64;
    let mut above = 0;
    let mut best = None;
    let bars: Vec<(u64, u64, u64)> = times.bars().collect();
    for &(from_ns, _, here) in bars.iter().rev() {
        above += here;
        if above > most {
            break;
        }
        if above < SLOW_MIN || (above as f64) < SLOW_SHARE_MIN * count as f64 {
            continue;
        }
        let rank = |part: f64| times.value_at_rank(count - above + 1 + (part * (above - 1) as f64) as u64);
        let others_ns = times.value_at_rank((count - above).div_ceil(2).max(1));
        let narrow = rank(0.9) as f64 <= WIDTH_FACTOR_MAX * rank(0.1) as f64;
        let valley = between(times, (from_ns as f64 * VALLEY_BEGIN_PART) as u64, from_ns);
        if narrow && from_ns as f64 >= SLOWER_FACTOR_MIN * others_ns as f64 && valley as f64 <= VALLEY_SHARE_MAX * above as f64 {
            best = Some(Hump { from_ns, median_ns: rank(0.5), spread_ns: rank(0.9) - rank(0.1), count: above, others_ns });
        }
    }
    best
}

/// Requests that took at least `low` and less than `high`.
pub(crate) fn between(times: &Histogram, low: u64, high: u64) -> u64 {
    times.bars().filter(|(from, ..)| (low..high).contains(from)).map(|(.., count)| count).sum()
}
