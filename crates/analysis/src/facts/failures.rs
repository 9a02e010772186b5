//! What failed: which request, how, when, how long it took, and what share of all.

use loadstone_metrics::{ErrorCause, ErrorGroup, Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use super::failure_message::FailureMessage;
use super::load_stretches::{self, HIGHER_LOAD_FACTOR_MIN, SMOOTHED_SLICES};
use super::stated_rejection::StatedRejection;
use super::timeline;
use crate::statistics::{likeliest_stretch, sum_of_counts, wilson_interval};
use crate::{RunTally, SeriesTally};

/// Median of failed requests over that of the others from which they waited before they failed.
const WAITED_FACTOR_MIN: f64 = 3.0;
/// Parts into which a run is cut at most: the scan compares all stretches of parts.
const PARTS_MAX: usize = 400;
/// Gain in log likelihood that a stretch with its own share needs, in addition to ln(n²) for the stretches to choose from: e^9.2 is 10,000.
const LOG_LIKELIHOOD_GAIN_MIN: f64 = 9.2;
/// Factor by which the share of a stretch must exceed the share outside of it.
const STRETCH_SHARE_FACTOR_MIN: f64 = 3.0;
/// Share of the time outside of a stretch that may have as much load where the load explains the failures.
const AS_MUCH_LOAD_SHARE_MAX: f64 = 0.05;
/// Part of the run before the first failure, and after the last, up to which failures count as spread over the whole run.
const EDGE_PART_MAX: f64 = 0.2;
/// Probability from which failures at any time may lie where they do by chance.
const RANGE_P_VALUE_MIN: f64 = 0.05;
/// Part of the load at which a stretch begins that counts as the same load.
const SAME_LOAD_PART_MIN: f64 = 0.98;

/// Part of a request's failures that a rate limit must have rejected to explain all of them.
const RATE_LIMITED_PART_MIN: f64 = 0.9;
/// Too Many Requests (RFC 6585).
const TOO_MANY_REQUESTS: u16 = 429;

/// A request that failed, or a scenario whose script threw or declared its iterations failed.
pub(crate) struct Failing<'a> {
    pub(crate) key: &'a SeriesKey,
    /// Failed requests, without those that the generator could not send.
    pub(crate) failed: u64,
    pub(crate) count: u64,
    /// The kinds of failure, the most frequent first.
    pub(crate) kinds: Vec<FailureKind>,
    pub(crate) when: FailedWhen,
    /// Failed requests and all requests in the stretch that `when` names.
    pub(crate) while_failing: (u64, u64),
    /// The 95 % interval of their share.
    pub(crate) interval: (f64, f64),
    /// Share of the time outside of it with as much load, if that is more than a little. The load is then not the cause.
    pub(crate) as_much_load_outside: Option<f64>,
    /// Of a scenario: how many of its iterations ended with an exception that was no verdict of the script on the target (`user.fail`).
    pub(crate) script_errors: u64,
    /// What the failed responses report, besides their status.
    pub(crate) message: Option<FailureMessage>,
    /// How the failed responses show that the target rejects them on purpose.
    pub(crate) stated_rejection: Option<StatedRejection>,
    pub(crate) times: Option<FailedTimes>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailureKind {
    pub(crate) outcome: Outcome,
    /// `status 500`, `no response within 10 s`.
    pub(crate) text: String,
    pub(crate) count: u64,
    /// Whether the target rejected them because of a rate limit: HTTP 429, or RESOURCE_EXHAUSTED in gRPC.
    pub(crate) is_rate_limited: bool,
}

/// Seconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FailedWhen {
    Throughout,
    /// Too few failures for a stretch. When the first and the last happened.
    Within(f64, f64),
    Since(f64),
    Until(f64),
    Between(f64, f64),
    /// From the instant on at which the load reached `load`, and never below that load. `of_several`: the load is that of several scenarios together.
    AboveLoad {
        load: f64,
        is_open: bool,
        of_several: bool,
        at: f64,
    },
}

/// How long failed requests took, and the others. Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedTimes {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
    pub(crate) passed: Option<PassedTimes>,
    /// When the first request reached its time limit. Seconds since the run began.
    pub(crate) first_timed_out: Option<f64>,
}

