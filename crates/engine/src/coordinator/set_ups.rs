//! Set-ups and tear-downs on real workers: what runs and when, for each end of a run.

use std::sync::Mutex;

use super::*;
use crate::control::{LoadEvent, StopReason};
use crate::user::{Iteration, IterationEnd, UserError, UserFactory, VirtualUser};
use loadstone_metrics::{GeneratorSlice, Outcome, Snapshot};
use loadstone_plan::{Load, LoadProfile, RunRole, ScenarioId, ScenarioRun};

const SET_UP: ScenarioId = ScenarioId(0);
const LOAD: ScenarioId = ScenarioId(1);
const TEAR_DOWN: ScenarioId = ScenarioId(2);

/// Scenarios whose iterations began, in order.
type Log = Mutex<Vec<u32>>;

struct Users {
    log: &'static Log,
    set_up: Outcome,
}

struct User {
    log: &'static Log,
    outcome: Outcome,
}

impl VirtualUser for User {
    async fn iterate(&mut self, iteration: Iteration) -> IterationEnd {
        self.log.lock().unwrap().push(iteration.arrival.scenario.0);
        IterationEnd::Ended(self.outcome)
    }
}

impl UserFactory for Users {
    type User = User;

    fn new_user(&self, _: u32, scenario: ScenarioId, _: u64) -> Result<User, UserError> {
        Ok(User { log: self.log, outcome: if scenario == SET_UP { self.set_up } else { Outcome::Passed } })
    }

    fn count_into(&self, _: &mut GeneratorSlice) {}

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::pending()
    }
}

/// Two iterations of load between a set-up with this outcome and a tear-down. `control` is requested when the load's leaf begins.
fn run(log: &'static Log, set_up: Outcome, lingers: bool, control: Option<LoadControl>) -> (LoadEnding, Snapshot) {
    let once = |scenario, role| ScenarioRun { role, ..ScenarioRun::new(scenario, LoadProfile::burst(1)) };
    let load = Load::Run(ScenarioRun::new(LOAD, LoadProfile::burst(2)));
    let mut plan = TestPlan::new("t", ["up", "load", "down"], Load::Sequence(vec![Load::Run(once(SET_UP, RunRole::SetUp)), load]));
    plan.tear_down = Some(once(TEAR_DOWN, RunRole::TearDown));
    let mut coordinator = Coordinator::new(Arc::new(plan), 2);
    if lingers {
        coordinator = coordinator.lingering();
    }
    let mut total = Snapshot::default();
    let ending = coordinator.run(
        |_| Ok::<_, UserError>(Users { log, set_up }),
        |event| match event {
            LoadEvent::Snapshot(slice) | LoadEvent::LastSnapshot(slice) => {
                total.merge(*slice);
                None
            }
            LoadEvent::LoadEnded { .. } => {
                assert!(!log.lock().unwrap().contains(&TEAR_DOWN.0), "first the run waits for open journeys");
                Some(LoadControl::Release)
            }
            LoadEvent::LeafBegan { leaf: 1, .. } => control.clone(),
            _ => None,
        },
    );
    (ending, total)
}

#[test]
fn the_tear_down_comes_last_and_only_the_load_is_measured() {
    static LOGS: [Log; 2] = [Log::new(Vec::new()), Log::new(Vec::new())];
    for (log, lingers) in LOGS.iter().zip([false, true]) {
        let (ending, total) = run(log, Outcome::Passed, lingers, None);
        assert!(matches!(ending, LoadEnding::Completed), "{ending:?}");
        assert_eq!(log.lock().unwrap()[..], [0, 1, 1, 2]);
        let iterations: Vec<(&str, u64)> = total.series.iter().map(|series| (&*series.key.name, series.count)).collect();
        assert_eq!(iterations, [("load", 2)]);
        let asked: Vec<u32> =
            total.leaves.iter().filter(|leaf| leaf.arrivals_due > 0 || !leaf.changes.is_empty()).map(|leaf| leaf.leaf).collect();
        assert_eq!(asked, [1], "no rate includes the time of the others");
    }
}

#[test]
fn a_set_up_that_fails_ends_the_run_before_its_load_and_the_tear_down_runs() {
    static LOG: Log = Log::new(Vec::new());
    let (ending, _) = run(&LOG, Outcome::Step, false, None);
    assert!(matches!(&ending, LoadEnding::Stopped(StopReason::SetUp(scenario)) if scenario == "up"), "{ending:?}");
    assert_eq!(LOG.lock().unwrap()[..], [0, 2]);
}

#[test]
fn the_tear_down_runs_when_the_load_is_stopped_or_halted() {
    static LOGS: [Log; 2] = [Log::new(Vec::new()), Log::new(Vec::new())];
    for (log, control) in LOGS.iter().zip([LoadControl::Stop(StopReason::User), LoadControl::Halt(StopReason::User)]) {
        let (ending, _) = run(log, Outcome::Passed, false, Some(control));
        assert!(matches!(ending, LoadEnding::Stopped(StopReason::User)), "{ending:?}");
        assert_eq!(log.lock().unwrap().last(), Some(&2));
    }
}
