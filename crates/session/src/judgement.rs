//! Judges thresholds and validity during the run.

use loadstone_analysis::{LiveAnalysis, ThresholdFailure};
use loadstone_engine::StopReason;
use loadstone_metrics::Snapshot;
use loadstone_plan::TestPlan;
use loadstone_run_directory::RunInfo;

use crate::system_signals::FreshReadings;

/// The conclusions so far.
pub(crate) struct LiveJudgement {
    live: LiveAnalysis,
}

impl LiveJudgement {
    /// `plan`: with secrets masked, as in the run directory.
    pub(crate) fn new(plan: &TestPlan, info: &RunInfo) -> Self {
        Self { live: LiveAnalysis::new(plan, &info.host).over(info.agents.clone()) }
    }

    /// The run so far.
    pub(crate) fn live(&self) -> &LiveAnalysis {
        &self.live
    }

    /// Adds a second and its readings. Returns why to stop, once a threshold with early stop is certain to fail.
    pub(crate) fn snapshot(&mut self, readings: &FreshReadings, snapshot: &Snapshot) -> Option<StopReason> {
        let mut failed = self.readings(readings);
        failed.extend(self.live.push(snapshot));
        let abort = failed.into_iter().find(|change| change.abort)?;
        Some(StopReason::Threshold(abort.result.threshold.label))
    }

    /// Adds the readings after the last second.
    pub(crate) fn readings(&mut self, readings: &FreshReadings) -> Vec<ThresholdFailure> {
        readings.notices.iter().for_each(|notice| self.live.push_notice(notice));
        self.live.push_signals(&readings.series)
    }
}
