//! A load held at one height for a while, for what compares short blocks of it.

use crate::{ClosedStage, Load, LoadProfile, OpenStage, ScenarioRun, TestPlan};

/// Why a load cannot be held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SteadyError {
    #[error(
        "a load in parts, one after the other, has no single height to hold: give the test one part (what runs once before and after it may stay), for \
         example by a parameter"
    )]
    Sequence,
    #[error("scenario \"{0}\" begins everything at once, which cannot be held: give it arrivals per second, or users")]
    Burst(String),
}

impl TestPlan {
    /// The same load with every profile at its greatest height, for so many nanoseconds. What runs once, as a set-up does, stays. The leaves keep their
    /// numbers.
    ///
    /// # Errors
    /// Where the load has no single height.
    pub fn steady_load(&self, duration_ns: u64) -> Result<Load, SteadyError> {
        self.held(&self.load, duration_ns)
    }

    fn held(&self, load: &Load, duration_ns: u64) -> Result<Load, SteadyError> {
        let loads = |part: &&Load| !part.leaves().iter().all(|run| run.runs_once());
        let each = |parts: &[Load]| parts.iter().map(|part| self.held(part, duration_ns)).collect::<Result<Vec<_>, _>>();
        Ok(match load {
            Load::Sequence(parts) if parts.iter().filter(loads).count() > 1 => return Err(SteadyError::Sequence),
            Load::Sequence(parts) => Load::Sequence(each(parts)?),
            Load::Parallel(parts) => Load::Parallel(each(parts)?),
            Load::Run(run) if run.runs_once() => Load::Run(run.clone()),
            Load::Run(run) => Load::Run(ScenarioRun { profile: self.held_profile(run, duration_ns)?, ..run.clone() }),
        })
    }

    fn held_profile(&self, run: &ScenarioRun, duration_ns: u64) -> Result<LoadProfile, SteadyError> {
        Ok(match &run.profile {
            LoadProfile::Open { stages } => {
                let heights = stages.iter().filter_map(|stage| match stage {
                    OpenStage::Rate { from, to, timing, .. } => Some((from.max(*to), *timing)),
                    OpenStage::Burst { .. } => None,
                });
                // Of stages that reach it alike, the first.
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
    fn ramps_and_steps_are_held_at_their_greatest_height() {
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
        let held = TestPlan::new("t", ["once", "open", "closed"], load.clone()).steady_load(1_000).unwrap();
        let profiles: Vec<LoadProfile> = held.leaves().iter().map(|run| run.profile.clone()).collect();
        let open =
            LoadProfile::Open { stages: vec![OpenStage::Rate { from: 130.0, to: 130.0, duration_ns: 1_000, timing: Timing::Poisson }] };
        assert_eq!(profiles, [LoadProfile::burst(1), open, LoadProfile::users(7, 1_000), LoadProfile::burst(1)]);
        assert_eq!(held.duration_ns(), Some(1_000));
    }

    #[test]
    fn what_has_no_single_height_is_refused() {
        let plan = |load| TestPlan::new("t", ["a", "b"], load);
        let rate = |scenario| run(scenario, LoadProfile::rate(5.0, 10));
        assert_eq!(plan(Load::Sequence(vec![rate(0), rate(1)])).steady_load(1), Err(SteadyError::Sequence));
        assert_eq!(
            plan(Load::Parallel(vec![rate(0), run(1, LoadProfile::burst(5))])).steady_load(1),
            Err(SteadyError::Burst("b".to_owned()))
        );
    }
}
