//! How many requests are in service at a time, by the first responses of users who begin at once.
//!
//! N users who begin at once send the same request at the same instant. With k places, the first k of them are served without waiting, in the time S that a
//! request takes. From then on, k of them end per S. The i-th response therefore takes i · S / k, and k is the rate of these responses times the shortest of
//! them. No other request mixes with them, since all of them came before any second request.
//!
//! The shortest of k times is shorter than their mean, by as much as service times scatter (order statistics). If each of k places serves one request after
//! another, blocks of k responses take about as long as each other, and as unequally as service times scatter (renewal theory; Cox, "Renewal theory", 1962).

use std::collections::BTreeMap;

use loadstone_metrics::{SeriesKind, Snapshot};

use crate::statistics::{Z_95, Z_95_ONE_SIDED, gamma_quantile, variance};

/// Users that must begin at once, as a part of all.
const AT_ONCE_PART_MIN: f64 = 0.8;
/// Part of the users whose first responses are examined. By then, none of them has sent the same request again.
const EXAMINED_PART: f64 = 0.5;
/// Responses that are needed, and blocks of them.
const RESPONSES_MIN: usize = 8;
const BLOCKS_MIN: usize = 4;
/// Seconds in which they must end.
const SECONDS_MAX: usize = 6;
/// Other requests that ended meanwhile, as a part of these, unless nearly all users have their first response.
const OTHERS_PART_MAX: f64 = 0.1;
const NEARLY_ALL_PART_MIN: f64 = 0.9;
/// Times up to this multiple of the shortest one are about as short.
const AS_SHORT_FACTOR_MAX: f64 = 1.25;
/// Standard deviations by which the shortest of k service times is below their mean: so many for one, and more for each factor e of k.
const SHORTEST_DEVIATIONS: (f64, f64) = (1.0, 0.5);
/// Part of the mean by which the shortest time may be shorter. Beyond it, the times scatter too much to show their mean.
const SHORTER_PART_MAX: f64 = 0.6;
/// Part of a place by which the interval may miss a whole number.
const WHOLE_WITHIN: f64 = 0.1;
/// Requests in service from which they may be at a place. Fewer are let through at a rate, or have a share of a core.
const ONE_PLACE_MIN: f64 = 0.9;
/// Highest number over the lowest.
const RANGE_FACTOR_MAX: f64 = 2.0;
/// A larger number is no size that somebody configured.
const PLACES_MAX: f64 = 16.0;
/// Users for each place.
const USERS_PER_PLACE_MIN: f64 = 2.0;

/// How many requests are in service at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InService {
    /// The request that all users sent first.
    pub(crate) name: String,
    /// Requests in service, and the interval.
    pub(crate) number: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The whole numbers of places.
    pub(crate) places: (f64, f64),
    /// The first responses that show it, the time until the last of them, and the time of the first. Seconds.
    pub(crate) responses: usize,
    pub(crate) within_s: f64,
    pub(crate) shortest_s: f64,
}

/// `loaded`: the seconds of the load. `None`: the users did not begin at once, or the evidence does not carry a number.
pub(crate) fn find(loaded: &[&Snapshot], users: f64) -> Option<InService> {
    let asked = loaded.first()?.leaves.iter().map(|leaf| leaf.users_asked).sum::<u64>() as f64;
    let (name, times) = first_responses(loaded, users).filter(|_| asked >= AT_ONCE_PART_MIN * users)?;
    of_times(name, &times, users)
}

/// The request that most users had a response to first, and the times of these responses, ascending.
fn first_responses(loaded: &[&Snapshot], users: f64) -> Option<(String, Vec<f64>)> {
    let mut ended: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut name = None;
    for slice in loaded.iter().take(SECONDS_MAX) {
        for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
            let times = ended.entry(&series.key.name).or_default();
            for (low, high, count) in series.service.bars() {
                times.extend(std::iter::repeat_n(low.midpoint(high) as f64 / 1e9, count as usize));
            }
        }
        let most = name.or_else(|| ended.iter().max_by_key(|(_, times)| times.len()).map(|(name, _)| *name));
        name = most;
        let own = ended.get(most?).map_or(0, Vec::len) as f64;
        if own >= EXAMINED_PART * users {
            let all: usize = ended.values().map(Vec::len).sum();
            let is_alone = all as f64 - own <= OTHERS_PART_MAX * own || own >= NEARLY_ALL_PART_MIN * users;
            let mut times = ended.remove(most?)?;
            times.sort_by(f64::total_cmp);
            return is_alone.then(|| (most.unwrap_or_default().to_owned(), times));
        }
    }
    None
}