impl FailedTimes {
    /// Whether they took much longer than the others, so that they waited before they failed.
    pub(crate) fn have_waited(&self) -> bool {
        self.passed.is_some_and(|passed| self.median >= WAITED_FACTOR_MIN * passed.median)
    }
}

/// Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassedTimes {
    pub(crate) median: f64,
    pub(crate) longest: f64,
}

impl FailedWhen {
    /// When the failures began, if they did so in mid-run.
    pub(crate) fn onset(self) -> Option<f64> {
        match self {
            FailedWhen::Since(at) | FailedWhen::Between(at, _) | FailedWhen::AboveLoad { at, .. } => Some(at),
            FailedWhen::Throughout | FailedWhen::Within(..) | FailedWhen::Until(_) => None,
        }
    }

    /// The stretch of the failures in a run that ends at `end`. Seconds.
    pub(crate) fn span(self, end: f64) -> (f64, f64) {
        match self {
            FailedWhen::Throughout => (0.0, end),
            FailedWhen::Since(at) | FailedWhen::AboveLoad { at, .. } => (at, end),
            FailedWhen::Until(to) => (0.0, to),
            FailedWhen::Between(from, to) | FailedWhen::Within(from, to) => (from, to),
        }
    }
}

impl Failing<'_> {
    fn lies_in(&mut self, stretch: &FailingStretch, inside: (u64, u64)) {
        self.when = stretch.when;
        self.while_failing = inside;
        self.interval = wilson_interval(inside.0, inside.1);
        self.as_much_load_outside = stretch.as_much_load_outside;
    }

    pub(crate) fn share(&self) -> f64 {
        self.while_failing.0 as f64 / self.while_failing.1.max(1) as f64
    }

    /// Whether a rate limit rejected nearly all of them.
    pub(crate) fn is_rate_limited(&self) -> bool {
        let rejected: u64 = self.kinds.iter().filter(|kind| kind.is_rate_limited).map(|kind| kind.count).sum();
        rejected as f64 >= RATE_LIMITED_PART_MIN * self.failed as f64
    }
}

/// Requests, the one with the most failures first, then scenarios whose scripts threw.
pub(super) fn find<'a>(run: &Run, tally: &'a RunTally) -> Vec<Failing<'a>> {
    let requests = tally.of_kind(SeriesKind::Request).filter_map(|series| of_series(run, tally, series));
    let mut requests: Vec<FailedCounts<'_>> = requests.collect();
    examine_together(run, &mut requests);
    let mut found: Vec<Failing<'_>> = requests.into_iter().map(|counted| counted.failing).collect();
    found.sort_by(|a, b| b.failed.cmp(&a.failed).then_with(|| a.key.cmp(b.key)));
    // A failed request fails its iteration, too. Without a failed request, the script itself failed.
    let threw = |series: &SeriesTally| tally.errors().iter().any(|error| error.key == series.merged.key);
    let thrown = tally.of_kind(SeriesKind::Iteration).filter(|series| threw(series) && found.is_empty());
    let thrown: Vec<Failing<'_>> = thrown.filter_map(|series| of_series(run, tally, series)).map(|counted| counted.failing).collect();
    found.extend(thrown);
    found
}

/// Failed requests and all requests of one name by second, and the resulting fact.
struct FailedCounts<'a> {
    failing: Failing<'a>,
    seconds: Vec<(u64, u64)>,
    has_stretch: bool,
}

