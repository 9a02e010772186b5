//! The journeys of a run in numbers. Definitions: docs/metrics.md, "Flows".

use std::sync::Arc;

use loadstone_metrics::{FlowSlice, Histogram, Nanos, Snapshot};
use serde::{Deserialize, Serialize};

use crate::percentile::flow_stats;
use crate::time_stats::TimeStats;

/// One flow over the whole run.
#[derive(Debug, Clone, Default)]
pub struct FlowTally {
    /// Counts of the whole run; backlogs of the last slice.
    pub merged: FlowSlice,
    pub backlog_max: u64,
    /// End of the slice with `backlog_max`.
    pub backlog_max_at: Nanos,
    /// The longest time that any journey had been open at the end of a slice.
    pub oldest_max_ns: u64,
    pub oldest_max_at: Nanos,
    /// Backlog at the end of the slice in which the load ended.
    pub open_at_load_end: Option<u64>,
    /// By stage, in the order of `merged.stages`.
    pub stage_backlog_max: Vec<u64>,
    /// Start of the first and end of the last slice in which a journey started.
    started_span: Option<(Nanos, Nanos)>,
    finished_span: Option<(Nanos, Nanos)>,
}

/// A flow in the summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FlowRow {
    pub name: String,
    pub started: u64,
    pub finished: u64,
    /// Journeys whose timeout passed before they finished.
    pub timed_out: u64,
    /// Open at the end of the last slice.
    pub open: u64,
    /// Finishes after the timeout.
    pub late: u64,
    pub duplicates: u64,
    /// Keys that finished or reached a stage without a start.
    pub unmatched: u64,
    /// Part of `unmatched`: keys that may be repeats of forgotten journeys.
    #[serde(default)]
    pub unclear: u64,
    /// Starts beyond the limit on open journeys.
    pub unfollowed: u64,
    /// Ended journeys that were discarded because of the limit on remembered journeys.
    pub forgotten: u64,
    /// Per second, from the first to the last slice in which any started, or finished.
    pub start_rate: f64,
    pub finish_rate: f64,
    /// Count, mean and extremes are of `finished`; percentiles are of all that started.
    pub time: TimeStats,
    pub stages: Vec<FlowStageRow>,
    pub backlog_max: u64,
    pub backlog_max_at_seconds: f64,
    /// The longest time that any journey had been open at the end of a second. Seconds.
    pub oldest_max: f64,
    pub oldest_max_at_seconds: f64,
    /// Finished journeys that were overtaken by one that started later.
    pub overtaken: u64,
    /// `overtaken` / `finished`; 0 when none finished.
    pub overtaken_share: f64,
    /// The largest difference between the start of an overtaken journey and the start of the journey that overtook it. Seconds.
    pub overtaken_worst: Option<f64>,
    /// The journeys that were open when the load ended; `None` when the run ended with its load.
    pub drain: Option<FlowDrain>,
}

/// The journeys after the end of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FlowDrain {
    pub load_end_seconds: f64,
    /// At the end of the second in which the load ended.
    pub open: u64,
    /// From the end of the load to the last finish; `None` when journeys remained open.
    pub seconds: Option<f64>,
    /// Open when the run ended.
    pub left: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FlowStageRow {
    pub name: String,
    /// Journeys that reached it.
    pub reached: u64,
    /// Open journeys that have reached this stage and no later one, at the end of the last slice.
    pub backlog: u64,
    pub backlog_max: u64,
    /// From a journey's start until it reached the stage.
    pub time: TimeStats,
}

impl FlowTally {
    pub(crate) fn of(name: &Arc<str>) -> Self {
        Self { merged: FlowSlice { name: Arc::clone(name), ..FlowSlice::default() }, ..Self::default() }
    }

