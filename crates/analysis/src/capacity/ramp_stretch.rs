//! Segments of a run's load: the requests in the system, and the requests that ended.

use loadstone_metrics::{SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use crate::statistics::{mean, student_t, variance};

/// Number of segments of the load.
const SEGMENTS: usize = 40;
/// A segment is balanced if arrivals and completions differ by at most this share of the completions, or by chance by this multiple of the
/// square root of their number.
const BALANCE_SHARE_MAX: f64 = 0.05;
const BALANCE_DEVIATIONS_MAX: f64 = 2.0;
/// Minimum number of consecutive segments with more arrivals than completions to be significant, and minimum length of an overload to
/// measure its throughput.
const OVERLOADED_IN_A_ROW_MIN: usize = 3;
const OVERLOADED_MIN: usize = 6;
/// The sustained throughput is measured over one part in this many of the load.
const CARRIED_ONE_IN: usize = 5;
/// The best of many parts is biased upwards: its error is multiplied by this factor.
const SELECTION_ERROR_FACTOR: f64 = 1.5;

/// Part of the longest wait from which a request waits in the same queue. In one queue all wait about equally long.
const WAIT_PART_MIN: f64 = 0.25;
/// Iterations that show how many requests of each kind one has, and the unfinished ones as a part of those that ended, up to which they do.
const ITERATIONS_MIN: f64 = 10.0;
const UNFINISHED_PART_MAX: f64 = 0.1;

/// A segment of the load, in seconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RampSegment {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) block: RampBlock,
    /// Requests per second that the system carries: those that wait and end, and as many of the others as belong to them. While a queue grows, more of the
    /// requests ahead of it end, which is no throughput that could last.
    pub(super) carried: f64,
    /// Requests for each of those that wait.
    each: f64,
    pub(super) requested: RequestedLoad,
    /// Requests ended per second in the neighbouring segments: it shows the level of the load, and is independent of this segment's noise.
    pub(super) ended_in_neighbours: f64,
    /// Completions matched arrivals. The utilisation law relates the use of a resource to completions, and is only valid for requests that
    /// pass through.
    pub(super) is_balanced: bool,
    /// More arrived than ended.
    pub(super) piles_up: bool,
}

/// Arrivals per second, or users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RequestedLoad {
    Arrivals(f64),
    Users(f64),
    Both,
}

impl RequestedLoad {
    fn of(part: &[Snapshot], seconds: f64) -> Self {
        let leaves = || part.iter().flat_map(|slice| &slice.leaves);
        let (arrivals, users) = (leaves().map(|leaf| leaf.arrivals_due).sum::<u64>(), leaves().map(|leaf| leaf.users_asked).sum::<u64>());
        match (arrivals, users) {
            (_, 0) => Self::Arrivals(arrivals as f64 / seconds),
            (0, _) => Self::Users(users as f64 / part.len() as f64),
            _ => Self::Both,
        }
    }

    pub(super) fn level(self) -> f64 {
        match self {
            Self::Arrivals(level) | Self::Users(level) => level,
            Self::Both => 0.0,
        }
    }
}

impl RampSegment {
    /// Seconds.
    pub(super) fn length(&self) -> f64 {
        self.to - self.from
    }

    /// Requests that ended, of those that wait.
    pub(super) fn counted(&self) -> f64 {
        self.carried * self.length() / self.each
    }
}

/// The requests that wait, and how many requests of any kind there are for each of them.
struct HeldRequests<'r> {
    keys: Vec<&'r SeriesKey>,
    each: f64,
}