/// Requests that each fail too rarely to show when may show it together: those that fail in the same way, and only within their common stretch.
fn examine_together(run: &Run, counted: &mut [FailedCounts<'_>]) {
    let way = |one: &FailedCounts<'_>| one.failing.kinds.first().map(|kind| kind.text.clone());
    let mut ways: Vec<String> = counted.iter().filter(|one| !one.has_stretch).filter_map(way).collect();
    ways.sort();
    ways.dedup();
    for text in ways {
        let mut alike: Vec<&mut FailedCounts<'_>> =
            counted.iter_mut().filter(|one| !one.has_stretch && way(one).as_ref() == Some(&text)).collect();
        if alike.len() < 2 {
            continue;
        }
        let together: Vec<(u64, u64)> =
            (0..run.slices.len()).map(|second| sum_of_counts(alike.iter().map(|one| &one.seconds[second]))).collect();
        let Some(found) = FailingStretch::of(run, &together) else {
            let when = scattered(run, &together);
            alike.iter_mut().for_each(|one| one.failing.when = when);
            continue;
        };
        for one in &mut alike {
            let inside = found.inside(&one.seconds);
            if inside.0 == one.failing.failed {
                one.failing.lies_in(&found, inside);
            }
        }
    }
}

/// The seconds in which a larger share failed than in the others, and the load in them.
struct FailingStretch {
    seconds: std::ops::Range<usize>,
    when: FailedWhen,
    as_much_load_outside: Option<f64>,
}

impl FailingStretch {
    /// From failed requests and all requests by second.
    fn of(run: &Run, seconds: &[(u64, u64)]) -> Option<Self> {
        let stride = run.slices.len().div_ceil(PARTS_MAX).max(1);
        let parts: Vec<(u64, u64)> = seconds.chunks(stride).map(sum_of_counts).collect();
        let (from, to) = stretch(&parts)?;
        let load = LoadOfStretch::of(run, &parts, stride, (from, to));
        Some(Self {
            seconds: from * stride..(to * stride).min(seconds.len()),
            when: named(run, parts.len(), stride, (from, to), load.as_ref()),
            as_much_load_outside: load.map(|load| load.as_much_outside).filter(|share| *share > AS_MUCH_LOAD_SHARE_MAX),
        })
    }

    fn inside(&self, seconds: &[(u64, u64)]) -> (u64, u64) {
        sum_of_counts(&seconds[self.seconds.clone()])
    }
}

/// Failed requests and all requests.
fn counted(series: &SeriesSlice) -> (u64, u64) {
    let failed = series.outcomes.iter().filter(|(outcome, _)| outcome.is_failure() && !outcome.is_by_generator());
    (failed.map(|(_, count)| count).sum(), series.count)
}

fn of_series<'a>(run: &Run, tally: &RunTally, series: &'a SeriesTally) -> Option<FailedCounts<'a>> {
    let (failed, count) = counted(&series.merged);
    if failed == 0 {
        return None;
    }
    let key = &series.merged.key;
    let mut place = 0;
    let mut in_second = |slice: &Snapshot| timeline::series_of(slice, key, &mut place).map_or((0, 0), counted);
    let mut seconds: Vec<(u64, u64)> = run.slices.iter().map(&mut in_second).collect();
    join_drain(run, &mut seconds);
    let mut failing = Failing {
        key,
        failed,
        count,
        kinds: kinds(tally, &series.merged),
        when: scattered(run, &seconds),
        while_failing: (failed, count),
        interval: wilson_interval(failed, count),
        as_much_load_outside: None,
        script_errors: series.merged.script_errors,
        message: None,
        stated_rejection: None,
        times: times(run, &series.merged),
    };
    failing.message = FailureMessage::of(tally, key, failing.kinds.first().map(|kind| kind.text.as_str()));
    failing.stated_rejection = failing.kinds.first().and_then(|most| StatedRejection::of(tally, key, most.outcome, &most.text));
    let found = FailingStretch::of(run, &seconds);
    if let Some(found) = &found {
        failing.lies_in(found, found.inside(&seconds));
    }
    Some(FailedCounts { failing, seconds, has_stretch: found.is_some() })
}

/// Requests that end after the load are those that took longest, such as all that reach their time limit. They are no sample of their second, so they count
/// with the last second of the load.
fn join_drain(run: &Run, seconds: &mut [(u64, u64)]) {
    let is_asked = |slice: &Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let Some(last) = run.slices.iter().rposition(is_asked) else { return };
    let drained = sum_of_counts(&seconds[last..]);
    seconds[last..].fill((0, 0));
    seconds[last] = drained;
}

