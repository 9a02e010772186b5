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
    /// Journeys given up as lost: the timeout passed without a finish.
    #[serde(skip_serializing_if = "is_zero")]
    pub timed_out: u64,
    /// Finishes of journeys that had been given up; they stay counted in `timed_out`.
    #[serde(skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Starts of open journeys, and stages and finishes that had been seen before.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Keys with a stage or finish whose start never came (nor in the time that it had).
    #[serde(skip_serializing_if = "is_zero")]
    pub unmatched: u64,
    /// Of `unmatched`: heard of when journeys had been forgotten already, so it may have been a repeat for one of those.
    #[serde(skip_serializing_if = "is_zero")]
    pub unclear: u64,
    /// Starts that could not be followed: too many journeys were open.
    #[serde(skip_serializing_if = "is_zero")]
    pub unfollowed: u64,
    /// Ended journeys that were forgotten to stay within memory; a repeated finish of one counts as unmatched, and unclear.
    #[serde(skip_serializing_if = "is_zero")]
    pub forgotten: u64,
    /// Open journeys, at the slice's end.
    pub backlog: u64,
    /// Age of the oldest open journey at the slice's end; 0 when none is open. Nanoseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub oldest_ns: u64,
    /// Keys with a stage or finish that wait for their start, at the slice's end.
    #[serde(skip_serializing_if = "is_zero")]
    pub early: u64,
    /// Open when the book was closed; only in the last slice of a run.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_open: u64,
    /// End-to-end times of `finished`.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub time: Histogram,
    /// Lower bounds: the timeout of each of `timed_out`, the age of each of `left_open`.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub censored: Histogram,
    /// One value per finished journey that another had overtaken: how much later the latest-started one that finished before it
    /// had started.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub overtaken: Histogram,
    /// When the last of `finished` ended; 0 when none did.
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
    /// Times from a journey's start until it reached the stage; one value per journey that did.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub time: Histogram,
    /// Lower bounds: journeys given up, or open at the end of the run, that had not reached it.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub censored: Histogram,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl FlowSlice {
    /// Adds a later slice of the same flow: counts add up, levels are the later ones.
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
