//! A share of the requests that is the same for many names and takes longer: what serves that share is slow, not a kind of request.
//!
//! If one of several instances is slow, requests of each name reach it now and then, and take longer there by the same time. A slow kind of request, a cache or
//! a lock would affect some names and not the others.
//!
//! An instance whose path to its database is slow adds a time to each statement, so each name takes longer by its own time. Then the shares are the evidence:
//! a balancer sends the same share of every name to the instance, and slow kinds of separate names are equally frequent only by chance.

use std::collections::BTreeMap;

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind, SeriesSlice};
use loadstone_run_directory::Run;

use super::humps::{between, hump};
use crate::RunTally;
use crate::statistics::{chi_squared_99, median, wilson_interval};

/// Samples that a request name needs to show its slow share.
const SAMPLES_MIN: u64 = 40;
/// Share of all requests that such names must cover.
const COVERED_SHARE_MIN: f64 = 0.8;
/// Names with a slow share.
const NAMES_MIN: usize = 3;
/// The largest slow share. With more, the fast requests would be the exception.
const SLOW_SHARE_MAX: f64 = 0.8;
/// Factor by which the slow share of a name may differ from that of all together: round robin may send one request to the slow instance more often than
/// another. If the added times differ, the 95 % interval of each share must be within this factor.
const SHARE_FACTOR_MAX: f64 = 1.6;
/// Part of their median by which the added times of the names may differ. With a quarter, 4.5 % of systems with slow kinds of separate requests looked like
/// this.
const ADDED_TIME_WITHIN: f64 = 0.15;
/// The same for an added time that is fixed, as that of a timer.
pub(crate) const FIXED_TIME_WITHIN: f64 = 0.03;
/// And the spread of the slow samples of each name, as a part of it.
pub(crate) const FIXED_TIME_SPREAD_MAX: f64 = 0.1;
/// Seconds from which an added time may be a time limit.
pub(crate) const FIXED_TIME_MIN_S: f64 = 0.05;
/// Part of all requests that names must cover which have the same slow share and are each slower by a different time.
const COVERED_BY_SHARE_MIN: f64 = 0.5;
/// Seconds with a slow request, as a part of those that chance would give.
const SPREAD_PART_MIN: f64 = 0.7;

/// Times in seconds.
pub(crate) struct SlowPart {
    pub(crate) slow: u64,
    pub(crate) all: u64,
    /// Whether all names take longer by the same time. Otherwise only their shares are the same.
    pub(crate) is_same_time: bool,
    /// How much longer slow requests take, the median over the names.
    pub(crate) longer_s: f64,
    pub(crate) each: Vec<SlowPartOf>,
}

/// The slow share of one request name.
pub(crate) struct SlowPartOf {
    pub(crate) name: String,
    pub(crate) share: f64,
    pub(crate) others_s: f64,
    pub(crate) slow_s: f64,
    /// The 90th percentile of the slow ones minus the 10th.
    spread_s: f64,
    count: u64,
    slow: u64,
    from_ns: u64,
}

impl SlowPart {
    pub(crate) fn share(&self) -> f64 {
        self.slow as f64 / self.all.max(1) as f64
    }

    /// Whether all names take longer by the same fixed time, which does not depend on what the request does.
    pub(crate) fn is_fixed_time(&self) -> bool {
        let is_fixed = |one: &SlowPartOf| {
            let is_same = (one.longer_s() - self.longer_s).abs() <= FIXED_TIME_WITHIN * self.longer_s;
            is_same && one.spread_s <= FIXED_TIME_SPREAD_MAX * self.longer_s
        };
        self.is_same_time && self.longer_s >= FIXED_TIME_MIN_S && self.each.iter().all(is_fixed)
    }

    /// Whether each name takes longer by about the same time, about as often.
    fn has_same_times(&self) -> bool {
        let share = self.share();
        self.each.iter().all(|one| {
            let is_about_as_often = one.share * SHARE_FACTOR_MAX >= share && one.share <= SHARE_FACTOR_MAX * share;
            is_about_as_often && (one.longer_s() - self.longer_s).abs() <= ADDED_TIME_WITHIN * self.longer_s
        })
    }

