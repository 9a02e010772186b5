//! Recurring pauses: seconds in which requests take much longer than in others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loadstone_metrics::{Nanos, Role, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use super::changes::{Change, Changes, LoadMeanwhile, Shape};
use super::load_stretches::{self, HIGHER_LOAD_FACTOR_MIN};
use super::preparation::Preparation;
use super::readings::SignalReadings;
use super::signal_moves::{MOVED_PART_MIN, VARIATION_PART_MIN, closeness, is_large_enough};
use crate::statistics::{interquartile_range, mean, median, slow_threshold};

/// Factor over the usual longest time of a second from which a second is slow.
const SLOW_FACTOR_MIN: f64 = 4.0;
/// And the least difference. Seconds.
const SLOWER_BY_MIN_S: f64 = 0.02;
/// Pauses that are needed.
const PAUSES_MIN: usize = 3;
/// Share of the seconds that uneven pauses may take.
const UNEVEN_SHARE_MAX: f64 = 0.4;
/// Share that even pauses may take: as long as the median second, the usual one, has no pause.
const EVEN_SHARE_MAX: f64 = 0.5;
/// The shortest period. Seconds.
const PERIOD_MIN_S: f64 = 3.0;
/// By how much a distance may miss the period: the resolution of slices, one second.
const PERIOD_ERROR_S: f64 = 1.0;
/// Or this part of the period, if that is more.
const PERIOD_ERROR_PART: f64 = 0.1;
/// Probability that random pauses are as even. For three pauses ten seconds apart, each within a second, it is one in thirteen; for four, one in two hundred.
const PERIOD_P_VALUE_MAX: f64 = 0.1;
/// Share of slow seconds from which random ones come close to each other.
const DENSE_SHARE_MIN: f64 = 0.25;
/// Probability that as many slow requests, each slow independently, fall into so few seconds.
const TOGETHER_P_VALUE_MAX: f64 = 1e-4;
/// Probability of even distances from which they are evidence enough.
const CLEAR_PERIOD_P_VALUE_MAX: f64 = 1e-2;
/// Seconds that an uneven pause may last.
const UNEVEN_PAUSE_SECONDS_MAX: usize = 2;
/// Standard deviations of random arrivals by which the load in the slow seconds must be higher to explain them.
const ARRIVALS_DEVIATIONS_MIN: f64 = 3.0;
/// Interquartile ranges by which a signal must differ in the slow seconds.
const SIGNAL_SCORE_MIN: f64 = 3.0;

/// Seconds on either side of a step that belong to neither part.
const STEP_EDGE_S: f64 = 2.0;

/// Seconds after a slice within which a reading still belongs to it.
const READING_DELAY_S: f64 = 0.3;

/// Pauses, at even distances or not.
pub(crate) struct Stalls {
    /// `None`: at uneven distances, or at distances that random pauses may have as well.
    pub(crate) period: Option<Period>,
    /// The distance between pauses, even if it may be random.
    pub(crate) apart_s: Option<f64>,
    /// The begin of each pause. Seconds since the run began.
    pub(crate) at: Vec<f64>,
    /// The longest request of a pause, the median of all pauses. Seconds.
    pub(crate) longest_s: f64,
    /// The longest request of a second, the median of all seconds. Seconds.
    pub(crate) usual_longest_s: f64,
    /// Requests in the slow seconds that took longer than the usual longest.
    pub(crate) slow: u64,
    /// All requests in the slow seconds.
    pub(crate) requests: u64,
    /// Names of the requests that were slow in most pauses.
    pub(crate) held_up: Vec<String>,
    /// Names of the other requests.
    pub(crate) unaffected: Vec<String>,
    /// Probability that independent slow requests fall into so few seconds.
    pub(crate) together: f64,
    /// When the slow requests of each pause were in progress, as `(from, to)`. Seconds since the run began.
    pub(crate) in_progress: Vec<(f64, f64)>,
    /// Signals that differ while the slow requests were in progress: waits for locks first, then by how much they differ.
    pub(crate) correlated: Vec<CorrelatedSignal>,
}

