//! Was the measurement valid? One check per file, each a pure function of what the generator recorded about itself.
//!
//! Read [`judge`] first. Formulas, limits and why they stand where they stand: docs/validity.md.

mod clock_drift;
mod connecting;
mod conservation;
mod exhaustion;
mod in_flight;
mod lateness;
mod observers;
mod offered_rate;
mod read_lag;
mod run_queue;
mod samples;
mod schedule_lag;
mod series;
mod slices;
mod stalls;
mod steady;
mod throttling;
mod users;
mod worker_busy;

use metrics::{SeriesKind, SignalNotice};
use plan::TestPlan;
use run_directory::{HostFacts, RunEnd};

use crate::{Grade, Tally, TimeStats, Validity, ValidityCheck};

/// What the checks look at.
pub(crate) struct Ground<'a> {
    pub(crate) plan: &'a TestPlan,
    pub(crate) host: &'a HostFacts,
    pub(crate) tally: &'a Tally,
    /// What befell the observers.
    pub(crate) notices: &'a [SignalNotice],
    /// Response times of all requests.
    pub(crate) response: &'a TimeStats,
    pub(crate) stage: RunStage<'a>,
}

/// Where the run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RunStage<'a> {
    /// More slices will follow; what only holds at the end is not judged.
    Running,
    /// `None`: killed.
    Over(Option<&'a RunEnd>),
}

/// In the order in which they are shown.
const CHECKS: [fn(&Ground<'_>) -> ValidityCheck; 19] = [
    offered_rate::check,
    users::open,
    users::closed,
    schedule_lag::check,
    read_lag::check,
    worker_busy::check,
    run_queue::check,
    throttling::check,
    stalls::check,
    in_flight::check,
    conservation::check,
    exhaustion::check,
    connecting::check,
    clock_drift::check,
    samples::check,
    series::check,
    slices::check,
    steady::check,
    observers::check,
];

/// Applies every check; the worst grade is the verdict.
pub(crate) fn judge(ground: &Ground<'_>) -> Validity {
    let checks: Vec<ValidityCheck> = CHECKS.iter().map(|check| check(ground)).collect();
    let grade = checks.iter().filter_map(|check| check.grade).max().unwrap_or(Grade::Valid);
    Validity { grade, checks }
}

impl Ground<'_> {
    /// The highest percentile that the run can show, to hold disturbances against: `("p99", 0.99, seconds)`, or the maximum when there
    /// are too few samples for any.
    pub(crate) fn tail(&self, highest: f64) -> Option<(String, f64, f64)> {
        let shown = self.response.percentiles.iter().rev().filter(|p| p.quantile <= highest + 1e-9);
        shown
            .filter_map(|p| Some((units::percentile(p.quantile), p.quantile, p.value?)))
            .find(|(_, quantile, _)| *quantile >= 0.9)
            .or_else(|| Some(("maximum".to_owned(), 1.0 - 1.0 / self.response.count.max(2) as f64, self.response.max?)))
    }

    pub(crate) fn scenario(&self, leaf: u32) -> &str {
        let leaves = self.plan.load.leaves();
        let name = leaves.get(leaf as usize).and_then(|run| self.plan.scenarios.get(run.scenario.0 as usize));
        name.map_or("?", |scenario| &scenario.name)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.tally.of_kind(SeriesKind::Request).map(|series| series.merged.count).sum()
    }
}

/// What is the same in every result of one check.
struct Sheet {
    id: &'static str,
    title: &'static str,
    limits: &'static str,
}

impl Sheet {
    fn nothing(&self, evidence: impl Into<String>) -> ValidityCheck {
        self.with(None, evidence.into(), "")
    }

    /// The advice is left out when the grade is fine.
    fn graded(&self, grade: Grade, evidence: impl Into<String>, advice: &str) -> ValidityCheck {
        self.with(Some(grade), evidence.into(), if grade == Grade::Valid { "" } else { advice })
    }

    fn with(&self, grade: Option<Grade>, evidence: String, advice: &str) -> ValidityCheck {
        ValidityCheck {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            grade,
            evidence,
            limits: self.limits.to_owned(),
            advice: advice.to_owned(),
        }
    }
}

/// Grades a value that is better when smaller.
fn grade_of(value: f64, suspect: f64, invalid: f64) -> Grade {
    if value > invalid {
        Grade::Invalid
    } else if value > suspect {
        Grade::Suspect
    } else {
        Grade::Valid
    }
}