    /// Whether the names have one slow share: no difference beyond chance (the χ² test of homogeneity; Pearson 1900), and enough samples of each to see one.
    fn has_equal_shares(&self) -> bool {
        let share = self.share();
        let deviation = |one: &SlowPartOf| {
            let expected = one.count as f64 * share;
            (one.slow as f64 - expected).powi(2) / (expected * (1.0 - share)).max(f64::MIN_POSITIVE)
        };
        let chance: f64 = self.each.iter().map(deviation).sum();
        chance <= chi_squared_99(self.each.len() - 1)
            && self.each.iter().all(|one| {
                let (low, high) = wilson_interval(one.slow, one.count);
                low * SHARE_FACTOR_MAX >= share && high <= SHARE_FACTOR_MAX * share
            })
    }
}

impl SlowPartOf {
    /// How much longer its slow requests take.
    pub(crate) fn longer_s(&self) -> f64 {
        self.slow_s - self.others_s
    }
}

pub(super) fn find(run: &Run, tally: &RunTally) -> Option<SlowPart> {
    let mut times: BTreeMap<&str, Histogram> = BTreeMap::new();
    for series in tally.of_kind(SeriesKind::Request) {
        let times = times.entry(&series.merged.key.name).or_default();
        if series.merged.failed_response.is_empty() {
            times.merge(&series.merged.service);
        } else {
            times.merge(&passed(&series.merged));
        }
    }
    let requests: u64 = times.values().map(Histogram::count).sum();
    times.retain(|_, times| times.count() >= SAMPLES_MIN);
    let each: Vec<SlowPartOf> = times.iter().filter_map(|(name, times)| of_one(name, times)).collect();
    let (slow, all) = each.iter().fold((0, 0), |(slow, all), one| (slow + one.slow, all + one.count));
    let covered = all as f64 / requests.max(1) as f64;
    if each.len() < NAMES_MIN || covered < COVERED_BY_SHARE_MIN {
        return None;
    }
    let longer: Vec<f64> = each.iter().map(SlowPartOf::longer_s).collect();
    let is_of_all = each.len() == times.len() && covered >= COVERED_SHARE_MIN;
    let part = SlowPart { slow, all, is_same_time: true, longer_s: median(&longer), each };
    let is_same_time = is_of_all && part.has_same_times();
    let is_slow_part = (is_same_time || part.has_equal_shares()) && is_spread(run, &part);
    is_slow_part.then_some(SlowPart { is_same_time, ..part })
}

/// Response times without those of failed requests. A system that rejects some requests at once is not slow for the others.
fn passed(series: &SeriesSlice) -> Histogram {
    let mut failed = series.failed_response.bars().peekable();
    let mut passed = Histogram::new();
    for (low, high, count) in series.response.bars() {
        let less = failed.next_if(|bar| bar.0 == low).map_or(0, |bar| bar.2);
        passed.record_n(low.midpoint(high), count.saturating_sub(less));
    }
    passed
}

fn of_one(name: &str, times: &Histogram) -> Option<SlowPartOf> {
    let hump = hump(times, SLOW_SHARE_MAX)?;
    let count = times.count();
    Some(SlowPartOf {
        name: name.to_owned(),
        share: hump.count as f64 / count as f64,
        others_s: hump.others_ns as f64 / 1e9,
        slow_s: hump.median_ns as f64 / 1e9,
        spread_s: hump.spread_ns as f64 / 1e9,
        count,
        slow: hump.count,
        from_ns: hump.from_ns,
    })
}

/// Whether slow requests, and the others, occur throughout the run: a second with n requests has a slow one with probability 1 − (1 − share)ⁿ.
fn is_spread(run: &Run, part: &SlowPart) -> bool {
    let share = part.share();
    let (mut expected, mut found) = ((0.0, 0.0), (0.0, 0.0));
    for slice in &run.slices {
        let of = |key: &SeriesKey| part.each.iter().find(|one| key.kind == SeriesKind::Request && *one.name == *key.name);
        let (count, slow) =
            slice.series.iter().filter_map(|series| Some((series, of(&series.key)?))).fold((0, 0), |sum, (series, one)| {
                (sum.0 + series.service.count(), sum.1 + between(&series.service, one.from_ns, u64::MAX))
            });
        let some = |share: f64| 1.0 - (1.0 - share).powf(count as f64);
        expected = (expected.0 + some(share), expected.1 + some(1.0 - share));
        found = (found.0 + f64::from(u8::from(slow > 0)), found.1 + f64::from(u8::from(count > slow)));
    }
    expected.0 >= 5.0 && found.0 >= SPREAD_PART_MIN * expected.0 && found.1 >= SPREAD_PART_MIN * expected.1
}
