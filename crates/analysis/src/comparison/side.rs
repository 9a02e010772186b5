//! One of the two runs, with the data that several rows use.

use std::collections::HashMap;

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind};
use loadstone_run_directory::Run;

use crate::Summary;
use crate::facts::load_stretches;

/// Part of the time beyond a percentile that a single event must have, and the longest part of the run in which it has it.
const EVENT_TIME_SHARE_MIN: f64 = 0.9;
const EVENT_LENGTH_PART_MAX: f64 = 0.25;

/// One of the two runs.
#[derive(Debug, Clone, Copy)]
pub struct ComparedInput<'a> {
    pub run: &'a Run,
    /// The conclusions from it.
    pub summary: &'a Summary,
    /// Its load in words, one line for each leaf.
    pub load: &'a [String],
}

/// One series in one second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SeriesSecond {
    pub(super) count: f64,
    pub(super) failed: f64,
    /// Sum of all response times. Seconds.
    pub(super) time: f64,
    /// The planned load, all leaves together; 1 if the plan mixes open and closed load.
    pub(super) planned: f64,
}

/// Consecutive seconds of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct SecondsInOrder {
    /// Index of the first slice.
    pub(super) first: usize,
    pub(super) seconds: Vec<SeriesSecond>,
}

impl SecondsInOrder {
    /// From the first to the last second in which anything ended.
    pub(super) fn trimmed(seconds: &[SeriesSecond]) -> Self {
        let first = seconds.iter().position(|second| second.count > 0.0).unwrap_or(0);
        let to = seconds.iter().rposition(|second| second.count > 0.0).map_or(0, |last| last + 1);
        Self { first, seconds: seconds[first.min(to)..to].to_vec() }
    }
}

/// Times by second, for the seconds in which any request ended.
#[derive(Debug, Clone, Default)]
pub(super) struct TimesHistory<'a> {
    /// The slice index of each second.
    pub(super) slices: Vec<usize>,
    pub(super) seconds: Vec<Vec<&'a Histogram>>,
}

impl<'a> TimesHistory<'a> {
    fn push(&mut self, slice: usize, times: Vec<&'a Histogram>) {
        self.slices.push(slice);
        self.seconds.push(times);
    }

    pub(super) fn by_slice(&self) -> impl Iterator<Item = (usize, Vec<&'a Histogram>)> {
        self.slices.iter().copied().zip(self.seconds.iter().cloned())
    }

    /// The shortest stretch with nearly all of the time that samples took beyond a value, if it is short: a single event. Slices.
    pub(super) fn event(&self, value_s: f64) -> Option<(usize, usize)> {
        let beyond = |times: &[&Histogram]| {
            let bars = times.iter().flat_map(|times| times.bars());
            bars.map(|(low, high, count)| (low.midpoint(high) as f64 / 1e9 - value_s).max(0.0) * count as f64).sum::<f64>()
        };
        let counts: Vec<f64> = self.seconds.iter().map(|times| beyond(times)).collect();
        let wanted = EVENT_TIME_SHARE_MIN * counts.iter().sum::<f64>();
        let length = |from: usize, to: usize| self.slices[to] - self.slices[from] + 1;
        let (mut shortest, mut from, mut inside) = (None, 0, 0.0);
        for (to, count) in counts.iter().enumerate() {
            inside += count;
            while inside - counts[from] >= wanted && from < to {
                inside -= counts[from];
                from += 1;
            }
            if inside >= wanted && shortest.is_none_or(|(a, b)| length(from, to) < length(a, b)) {
                shortest = Some((from, to));
            }
        }
        let (from, to) = shortest.filter(|_| wanted > 0.0)?;
        let is_short = length(from, to) as f64 <= EVENT_LENGTH_PART_MAX * length(0, counts.len() - 1) as f64;
        is_short.then(|| (self.slices[from], self.slices[to]))
    }

    pub(super) fn of_flow(run: &'a Run, name: &str) -> Self {
        let mut history = Self::default();
        for (index, slice) in run.slices.iter().enumerate() {
            let flows = slice.flows.iter().filter(|flow| *flow.name == *name && !flow.time.is_empty());
            flows.for_each(|flow| history.push(index, vec![&flow.time]));
        }
        history
    }
}

pub(super) struct RunSide<'a> {
    pub(super) run: &'a Run,
    pub(super) summary: &'a Summary,
    /// By series, from the first to the last second in which any of its requests ended.
    pub(super) seconds: HashMap<&'a SeriesKey, SecondsInOrder>,
    pub(super) histories: HashMap<&'a SeriesKey, TimesHistory<'a>>,
    /// All requests together; one entry for each slice.
    pub(super) requests: Vec<SeriesSecond>,
}

impl<'a> RunSide<'a> {
    pub(super) fn of(input: ComparedInput<'a>) -> Self {
        let ComparedInput { run, summary, .. } = input;
        let mut seconds: HashMap<&SeriesKey, Vec<(usize, SeriesSecond)>> = HashMap::new();
        let mut histories: HashMap<&SeriesKey, TimesHistory<'a>> = HashMap::new();
        let planned = load_stretches::planned_in_all(run).unwrap_or_else(|| vec![1.0; run.slices.len()]);
        let of_plan = |planned: &f64| SeriesSecond { planned: *planned, ..SeriesSecond::default() };
        let mut requests: Vec<SeriesSecond> = planned.iter().map(of_plan).collect();
        for (index, slice) in run.slices.iter().enumerate() {
            for series in slice.series.iter().filter(|series| series.key.kind != SeriesKind::Check && series.count > 0) {
                let time = series.response.sum() as f64 / 1e9;
                let second = SeriesSecond { count: series.count as f64, failed: series.failed as f64, time, planned: planned[index] };
                seconds.entry(&series.key).or_default().push((index, second));
                histories.entry(&series.key).or_default().push(index, vec![&series.response]);
                if series.key.kind == SeriesKind::Request {
                    let all = &mut requests[index];
                    all.count += second.count;
                    all.failed += second.failed;
                    all.time += time;
                }
            }
        }
        let seconds = seconds.into_iter().map(|(key, seconds)| (key, without_gaps(&seconds, &planned))).collect();
        Self { run, summary, seconds, histories, requests }
    }

    /// All requests, from the first to the last second in which any ended.
    pub(super) fn loaded(&self) -> SecondsInOrder {
        SecondsInOrder::trimmed(&self.requests)
    }

    /// Response times of all requests, one list for each second in which any ended.
    pub(super) fn history_of_all(&self) -> TimesHistory<'a> {
        let mut history = TimesHistory::default();
        for (index, slice) in self.run.slices.iter().enumerate() {
            let times: Vec<_> =
                slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| &series.response).collect();
            if !times.is_empty() {
                history.push(index, times);
            }
        }
        history
    }
}

/// A second in which nothing ended counts, too.
fn without_gaps(seconds: &[(usize, SeriesSecond)], planned: &[f64]) -> SecondsInOrder {
    let first = seconds.first().map_or(0, |(index, _)| *index);
    let length = seconds.last().map_or(0, |(index, _)| index + 1 - first);
    let of_plan = |planned: &f64| SeriesSecond { planned: *planned, ..SeriesSecond::default() };
    let mut all: Vec<SeriesSecond> = planned.iter().skip(first).take(length).map(of_plan).collect();
    seconds.iter().for_each(|(index, second)| all[index - first] = *second);
    SecondsInOrder { first, seconds: all }
}