impl Stalls {
    /// Whether a slow request was in progress at an instant.
    pub(crate) fn is_during(&self, at: f64) -> bool {
        self.in_progress.iter().any(|(from, to)| *from <= at && at < *to)
    }
}

/// A signal that differs while slow requests are in progress.
#[derive(Debug, Clone)]
pub(crate) struct CorrelatedSignal {
    pub(crate) name: String,
    pub(crate) role: Option<Role>,
    /// What sessions wait for, or where threads do, if it counts them.
    pub(crate) wait: Option<String>,
    /// Its level meanwhile and in the other seconds, both formatted.
    pub(crate) during: String,
    pub(crate) others: String,
}

/// The distance between pauses, and the probability that random pauses are as even.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    pub(crate) seconds: f64,
    pub(crate) p_value: f64,
}

/// A part of a run without a lasting step.
#[derive(Clone, Copy)]
struct StallSearch<'a> {
    run: &'a Run,
    slices: &'a [Snapshot],
    /// The slices before it, if requests take less time since then. What was usual there is no pause.
    slower_before: &'a [Snapshot],
}

struct Second<'a> {
    slice: &'a Snapshot,
    /// The only request that counts. `None`: all of them do.
    only: Option<&'a SeriesSlice>,
    longest_s: f64,
}

impl<'a> Second<'a> {
    /// The requests that count.
    fn requests(&self) -> impl Iterator<Item = &'a SeriesSlice> {
        let all = self.only.is_none().then(|| requests_of(self.slice));
        self.only.into_iter().chain(all.into_iter().flatten())
    }
}

/// Part of the seconds up to which slow ones are rare.
const RARE_PART_MAX: f64 = 1.0 / 6.0;

/// Seconds whose longest request took far longer than usual, whether evenly spaced or not.
pub(crate) struct SlowSeconds {
    pub(crate) count: usize,
    /// When each of them began. Nanoseconds since the run began.
    starts: Vec<Nanos>,
    /// Seconds in which requests ended.
    of: usize,
    pub(crate) longest_s: f64,
    pub(crate) usual_longest_s: f64,
}

impl SlowSeconds {
    /// Without seconds in which only requests that prepared the load were slow. `None`: there are none.
    pub(super) fn of(run: &Run, preparation: &Preparation) -> Option<Self> {
        let mut seconds = seconds(&run.slices);
        for second in &mut seconds {
            let counted = requests_of(second.slice).filter(|series| !preparation.has(&series.key));
            second.longest_s = counted.filter_map(longest).reduce(f64::max).unwrap_or(0.0);
        }
        let (usual, _, slow) = slow(&seconds);
        let longest = slow.iter().map(|index| seconds[*index].longest_s).reduce(f64::max)?;
        let starts = slow.iter().map(|index| seconds[*index].slice.start).collect();
        Some(Self { count: slow.len(), starts, of: seconds.len(), longest_s: longest, usual_longest_s: usual })
    }

    /// When they began, if they are so few that most seconds of each part of the run are others: a drift cannot hide in them.
    pub(super) fn rare(&self) -> &[Nanos] {
        if self.count as f64 <= RARE_PART_MAX * self.of as f64 { &self.starts } else { &[] }
    }
}

/// The seconds in which requests ended.
fn seconds(slices: &[Snapshot]) -> Vec<Second<'_>> {
    let of_slice = |slice| Some(Second { slice, only: None, longest_s: requests_of(slice).filter_map(longest).reduce(f64::max)? });
    slices.iter().filter(|slice| slice.seconds() == 1).filter_map(of_slice).collect()
}

/// For each request, the seconds in which it ended. One pass over the run, because a run can have thousands of requests.
fn seconds_by_request(slices: &[Snapshot]) -> BTreeMap<&SeriesKey, Vec<Second<'_>>> {
    let mut by_request: BTreeMap<&SeriesKey, Vec<Second<'_>>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.seconds() == 1) {
        for series in requests_of(slice) {
            if let Some(longest_s) = longest(series) {
                by_request.entry(&series.key).or_default().push(Second { slice, only: Some(series), longest_s });
            }
        }
    }
    by_request
}

