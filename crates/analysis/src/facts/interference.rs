//! One request that holds up the others while it is under way: on the one thread of an event loop, behind a lock, or by the memory bandwidth that it takes.
//!
//! Each second has the longest of the other requests. If these are long in the seconds in which a request is under way, and in no others, then that request
//! holds them up. The seconds of a run resemble their neighbours, so the permutations that give the probability of chance exchange seconds only within short
//! blocks (restricted permutation; Good 2005).

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::{SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use super::preparation::Preparation;
use crate::statistics::{Xorshift, mean, median};

/// Seconds with the request, and seconds without it.
const SECONDS_MIN: usize = 6;
/// Share of the seconds up to which the request may be under way.
const UNDER_WAY_SHARE_MAX: f64 = 0.75;
/// Factor by which the longest other request takes longer.
const SLOWER_FACTOR_MIN: f64 = 3.0;
/// And the least difference. Seconds.
const SLOWER_BY_MIN_S: f64 = 0.02;
/// Factor over the usual longest from which a second is slow.
const SLOW_FACTOR_MIN: f64 = 2.0;
/// And the least difference. Seconds.
const SLOW_BY_MIN_S: f64 = 0.01;
/// Share of the seconds with the request that are slow, and of the slow seconds that have the request.
const TOGETHER_SHARE_MIN: f64 = 0.7;
/// Time of the request, as a part of the time of those that it holds up.
const OWN_TIME_PART_MIN: f64 = 0.5;
/// Other requests in the seconds with the request over those in the others, up to which the load does not differ.
const SAME_LOAD_FACTOR_MAX: f64 = 1.3;
/// Probability of chance, for all requests that were tested together.
const P_VALUE_MAX: f64 = 0.005;
/// Seconds within which permutations exchange.
const BLOCK_SECONDS: usize = 10;
const PERMUTATIONS: usize = 10_000;

/// A request that holds up others.
pub(crate) struct Interference {
    pub(crate) request: String,
    /// Names of the requests that are slow meanwhile.
    pub(crate) held_up: Vec<String>,
    /// How long the request itself takes, the median of its seconds. Seconds.
    pub(crate) takes_s: f64,
    /// The longest of the other requests, medians of the seconds in which it is under way and of the others. Seconds.
    pub(crate) during_s: f64,
    pub(crate) otherwise_s: f64,
    /// Share of its seconds that are slow, and share of the slow seconds in which it is under way.
    pub(crate) slow_share: f64,
    pub(crate) explained_share: f64,
    /// Probability that slow seconds coincide with it as often by chance.
    pub(crate) p_value: f64,
    /// The seconds in which it is under way, as `(from, to)`, and the others.
    pub(crate) under_way: Vec<(f64, f64)>,
    pub(crate) others: Vec<(f64, f64)>,
}

/// One second of all requests.
struct RunSecond<'a> {
    slice: &'a Snapshot,
    /// By name: the longest, in seconds, and how many ended.
    requests: BTreeMap<&'a str, (f64, f64)>,
    /// The names with the two longest. Every request has its longest other among them.
    longest: [Option<(&'a str, f64)>; 2],
    /// All that ended.
    count: f64,
}

/// One second: its slice, the longest other request, and whether the request is under way.
struct ObservedSecond<'a> {
    slice: &'a Snapshot,
    longest_s: f64,
    own_s: f64,
    count: f64,
    is_under_way: bool,
}

/// The request with the largest effect.
pub(super) fn find(run: &Run, preparation: &Preparation) -> Option<Interference> {
    let all: Vec<RunSecond<'_>> =
        run.slices.iter().filter(|slice| slice.seconds() == 1).map(|slice| RunSecond::of(slice, preparation)).collect();
    let names: BTreeSet<&str> = all.iter().flat_map(|second| second.requests.keys().copied()).collect();
    if names.len() < 2 {
        return None;
    }
    let found = names.iter().filter_map(|name| of_request(&all, name));
    let found = found.filter(|found| found.p_value * names.len() as f64 <= P_VALUE_MAX);
    // Of two requests that are always under way together, the longer one.
    found.max_by(|a, b| a.takes_s.total_cmp(&b.takes_s))
}

fn requests(slice: &Snapshot) -> impl Iterator<Item = &SeriesSlice> {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request && !series.service.is_empty())
}

impl<'a> RunSecond<'a> {
    fn of(slice: &'a Snapshot, preparation: &Preparation) -> Self {
        let mut by_name: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for series in requests(slice).filter(|series| !preparation.has(&series.key)) {
            let (longest_s, count) = by_name.entry(&series.key.name).or_default();
            *longest_s = longest_s.max(series.service.max() as f64 / 1e9);
            *count += series.count as f64;
        }
        let mut longest = [None; 2];
        for (name, (longest_s, _)) in &by_name {
            let is_longer = |than: Option<(&str, f64)>| than.is_none_or(|(_, than)| *longest_s > than);
            if is_longer(longest[0]) {
                longest = [Some((*name, *longest_s)), longest[0]];
            } else if is_longer(longest[1]) {
                longest[1] = Some((*name, *longest_s));
            }
        }
        let count = by_name.values().map(|(_, count)| count).sum();
        Self { slice, requests: by_name, longest, count }
    }