fn of_times(name: String, all: &[f64], users: f64) -> Option<InService> {
    let times = all.get(..(EXAMINED_PART * users) as usize).filter(|times| times.len() >= RESPONSES_MIN)?;
    let (shortest_s, within_s) = (*times.first()?, *times.last()?);
    let number = times.len() as f64 / within_s * shortest_s;
    let blocks = [number.floor(), number.ceil()].map(|places| variation(times, places.max(1.0) as usize));
    let variation = blocks.into_iter().flatten().reduce(f64::min)?;
    let shorter_part = variation * (SHORTEST_DEVIATIONS.0 + SHORTEST_DEVIATIONS.1 * number.max(1.0).ln());
    if shorter_part > SHORTER_PART_MAX {
        return None;
    }
    let error = Z_95 * number * variation / (times.len() as f64).sqrt();
    let (longer, shorter) = (number * (1.0 / (1.0 - shorter_part) - 1.0), number * (1.0 - 1.0 / (1.0 + variation)));
    // The last block of responses may not be complete.
    let incomplete = number * (number.ceil() - 1.0).max(0.0) / times.len() as f64;
    let (low, high) = ((number - error.hypot(shorter)).max(0.0), number + error.hypot(longer) + incomplete);
    let inside = ((low - WHOLE_WITHIN).ceil(), (high + WHOLE_WITHIN).floor());
    let (least, most) = if inside.0 <= inside.1 { inside } else { (low.floor(), high.ceil()) };
    // Of several places, several first responses are about as short. A single short one may have waited for the others.
    let as_short = all.iter().filter(|time| **time <= AS_SHORT_FACTOR_MAX * shortest_s).count() as f64;
    let least = least.clamp(1.0, as_short.max(1.0));
    let is_narrow = most >= least && most <= RANGE_FACTOR_MAX * least && most <= PLACES_MAX;
    let is_known = high >= ONE_PLACE_MIN && is_narrow && users >= USERS_PER_PLACE_MIN * most;
    is_known.then_some(InService { name, number, low, high, places: (least, most), responses: times.len(), within_s, shortest_s })
}

/// The highest coefficient of variation of service times that blocks of as many responses as there are places allow (95 %, one-sided, χ²).
fn variation(times: &[f64], places: usize) -> Option<f64> {
    let ends: Vec<f64> = std::iter::once(0.0).chain(times.chunks_exact(places).filter_map(|block| block.last().copied())).collect();
    let lengths: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let freedom = lengths.len().checked_sub(1).filter(|_| lengths.len() >= BLOCKS_MIN)? as f64;
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let least_chi_squared = 2.0 * gamma_quantile(freedom / 2.0, -Z_95_ONE_SIDED);
    (mean > 0.0 && least_chi_squared > 0.0).then(|| (variance(&lengths) * freedom / least_chi_squared * places as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places of equal times: the i-th response takes S for each k of them.
    fn places(k: usize, responses: usize) -> Vec<f64> {
        (0..responses).map(|index| 0.1 * (index / k + 1) as f64).collect()
    }

    #[test]
    fn equal_times_show_the_number_of_places() {
        for k in [1, 2, 3, 4] {
            let found = of_times("Buy".to_owned(), &places(k, 40), 40.0).unwrap();
            assert_eq!(found.places, (k as f64, k as f64), "{found:?}");
        }
    }

    #[test]
    fn nothing_is_known_of_scattered_times_of_a_single_short_one_and_of_few_users() {
        let of = |times: &[f64], users: f64| of_times("Buy".to_owned(), times, users);
        // Exponential quantiles: as random as independent requests.
        let random: Vec<f64> = (1..=40)
            .scan(0.0, |at, index| {
                *at += -0.1 * (1.0 - (f64::from(index * 17 % 40) + 0.5) / 40.0).ln();
                Some(*at)
            })
            .collect();
        assert_eq!(of(&random, 40.0), None);
        // Four at a time would have shown four short ones: these wait for each other, and end late.
        let interleaved: Vec<f64> = (0..40).map(|index| 0.3 + 0.06 * f64::from(index)).collect();
        assert_eq!(of(&interleaved, 40.0), None);
        // None waits for another.
        assert_eq!(of(&[0.1; 40], 40.0), None);
        // A rate limit: far fewer than one is in service.
        let limited: Vec<f64> = (0..40).map(|index| 0.005 + 0.1 * f64::from(index)).collect();
        assert_eq!(of(&limited, 40.0), None);
        assert_eq!(of(&places(1, 6), 6.0), None);
    }
}