    pub(crate) fn push(&mut self, flow: &FlowSlice, slice: &Snapshot, load_end: Option<Nanos>) {
        self.merged.merge(flow);
        if flow.backlog > self.backlog_max {
            (self.backlog_max, self.backlog_max_at) = (flow.backlog, slice.end);
        }
        if flow.oldest_ns > self.oldest_max_ns {
            (self.oldest_max_ns, self.oldest_max_at) = (flow.oldest_ns, slice.end);
        }
        if load_end.is_some() && self.open_at_load_end.is_none() {
            self.open_at_load_end = Some(flow.backlog);
        }
        self.stage_backlog_max.resize(self.merged.stages.len(), 0);
        for (max, stage) in self.stage_backlog_max.iter_mut().zip(&flow.stages) {
            *max = (*max).max(stage.backlog);
        }
        for (span, count) in [(&mut self.started_span, flow.started), (&mut self.finished_span, flow.finished)] {
            if count > 0 {
                *span = Some((span.map_or(slice.start, |(start, _)| start), slice.end));
            }
        }
    }

    /// Lower bounds of the times of all journeys that did not finish. The record of a run that was killed or is in progress does not have
    /// the age of open journeys: their lower bound is 0.
    fn unfinished(&self, known: &Histogram, unknown: u64) -> Histogram {
        let mut bounds = known.clone();
        bounds.record_n(0, unknown);
        bounds
    }

    pub(crate) fn row(&self, load_end: Option<Nanos>) -> FlowRow {
        let flow = &self.merged;
        let unknown = flow.backlog.saturating_sub(flow.left_open);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let rate = |count: u64, span: Option<(Nanos, Nanos)>| {
            span.filter(|(start, end)| end > start).map_or(0.0, |(start, end)| count as f64 / seconds(end - start))
        };
        FlowRow {
            name: flow.name.to_string(),
            started: flow.started,
            finished: flow.finished,
            timed_out: flow.timed_out,
            open: flow.backlog,
            late: flow.late,
            duplicates: flow.duplicates,
            unmatched: flow.unmatched,
            unclear: flow.unclear,
            unfollowed: flow.unfollowed,
            forgotten: flow.forgotten,
            start_rate: rate(flow.started, self.started_span),
            finish_rate: rate(flow.finished, self.finished_span),
            time: flow_stats(&flow.time, &self.unfinished(&flow.censored, unknown)),
            stages: self.stages(unknown),
            backlog_max: self.backlog_max,
            backlog_max_at_seconds: seconds(self.backlog_max_at),
            oldest_max: seconds(self.oldest_max_ns),
            oldest_max_at_seconds: seconds(self.oldest_max_at),
            overtaken: flow.overtaken.count(),
            overtaken_share: if flow.finished > 0 { flow.overtaken.count() as f64 / flow.finished as f64 } else { 0.0 },
            overtaken_worst: (!flow.overtaken.is_empty()).then(|| seconds(flow.overtaken.max())),
            drain: load_end.map(|load_end| FlowDrain {
                load_end_seconds: seconds(load_end),
                open: self.open_at_load_end.unwrap_or(0),
                seconds: (flow.backlog == 0).then(|| seconds(flow.last_finish.saturating_sub(load_end))),
                left: flow.backlog,
            }),
        }
    }

    fn stages(&self, unknown: u64) -> Vec<FlowStageRow> {
        // Of the open journeys whose age is unknown, those at this stage or a later one have reached it.
        let backlogs: Vec<u64> = self.merged.stages.iter().map(|stage| stage.backlog).collect();
        let row = |(index, stage): (usize, &loadstone_metrics::FlowStageSlice)| {
            let not_reached = unknown.saturating_sub(backlogs[index..].iter().sum());
            FlowStageRow {
                name: stage.name.to_string(),
                reached: stage.time.count(),
                backlog: stage.backlog,
                backlog_max: self.stage_backlog_max.get(index).copied().unwrap_or(0),
                time: flow_stats(&stage.time, &self.unfinished(&stage.censored, not_reached)),
            }
        };
        self.merged.stages.iter().enumerate().map(row).collect()
    }
}
