//! The spark lines in the table of requests: mean response time over the run.
//!
//! The mean, not a percentile, because it merges from a sum and a count. A line per request costs 60 numbers, not 60 histograms.

use std::collections::HashMap;

use loadstone_metrics::{SeriesKey, SeriesKind, Snapshot};

use super::round;

/// Maximum number of points of a spark line.
const POINTS_MAX: usize = 60;

#[derive(Debug, Clone, Copy, Default)]
struct SparkPoint {
    sum_ns: u128,
    count: u64,
}

/// Mean response time per step, by request series. The step length doubles as the run grows, like that of the timeline.
#[derive(Debug)]
pub(crate) struct Sparks {
    step_seconds: u32,
    points: usize,
    series: HashMap<SeriesKey, Vec<SparkPoint>>,
}

impl Sparks {
    pub(crate) fn new() -> Self {
        Self { step_seconds: 1, points: 0, series: HashMap::new() }
    }

    pub(crate) fn push(&mut self, slice: &Snapshot) {
        while (slice.slice / self.step_seconds) as usize >= POINTS_MAX {
            self.coarsen();
        }
        let index = (slice.slice / self.step_seconds) as usize;
        self.points = self.points.max(index + 1);
        for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
            if !self.series.contains_key(&series.key) {
                self.series.insert(series.key.clone(), Vec::new());
            }
            let Some(line) = self.series.get_mut(&series.key) else { continue };
            if line.len() <= index {
                line.resize(index + 1, SparkPoint::default());
            }
            line[index].sum_ns += series.response.sum();
            line[index].count += series.response.count();
        }
    }

    fn coarsen(&mut self) {
        self.step_seconds *= 2;
        self.points = self.points.div_ceil(2);
        for line in self.series.values_mut() {
            let sum = |pair: &[SparkPoint]| {
                pair.iter().fold(SparkPoint::default(), |a, b| SparkPoint { sum_ns: a.sum_ns + b.sum_ns, count: a.count + b.count })
            };
            *line = line.chunks(2).map(sum).collect();
        }
    }

    /// The line of one request in seconds, with gaps where none ended. Empty for an unknown request.
    pub(crate) fn line(&self, key: &SeriesKey) -> Vec<Option<f64>> {
        let Some(line) = self.series.get(key) else { return Vec::new() };
        let mean = |point: Option<&SparkPoint>| {
            point.filter(|point| point.count > 0).map(|point| round(point.sum_ns as f64 / point.count as f64 / 1e9))
        };
        (0..self.points).map(|index| mean(line.get(index))).collect()
    }
}
