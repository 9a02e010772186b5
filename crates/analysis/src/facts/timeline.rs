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
        .map(|series| Growing::new(TimelineOf::Series(series.merged.key.clone()), series.merged.service.count(), slices))
        .chain(tally.flows().iter().map(|flow| Growing::new(TimelineOf::Flow(flow.merged.name.to_string()), flow.merged.finished, slices)))
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

/// A timeline and its last point, which is not complete yet.
struct Growing {
    timeline: SeriesTimeline,
    place: usize,
    times: Histogram,
}

impl Growing {
    fn new(of: TimelineOf, samples: u64, slices: usize) -> Self {
        let for_samples = (POINT_SAMPLES_MIN * slices as f64 / samples.max(1) as f64).ceil() as usize;
        let stride = for_samples.min(slices / POINTS_MIN).max(slices.div_ceil(POINTS_MAX)).max(1);
        Self { timeline: SeriesTimeline { of, stride, points: Vec::new() }, place: 0, times: Histogram::new() }
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
            self.timeline.points.push(TimelinePoint { from, to: from + self.timeline.stride, median, p90, mean: mean / 1e9 });
        }
        self.times.clear();
    }

    fn done(mut self) -> SeriesTimeline {
        self.close();
        self.timeline
    }
}
