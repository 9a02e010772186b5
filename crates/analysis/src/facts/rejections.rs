//! Requests that are rejected at once while those that pass have a constant rate, whatever the status.
//!
//! Four causes reject a part of the requests. The numbers that pass in each second distinguish them:
//!
//! | cause | number that passes |
//! |---|---|
//! | a rate limit | constant, however many are sent |
//! | a share at random, such as those that one instance of several receives | at least as variable as a binomial number |
//! | a fixed share, such as every second request | follows the number that is sent |
//! | places that are all in use, beyond which the system rejects | varies with the time of each request |
//!
//! A number that varies clearly less than the second line excludes a random share. A limit that lets through less than one request at a time excludes places.
//! So does a number that varies clearly less than p · c² for p requests per second whose times have a variation of c (Cox, *Renewal Theory*, 1962).

use loadstone_metrics::{Outcome, SeriesKey, SeriesKind};
use loadstone_run_directory::Run;

use super::failures::{Failing, FailureKind};
use super::pace::{PLACES_MAX, even_variance_part};
use super::stated_rejection::may_be_deliberate_status;
use crate::statistics::{mean, mean_of_batches, variance};
use crate::{RunTally, SeriesTally};

/// Part of a request's failures that must be of one kind.
const ONE_KIND_PART_MIN: f64 = 0.9;
/// Median of rejected requests over that of the others, up to which they are rejected before any work. Or their median, at any time of the others. Seconds.
const AT_ONCE_FACTOR_MAX: f64 = 0.5;
const AT_ONCE_MAX_S: f64 = 0.002;
/// Share of the requests that must be rejected, and seconds that are needed.
const REJECTED_SHARE_MIN: f64 = 0.05;
const SECONDS_MIN: usize = 15;
/// Part of these seconds that must have rejections: otherwise the load reaches the limit too seldom.
const REJECTING_PART_MIN: f64 = 0.8;
/// Requests per second that must pass. Fewer are no rate.
const PASSED_MIN: f64 = 0.5;
/// By how many requests squared the sent number must let a fixed share vary, beyond rounding.
const FIXED_SHARE_VARIANCE_MIN: f64 = 0.5;
/// Standard errors within which the number that passes may follow the number that is sent, and the part of the share that excludes a fixed one.
const SLOPE_ERRORS: f64 = 3.0;
const SLOPE_PART_MAX: f64 = 0.5;

/// Rejections by a system that lets requests through at an even rate.
pub(crate) struct Rejections<'a> {
    pub(crate) keys: Vec<&'a SeriesKey>,
    /// `status 503`.
    pub(crate) how: String,
    /// Rejected requests and all, in the whole run.
    pub(crate) rejected: u64,
    pub(crate) all: u64,
    /// Requests per second that passed meanwhile, with half of the 95 % interval, and the standard deviation of their number per second.
    pub(crate) passed: f64,
    pub(crate) half: f64,
    pub(crate) deviation: f64,
    /// Requests per second that were sent meanwhile: the tenth with the fewest, and with the most.
    pub(crate) sent: (f64, f64),
    /// Requests that passed at a time.
    pub(crate) at_a_time: f64,
    pub(crate) may_be_fixed_share: bool,
    pub(crate) may_be_places: bool,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Rejections<'_> {
    /// Whether only a rate limit explains them.
    pub(crate) fn are_by_rate(&self) -> bool {
        !self.may_be_fixed_share && !self.may_be_places
    }

    pub(crate) fn has(&self, key: &SeriesKey) -> bool {
        self.keys.contains(&key)
    }
}