impl<'r> HeldRequests<'r> {
    /// `None`: all requests wait, their parts are unknown, or several scenarios may change them.
    fn of(run: &'r Run, loaded: &'r [Snapshot]) -> Option<Self> {
        let top = loaded.get(loaded.len() - loaded.len() / 4..)?;
        let mut keys: Vec<&SeriesKey> = requests_of(loaded).map(|series| &series.key).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.iter().any(|key| key.scenario != keys[0].scenario) {
            return None;
        }
        let wait = |key: &&SeriesKey| {
            let of_key = |slices: &'r [Snapshot]| requests_of(slices).filter(|series| series.key == **key && series.count > 0);
            let shortest = of_key(loaded).map(|series| series.service.min()).min()? as f64;
            let (count, sum) = of_key(top).fold((0.0, 0.0), |sum, of| (sum.0 + of.count as f64, sum.1 + of.service.sum() as f64));
            (count > 0.0).then(|| sum / count - shortest)
        };
        let waits: Vec<Option<f64>> = keys.iter().map(wait).collect();
        let most = waits.iter().flatten().copied().fold(0.0, f64::max);
        let all = keys.len();
        let held = keys.into_iter().zip(waits).filter(|(_, wait)| wait.is_some_and(|wait| wait >= WAIT_PART_MIN * most));
        let keys: Vec<&SeriesKey> = held.map(|(key, _)| key).collect();
        if keys.len() == all {
            return None;
        }
        let each = requests_for_each(run, &keys)?;
        Some(Self { keys, each })
    }

    fn count(&self, slices: &[Snapshot]) -> u64 {
        requests_of(slices).filter(|series| self.keys.contains(&&series.key)).map(|series| series.count).sum()
    }
}

fn requests_of(slices: &[Snapshot]) -> impl Iterator<Item = &SeriesSlice> {
    slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == SeriesKind::Request)
}

/// Requests of any kind for each of these, up to the instant at which the fewest iterations were unfinished. `None`: there were always too many.
fn requests_for_each(run: &Run, keys: &[&SeriesKey]) -> Option<f64> {
    let so_far = run.slices.iter().scan((0.0, 0.0, 0.0, 0.0), |sum, slice| {
        let count = |is: &dyn Fn(&SeriesKey) -> bool| {
            requests_of(std::slice::from_ref(slice)).filter(|series| is(&series.key)).map(|series| series.count).sum::<u64>() as f64
        };
        let (started, ended) = slice.leaves.iter().fold((0, 0), |sum, leaf| (sum.0 + leaf.started, sum.1 + leaf.ended));
        *sum = (sum.0 + started as f64, sum.1 + ended as f64, sum.2 + count(&|_| true), sum.3 + count(&|key| keys.contains(&key)));
        Some(*sum)
    });
    let unfinished = |(started, ended, ..): &(f64, f64, f64, f64)| (started - ended) / ended;
    let enough = so_far.filter(|(_, ended, _, held)| *ended >= ITERATIONS_MIN && *held > 0.0);
    let best = enough.min_by(|a, b| unfinished(a).total_cmp(&unfinished(b)))?;
    (unfinished(&best) <= UNFINISHED_PART_MAX).then(|| best.2 / best.3)
}

/// Average number of requests in the system, and requests ended per second.
pub(super) type RampBlock = (f64, f64);

/// The segments in which requests were in the system and ended.
pub(super) fn segments(run: &Run) -> Vec<RampSegment> {
    let asks = |slice: &Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let first = run.slices.iter().position(asks).unwrap_or(0);
    let last = run.slices.iter().rposition(asks).map_or(0, |last| last + 1);
    // The first and the last second are rarely complete.
    let seconds = run.slices.get(first + 1..last.saturating_sub(1)).unwrap_or(&[]);
    let length = seconds.len().div_ceil(SEGMENTS).max(1);
    let block = |part: &[Snapshot]| {
        let time = part.iter().map(|slice| (slice.end - slice.start) as f64).sum::<f64>();
        let ended: u64 =
            part.iter().flat_map(|slice| &slice.series).filter(|of| of.key.kind == SeriesKind::Request).map(|of| of.count).sum();
        let flight: u64 = part.iter().flat_map(|slice| &slice.generator).map(|worker| worker.in_flight_ns).sum();
        let waiting: u64 = part.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.waiting).sum();
        (flight as f64 / time + waiting as f64 / part.len() as f64, ended as f64 / (time / 1e9))
    };
    let held = HeldRequests::of(run, seconds);
    let segment = |part: &[Snapshot]| {
        let (first, last) = (part.first()?, part.last()?);
        let (from, to) = (first.start as f64 / 1e9, last.end as f64 / 1e9);
        let block = block(part);
        let carried = held.as_ref().map_or(block.1, |held| held.each * held.count(part) as f64 / (to - from));
        let (requested, each) = (RequestedLoad::of(part, to - from), held.as_ref().map_or(1.0, |held| held.each));
        Some(RampSegment { from, to, block, carried, each, requested, ended_in_neighbours: 0.0, is_balanced: true, piles_up: false })
    };
    let all = seconds.chunks_exact(length).filter_map(segment);
    with_neighbours(all.filter(|RampSegment { block: (inside, ended), .. }| *inside > 0.0 && *ended > 0.0).collect())
}

