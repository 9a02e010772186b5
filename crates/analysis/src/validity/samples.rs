//! Are there enough samples for the percentiles that thresholds judge?

use super::check::{CheckInfo, CheckInput};
use crate::statistics::{SAMPLES_BEYOND_MIN, samples_beyond, samples_needed};
use crate::{Grade, ValidityCheck};
use loadstone_plan::{Aggregate, Window};

const INFO: CheckInfo = CheckInfo {
    id: "samples",
    title: "Samples behind thresholds",
    limits: "a warning, never a grade: fewer than 10 samples lie beyond a percentile that a threshold judges over the whole run",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let mut judged = 0;
    for (threshold, samples) in input.plan.thresholds.iter().zip(input.threshold_samples) {
        let (Aggregate::Quantile(quantile), Window::WholeRun) = (threshold.aggregate, threshold.window) else { continue };
        let Some(samples) = *samples else { continue };
        judged += 1;
        if quantile >= 0.5 && samples > 0 && samples_beyond(samples, quantile) < SAMPLES_BEYOND_MIN {
            let needed = samples_needed(quantile).max((SAMPLES_BEYOND_MIN as f64 / (1.0 - quantile)).ceil() as u64);
            let evidence = format!(
                "`{}` has {} samples; {} needs {}",
                threshold.label,
                loadstone_units::count(samples),
                loadstone_units::percentile(quantile),
                loadstone_units::count(needed)
            );
            return INFO.with(Some(Grade::Valid), evidence, "Run longer or at a higher rate, or judge a lower percentile.");
        }
    }
    match judged {
        0 => INFO.nothing("no threshold judges a percentile"),
        _ => INFO.graded(Grade::Valid, "every percentile that a threshold judges has at least 10 samples beyond it", ""),
    }
}