/// One quota may count all requests, so those that are rejected in the same way are examined together.
pub(super) fn find<'a>(run: &Run, tally: &'a RunTally, failing: &[Failing<'a>]) -> Option<Rejections<'a>> {
    let rejected: Vec<(&Failing<'a>, &FailureKind)> =
        failing.iter().filter_map(|failing| Some((failing, rejected_at_once(failing)?))).collect();
    let how = &rejected.first()?.1.text;
    let keys: Vec<&'a SeriesKey> = rejected.iter().filter(|(_, kind)| kind.text == *how).map(|(failing, _)| failing.key).collect();
    let seconds = seconds(run, &keys);
    let (first, last) = (seconds.iter().position(|second| second.failed > 0)?, seconds.iter().rposition(|second| second.failed > 0)?);
    // The first and the last second are seldom complete, and a limit may let more through at first.
    let inside = seconds.get(first + 1..last).filter(|inside| inside.len() >= SECONDS_MIN)?;
    let rejecting = inside.iter().filter(|second| second.failed > 0).count();
    if (rejecting as f64) < REJECTING_PART_MIN * inside.len() as f64 {
        return None;
    }
    let sent: Vec<f64> = inside.iter().map(|second| second.sent as f64).collect();
    let passed: Vec<f64> = inside.iter().map(|second| (second.sent - second.failed) as f64).collect();
    let (all, rate) = (mean(&sent), mean(&passed));
    let share = rate / all;
    let (lower, spread) = (even_variance_part(inside.len()), variance(&passed));
    if rate < PASSED_MIN || 1.0 - share < REJECTED_SHARE_MIN || spread > lower * share * (1.0 - share) * all {
        return None;
    }
    let times = TimesOfPassed::of(tally, &keys);
    let at_a_time = rate * times.mean_s;
    let (slope, error) = slope(&sent, &passed);
    let varies = share.powi(2) * variance(&sent) >= FIXED_SHARE_VARIANCE_MIN;
    let (passed_rate, half) = mean_of_batches(&passed);
    let count =
        |of: fn(&SeriesTally) -> u64| tally.of_kind(SeriesKind::Request).filter(|series| keys.contains(&&series.merged.key)).map(of).sum();
    Some(Rejections {
        how: how.clone(),
        rejected: rejected.iter().filter(|(failing, _)| keys.contains(&failing.key)).map(|(failing, _)| failing.failed).sum(),
        all: count(|series| series.merged.count),
        passed: passed_rate,
        half,
        deviation: spread.sqrt(),
        sent: (crate::statistics::quantile(&sent, 0.1), crate::statistics::quantile(&sent, 0.9)),
        at_a_time,
        may_be_fixed_share: !varies || slope + SLOPE_ERRORS * error > SLOPE_PART_MAX * share,
        may_be_places: at_a_time >= PLACES_MAX && spread > lower * rate * times.variation.powi(2),
        from: inside.first()?.from,
        to: inside.last()?.to,
        keys,
    })
}

/// The kind of failure of nearly all of them, if the target answered them with an error at once. Another fact has those whose status names a rate limit.
fn rejected_at_once<'f>(failing: &'f Failing<'_>) -> Option<&'f FailureKind> {
    let most = failing.kinds.first()?;
    let is_one_kind = most.outcome == Outcome::Status && most.count as f64 >= ONE_KIND_PART_MIN * failing.failed as f64;
    let times = failing.times?;
    let at_once = times.median <= AT_ONCE_MAX_S || times.median <= AT_ONCE_FACTOR_MAX * times.passed?.median;
    let is_examined = failing.key.kind == SeriesKind::Request && !failing.is_rate_limited();
    (is_one_kind && at_once && is_examined && may_be_deliberate(&most.text)).then_some(most)
}

/// Whether a target may answer so on purpose. Other errors of a server mean that it failed (RFC 9110, 15.6), and gRPC's INTERNAL and UNKNOWN mean the same.
fn may_be_deliberate(how: &str) -> bool {
    let status = how.strip_prefix("status ").unwrap_or(how);
    match status.parse::<u16>() {
        Ok(code) => may_be_deliberate_status(code),
        Err(_) => !matches!(status, "INTERNAL" | "UNKNOWN" | "DATA_LOSS"),
    }
}

struct RejectingSecond {
    from: f64,
    to: f64,
    sent: u64,
    failed: u64,
}

/// Requests of these names by second. Longer slices, of which long runs consist, are left out.
fn seconds(run: &Run, keys: &[&SeriesKey]) -> Vec<RejectingSecond> {
    let slices = run.slices.iter().filter(|slice| slice.seconds() == 1);
    let second = slices.map(|slice| {
        let series = slice.series.iter().filter(|series| keys.contains(&&series.key));
        let (sent, failed) = series.fold((0, 0), |sum, series| (sum.0 + series.count, sum.1 + series.failed));
        RejectingSecond { from: slice.start as f64 / 1e9, to: slice.end as f64 / 1e9, sent, failed: failed.min(sent) }
    });
    second.collect()
}

/// Of requests that passed: their mean, and its standard deviation over the mean.
struct TimesOfPassed {
    mean_s: f64,
    variation: f64,
}

impl TimesOfPassed {
    fn of(tally: &RunTally, keys: &[&SeriesKey]) -> Self {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for series in tally.of_kind(SeriesKind::Request).filter(|series| keys.contains(&&series.merged.key)) {
            let of = [(&series.merged.response, 1.0), (&series.merged.failed_response, -1.0)];
            for ((low, high, number), sign) in of.into_iter().flat_map(|(times, sign)| times.bars().map(move |bar| (bar, sign))) {
                let (seconds, number) = (f64::midpoint(low as f64, high as f64) / 1e9, sign * number as f64);
                (count, sum, squares) = (count + number, sum + number * seconds, squares + number * seconds * seconds);
            }
        }
        let mean_s = sum / f64::max(count, 1.0);
        Self { mean_s, variation: (squares / f64::max(count, 1.0) - mean_s * mean_s).max(0.0).sqrt() / mean_s.max(1e-9) }
    }
}

/// The slope of y by x by least squares, and its standard error.
fn slope(x: &[f64], y: &[f64]) -> (f64, f64) {
    let (mean_x, mean_y) = (mean(x), mean(y));
    let xx: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let slope = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / xx.max(1e-9);
    let left: f64 = x.iter().zip(y).map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    (slope, (left / (x.len().saturating_sub(2).max(1)) as f64 / xx.max(1e-9)).sqrt())
}
