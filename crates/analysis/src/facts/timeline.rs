//! Each request, group, scenario and flow over time, in a bounded number of points.

use std::collections::HashMap;

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use crate::RunTally;

/// Points of a timeline at most.
const POINTS_MAX: usize = 300;
/// Samples that a point has on average, so that its median is meaningful.
const POINT_SAMPLES_MIN: f64 = 5.0;
/// Points of a timeline at least, even if their medians rest on fewer samples.
const POINTS_MIN: usize = 24;

/// Share of the times of a whole run up to which they are not slow.
const SLOW_FROM: f64 = 0.8;
/// Shares between which the widest gap of the times, as a factor, separates slow ones from the others.
const GAP_WITHIN: std::ops::RangeInclusive<f64> = 0.5..=0.97;
/// Times between which gaps are examined.
const EXAMINED_MAX: u64 = 400;

/// The subject of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimelineOf {
    Series(SeriesKey),
    Flow(String),
}

/// One subject over time.
pub(crate) struct SeriesTimeline {
    pub(crate) of: TimelineOf,
    /// Slices in a point.
    pub(crate) stride: usize,
    /// Only points in which a request or journey ended.
    pub(crate) points: Vec<TimelinePoint>,
}

/// The requests or journeys that ended in some slices. Times are service times, or those of journeys. Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimelinePoint {
    /// Its slices: from `from` up to, but not including, `to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) median: f64,
    pub(crate) p90: f64,
    pub(crate) mean: f64,
    /// Parts of the times that exceed those of [`SLOW_FROM`] of the whole run, and those below its widest gap.
    pub(crate) slow: [f64; 2],
}

impl TimelineOf {
    pub(crate) fn name(&self) -> &str {
        match self {
            TimelineOf::Series(key) => &key.name,
            TimelineOf::Flow(name) => name,
        }
    }

    pub(crate) fn kind(&self) -> Option<SeriesKind> {
        match self {
            TimelineOf::Series(key) => Some(key.kind),
            TimelineOf::Flow(_) => None,
        }
    }

    /// Its times in a stretch of slices.
    pub(crate) fn times(&self, run: &Run, from: usize, to: usize) -> Histogram {
        let (mut times, mut place) = (Histogram::new(), 0);
        for slice in &run.slices[from.min(run.slices.len())..to.min(run.slices.len())] {
            match self {
                TimelineOf::Series(key) => {
                    if let Some(series) = series_of(slice, key, &mut place) {
                        times.merge(&series.service);
                    }
                }
                TimelineOf::Flow(name) => {
                    slice.flows.iter().filter(|flow| *flow.name == **name).for_each(|flow| times.merge(&flow.time));
                }
            }
        }
        times
    }
}

/// The series of a key in a slice. `place` is its index in the slice before, which is usually the same.
pub(super) fn series_of<'a>(slice: &'a Snapshot, key: &SeriesKey, place: &mut usize) -> Option<&'a SeriesSlice> {
    if slice.series.get(*place).is_none_or(|series| series.key != *key) {
        *place = slice.series.iter().position(|series| series.key == *key)?;
    }
    slice.series.get(*place)
}

/// All timelines of a run: requests, groups and scenarios in the order of the tally, then flows.
pub(super) fn of(run: &Run, tally: &RunTally) -> Vec<SeriesTimeline> {
    let slices = run.slices.len();
    let timed = tally.series().iter().filter(|series| series.merged.key.kind != SeriesKind::Check);
    let mut found: Vec<Growing> = timed
        .map(|series| Growing::new(TimelineOf::Series(series.merged.key.clone()), &series.merged.service, slices))
        .chain(tally.flows().iter().map(|flow| Growing::new(TimelineOf::Flow(flow.merged.name.to_string()), &flow.merged.time, slices)))
        .collect();
    let places: HashMap<SeriesKey, usize> = found
        .iter()
        .enumerate()
        .filter_map(|(place, growing)| match &growing.timeline.of {
            TimelineOf::Series(key) => Some((key.clone(), place)),
            TimelineOf::Flow(_) => None,
        })
        .collect();
    for (index, slice) in run.slices.iter().enumerate() {
        let series = slice.series.iter().filter(|series: &&SeriesSlice| series.key.kind != SeriesKind::Check);
        series.filter_map(|series| Some((*places.get(&series.key)?, series))).for_each(|(place, series)| {
            found[place].take(index, &series.service);
        });
        for flow in &slice.flows {
            let same = |growing: &&mut Growing| matches!(&growing.timeline.of, TimelineOf::Flow(name) if **name == *flow.name);
            found.iter_mut().filter(same).for_each(|growing| growing.take(index, &flow.time));
        }
    }
    found.into_iter().map(Growing::done).collect()
}

/// The time below the widest gap. Nanoseconds.
fn below_widest_gap(all: &Histogram) -> u64 {
    let rank = |share: f64| ((all.count() as f64 * share) as u64).clamp(1, all.count().max(1));
    let (from, to) = (rank(*GAP_WITHIN.start()), rank(*GAP_WITHIN.end()));
    if all.count() == 0 || from >= to {
        return 0;
    }
    let step = (to - from).div_ceil(EXAMINED_MAX).max(1) as usize;
    let times: Vec<u64> = (from..=to).step_by(step).map(|rank| all.value_at_rank(rank)).collect();
    let gap = |pair: &&[u64]| pair[1] as f64 / pair[0].max(1) as f64;
    times.windows(2).max_by(|a, b| gap(a).total_cmp(&gap(b))).map_or(0, |pair| pair[0])
}

/// A timeline and its last point, which is not complete yet.
struct Growing {
    timeline: SeriesTimeline,
    place: usize,
    times: Histogram,
    /// Times beyond which a request is slow. Nanoseconds.
    slow_beyond: [u64; 2],
}

impl Growing {
    fn new(of: TimelineOf, all: &Histogram, slices: usize) -> Self {
        let samples = all.count();
        let slow_beyond = [all.quantile(SLOW_FROM).unwrap_or(0), below_widest_gap(all)];
        let for_samples = (POINT_SAMPLES_MIN * slices as f64 / samples.max(1) as f64).ceil() as usize;
        let stride = for_samples.min(slices / POINTS_MIN).max(slices.div_ceil(POINTS_MAX)).max(1);
        Self { timeline: SeriesTimeline { of, stride, points: Vec::new() }, place: 0, times: Histogram::new(), slow_beyond }
    }

    fn take(&mut self, slice: usize, times: &Histogram) {
        let place = slice / self.timeline.stride;
        if place != self.place {
            self.close();
            self.place = place;
        }
        self.times.merge(times);
    }

    fn close(&mut self) {
        let at = |quantile: f64| self.times.quantile(quantile).map(|ns| ns as f64 / 1e9);
        if let (Some(median), Some(p90), Some(mean)) = (at(0.5), at(0.9), self.times.mean()) {
            let from = self.place * self.timeline.stride;
            let all = self.times.count();
            let slow = self.slow_beyond.map(|limit| (all - self.times.count_at_or_below(limit)) as f64 / all as f64);
            self.timeline.points.push(TimelinePoint { from, to: from + self.timeline.stride, median, p90, mean: mean / 1e9, slow });
        }
        self.times.clear();
    }

    fn done(mut self) -> SeriesTimeline {
        self.close();
        self.timeline
    }
}
