//! The traces of a run, as read from disk.

use loadstone_metrics::span::{KeptFor, KeptTrace, SpanPath, TraceSlice};

/// Traces kept of one request for one reason.
const KEPT_MAX: usize = 5;

/// All of a run's traces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunTraces {
    /// By number.
    pub paths: Vec<SpanPath>,
    /// In order, one for each stretch.
    pub slices: Vec<TraceSlice>,
    /// For each request: the slowest traces, the first failed ones, and a random sample.
    pub kept: Vec<KeptTrace>,
}

impl RunTraces {
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// Adds a slice to its stretch of `step_seconds`.
    pub fn add(&mut self, mut slice: TraceSlice, step_seconds: u32) {
        if step_seconds > slice.seconds {
            (slice.second, slice.seconds) = (slice.second / step_seconds * step_seconds, step_seconds);
        }
        match self.slices.binary_search_by_key(&slice.second, |mine| mine.second) {
            Ok(place) => self.slices[place].merge(&slice),
            Err(place) => self.slices.insert(place, slice),
        }
    }

    /// Adds a kept trace, which may replace another one.
    pub fn keep(&mut self, trace: KeptTrace) {
        let is_like = |other: &KeptTrace| (other.kept_for, &other.scenario, &other.name) == (trace.kept_for, &trace.scenario, &trace.name);
        let alike = self.kept.iter().filter(|other| is_like(other)).count();
        if alike < KEPT_MAX {
            self.kept.push(trace);
            return;
        }
        // Keeps the slowest of the slow traces, the smallest ids of the sample, which are random, and the first failures.
        let weight = |trace: &KeptTrace| match trace.kept_for {
            KeptFor::Slow => trace.total_ns,
            KeptFor::Sample => u64::MAX - trace.trace.halves().1,
            KeptFor::Failed => 0,
        };
        let least = self.kept.iter_mut().filter(|other| is_like(other)).min_by_key(|other| weight(other));
        if let Some(least) = least.filter(|least| weight(least) < weight(&trace)) {
            *least = trace;
        }
    }
}
