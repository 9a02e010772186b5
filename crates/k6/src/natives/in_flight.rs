//! A request in progress.

use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome, Phases, Sample, SeriesId};

use crate::turn::VuState;

/// A request in progress. If it is dropped before its end, it counts as interrupted.
pub(super) struct InFlight {
    vu: Rc<VuState>,
    series: SeriesId,
    due: Option<Nanos>,
    began: Nanos,
    ended: bool,
}

impl InFlight {
    pub(super) fn begin(vu: Rc<VuState>, series: SeriesId, due: Option<Nanos>) -> Self {
        let began = vu.worker.clock.now();
        vu.worker.recorder_at_end().request_began(began);
        Self { vu, series, due, began, ended: false }
    }

    /// The exchange starts at this instant too, so a pause of this process in between counts on both sides of the check of requests in flight.
    pub(super) fn began(&self) -> Nanos {
        self.began
    }

    pub(super) fn end(mut self, at: Nanos) {
        self.ended = true;
        self.vu.worker.recorder_at_end().request_ended(at);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let now = self.vu.worker.clock.now();
        let sample = Sample {
            scheduled: self.due.unwrap_or(self.began),
            started: self.began,
            ended: now,
            phases: Phases::default(),
            outcome: Outcome::Interrupted,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        let mut recorder = self.vu.worker.recorder_at_end();
        recorder.request_ended(now);
        recorder.record(self.series, &sample);
    }
}
