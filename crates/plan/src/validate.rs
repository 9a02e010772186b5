//! Checks on a plan before it is frozen. Messages state the problem and the remedy.

use thiserror::Error;

use crate::{Aggregate, DeclaredMetric, FlowSpec, LoadProfile, Metric, OpenStage, RunOptions, TestPlan, Threshold};

#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    #[error("the test has no load: set `load:` to at least one `scenario.run(…)`")]
    NoLoad,
    #[error("scenario \"{scenario}\": {problem}")]
    Profile { scenario: String, problem: String },
    #[error("a start window of {} ms is too long: at most {} ms, since arrivals wait in it", *.0 as f64 / 1e6, RunOptions::START_WINDOW_MAX_NS / 1_000_000)]
    StartWindow(u64),
    #[error("two scenarios are both named \"{0}\": results are stored by name, so rename one")]
    DuplicateScenario(String),
    #[error("threshold `{label}`: {problem}")]
    Threshold { label: String, problem: String },
    #[error("flow \"{name}\": {problem}")]
    Flow { name: String, problem: String },
    #[error("metric \"{name}\": {problem}")]
    OwnMetric { name: String, problem: String },
}

impl TestPlan {
    /// Rejects a plan that could not run or be evaluated.
    ///
    /// # Errors
    /// The first problem.
    pub fn validate(&self) -> Result<(), PlanError> {
        let leaves = self.load.leaves();
        if leaves.is_empty() {
            return Err(PlanError::NoLoad);
        }
        if self.options.start_window_ns > RunOptions::START_WINDOW_MAX_NS {
            return Err(PlanError::StartWindow(self.options.start_window_ns));
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
        self.check_flows()?;
        self.check_metrics()?;
        for threshold in &self.thresholds {
            if let Some(problem) = self.flow_problem(threshold) {
                return Err(PlanError::Threshold { label: threshold.label.clone(), problem });
            }
            if let Aggregate::Quantile(q) = threshold.aggregate
                && !(q > 0.0 && q < 1.0)
            {
                return Err(PlanError::Threshold {
                    label: threshold.label.clone(),
                    problem: format!("a percentile must be between 0 and 100, got {}", q * 100.0),
                });
            }
            if !threshold.bound.value.is_finite() {
                return Err(PlanError::Threshold { label: threshold.label.clone(), problem: "the bound is not a number".to_owned() });
            }
        }
        Ok(())
    }

    fn check_metrics(&self) -> Result<(), PlanError> {
        for (index, metric) in self.metrics.iter().enumerate() {
            let wrong = |problem: String| Err(PlanError::OwnMetric { name: metric.name.clone(), problem });
            if self.metrics[..index].iter().any(|earlier| earlier.name == metric.name) {
                return wrong("two metrics have this name: rename one".to_owned());
            }
            if index >= DeclaredMetric::MAX {
                return wrong(format!("a test may have at most {} metrics: distinguish values by tags", DeclaredMetric::MAX));
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Result<(), PlanError> {
        for (index, flow) in self.flows.iter().enumerate() {
            let wrong = |problem: String| Err(PlanError::Flow { name: flow.name.clone(), problem });
            if self.flows[..index].iter().any(|earlier| earlier.name == flow.name) {
                return wrong("two flows have this name: rename one".to_owned());
            }
            if flow.stages.len() > FlowSpec::STAGES_MAX {
                return wrong(format!("a flow may have at most {1} stages, got {0}", flow.stages.len(), FlowSpec::STAGES_MAX));
            }
            if let Some(stage) = flow.stages.iter().enumerate().find_map(|(i, stage)| flow.stages[..i].contains(stage).then_some(stage)) {
                return wrong(format!("the stage \"{stage}\" is listed twice"));
            }
            if flow.timeout_ns == Some(0) {
                return wrong("a timeout of zero would lose every journey: make it longer, or leave it out".to_owned());
            }
        }
        Ok(())
    }

    /// A threshold on an undeclared flow or stage would never have data.
    fn flow_problem(&self, threshold: &Threshold) -> Option<String> {
        if !matches!(threshold.metric, Metric::FlowTime { .. } | Metric::FlowBacklog | Metric::FlowLost) {
            return None;
        }
        let known = |names: Vec<&str>| if names.is_empty() { "there are none".to_owned() } else { format!("known: {}", names.join(", ")) };
        let wanted = threshold.selector.name.as_deref().unwrap_or_default();
        let Some(flow) = self.flows.iter().find(|flow| flow.name == wanted) else {
            return Some(format!("no flow is named \"{wanted}\"; {}", known(self.flows.iter().map(|flow| flow.name.as_str()).collect())));
        };
        match &threshold.metric {
            Metric::FlowTime { stage: Some(stage) } if !flow.stages.contains(stage) => {
                let stages = known(flow.stages.iter().map(String::as_str).collect());
                Some(format!("flow \"{wanted}\" has no stage \"{stage}\"; {stages}"))
            }
            _ => None,
        }
    }
}

fn profile_problem(profile: &LoadProfile) -> Option<String> {
    match profile {
        LoadProfile::Open { stages } if stages.is_empty() => Some("the load profile has no stage".to_owned()),
        LoadProfile::Open { stages } => stages.iter().find_map(|stage| match stage {
            OpenStage::Rate { from, to, duration_ns, .. } => {
                if !from.is_finite() || !to.is_finite() || *from < 0.0 || *to < 0.0 {
                    Some(format!("a rate must be at least zero arrivals per second, got {from} → {to}"))
                } else if *duration_ns == 0 {
                    Some("a stage needs a duration: add `.for(\"30s\")`".to_owned())
                } else {
                    None
                }
            }
            OpenStage::Burst { count: 0 } => Some("a burst needs at least one arrival".to_owned()),
            OpenStage::Burst { .. } => None,
            OpenStage::Replay(replay) if !(replay.speed.is_finite() && replay.speed > 0.0) => {
                Some(format!("the speed of a replay must be above 0, got {}", replay.speed))
            }
            OpenStage::Replay(_) => None,
        }),
        LoadProfile::Closed { stages } if stages.is_empty() => Some("the load profile has no stage".to_owned()),
        LoadProfile::Closed { stages } => stages
            .iter()
            .find_map(|stage| if stage.duration_ns == 0 { Some("a stage needs a duration: add `.for(\"30s\")`".to_owned()) } else { None }),
        LoadProfile::Iterations { users: 0, .. } => Some("at least one user is needed".to_owned()),
        LoadProfile::Iterations { count: 0, .. } => Some("at least one iteration is needed".to_owned()),
        LoadProfile::Iterations { .. } | LoadProfile::Recorded { .. } => None,
    }
}