fn requests_of(slice: &Snapshot) -> impl Iterator<Item = &SeriesSlice> {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request)
}

/// The usual longest time, the time from which a second is slow, and the indices of the slow seconds.
fn slow(seconds: &[Second<'_>]) -> (f64, f64, Vec<usize>) {
    let all: Vec<f64> = seconds.iter().map(|second| second.longest_s).collect();
    let (usual, limit) = slow_threshold(&all, SLOW_FACTOR_MIN, SLOWER_BY_MIN_S);
    (usual, limit, (0..seconds.len()).filter(|index| seconds[*index].longest_s >= limit).collect())
}

/// Pauses within a stretch without a lasting step: the longest part of the run before or after steps. A step to longer times makes every second slow that
/// follows it. A step to shorter times makes the ordinary slow requests look like pauses.
pub(super) fn find(run: &Run, changes: &Changes) -> Option<Stalls> {
    let is_step = |change: &&Change| change.until.is_none() && change.load == LoadMeanwhile::Same && change.shape != Shape::Drift;
    let steps = || changes.found.iter().chain(&changes.warm_ups).filter(is_step);
    let is_edge = |change: &&Change| !change.is_slower() || change.shape == Shape::Step;
    let (begin, end) = (run.slices.first()?.start as f64 / 1e9, run.slices.last()?.end as f64 / 1e9);
    let edges = steps().filter(is_edge).flat_map(|change| [change.at - STEP_EDGE_S, change.at + STEP_EDGE_S]);
    let mut edges: Vec<f64> = edges.chain([begin, end]).collect();
    edges.sort_by(f64::total_cmp);
    let parts = edges.windows(2).map(|pair| (pair[0], pair[1]));
    let (from, to) = parts.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))?;
    let first = run.slices.partition_point(|slice| (slice.start as f64 / 1e9) < from);
    let last = run.slices.partition_point(|slice| slice.end as f64 / 1e9 <= to);
    let is_faster_since = steps().any(|change| !change.is_slower() && change.at <= from);
    let slower_before = run.slices.get(..if is_faster_since { first } else { 0 })?;
    within(StallSearch { run, slices: run.slices.get(first..last)?, slower_before })
}

/// Pauses of all requests together. Failing that, pauses of one request by its own usual time, which others may always exceed.
fn within(part: StallSearch<'_>) -> Option<Stalls> {
    let of_one = || {
        let by_request = seconds_by_request(part.slices);
        // The probability accounts for the number of requests that were tested.
        let is_sure = |stalls: &Stalls| {
            stalls.together * by_request.len() as f64 <= TOGETHER_P_VALUE_MAX
                && stalls.period.is_some_and(|period| period.p_value <= CLEAR_PERIOD_P_VALUE_MAX)
        };
        let before = seconds_by_request(part.slower_before);
        let usual_before = |key: &SeriesKey| before.get(key).map_or(0.0, |seconds| usual_longest(seconds));
        let each = by_request.iter().filter_map(|(key, seconds)| Some((*key, of(part, seconds, usual_before(key))?)));
        let (key, stalls) = each.filter(|(_, stalls)| is_sure(stalls)).min_by(|a, b| a.1.together.total_cmp(&b.1.together))?;
        Some(Stalls { held_up: vec![key.name.to_string()], unaffected: unaffected_by(&by_request, key), ..stalls })
    };
    of(part, &seconds(part.slices), usual_longest(&seconds(part.slower_before))).or_else(of_one)
}

