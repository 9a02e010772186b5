//! The load tree: which scenarios run in sequence, and which run in parallel.

use serde::{Deserialize, Serialize};

use crate::{LoadProfile, OpenStage};

/// Index into [`crate::TestPlan::scenarios`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScenarioId(pub u32);

/// The purpose of a leaf.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRole {
    #[default]
    Load,
    /// Runs once, before the load. If any part of it fails, the load does not run. It is not measured.
    SetUp,
    /// Runs once, after everything else, however the run ended. It is not measured.
    TearDown,
}

impl RunRole {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_load(&self) -> bool {
        *self == RunRole::Load
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Where users of a closed ramp and evenly spaced arrivals of an open profile lie within their intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPlace {
    /// The first one at the beginning: the level is rounded up, and arrival *k*, from 0, is due where the integral of the rate reaches *k*.
    #[default]
    FirstAtBeginning,
    /// The first one after an interval, the last one at the end, as in k6's ramps: the level is rounded down, and the integral counts from 1.
    LastAtEnd,
}

impl StepPlace {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == StepPlace::default()
    }
}

/// One scenario under one load profile: a leaf of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRun {
    pub scenario: ScenarioId,
    pub profile: LoadProfile,
    /// Maximum number of active users of this leaf (open profiles only). Arrivals beyond it wait; they are recorded as late and never
    /// dropped. `None`: [`ScenarioRun::DEFAULT_USERS_MAX`].
    pub users_max: Option<u64>,
    /// Overrides [`crate::RunOptions::graceful_stop_ns`] for this leaf.
    pub graceful_stop_ns: Option<u64>,
    /// How long the running iteration of a user may go on after a closed profile has removed that user. Nanoseconds. `None`: until it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful_ramp_down_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "StepPlace::is_default")]
    pub step_place: StepPlace,
    #[serde(default, skip_serializing_if = "RunRole::is_load")]
    pub role: RunRole,
    /// Delay between the leaf's turn and its start. Nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_after_ns: u64,
}

impl ScenarioRun {
    /// A leaf with the default limit on its users and the run's graceful stop.
    pub fn new(scenario: ScenarioId, profile: LoadProfile) -> Self {
        Self {
            scenario,
            profile,
            users_max: None,
            graceful_stop_ns: None,
            graceful_ramp_down_ns: None,
            step_place: StepPlace::default(),
            role: RunRole::Load,
            start_after_ns: 0,
        }
    }

    /// Number of concurrent users that the profile is certain to need. In open load the target's response times decide it, except for
    /// bursts: each arrival of a burst needs its own user.
    pub fn users_certain(&self) -> u64 {
        match &self.profile {
            LoadProfile::Closed { stages } => stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(0),
            LoadProfile::Iterations { users, .. } => *users,
            LoadProfile::Recorded { .. } => 0,
            LoadProfile::Open { stages } => {
                let bursts = stages.iter().map(|stage| if let OpenStage::Burst { count } = stage { *count } else { 0 });
                bursts.max().unwrap_or(0).min(self.users_max.unwrap_or(Self::DEFAULT_USERS_MAX))
            }
        }
    }

    /// Whether it asks for a single iteration.
    pub fn runs_once(&self) -> bool {
        match &self.profile {
            LoadProfile::Iterations { users, count, .. } => (*users, *count) == (1, 1),
            profile => *profile == LoadProfile::burst(1),
        }
    }

    /// Limit on the concurrent users of one open leaf when the test sets none.
    pub const DEFAULT_USERS_MAX: u64 = 50_000;
}

/// A tree of runs. Leaves are numbered in depth-first order; a leaf's number identifies it in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    Sequence(Vec<Load>),
    Parallel(Vec<Load>),
    Run(ScenarioRun),
}

impl Load {
    /// The leaves in depth-first order. The index in this list is the leaf's number.
    pub fn leaves(&self) -> Vec<&ScenarioRun> {
        let mut leaves = Vec::new();
        self.collect(&mut leaves);
        leaves
    }

    fn collect<'a>(&'a self, leaves: &mut Vec<&'a ScenarioRun>) {
        match self {
            Load::Sequence(parts) | Load::Parallel(parts) => {
                for part in parts {
                    part.collect(leaves);
                }
            }
            Load::Run(run) => leaves.push(run),
        }
    }

    /// Changes every leaf.
    pub fn each_run(&mut self, change: &mut impl FnMut(&mut ScenarioRun)) {
        match self {
            Load::Sequence(parts) | Load::Parallel(parts) => parts.iter_mut().for_each(|part| part.each_run(change)),
            Load::Run(run) => change(run),
        }
    }

    /// Two parallel leaves of which the second starts when the first has ended, by its own delay.
    pub fn separated(&self) -> Option<(&ScenarioRun, &ScenarioRun)> {
        let leaves: Vec<&ScenarioRun> = self.leaves().into_iter().filter(|run| !run.runs_once()).collect();
        let follows = |first: &ScenarioRun, then: &ScenarioRun| {
            let ends = first.profile.duration_ns().map(|duration| first.start_after_ns.saturating_add(duration));
            then.start_after_ns > 0 && ends.is_some_and(|end| end <= then.start_after_ns)
        };
        leaves.iter().find_map(|first| leaves.iter().find(|then| follows(first, then)).map(|then| (*first, *then)))
    }

    /// Maximum number of concurrent users that the tree is certain to need. Open load may need any number, or one.
    pub fn users_certain(&self) -> u64 {
        self.users_at_once(&ScenarioRun::users_certain)
    }

    /// Maximum number of concurrent users of the tree, where `of` yields the number for each leaf.
    pub fn users_at_once(&self, of: &impl Fn(&ScenarioRun) -> u64) -> u64 {
        match self {
            Load::Sequence(parts) => parts.iter().map(|part| part.users_at_once(of)).max().unwrap_or(0),
            Load::Parallel(parts) => parts.iter().map(|part| part.users_at_once(of)).fold(0, u64::saturating_add),
            Load::Run(run) => of(run),
        }
    }

    /// Numbers of the leaves that prepare load: they run once, and a later part of the same sequence is load.
    pub(crate) fn set_ups(&self) -> Vec<u32> {
        let (mut found, mut number) = (Vec::new(), 0);
        self.find_set_ups(false, &mut number, &mut found);
        found
    }

    fn find_set_ups(&self, prepares: bool, number: &mut u32, found: &mut Vec<u32>) {
        match self {
            Load::Sequence(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    let prepares = prepares || parts[index + 1..].iter().any(|later| !later.leaves().iter().all(|run| run.runs_once()));
                    part.find_set_ups(prepares, number, found);
                }
            }
            Load::Parallel(parts) => parts.iter().for_each(|part| part.find_set_ups(prepares, number, found)),
            Load::Run(run) => {
                if prepares && run.runs_once() || run.role == RunRole::SetUp {
                    found.push(*number);
                }
                *number += 1;
            }
        }
    }

    /// Longest time that the profiles can take, without graceful stops. Nanoseconds. `None` when a leaf has no time limit.
    pub fn duration_ns(&self) -> Option<u64> {
        match self {
            Load::Sequence(parts) => parts.iter().map(Load::duration_ns).sum(),
            Load::Parallel(parts) => parts.iter().map(Load::duration_ns).try_fold(0, |max, part| Some(part?.max(max))),
            Load::Run(run) => run.profile.duration_ns().map(|duration| duration + run.start_after_ns),
        }
    }
}