    /// As one request sees it.
    fn seen_by(&self, name: &str) -> ObservedSecond<'a> {
        let (own_s, own_count) = self.requests.get(name).copied().unwrap_or_default();
        let longest_s = self.longest.iter().flatten().find(|(other, _)| *other != name).map_or(0.0, |(_, longest_s)| *longest_s);
        ObservedSecond { slice: self.slice, longest_s, own_s, count: self.count - own_count, is_under_way: own_s > 0.0 }
    }
}

fn of_request(all: &[RunSecond<'_>], name: &str) -> Option<Interference> {
    let seconds = seconds(all, name);
    let of = |wanted: bool| seconds.iter().filter(move |second| second.is_under_way == wanted);
    let (with, without) = (of(true).count(), of(false).count());
    if with < SECONDS_MIN || without < SECONDS_MIN || with as f64 > UNDER_WAY_SHARE_MAX * seconds.len() as f64 {
        return None;
    }
    let longest = |wanted: bool| of(wanted).map(|second| second.longest_s).collect::<Vec<f64>>();
    let (during_s, otherwise_s) = (median(&longest(true)), median(&longest(false)));
    let takes_s = median(&seconds.iter().filter(|second| second.own_s > 0.0).map(|second| second.own_s).collect::<Vec<f64>>());
    let counts = |wanted: bool| mean(&of(wanted).map(|second| second.count).collect::<Vec<f64>>());
    let limit = f64::max(SLOW_FACTOR_MIN * otherwise_s, otherwise_s + SLOW_BY_MIN_S);
    let is_slow = |second: &&ObservedSecond<'_>| second.longest_s >= limit;
    let slow_with = of(true).filter(is_slow).count() as f64;
    let slow_share = slow_with / with as f64;
    let explained_share = slow_with / seconds.iter().filter(is_slow).count().max(1) as f64;
    let is_effect = during_s >= f64::max(SLOWER_FACTOR_MIN * otherwise_s, otherwise_s + SLOWER_BY_MIN_S)
        && slow_share >= TOGETHER_SHARE_MIN
        && explained_share >= TOGETHER_SHARE_MIN
        && takes_s >= OWN_TIME_PART_MIN * during_s
        && counts(true) <= SAME_LOAD_FACTOR_MAX * counts(false);
    if !is_effect || is_of_generator(&seconds) {
        return None;
    }
    let spans = |wanted: bool| of(wanted).map(|second| (second.slice.start as f64 / 1e9, second.slice.end as f64 / 1e9)).collect();
    Some(Interference {
        request: name.to_owned(),
        held_up: held_up(&seconds, name, limit),
        takes_s,
        during_s,
        otherwise_s,
        slow_share,
        explained_share,
        p_value: p_value(&seconds),
        under_way: spans(true),
        others: spans(false),
    })
}

/// The seconds in which other requests ended.
fn seconds<'a>(all: &[RunSecond<'a>], name: &str) -> Vec<ObservedSecond<'a>> {
    let mut all: Vec<ObservedSecond<'a>> = all.iter().map(|second| second.seen_by(name)).collect();
    // A request of several seconds is under way in those before its end, too.
    for index in 0..all.len() {
        let before = all[index].own_s.round() as usize;
        all[index.saturating_sub(before)..index].iter_mut().for_each(|second| second.is_under_way = true);
    }
    all.retain(|second| second.longest_s > 0.0);
    all
}

/// Whether the generator itself paused for as long in most of the slow seconds.
fn is_of_generator(seconds: &[ObservedSecond<'_>]) -> bool {
    let under_way: Vec<&ObservedSecond<'_>> = seconds.iter().filter(|second| second.is_under_way).collect();
    let paused = |second: &&&ObservedSecond<'_>| {
        let stall = second.slice.generator.iter().map(|worker| worker.stalls.max().max(worker.read_lag.max())).max().unwrap_or(0);
        stall as f64 / 1e9 >= second.longest_s / 2.0
    };
    2 * under_way.iter().filter(paused).count() >= under_way.len()
}

/// Names of the other requests that were slow in any second with the request.
fn held_up(seconds: &[ObservedSecond<'_>], name: &str, limit: f64) -> Vec<String> {
    let under_way = seconds.iter().filter(|second| second.is_under_way);
    let slow = under_way.flat_map(|second| requests(second.slice)).filter(|series| series.service.max() as f64 / 1e9 >= limit);
    let names: BTreeSet<&str> = slow.map(|series| &*series.key.name).filter(|other| *other != name).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The probability that the longest others are as long in these seconds by chance: by permutations within blocks of neighbouring seconds. Logarithms give each
/// factor the same weight, so that one pause alone decides nothing.
fn p_value(seconds: &[ObservedSecond<'_>]) -> f64 {
    let times: Vec<f64> = seconds.iter().map(|second| second.longest_s.max(1e-9).ln()).collect();
    let flags: Vec<bool> = seconds.iter().map(|second| second.is_under_way).collect();
    let sum = |times: &[f64]| times.iter().zip(&flags).filter(|(_, is_under_way)| **is_under_way).map(|(time, _)| time).sum::<f64>();
    let observed = sum(&times);
    let mut random = Xorshift::fixed();
    let mut permuted = times.clone();
    let as_extreme = (0..PERMUTATIONS).filter(|_| {
        for block in permuted.chunks_mut(BLOCK_SECONDS) {
            (1..block.len()).rev().for_each(|last| block.swap(last, (random.next() % (last as u64 + 1)) as usize));
        }
        sum(&permuted) >= observed - 1e-9
    });
    (as_extreme.count() + 1) as f64 / (PERMUTATIONS + 1) as f64
}