/// Names of the other requests that were not slow, by their own usual time, in most of the seconds in which this one was.
fn unaffected_by(by_request: &BTreeMap<&SeriesKey, Vec<Second<'_>>>, key: &SeriesKey) -> Vec<String> {
    let slow_seconds =
        |seconds: &[Second<'_>]| -> BTreeSet<u32> { slow(seconds).2.into_iter().map(|index| seconds[index].slice.slice).collect() };
    let own = by_request.get(key).map(|seconds| slow_seconds(seconds)).unwrap_or_default();
    let others = by_request.iter().filter(|(other, _)| **other != key);
    let unaffected = others.filter(|(_, seconds)| 2 * slow_seconds(seconds).intersection(&own).count() <= own.len());
    unaffected.map(|(other, _)| other.name.to_string()).collect()
}

/// The usual longest time of a second, or 0 without seconds.
fn usual_longest(seconds: &[Second<'_>]) -> f64 {
    if seconds.is_empty() { 0.0 } else { slow(seconds).0 }
}

/// `usual_before`: the usual longest time before requests became faster. A pause is longer than that, by the same factor. Seconds.
fn of(part: StallSearch<'_>, seconds: &[Second<'_>], usual_before: f64) -> Option<Stalls> {
    let (usual, limit, slow) = slow(seconds);
    let limit = limit.max(SLOW_FACTOR_MIN * usual_before);
    let slow: Vec<usize> = slow.into_iter().filter(|index| seconds[*index].longest_s >= limit).collect();
    if slow.len() < PAUSES_MIN || slow.len() as f64 >= EVEN_SHARE_MAX * seconds.len() as f64 {
        return None;
    }
    let pauses: Vec<&[usize]> = slow.chunk_by(|a, b| b - a == 1).collect();
    let at: Vec<f64> = pauses.iter().map(|pause| seconds[pause[0]].slice.start as f64 / 1e9).collect();
    if at.len() < PAUSES_MIN {
        return None;
    }
    let above = |second: &Second<'_>, seconds: f64| -> u64 {
        second.requests().map(|series| series.service.count() - series.service.count_at_or_below((seconds * 1e9) as u64)).sum()
    };
    let together = p_value_of_few_seconds(seconds.len(), slow.len(), slow.iter().map(|index| above(&seconds[*index], limit)).sum());
    let observed = period(&at, slow.len() as f64 / seconds.len() as f64);
    let period = observed.filter(|period| period.p_value <= PERIOD_P_VALUE_MAX);
    let is_short = pauses.iter().all(|pause| pause.len() <= UNEVEN_PAUSE_SECONDS_MAX);
    let is_known = period.is_some_and(|period| period.p_value <= CLEAR_PERIOD_P_VALUE_MAX);
    let is_rare = slow.len() as f64 <= UNEVEN_SHARE_MAX * seconds.len() as f64;
    if !is_known && (together > TOGETHER_P_VALUE_MAX || !is_short || !is_rare) {
        return None;
    }
    let slow_seconds: Vec<&Second<'_>> = slow.iter().map(|index| &seconds[*index]).collect();
    if is_of_load(part, &slow_seconds) || is_of_generator(&slow_seconds) {
        return None;
    }
    let of_pause = |pause: &&[usize]| pause.iter().map(|index| seconds[*index].longest_s).fold(0.0, f64::max);
    let longest: Vec<f64> = pauses.iter().map(of_pause).collect();
    let (held_up, unaffected) = requests(seconds, &pauses, limit);
    let in_progress: Vec<(f64, f64)> = pauses.iter().map(|pause| in_progress(pause.iter().map(|index| &seconds[*index]))).collect();
    Some(Stalls {
        period,
        apart_s: observed.map(|period| period.seconds),
        longest_s: median(&longest),
        usual_longest_s: usual,
        slow: slow_seconds.iter().map(|second| above(second, usual)).sum(),
        requests: slow_seconds.iter().flat_map(|second| second.requests()).map(|series| series.count).sum(),
        held_up,
        unaffected,
        together,
        correlated: correlated(part.run, &in_progress),
        in_progress,
        at,
    })
}

/// The longest time of a request. Seconds. `None`: it has no times.
fn longest(series: &SeriesSlice) -> Option<f64> {
    (!series.service.is_empty()).then(|| series.service.max() as f64 / 1e9)
}

/// The probability that n independent slow requests fall into K of S seconds or fewer: C(S, K) (K / S)^n.
fn p_value_of_few_seconds(seconds: usize, slow: usize, requests: u64) -> f64 {
    let (all, some) = (seconds as f64, slow as f64);
    let choices: f64 = (0..slow).map(|place| ((all - place as f64) / (some - place as f64)).ln()).sum();
    (choices + requests as f64 * (some / all).ln()).exp().min(1.0)
}

