//! The input of a validity check, and the construction of its result.

use loadstone_metrics::{SeriesKind, SignalNotice};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{AgentInfo, HostFacts, RunEnd};

use crate::uncertainty::JudgedPercentile;
use crate::{CheckLevel, Grade, RunTally, ThresholdResult, TimeStats, ValidityCheck};

/// The data that the checks examine.
pub(crate) struct CheckInput<'a> {
    pub(crate) plan: &'a TestPlan,
    pub(crate) host: &'a HostFacts,
    /// The agents that generated the load, by number; empty when this machine generated it.
    pub(crate) agents: &'a [AgentInfo],
    pub(crate) tally: &'a RunTally,
    /// Events of the observers: failures, recoveries and lost readings.
    pub(crate) notices: &'a [SignalNotice],
    /// Response times of all requests.
    pub(crate) response: &'a TimeStats,
    /// For each threshold on times, the number of samples that it uses. `None` for metrics that are not times.
    pub(crate) threshold_samples: &'a [Option<u64>],
    /// The percentiles that the reports show first, with the time that the generator may have added to them.
    pub(crate) judged: &'a [JudgedPercentile],
    /// Empty while the run is in progress.
    pub(crate) thresholds: &'a [ThresholdResult],
    /// Labels of the thresholds that cannot be decided because of the generator.
    pub(crate) undecided: &'a [String],
    /// Whether the target's machine shows that connections waited to be accepted: then lost attempts are the target's answer.
    pub(crate) accepts_late: bool,
    pub(crate) stage: RunStage<'a>,
}

/// The state of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RunStage<'a> {
    /// More slices will follow. Conditions that only hold at the end are not checked.
    Running,
    /// `None`: the run was killed.
    Over(Option<&'a RunEnd>),
}

impl CheckInput<'_> {
    /// The highest percentile that the run can show, as the scale for disturbances: `("p99", 0.99, seconds)`, or the maximum when there are
    /// too few samples for any percentile.
    pub(super) fn tail(&self, highest: f64) -> Option<(String, f64, f64)> {
        let shown = self.response.percentiles.iter().rev().filter(|p| p.quantile <= highest + 1e-9);
        shown
            .filter_map(|p| Some((loadstone_units::percentile(p.quantile), p.quantile, p.value?)))
            .find(|(_, quantile, _)| *quantile >= 0.9)
            .or_else(|| Some(("maximum".to_owned(), 1.0 - 1.0 / self.response.count.max(2) as f64, self.response.max?)))
    }

    /// The worker and its agent, with the share of the load's workers that the agent runs: this much of the load may be affected.
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

    /// The agent's name, or its number counted from 1 when it has none.
    pub(super) fn agent(&self, number: u32) -> String {
        self.agents.get(number as usize).map_or_else(|| (number + 1).to_string(), |agent| agent.name.clone())
    }

    /// Whether a worker's kernel lacks counters, so that their zeros mean nothing (macOS).
    pub(super) fn lacks_kernel_counters(&self) -> bool {
        self.tally.workers().iter().any(|worker| worker.lacks_kernel_counters)
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

/// The parts that all results of one check have in common.
pub(super) struct CheckInfo {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) limits: &'static str,
}

impl CheckInfo {
    pub(super) fn nothing(&self, evidence: impl Into<String>) -> ValidityCheck {
        self.with(None, evidence.into(), "")
    }

    /// A check whose counters the kernel lacks: no statement about them, and where they exist.
    pub(super) fn not_examined(&self, counters: &str) -> ValidityCheck {
        self.nothing(format!("not examined: macOS does not count {counters}; generate the load on Linux to check it"))
    }

    /// Evidence that explains an uncertainty, without a grade. The result has the advice only when it `is_notable`.
    pub(super) fn evidence(&self, is_notable: bool, evidence: impl Into<String>, advice: &str) -> ValidityCheck {
        self.with(None, evidence.into(), if is_notable { advice } else { "" })
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
            levels: Vec::new(),
        }
    }
}

impl ValidityCheck {
    /// Adds a number of its evidence that a chart shows.
    pub(super) fn at_level(mut self, series: &str, label: &'static str, value: f64) -> Self {
        self.levels.push(CheckLevel { series: series.to_owned(), label, value });
        self
    }
}

/// The grade of a value for which smaller is better.
pub(super) fn grade_of(value: f64, suspect: f64, invalid: f64) -> Grade {
    if value > invalid {
        Grade::Invalid
    } else if value > suspect {
        Grade::Suspect
    } else {
        Grade::Valid
    }
}
