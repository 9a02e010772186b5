//! The load of a test at a different level.

use loadstone_analysis::LoadUnit;
use loadstone_plan::{ClosedStage, Load, LoadProfile, OpenStage, ScenarioRun, TestLanguage, TestPlan, Timing};

use crate::exit::UsageError;

/// The peak load that a test requests, and the shape of the load.
#[derive(Debug, Clone)]
pub(crate) struct TestLoad {
    pub(crate) unit: LoadUnit,
    /// The level that the test itself requests.
    pub(crate) level: f64,
    load: Load,
    /// The maximum of users grows with the load: k6 requires one in every script with arrival rates.
    scales_users_max: bool,
}

impl TestLoad {
    /// # Errors
    /// [`UsageError`]: the load has no level that can be scaled.
    pub(crate) fn of(plan: &TestPlan) -> Result<Self, UsageError> {
        let name = |run: &ScenarioRun| plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| scenario.name.as_str());
        let leaves: Vec<&ScenarioRun> = plan.load.leaves().into_iter().filter(|run| !run.runs_once()).collect();
        let (mut arrivals, mut users) = (0.0, 0.0);
        for run in &leaves {
            match peak(&run.profile) {
                Some(Peak::Arrivals(rate)) => arrivals += rate,
                Some(Peak::Users(count)) => users += count,
                None => {
                    return Err(UsageError(format!(
                        "scenario \"{}\" runs a fixed number of iterations, which has no level to search: {}",
                        name(run),
                        remedy(plan.language)
                    )));
                }
            }
        }
        if let Some((first, then)) = follows(&plan.load).or_else(|| plan.load.separated()) {
            return Err(UsageError(format!(
                "\"{}\" is followed by \"{}\": a search needs a single continuous load; only parts that run once may precede or follow it",
                name(first),
                name(then)
            )));
        }
        let (unit, level) = match (arrivals > 0.0, users > 0.0) {
            (true, false) => (LoadUnit::Arrivals, arrivals),
            (false, true) => (LoadUnit::Users, users),
            (true, true) => (LoadUnit::Times, 1.0),
            (false, false) => return Err(UsageError(format!("the test has no load that lasts: {}", remedy(plan.language)))),
        };
        Ok(Self { unit, level, load: plan.load.clone(), scales_users_max: plan.language == TestLanguage::K6 })
    }

    /// The load at this level, held for the given time. Parts that run once are unchanged.
    pub(crate) fn at(&self, level: f64, seconds: f64) -> Load {
        self.ramp((level, level), seconds)
    }

    /// The load that rises between two levels in the given time.
    pub(crate) fn ramp(&self, (from, to): (f64, f64), seconds: f64) -> Load {
        let mut load = at(&self.load, (from / self.level, to / self.level), (seconds * 1e9) as u64);
        if self.scales_users_max {
            let times = (from.max(to) / self.level).max(1.0);
            load.each_run(&mut |run| run.users_max = run.users_max.map(|most| (most as f64 * times).ceil() as u64));
        }
        load
    }
}

/// What gives a test a load with a level.
fn remedy(language: TestLanguage) -> &'static str {
    match language {
        TestLanguage::Loadstone => "use arrivals or users",
        TestLanguage::K6 => {
            "use an executor with a rate or VUs over time, such as constant-arrival-rate, or set the environment's K6_VUS and K6_DURATION"
        }
    }
}

enum Peak {
    Arrivals(f64),
    Users(f64),
}

fn peak(profile: &LoadProfile) -> Option<Peak> {
    match profile {
        LoadProfile::Open { stages } => {
            let rate = |stage: &OpenStage| match stage {
                OpenStage::Rate { from, to, .. } => Some(from.max(*to)),
                OpenStage::Burst { .. } | OpenStage::Replay(_) => None,
            };
            stages.iter().filter_map(rate).reduce(f64::max).map(Peak::Arrivals)
        }
        LoadProfile::Closed { stages } => stages.iter().map(|stage| stage.from.max(stage.to) as f64).reduce(f64::max).map(Peak::Users),
        LoadProfile::Iterations { .. } | LoadProfile::Recorded { .. } => None,
    }
}

/// Finds two parts of a sequence that both generate load.
fn follows(load: &Load) -> Option<(&ScenarioRun, &ScenarioRun)> {
    let loaded = |part: &'_ Load| part.leaves().into_iter().any(|run| !run.runs_once());
    match load {
        Load::Run(_) => None,
        Load::Parallel(parts) => parts.iter().find_map(follows),
        Load::Sequence(parts) => {
            let mut with_load = parts.iter().filter(|part| loaded(part));
            let first = with_load.next()?;
            match with_load.next() {
                Some(then) => of_load(first).zip(of_load(then)),
                None => follows(first),
            }
        }
    }
}

fn of_load(load: &Load) -> Option<&ScenarioRun> {
    load.leaves().into_iter().find(|run| !run.runs_once())
}