/// The period, and the probability that random pauses have it as well. A distance in a Poisson process lies within `off` of its mean with probability 2 · off /
/// mean / e. One distance is used to fit the period. A missed pause makes a distance of two periods.
fn period(at: &[f64], slow_share: f64) -> Option<Period> {
    let distances: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = median(&distances);
    let off = f64::max(PERIOD_ERROR_S, PERIOD_ERROR_PART * period);
    let keeps = |distance: &&f64| (**distance - period).abs() <= off;
    let missed = |distance: &&f64| (**distance - 2.0 * period).abs() <= off;
    let (once, twice) = (distances.iter().filter(keeps).count(), distances.iter().filter(missed).count());
    let apart = distances.iter().filter(keeps).map(|distance| (distance - period).abs()).fold(0.0, f64::max);
    let one = (2.0 * off / period / std::f64::consts::E).max(p_value_of_distance(slow_share, (period - apart, period + apart))).min(1.0);
    let p_value = one.powi(once as i32 - 1);
    let is_even = once + twice == distances.len() && once * 4 >= distances.len() * 3;
    (is_even && period >= PERIOD_MIN_S).then(|| Period { seconds: refined(at, period), p_value })
}

/// The probability that a distance lies in this range where slow seconds are not rare, and each is slow with the same probability q. Distances are then short
/// by themselves. A distance of d seconds is a pause of r seconds and d − r others: Σ q^(r−1) (1−q)^(d−r−1) · q (1−q).
fn p_value_of_distance(slow_share: f64, (from, to): (f64, f64)) -> f64 {
    if slow_share < DENSE_SHARE_MIN {
        return 0.0;
    }
    let (slow, other) = (slow_share, 1.0 - slow_share);
    let of = |distance: i32| (1..distance).map(|pause| slow.powi(pause - 1) * other.powi(distance - pause - 1) * slow * other).sum::<f64>();
    (from.ceil() as i32..=to.floor() as i32).map(of).sum()
}

/// The period to a part of a second: the median over all pairs of pauses of their distance per period, as in Theil's line. A pause that is seen one second late
/// does not move it.
fn refined(at: &[f64], period: f64) -> f64 {
    let pairs = (0..at.len()).flat_map(|i| (i + 1..at.len()).map(move |j| at[j] - at[i]));
    median(&pairs.map(|distance| distance / (distance / period).round().max(1.0)).collect::<Vec<f64>>())
}

/// Whether bursts of load explain the slow seconds.
fn is_of_load(part: StallSearch<'_>, slow: &[&Second<'_>]) -> bool {
    let asked = load_stretches::asked_in_all(&part.run.plan, part.slices);
    let numbers: HashSet<u32> = slow.iter().map(|second| second.slice.slice).collect();
    let is_slow = |slice: &Snapshot| numbers.contains(&slice.slice);
    let values = |wanted: bool| -> Vec<f64> {
        let loaded = part.slices.iter().zip(&asked).filter(|(slice, load)| **load > 0.0 && is_slow(slice) == wanted);
        loaded.map(|(_, load)| *load).collect()
    };
    let (during, others) = (values(true), values(false));
    let more = (mean(&during) - mean(&others)) * during.len() as f64;
    // Random arrivals vary between seconds by chance: counts of a Poisson process have a variance equal to their mean.
    let is_random = part.run.plan.load.leaves().iter().any(|leaf| leaf.profile.is_open());
    let by_chance = (during.len() as f64 * mean(&others) * (1.0 + during.len() as f64 / others.len().max(1) as f64)).sqrt();
    mean(&during) >= HIGHER_LOAD_FACTOR_MIN * mean(&others) && (!is_random || more >= ARRIVALS_DEVIATIONS_MIN * by_chance)
}

