//! Checks on a plan before it is frozen. Messages say what is wrong and what to do.

use thiserror::Error;

use crate::{Aggregate, LoadProfile, OpenStage, TestPlan};

#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    #[error("the test has no load: give `load:` at least one `scenario.run(…)`")]
    NoLoad,
    #[error("scenario \"{scenario}\": {problem}")]
    Profile { scenario: String, problem: String },
    #[error("two scenarios are both named \"{0}\": results are kept by name, so rename one")]
    DuplicateScenario(String),
    #[error("threshold `{label}`: {problem}")]
    Threshold { label: String, problem: String },
}

impl TestPlan {
    /// Rejects what could not run or could not be judged. The first problem is reported.
    pub fn validate(&self) -> Result<(), PlanError> {
        let leaves = self.load.leaves();
        if leaves.is_empty() {
            return Err(PlanError::NoLoad);
        }
        for (index, scenario) in self.scenarios.iter().enumerate() {
            if self.scenarios[..index].iter().any(|earlier| earlier.name == scenario.name) {
                return Err(PlanError::DuplicateScenario(scenario.name.clone()));
            }
        }
        for leaf in leaves {
            let scenario = self.scenarios.get(leaf.scenario.0 as usize).map_or("?", |s| s.name.as_str());
            profile_problem(&leaf.profile).map_or(Ok(()), |problem| Err(PlanError::Profile { scenario: scenario.to_owned(), problem }))?;
        }
        for threshold in &self.thresholds {
            if let Aggregate::Quantile(q) = threshold.aggregate
                && !(q > 0.0 && q < 1.0)
            {
                return Err(PlanError::Threshold {
                    label: threshold.label.clone(),
                    problem: format!("a percentile lies between 0 and 100, not {}", q * 100.0),
                });
            }
            if !threshold.bound.value.is_finite() {
                return Err(PlanError::Threshold { label: threshold.label.clone(), problem: "the bound is not a number".to_owned() });
            }
        }
        Ok(())
    }
}

fn profile_problem(profile: &LoadProfile) -> Option<String> {
    match profile {
        LoadProfile::Open { stages } if stages.is_empty() => Some("the load profile has no stage".to_owned()),
        LoadProfile::Open { stages } => stages.iter().find_map(|stage| match stage {
            OpenStage::Rate { from, to, duration_ns, .. } => {
                if !from.is_finite() || !to.is_finite() || *from < 0.0 || *to < 0.0 {
                    Some(format!("a rate is a number of arrivals per second, zero or more, not {from} → {to}"))
                } else if *duration_ns == 0 {
                    Some("a stage needs a duration: add `.for(\"30s\")`".to_owned())
                } else {
                    None
                }
            }
            OpenStage::Burst { count: 0 } => Some("a burst needs at least one arrival".to_owned()),
            OpenStage::Burst { .. } => None,
        }),
        LoadProfile::Closed { stages } if stages.is_empty() => Some("the load profile has no stage".to_owned()),
        LoadProfile::Closed { stages } => stages
            .iter()
            .find_map(|stage| if stage.duration_ns == 0 { Some("a stage needs a duration: add `.for(\"30s\")`".to_owned()) } else { None }),
        LoadProfile::Iterations { users: 0, .. } => Some("at least one user is needed".to_owned()),
        LoadProfile::Iterations { count: 0, .. } => Some("at least one iteration is needed".to_owned()),
        LoadProfile::Iterations { .. } => None,
    }
}
