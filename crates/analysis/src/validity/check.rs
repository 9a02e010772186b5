//! What a validity check is given, and how it says its result.

use loadstone_metrics::{SeriesKind, SignalNotice};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{AgentInfo, HostFacts, RunEnd};

use crate::doubt::JudgedPercentile;
use crate::{Grade, RunTally, ThresholdResult, TimeStats, ValidityCheck};

/// What the checks look at.
pub(crate) struct CheckInput<'a> {
    pub(crate) plan: &'a TestPlan,
    pub(crate) host: &'a HostFacts,
    /// Those that made the load, by number; none where it was this machine.
    pub(crate) agents: &'a [AgentInfo],
    pub(crate) tally: &'a RunTally,
    /// What happened to the observers.
    pub(crate) notices: &'a [SignalNotice],
    /// Response times of all requests.
    pub(crate) response: &'a TimeStats,
    /// Per threshold on times: the samples that it rests on. `None` for what is not a time.
    pub(crate) threshold_samples: &'a [Option<u64>],
    /// What a reader looks at first, with what the generator may have added.
    pub(crate) judged: &'a [JudgedPercentile],
    /// Empty while the run goes on.
    pub(crate) thresholds: &'a [ThresholdResult],
    /// Labels of the thresholds that cannot be decided for the generator's sake.
    pub(crate) undecided: &'a [String],
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

impl CheckInput<'_> {
    /// The highest percentile that the run can show, to hold disturbances against: `("p99", 0.99, seconds)`, or the maximum when there
    /// are too few samples for any.
    pub(super) fn tail(&self, highest: f64) -> Option<(String, f64, f64)> {
        let shown = self.response.percentiles.iter().rev().filter(|p| p.quantile <= highest + 1e-9);
        shown
            .filter_map(|p| Some((loadstone_units::percentile(p.quantile), p.quantile, p.value?)))
            .find(|(_, quantile, _)| *quantile >= 0.9)
            .or_else(|| Some(("maximum".to_owned(), 1.0 - 1.0 / self.response.count.max(2) as f64, self.response.max?)))
    }

    /// A worker, and whose it is: so much of the load may have been touched by what befell it.
    pub(super) fn worker(&self, number: u32) -> String {
        let is_whose = |agent: &&AgentInfo| (agent.first_worker..agent.first_worker + agent.workers).contains(&number);
        let all: u32 = self.agents.iter().map(|agent| agent.workers).sum();
        match self.agents.iter().find(is_whose) {
            Some(AgentInfo { name, workers, .. }) => {
                format!(
                    "worker {number}, of agent {name} ({} of the load's workers),",
                    loadstone_units::share(f64::from(*workers) / f64::from(all))
                )
            }
            None => format!("worker {number}"),
        }
    }

    /// An agent as people know it.
    pub(super) fn agent(&self, number: u32) -> String {
        self.agents.get(number as usize).map_or_else(|| (number + 1).to_string(), |agent| agent.name.clone())
    }

    pub(super) fn scenario(&self, leaf: u32) -> &str {
        let leaves = self.plan.load.leaves();
        let name = leaves.get(leaf as usize).and_then(|run| self.plan.scenarios.get(run.scenario.0 as usize));
        name.map_or("?", |scenario| &scenario.name)
    }

    pub(super) fn requests(&self) -> u64 {
        self.tally.of_kind(SeriesKind::Request).map(|series| series.merged.count).sum()
    }
}

/// What is the same in all results of one check.
pub(super) struct CheckInfo {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) limits: &'static str,
}

impl CheckInfo {
    pub(super) fn nothing(&self, evidence: impl Into<String>) -> ValidityCheck {
        self.with(None, evidence.into(), "")
    }

    /// What a doubt is explained with, and nothing is graded by. The advice is given where it is `worth_a_look`.
    pub(super) fn evidence(&self, worth_a_look: bool, evidence: impl Into<String>, advice: &str) -> ValidityCheck {
        self.with(None, evidence.into(), if worth_a_look { advice } else { "" })
    }

    /// The advice is left out when the grade is fine.
    pub(super) fn graded(&self, grade: Grade, evidence: impl Into<String>, advice: &str) -> ValidityCheck {
        self.with(Some(grade), evidence.into(), if grade == Grade::Valid { "" } else { advice })
    }

    pub(super) fn with(&self, grade: Option<Grade>, evidence: String, advice: &str) -> ValidityCheck {
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

/// The grade of a value that is better the smaller it is.
pub(super) fn grade_of(value: f64, suspect: f64, invalid: f64) -> Grade {
    if value > invalid {
        Grade::Invalid
    } else if value > suspect {
        Grade::Suspect
    } else {
        Grade::Valid
    }
}