/// Whether the generator itself paused for as long.
fn is_of_generator(slow: &[&Second<'_>]) -> bool {
    let paused = |second: &&&Second<'_>| {
        let workers = second.slice.generator.iter();
        let stall = workers.map(|worker| worker.stalls.max().max(worker.read_lag.max())).max().unwrap_or(0);
        stall as f64 / 1e9 >= second.longest_s / 2.0
    };
    slow.iter().filter(paused).count() * 2 >= slow.len()
}

/// Names of the requests that were slow in most pauses, and of the others.
fn requests(seconds: &[Second<'_>], pauses: &[&[usize]], limit: f64) -> (Vec<String>, Vec<String>) {
    let names: BTreeSet<&str> = seconds.iter().flat_map(Second::requests).map(|series| &*series.key.name).collect();
    let mut slow_in: HashMap<&str, usize> = HashMap::new();
    for pause in pauses {
        let ended = pause.iter().flat_map(|index| seconds[*index].requests());
        let slow: BTreeSet<&str> =
            ended.filter(|series| series.service.max() as f64 / 1e9 >= limit).map(|series| &*series.key.name).collect();
        slow.into_iter().for_each(|name| *slow_in.entry(name).or_default() += 1);
    }
    let is_held_up = |name: &&str| slow_in.get(name).is_some_and(|slow| slow * 2 > pauses.len());
    let (held_up, unaffected): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_held_up);
    (held_up.into_iter().map(str::to_owned).collect(), unaffected.into_iter().map(str::to_owned).collect())
}

/// When the slow requests of a pause were in progress, as readings see it. A request belongs to the second in which it ends, but what held it up may have
/// ended before: a lock that was held for two seconds is seen in the two seconds before the request ends.
fn in_progress<'s>(pause: impl Iterator<Item = &'s Second<'s>>) -> (f64, f64) {
    pause.fold((f64::INFINITY, 0.0), |(from, to), second| {
        let (begin, end) = (second.slice.start as f64 / 1e9, second.slice.end as f64 / 1e9);
        // On average, a request ends in the middle of its second.
        let began = f64::min(begin, begin.midpoint(end) - second.longest_s);
        // A reading describes the time before it.
        (from.min(began + READING_DELAY_S), to.max(end + READING_DELAY_S))
    })
}

/// Signals whose level differs while the slow requests are in progress.
fn correlated(run: &Run, spans: &[(f64, f64)]) -> Vec<CorrelatedSignal> {
    let is_slow = |at: f64| spans.iter().any(|(from, to)| *from <= at && at < *to);
    let mut found: Vec<(f64, CorrelatedSignal)> = Vec::new();
    for series in &run.signals {
        let readings = SignalReadings::of(series);
        let values = |wanted: bool| -> Vec<f64> {
            let points = readings.between(0.0, f64::INFINITY).filter(|(at, value)| value.is_finite() && is_slow(*at) == wanted);
            points.map(|(_, value)| value).collect()
        };
        let (during, others) = (values(true), values(false));
        if during.len() < PAUSES_MIN || others.len() < PAUSES_MIN {
            continue;
        }
        let (high, low) = (median(&during), median(&others));
        let larger = high.abs().max(low.abs());
        let score = (high - low).abs() / interquartile_range(&others).max(VARIATION_PART_MIN * larger).max(1e-12);
        if score >= SIGNAL_SCORE_MIN && (high - low).abs() >= MOVED_PART_MIN * larger && is_large_enough(&series.signal, low, high) {
            let shown = |value: f64| loadstone_units::in_unit(value, series.signal.unit_shown());
            let signal = CorrelatedSignal {
                name: series.signal.name.clone(),
                role: series.signal.role,
                wait: readings.label("at").or_else(|| readings.label("wait")).filter(|_| high > low).map(str::to_owned),
                during: shown(high),
                others: shown(low),
            };
            found.push((score, signal));
        }
    }
    found.sort_by(|a, b| {
        closeness(a.1.role).cmp(&closeness(b.1.role)).then_with(|| b.0.total_cmp(&a.0)).then_with(|| a.1.name.cmp(&b.1.name))
    });
    found.into_iter().map(|(_, signal)| signal).collect()
}
