//! One second of one flow.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::histogram::Histogram;

/// What became known of one flow in one slice of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowSlice {
    pub name: Arc<str>,
    /// Journeys whose start became known.
    pub started: u64,
    /// Journeys that ended within the flow's timeout.
    pub finished: u64,
    /// Journeys counted as lost: the timeout passed without a finish.
    #[serde(skip_serializing_if = "is_zero")]
    pub timed_out: u64,
    /// Finishes of journeys that had been counted as lost. They remain in `timed_out`.
    #[serde(skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Repeated starts of open journeys, and repeated stages and finishes.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Keys with a stage or finish whose start was not reported in time.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmatched: u64,
    /// The part of `unmatched` that was first reported after ended journeys had been forgotten. It may repeat an event of one of those.
    #[serde(skip_serializing_if = "is_zero")]
    pub unclear: u64,
    /// Starts that were not followed, since too many journeys were open.
    #[serde(skip_serializing_if = "is_zero")]
    pub unfollowed: u64,
    /// Ended journeys that were forgotten to limit memory. A repeated finish of one counts as unmatched and unclear.
    #[serde(skip_serializing_if = "is_zero")]
    pub forgotten: u64,
    /// Open journeys, at the slice's end.
    pub backlog: u64,
    /// Age of the oldest open journey at the slice's end. 0 if none is open. Nanoseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub oldest_ns: u64,
    /// Keys with a stage or finish that wait for their start, at the slice's end.
    #[serde(skip_serializing_if = "is_zero")]
    pub early: u64,
    /// Journeys that were open when the book was closed. Only in the last slice of a run.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_open: u64,
    /// End-to-end times of `finished`.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub time: Histogram,
    /// Lower bounds: the timeout of each journey in `timed_out`, the age of each in `left_open`.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub censored: Histogram,
    /// One value per finished journey that another journey had overtaken. It is the time between its start and the latest start of a journey that
    /// finished before it.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub overtaken: Histogram,
    /// When the last of `finished` ended. 0 if none did.
    #[serde(skip_serializing_if = "is_zero")]
    pub last_finish: Nanos,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<FlowStageSlice>,
}

/// One stage of a flow in one slice of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowStageSlice {
    pub name: Arc<str>,
    /// Open journeys that have reached this stage and no later one, at the slice's end.
    pub backlog: u64,
    /// Times from a journey's start until it reached the stage. One value per journey that reached it.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub time: Histogram,
    /// Lower bounds: journeys that were lost, or open at the end of the run, without having reached the stage.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub censored: Histogram,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl FlowSlice {
    /// Adds a later slice of the same flow. Counts add up; levels are those of the later slice.
    pub fn merge(&mut self, later: &FlowSlice) {
        self.started += later.started;
        self.finished += later.finished;
        self.timed_out += later.timed_out;
        self.late += later.late;
        self.duplicates += later.duplicates;
        self.unmatched += later.unmatched;
        self.unclear += later.unclear;
        self.unfollowed += later.unfollowed;
        self.forgotten += later.forgotten;
        self.left_open += later.left_open;
        (self.backlog, self.oldest_ns, self.early) = (later.backlog, later.oldest_ns, later.early);
        self.time.merge(&later.time);
        self.censored.merge(&later.censored);
        self.overtaken.merge(&later.overtaken);
        self.last_finish = self.last_finish.max(later.last_finish);
        for theirs in &later.stages {
            match self.stages.iter_mut().find(|mine| mine.name == theirs.name) {
                Some(mine) => {
                    mine.backlog = theirs.backlog;
                    mine.time.merge(&theirs.time);
                    mine.censored.merge(&theirs.censored);
                }
                None => self.stages.push(theirs.clone()),
            }
        }
    }

    pub(crate) fn each_histogram(&mut self, mut visit: impl FnMut(&mut Histogram)) {
        [&mut self.time, &mut self.censored, &mut self.overtaken].into_iter().for_each(&mut visit);
        for stage in &mut self.stages {
            visit(&mut stage.time);
            visit(&mut stage.censored);
        }
    }
}
