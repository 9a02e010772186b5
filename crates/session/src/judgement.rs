//! Judges thresholds and validity while the run goes on.

use loadstone_analysis::{LiveAnalysis, ThresholdFailure};
use loadstone_engine::StopReason;
use loadstone_metrics::Snapshot;
use loadstone_plan::TestPlan;
use loadstone_run_directory::RunInfo;

use crate::system_signals::FreshReadings;

/// What can be concluded so far.
pub(crate) struct LiveJudgement {
    live: LiveAnalysis,
}

impl LiveJudgement {
    /// `plan`: as it may be shown, as the run directory will have it.
    pub(crate) fn new(plan: &TestPlan, info: &RunInfo) -> Self {
        Self { live: LiveAnalysis::new(plan, &info.host).over(info.agents.clone()) }
    }

    /// The run so far.
    pub(crate) fn live(&self) -> &LiveAnalysis {
        &self.live
    }

    /// Takes a second and what was read meanwhile. Returns why to stop, once a threshold that asks for it has become certain to fail.
    pub(crate) fn snapshot(&mut self, readings: &FreshReadings, snapshot: &Snapshot) -> Option<StopReason> {
        let mut failed = self.readings(readings);
        failed.extend(self.live.push(snapshot));
        let abort = failed.into_iter().find(|change| change.abort)?;
        Some(StopReason::Threshold(abort.result.threshold.label))
    }

    /// Takes what was read after the last second.
    pub(crate) fn readings(&mut self, readings: &FreshReadings) -> Vec<ThresholdFailure> {
        readings.notices.iter().for_each(|notice| self.live.push_notice(notice));
        self.live.push_signals(&readings.series)
    }
}