fn at(load: &Load, times: (f64, f64), duration_ns: u64) -> Load {
    let all = |parts: &[Load]| parts.iter().map(|part| at(part, times, duration_ns)).collect();
    match load {
        Load::Sequence(parts) => Load::Sequence(all(parts)),
        Load::Parallel(parts) => Load::Parallel(all(parts)),
        Load::Run(run) if run.runs_once() => load.clone(),
        Load::Run(run) => {
            let profile = match (&run.profile, peak(&run.profile)) {
                (LoadProfile::Open { stages }, Some(Peak::Arrivals(rate))) => {
                    let is_poisson = |stage: &OpenStage| matches!(stage, OpenStage::Rate { timing: Timing::Poisson, .. });
                    let timing = if stages.iter().any(is_poisson) { Timing::Poisson } else { Timing::Even };
                    LoadProfile::Open { stages: vec![OpenStage::Rate { from: rate * times.0, to: rate * times.1, duration_ns, timing }] }
                }
                (_, Some(Peak::Users(count))) => {
                    let users = |times: f64| if count > 0.0 { (count * times).round().max(1.0) as u64 } else { 0 };
                    LoadProfile::Closed { stages: vec![ClosedStage { from: users(times.0), to: users(times.1), duration_ns }] }
                }
                (other, _) => other.clone(),
            };
            Load::Run(ScenarioRun { profile, start_after_ns: 0, ..run.clone() })
        }
    }
}

#[cfg(test)]
mod tests {
    use loadstone_plan::{IterationSplit, ScenarioId};

    use super::*;

    const S: u64 = 1_000_000_000;

    fn run(scenario: u32, profile: LoadProfile) -> Load {
        Load::Run(ScenarioRun::new(ScenarioId(scenario), profile))
    }

    fn plan(load: Load) -> TestPlan {
        TestPlan::new("t", ["log in", "buy", "look"], load)
    }

    fn ramp(to: f64, timing: Timing) -> LoadProfile {
        LoadProfile::Open { stages: vec![OpenStage::Rate { from: 1.0, to, duration_ns: S, timing }] }
    }

    #[test]
    fn scaling_the_peak_preserves_the_shares() {
        let buying = Load::Parallel(vec![run(1, ramp(30.0, Timing::Even)), run(2, ramp(10.0, Timing::Poisson))]);
        let load = TestLoad::of(&plan(Load::Sequence(vec![run(0, LoadProfile::burst(1)), buying]))).unwrap();
        assert_eq!((load.unit, load.level), (LoadUnit::Arrivals, 40.0));
        let poisson = OpenStage::Rate { from: 20.0, to: 20.0, duration_ns: 9 * S, timing: Timing::Poisson };
        let twice = vec![run(1, LoadProfile::rate(60.0, 9 * S)), run(2, LoadProfile::Open { stages: vec![poisson] })];
        assert_eq!(load.at(80.0, 9.0), Load::Sequence(vec![run(0, LoadProfile::burst(1)), Load::Parallel(twice)]));
    }

    #[test]
    fn users_are_whole() {
        let load = TestLoad::of(&plan(run(1, LoadProfile::users(30, S)))).unwrap();
        assert_eq!((load.unit, load.level), (LoadUnit::Users, 30.0));
        assert_eq!(load.at(47.0, 5.0), run(1, LoadProfile::users(47, 5 * S)));
        let rising = LoadProfile::Closed { stages: vec![ClosedStage { from: 5, to: 47, duration_ns: 5 * S }] };
        assert_eq!(load.ramp((4.7, 47.0), 5.0), run(1, rising));
        let both = Load::Parallel(vec![run(1, LoadProfile::users(30, S)), run(2, ramp(10.0, Timing::Even))]);
        let both = TestLoad::of(&plan(both)).unwrap();
        assert_eq!((both.unit, both.level), (LoadUnit::Times, 1.0));
    }

    /// k6 requires a maximum of VUs, which would otherwise limit a search.
    #[test]
    fn the_vus_of_a_k6_script_grow_with_its_load() {
        let bounded =
            ScenarioRun { users_max: Some(10), start_after_ns: 3 * S, ..ScenarioRun::new(ScenarioId(1), LoadProfile::rate(5.0, 9 * S)) };
        let mut plan = plan(Load::Run(bounded));
        let most = |plan: &TestPlan, level| match TestLoad::of(plan).unwrap().at(level, 9.0) {
            Load::Run(run) => (run.users_max, run.start_after_ns),
            _ => unreachable!(),
        };
        assert_eq!(most(&plan, 20.0), (Some(10), 0));
        plan.language = TestLanguage::K6;
        assert_eq!([2.0, 20.0].map(|level| most(&plan, level)), [(Some(10), 0), (Some(40), 0)]);
    }

    #[test]
    fn load_without_a_level_is_refused() {
        let refused = |load: Load| TestLoad::of(&plan(load)).unwrap_err().to_string();
        let counted = LoadProfile::Iterations { users: 5, count: 100, split: IterationSplit::Shared, duration_max_ns: None };
        assert!(refused(run(1, counted)).contains("\"buy\" runs a fixed number of iterations"));
        let one_after_another = Load::Sequence(vec![run(1, LoadProfile::users(3, S)), run(2, LoadProfile::users(3, S))]);
        assert!(refused(one_after_another).contains("\"buy\" is followed by \"look\""));
        let later = ScenarioRun { start_after_ns: 2 * S, ..ScenarioRun::new(ScenarioId(2), LoadProfile::users(3, S)) };
        let staggered = |after: u64| {
            Load::Parallel(vec![run(1, LoadProfile::users(3, S)), Load::Run(ScenarioRun { start_after_ns: after, ..later.clone() })])
        };
        assert!(refused(staggered(S)).contains("\"buy\" is followed by \"look\""));
        assert!(TestLoad::of(&plan(staggered(S / 2))).is_ok());
        assert!(refused(run(0, LoadProfile::burst(1))).contains("no load"));
    }
}