/// Where failures that form no stretch lie, by second.
fn scattered(run: &Run, seconds: &[(u64, u64)]) -> FailedWhen {
    let ends = |is: &dyn Fn(&(u64, u64)) -> bool| Some((seconds.iter().position(is)?, seconds.iter().rposition(is)?));
    let (Some((first, last)), Some((from, to))) = (ends(&|second| second.0 > 0), ends(&|second| second.1 > 0)) else {
        return FailedWhen::Throughout;
    };
    let at = |ns: u64| ns as f64 / 1e9;
    let all = (to - from + 1) as f64;
    let part = (last - first + 1) as f64 / all;
    let is_all = [first - from, to - last].into_iter().all(|without| without as f64 <= EDGE_PART_MAX * all);
    let failing = seconds.iter().filter(|second| second.0 > 0).count() as f64;
    // The probability that so many failures at random times all lie within such a part of the run: the distribution of their range (Kendall and Stuart, *The
    // Advanced Theory of Statistics*, 1977).
    let by_chance = failing * part.powf(failing - 1.0) - (failing - 1.0) * part.powf(failing);
    if is_all && by_chance >= RANGE_P_VALUE_MIN {
        FailedWhen::Throughout
    } else {
        FailedWhen::Within(at(run.slices[first].start), at(run.slices[last].end))
    }
}

/// The stretch whose failed share differs most from the rest, if it differs beyond chance.
fn stretch(parts: &[(u64, u64)]) -> Option<(usize, usize)> {
    let (gain, stretch) = likeliest_stretch(parts, STRETCH_SHARE_FACTOR_MIN)?;
    (gain >= LOG_LIKELIHOOD_GAIN_MIN + (parts.len() as f64).ln()).then_some(stretch)
}

/// How a stretch of parts is described.
fn named(run: &Run, parts: usize, stride: usize, (from, to): (usize, usize), load: Option<&LoadOfStretch>) -> FailedWhen {
    let at = |part: usize| run.slices.get(part * stride).map_or(0.0, |slice| slice.start as f64 / 1e9);
    if let Some(load) = load.filter(|load| from > 0 && load.explains()) {
        let (leaves, set_ups) = (run.plan.load.leaves(), run.plan.set_ups());
        let is_open = leaves.iter().all(|leaf| leaf.profile.is_open());
        let mut scenarios: Vec<u32> =
            leaves.iter().zip(0_u32..).filter(|(_, number)| !set_ups.contains_key(number)).map(|(leaf, _)| leaf.scenario.0).collect();
        scenarios.sort_unstable();
        scenarios.dedup();
        return FailedWhen::AboveLoad { load: load.reached, is_open, of_several: scenarios.len() > 1, at: at(from) };
    }
    match (from, to == parts) {
        (0, _) => FailedWhen::Until(at(to)),
        (_, true) => FailedWhen::Since(at(from)),
        (_, false) => FailedWhen::Between(at(from), at(to)),
    }
}

/// The load at the begin of a stretch, and outside of it.
struct LoadOfStretch {
    reached: f64,
    /// The mean load outside.
    outside: f64,
    /// Share of the time outside with as much load as in the stretch.
    as_much_outside: f64,
}

impl LoadOfStretch {
    fn of(run: &Run, parts: &[(u64, u64)], stride: usize, (from, to): (usize, usize)) -> Option<Self> {
        let asked = load_stretches::asked_in_all(&run.plan, &run.slices);
        let load = |part: usize| {
            let middle = part * stride;
            let around = &asked[middle.saturating_sub(SMOOTHED_SLICES / 2)..(middle + stride + SMOOTHED_SLICES / 2).min(asked.len())];
            // Seconds after the load, or in a pause of it, do not count.
            let asked: Vec<f64> = around.iter().copied().filter(|load| *load > 0.0).collect();
            asked.iter().sum::<f64>() / asked.len().max(1) as f64
        };
        let reached = load(from);
        let outside: Vec<f64> = (0..from).chain(to..parts.len()).filter(|part| parts[*part].1 > 0).map(load).collect();
        let as_much = outside.iter().filter(|other| **other >= SAME_LOAD_PART_MIN * reached).count() as f64;
        let all = outside.len() as f64;
        (!outside.is_empty()).then(|| Self { reached, outside: outside.iter().sum::<f64>() / all, as_much_outside: as_much / all })
    }

