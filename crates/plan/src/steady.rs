//! A constant load derived from a plan, for experiments that compare short blocks.

use crate::{ClosedStage, Load, LoadProfile, OpenStage, ScenarioRun, TestPlan};

/// Why a load cannot be held constant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SteadyError {
    #[error(
        "a load of several parts in sequence has no single height to hold: reduce the test to one part (parts that run once before or after it may remain), \
         for example by a parameter"
    )]
    Sequence,
    #[error("scenario \"{0}\" starts all its arrivals at once, so it has no steady rate: use arrivals per second, or users")]
    Burst(String),
}

impl TestPlan {
    /// The same load with every profile at its maximum, for `duration_ns`. Leaves that run once, such as a set-up, are unchanged. The
    /// leaves keep their numbers.
    ///
    /// # Errors
    /// The load has no single maximum to hold.
    pub fn steady_load(&self, duration_ns: u64) -> Result<Load, SteadyError> {
        if self.load.separated().is_some() {
            return Err(SteadyError::Sequence);
        }
        self.steady(&self.load, duration_ns)
    }

    fn steady(&self, load: &Load, duration_ns: u64) -> Result<Load, SteadyError> {
        let loads = |part: &&Load| !part.leaves().iter().all(|run| run.runs_once());
        let each = |parts: &[Load]| parts.iter().map(|part| self.steady(part, duration_ns)).collect::<Result<Vec<_>, _>>();
        Ok(match load {
            Load::Sequence(parts) if parts.iter().filter(loads).count() > 1 => return Err(SteadyError::Sequence),
            Load::Sequence(parts) => Load::Sequence(each(parts)?),
            Load::Parallel(parts) => Load::Parallel(each(parts)?),
            Load::Run(run) if run.runs_once() => Load::Run(run.clone()),
            Load::Run(run) => Load::Run(ScenarioRun { profile: self.steady_profile(run, duration_ns)?, start_after_ns: 0, ..run.clone() }),
        })
    }

    fn steady_profile(&self, run: &ScenarioRun, duration_ns: u64) -> Result<LoadProfile, SteadyError> {
        Ok(match &run.profile {
            LoadProfile::Open { stages } => {
                let heights = stages.iter().filter_map(|stage| match stage {
                    OpenStage::Rate { from, to, timing, .. } => Some((from.max(*to), *timing)),
                    OpenStage::Burst { .. } | OpenStage::Replay(_) => None,
                });
                // The first of several stages with the same maximum.
                let highest = heights.reduce(|best, next| if next.0 > best.0 { next } else { best });
                let name = || self.scenarios.get(run.scenario.0 as usize).map_or_else(String::new, |scenario| scenario.name.clone());
                let (rate, timing) = highest.ok_or_else(|| SteadyError::Burst(name()))?;
                LoadProfile::Open { stages: vec![OpenStage::Rate { from: rate, to: rate, duration_ns, timing }] }
            }
            LoadProfile::Closed { stages } => {
                let users = stages.iter().map(|ClosedStage { from, to, .. }| *from.max(to)).max().unwrap_or(0);
                LoadProfile::users(users, duration_ns)
            }
            LoadProfile::Iterations { users, .. } => LoadProfile::users(*users, duration_ns),
            recorded @ LoadProfile::Recorded { .. } => recorded.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ScenarioId, Timing};

    fn run(scenario: u32, profile: LoadProfile) -> Load {
        Load::Run(ScenarioRun::new(ScenarioId(scenario), profile))
    }

    #[test]
    fn ramps_and_steps_become_constant_at_their_maximum() {
        let stage = |from: f64, to: f64, timing| OpenStage::Rate { from, to, duration_ns: 60, timing };
        let ramp = LoadProfile::Open { stages: vec![stage(1.0, 130.0, Timing::Poisson), stage(130.0, 5.0, Timing::Even)] };
        let load = Load::Sequence(vec![
            run(0, LoadProfile::burst(1)),
            Load::Parallel(vec![
                run(1, ramp),
                run(2, LoadProfile::Closed { stages: vec![ClosedStage { from: 2, to: 7, duration_ns: 9 }] }),
            ]),
            run(0, LoadProfile::burst(1)),
        ]);
        let steady = TestPlan::new("t", ["once", "open", "closed"], load.clone()).steady_load(1_000).unwrap();
        let profiles: Vec<LoadProfile> = steady.leaves().iter().map(|run| run.profile.clone()).collect();
        let open =
            LoadProfile::Open { stages: vec![OpenStage::Rate { from: 130.0, to: 130.0, duration_ns: 1_000, timing: Timing::Poisson }] };
        assert_eq!(profiles, [LoadProfile::burst(1), open, LoadProfile::users(7, 1_000), LoadProfile::burst(1)]);
        assert_eq!(steady.duration_ns(), Some(1_000));
    }

    #[test]
    fn loads_without_a_single_height_are_refused() {
        let plan = |load| TestPlan::new("t", ["a", "b"], load);
        let rate = |scenario| run(scenario, LoadProfile::rate(5.0, 10));
        assert_eq!(plan(Load::Sequence(vec![rate(0), rate(1)])).steady_load(1), Err(SteadyError::Sequence));
        assert_eq!(
            plan(Load::Parallel(vec![rate(0), run(1, LoadProfile::burst(5))])).steady_load(1),
            Err(SteadyError::Burst("b".to_owned()))
        );
    }
}
