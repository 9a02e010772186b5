//! The test plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    DeclaredMetric, FlowSpec, Load, LoadProfile, Parameter, RecordedLoad, RunOptions, ScenarioId, ScenarioRun, Secrets, Threshold,
};

/// A scenario's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
}

/// What the test is written in. Advice about its load uses the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestLanguage {
    #[default]
    Loadstone,
    /// A k6 script.
    K6,
}

impl TestLanguage {
    /// Whether it is the default, which is not stored.
    pub fn is_loadstone(&self) -> bool {
        *self == Self::Loadstone
    }
}

/// Everything that was asked of a run. Build it, call [`TestPlan::validate`], and do not change it afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestPlan {
    /// Name of the test: the file's stem, or the URL's host for a run without a script.
    pub name: String,
    /// Base URL that relative request paths are resolved against.
    pub target: Option<String>,
    /// The service that a test without a target names, if it names only one: `http://shop.test:8080`. For advice, since a script may compute URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_target: Option<String>,
    pub parameters: Vec<Parameter>,
    /// Indexed by [`ScenarioId`].
    pub scenarios: Vec<Scenario>,
    pub load: Load,
    /// Runs after all load, however it ended. Its leaf number is the one after those of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tear_down: Option<ScenarioRun>,
    pub thresholds: Vec<Threshold>,
    /// Observers as their builders described them (`{"kind": "process", …}`). The binary reads them.
    #[serde(default)]
    pub observers: Vec<serde_json::Value>,
    /// Journeys that the test follows. Events name them by their index in this list.
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// Custom metrics. Scripts name them by their index in this list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<DeclaredMetric>,
    /// Simulated endpoints as the test describes them. `script` reads and runs them.
    #[serde(default)]
    pub stubs: Vec<serde_json::Value>,
    pub options: RunOptions,
    #[serde(default, skip_serializing_if = "TestLanguage::is_loadstone")]
    pub language: TestLanguage,
    /// The tool that generates the load, if it is not Loadstone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedLoad>,
    /// Strings that no output of this run may show: values of secret parameters, credentials. Known only in the process that resolved them.
    #[serde(skip)]
    pub secrets: Secrets,
}

impl TestPlan {
    /// A plan with these scenarios, in the order of their [`ScenarioId`]s, and nothing else: no target, parameters, thresholds, observers,
    /// flows, metrics or stubs, and the default options. Set further fields by struct update, or one by one.
    pub fn new<S: Into<String>>(name: impl Into<String>, scenarios: impl IntoIterator<Item = S>, load: Load) -> Self {
        Self {
            name: name.into(),
            target: None,
            named_target: None,
            parameters: Vec::new(),
            scenarios: scenarios.into_iter().map(|name| Scenario { name: name.into() }).collect(),
            load,
            tear_down: None,
            thresholds: Vec::new(),
            observers: Vec::new(),
            flows: Vec::new(),
            metrics: Vec::new(),
            stubs: Vec::new(),
            options: RunOptions::default(),
            language: TestLanguage::default(),
            recorded: None,
            secrets: Secrets::default(),
        }
    }

    /// [`TestPlan::new`] with a single scenario under one load profile.
    pub fn of_scenario(name: impl Into<String>, scenario: impl Into<String>, profile: LoadProfile) -> Self {
        Self::new(name, [scenario], Load::Run(ScenarioRun::new(ScenarioId(0), profile)))
    }

    /// The leaves of the load, and the tear-down.
    pub fn leaves(&self) -> Vec<&ScenarioRun> {
        self.load.leaves().into_iter().chain(&self.tear_down).collect()
    }

    /// The leaves that prepare load, and the scenario of each. When one throws, the parts after it must not run.
    pub fn set_ups(&self) -> BTreeMap<u32, String> {
        let leaves = self.load.leaves();
        let scenario = |leaf: u32| {
            let run = leaves.get(leaf as usize)?;
            Some((leaf, self.scenarios.get(run.scenario.0 as usize)?.name.clone()))
        };
        self.load.set_ups().into_iter().filter_map(scenario).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunRole;

    #[test]
    fn runs_once_before_load_in_a_sequence_are_set_ups() {
        let once = || Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::burst(1)));
        let load = || Load::Run(ScenarioRun::new(ScenarioId(1), LoadProfile::rate(1.0, 1)));
        let set_ups = |load: Load| TestPlan::new("t", ["once", "load"], load).set_ups().into_keys().collect::<Vec<_>>();
        assert_eq!(set_ups(Load::Sequence(vec![once(), load(), once()])), [0]);
        assert_eq!(set_ups(Load::Sequence(vec![Load::Parallel(vec![once(), once()]), Load::Parallel(vec![load(), once()])])), [0, 1]);
        assert_eq!(set_ups(Load::Parallel(vec![once(), Load::Sequence(vec![once(), load()])])), [1]);
        assert_eq!(set_ups(Load::Sequence(vec![once(), once()])), [] as [u32; 0]);
        assert_eq!(set_ups(Load::Sequence(vec![load(), once(), load()])), [1]);
        let declared = ScenarioRun { role: RunRole::SetUp, ..ScenarioRun::new(ScenarioId(0), LoadProfile::burst(1)) };
        assert_eq!(set_ups(Load::Sequence(vec![Load::Run(declared), once()])), [0]);
    }
}