    /// Whether the load may be the cause: outside of the stretch it was hardly ever as high.
    fn explains(&self) -> bool {
        self.as_much_outside <= AS_MUCH_LOAD_SHARE_MAX && self.reached >= HIGHER_LOAD_FACTOR_MIN * self.outside
    }
}

/// By their recorded messages, the most frequent first.
fn kinds(tally: &RunTally, merged: &SeriesSlice) -> Vec<FailureKind> {
    let mut kinds: Vec<FailureKind> = Vec::new();
    let too_many = merged.statuses.iter().find(|(status, _)| *status == TOO_MANY_REQUESTS).map_or(0, |(_, count)| *count);
    for (outcome, count) in merged.outcomes.iter().filter(|(outcome, _)| outcome.is_failure() && !outcome.is_by_generator()) {
        let errors = tally.errors().iter().filter(|error| error.key == merged.key && error.outcome == *outcome);
        let recorded: Vec<FailureKind> = errors.map(|error| recorded_kind(error, too_many)).collect();
        if !recorded.is_empty() {
            kinds.extend(recorded);
        } else if *outcome == Outcome::Status && merged.statuses.iter().any(|(status, _)| *status >= 400) {
            let failed = merged.statuses.iter().filter(|(status, _)| *status >= 400);
            kinds.extend(failed.map(|(status, count)| FailureKind {
                outcome: *outcome,
                text: format!("status {status}"),
                count: *count,
                is_rate_limited: *status == TOO_MANY_REQUESTS,
            }));
        } else {
            kinds.push(FailureKind { outcome: *outcome, text: outcome.label().to_owned(), count: *count, is_rate_limited: false });
        }
    }
    kinds.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text)));
    kinds
}

/// A recorded kind of failure of a request that was answered with 429 `too_many` times, whether or not the test expected that.
fn recorded_kind(error: &ErrorGroup, too_many: u64) -> FailureKind {
    // Errors with the same message have the same status. Only the first kinds of a run have samples, so the others are compared by their number.
    let is_too_many = error.samples.first().map_or(error.count <= too_many, |sample| sample.status == TOO_MANY_REQUESTS);
    let is_rate_limited = error.outcome == Outcome::Status && (is_too_many || error.cause == Some(ErrorCause::ResourceExhausted));
    FailureKind { outcome: error.outcome, text: error.message.to_string(), count: error.count, is_rate_limited }
}

fn times(run: &Run, merged: &SeriesSlice) -> Option<FailedTimes> {
    let failed = &merged.failed_response;
    let at = |quantile: f64| failed.quantile(quantile).map(|ns| ns as f64 / 1e9);
    let mut place = 0;
    let mut timed_out = |slice: &&Snapshot| {
        let outcomes = timeline::series_of(slice, &merged.key, &mut place).map(|series| &series.outcomes);
        outcomes.is_some_and(|outcomes| outcomes.iter().any(|(outcome, count)| *outcome == Outcome::Timeout && *count > 0))
    };
    let first = run.slices.iter().find(|slice| timed_out(slice));
    let first_timed_out = first.map(|slice| slice.start as f64 / 1e9);
    Some(FailedTimes { low: at(0.1)?, median: at(0.5)?, high: at(0.9)?, passed: passed_times(merged), first_timed_out })
}

/// The response times without those of failed requests.
fn passed_times(merged: &SeriesSlice) -> Option<PassedTimes> {
    let passed = merged.response.count().saturating_sub(merged.failed_response.count());
    let mut failed = merged.failed_response.bars().peekable();
    let (mut seen, mut median, mut longest) = (0, None, None);
    for (low, high, count) in merged.response.bars() {
        let taken = failed.next_if(|bar| bar.0 == low).map_or(0, |bar| bar.2);
        let left = count - taken.min(count);
        seen += left;
        let middle = f64::midpoint(low as f64, high as f64) / 1e9;
        if left > 0 {
            longest = Some(middle);
        }
        if median.is_none() && passed > 0 && seen * 2 >= passed {
            median = Some(middle);
        }
    }
    Some(PassedTimes { median: median?, longest: longest? })
}