/// Fills in the fields that depend on the neighbouring segments.
fn with_neighbours(mut segments: Vec<RampSegment>) -> Vec<RampSegment> {
    let blocks: Vec<RampBlock> = segments.iter().map(|segment| segment.block).collect();
    for (index, segment) in segments.iter_mut().enumerate() {
        let (before, after) = (index.checked_sub(1), Some(index + 1).filter(|after| *after < blocks.len()));
        let neighbours: Vec<f64> = before.into_iter().chain(after).map(|index| blocks[index].1).collect();
        segment.ended_in_neighbours = mean(&neighbours);
        let (from, to) = (before.unwrap_or(index), after.unwrap_or(index));
        let piled_up = (blocks[to].0 - blocks[from].0) / to.abs_diff(from).max(1) as f64;
        let ended = segment.block.1 * (segment.to - segment.from);
        let by_chance = f64::max(BALANCE_SHARE_MAX * ended, BALANCE_DEVIATIONS_MAX * ended.sqrt());
        (segment.is_balanced, segment.piles_up) = (piled_up.abs() <= by_chance, piled_up > by_chance);
    }
    segments
}

/// From the first of several consecutive segments in which more arrived than ended, to the last such segment; empty if this is short. All
/// segments in between count: only those with few completions would give too low a throughput.
pub(super) fn overloaded(segments: &[RampSegment]) -> &[RampSegment] {
    let in_a_row = |part: &[RampSegment]| part.iter().all(|segment| segment.piles_up);
    let first = segments.windows(OVERLOADED_IN_A_ROW_MIN).position(in_a_row);
    let last = segments.iter().rposition(|segment| segment.piles_up);
    let all = first.zip(last).and_then(|(first, last)| segments.get(first..=last)).unwrap_or(&[]);
    match all.len() {
        0..OVERLOADED_MIN => &[],
        // The segments that revealed the overload had few completions, partly by chance.
        length if length >= OVERLOADED_MIN + OVERLOADED_IN_A_ROW_MIN => &all[OVERLOADED_IN_A_ROW_MIN..],
        _ => all,
    }
}

/// The highest throughput that lasted for a fifth of the load, its standard error and its degrees of freedom. A single segment would be
/// chance.
fn best_fifth(segments: &[RampSegment], rate: fn(&RampSegment) -> f64) -> Option<(f64, f64, f64)> {
    let length = (segments.len() / CARRIED_ONE_IN).max(2);
    let ended = |part: &[RampSegment]| part.iter().map(rate).collect::<Vec<f64>>();
    let ended = segments.windows(length).map(ended).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    Some((mean(&ended), (variance(&ended) / length as f64).sqrt(), length as f64 - 1.0))
}

pub(super) fn highest_sustained(segments: &[RampSegment]) -> f64 {
    best_fifth(segments, |segment| segment.carried).map_or(0.0, |(mean, _, _)| mean)
}

/// The same of a run without a limit: nothing waits, so all requests that ended count.
pub(super) fn highest_ended(segments: &[RampSegment]) -> f64 {
    best_fifth(segments, |segment| segment.block.1).map_or(0.0, |(mean, _, _)| mean)
}

/// The throughput that a run without a limit sustained for a fifth of its load, as its capacity reports it. Requests per second.
pub(crate) fn sustained(run: &Run) -> Option<f64> {
    Some(highest_ended(&segments(run))).filter(|rate| *rate > 0.0)
}

/// The throughput that the system sustained for at least a fifth of the load, as the lower end of its 95 % interval.
pub(super) fn carried(segments: &[RampSegment]) -> f64 {
    best_fifth(segments, |segment| segment.carried)
        .map_or(0.0, |(mean, error, freedom)| mean - SELECTION_ERROR_FACTOR * student_t(freedom) * error)
}
