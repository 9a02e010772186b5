//! Exit codes of k6 for `--k6-exit-codes`.

use loadstone_analysis::{Summary, ThresholdState};
use loadstone_engine::{LoadEnding, StopReason};
use loadstone_plan::Threshold;

use crate::exit::Exit;

/// What the script did to its run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScriptActions {
    /// It called `exec.test.abort()`.
    pub(crate) aborted: bool,
    /// It called `exec.test.fail()`.
    pub(crate) marked_failed: bool,
    /// Its `teardown` ended with an error.
    pub(crate) tear_down_threw: bool,
    /// Its `setup` or `teardown` was interrupted.
    pub(crate) set_up_cut_off: bool,
    pub(crate) tear_down_cut_off: bool,
}

/// The code of a run. As in k6, an invalid measurement and an unreachable target are no failures, and only `declared` thresholds can fail.
pub(crate) fn of_run(exit: Exit, ending: &LoadEnding, summary: &Summary, declared: &[Threshold], script: ScriptActions) -> Exit {
    let mut of_test = summary.verdict.thresholds.iter().filter(|result| declared.contains(&result.threshold));
    match ending {
        _ if script.aborted => Exit::K6ScriptAborted,
        LoadEnding::Stopped(StopReason::User) => Exit::K6ExternalAbort,
        LoadEnding::Stopped(StopReason::SetUp(_)) if script.set_up_cut_off => Exit::K6SetUpTimedOut,
        LoadEnding::Stopped(StopReason::SetUp(_) | StopReason::Script(_)) => Exit::K6ScriptException,
        _ if script.tear_down_cut_off => Exit::K6TearDownTimedOut,
        _ if script.tear_down_threw => Exit::K6ScriptException,
        // k6 has no undecided threshold: one that does not hold has failed.
        _ if of_test.any(|result| result.state != ThresholdState::Passed) => Exit::K6ThresholdsFailed,
        _ if script.marked_failed => Exit::K6MarkedAsFailed,
        _ if matches!(exit, Exit::Invalid | Exit::Unreachable | Exit::ThresholdsFailed) => Exit::Passed,
        _ => exit,
    }
}
