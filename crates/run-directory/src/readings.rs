//! Readings of observers from disk: all of them, or, for a long run, one for each step.

use std::collections::HashSet;

use loadstone_metrics::{SignalKind, SignalPoint};
use loadstone_plan::{Metric, TestPlan};

use crate::SignalSeries;

/// Adds readings to their series. A step has one reading at the instant of its last one: the mean of a level, the last value of a total.
#[derive(Debug)]
pub(crate) struct Readings {
    step_ns: u64,
    /// Signals of a threshold, whose extremes must be kept.
    exact: HashSet<String>,
    /// By series: whether its readings are aggregated, and the number of readings in the last aggregate.
    joined: Vec<(bool, u32)>,
}

impl Readings {
    pub(crate) fn all() -> Self {
        Self { step_ns: 0, exact: HashSet::new(), joined: Vec::new() }
    }

    pub(crate) fn in_steps(seconds: u32, plan: &TestPlan) -> Self {
        let named = plan.thresholds.iter().filter_map(|threshold| match &threshold.metric {
            Metric::Signal { name } => Some(name.clone()),
            _ => None,
        });
        Self { step_ns: u64::from(seconds) * 1_000_000_000, exact: named.collect(), joined: Vec::new() }
    }

    /// `id`: position of the series.
    pub(crate) fn add(&mut self, id: usize, series: &mut SignalSeries, point: SignalPoint) {
        while self.joined.len() <= id {
            self.joined.push((self.step_ns > 0 && !self.exact.contains(&series.signal.name), 0));
        }
        let (joins, count) = &mut self.joined[id];
        match series.points.last_mut() {
            Some(last) if *joins && last.at / self.step_ns == point.at / self.step_ns => {
                *count += 1;
                last.at = last.at.max(point.at);
                last.value = match series.signal.kind {
                    SignalKind::Gauge => last.value + (point.value - last.value) / f64::from(*count),
                    SignalKind::Counter => point.value,
                };
            }
            _ => {
                series.points.push(point);
                *count = 1;
            }
        }
    }
}
