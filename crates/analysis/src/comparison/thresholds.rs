//! Thresholds that one run passed and the other failed.
//!
//! A single event, such as one lock that stops the system for ten seconds, gives no interval of *how much* slower the candidate is. That a
//! threshold of the test was met before and is not met now is certain nevertheless: each run's threshold is decided by its own interval.

use super::model::{Side, ThresholdMove};
use crate::{ThresholdResult, ThresholdState};

/// In the order of the candidate's thresholds.
pub(super) fn moves(baseline: &[ThresholdResult], candidate: &[ThresholdResult]) -> Vec<ThresholdMove> {
    let of = |new: &ThresholdResult| {
        let old = baseline.iter().find(|old| old.threshold.label == new.threshold.label)?;
        let failed = match (old.state, new.state) {
            (ThresholdState::Passed, ThresholdState::Failed) => Side::Candidate,
            (ThresholdState::Failed, ThresholdState::Passed) => Side::Baseline,
            _ => return None,
        };
        Some(ThresholdMove { label: new.threshold.label.clone(), failed, detail: new.detail.clone() })
    };
    candidate.iter().filter_map(of).collect()
}
