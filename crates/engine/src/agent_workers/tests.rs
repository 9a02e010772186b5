//! Two agents of one load in one process, led by a coordinator over channels.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::control::{LoadControl, LoadEnding, LoadEvent};
use crate::coordinator::Coordinator;
use crate::user::{Iteration, IterationEnd, UserError, VirtualUser};
use loadstone_metrics::clock::Clock;
use loadstone_metrics::{GeneratorSlice, Outcome, Snapshot};
use loadstone_plan::{Load, RunRole, ScenarioId, ScenarioRun};

const MS: u64 = 1_000_000;

/// Which iteration ran on which worker.
type Log = Mutex<Vec<(u32, u64)>>;

struct Users {
    clock: Clock,
    worker: u32,
    log: &'static Log,
    /// Iterations of this worker never return.
    blocked: Option<u32>,
}

struct User {
    clock: Clock,
    worker: u32,
    log: &'static Log,
    blocks: bool,
}

impl VirtualUser for User {
    async fn iterate(&mut self, iteration: Iteration) -> IterationEnd {
        self.log.lock().unwrap().push((self.worker, iteration.arrival.sequence));
        if self.blocks {
            loop {
                std::thread::park();
            }
        }
        self.clock.sleep(MS).await;
        IterationEnd::Ended(Outcome::Passed)
    }
}

impl UserFactory for Users {
    type User = User;

    fn new_user(&self, _: u32, _: ScenarioId, _: u64) -> Result<User, UserError> {
        Ok(User { clock: self.clock.clone(), worker: self.worker, log: self.log, blocks: self.blocked == Some(self.worker) })
    }

    fn count_into(&self, _: &mut GeneratorSlice) {}

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}

/// One counter from which all agents take their numbers.
struct OneCounter(Arc<AtomicU64>, u64);

impl SharedIterations for OneCounter {
    fn take(&self) -> Option<u64> {
        Some(self.0.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < self.1)
    }
}

/// Runs a profile on agents with these numbers of workers.
fn run(profile: LoadProfile, agents: &[u32], log: &'static Log) -> (LoadEnding, Snapshot) {
    run_plan(TestPlan::new("t", ["s"], Load::Run(ScenarioRun::new(ScenarioId(0), profile))), agents, log, None)
}

/// Runs a whole plan likewise. `lost`: an agent that is reported lost as soon as its load begins. It continues, since it is not informed.
fn run_plan(plan: TestPlan, agents: &[u32], log: &'static Log, lost: Option<usize>) -> (LoadEnding, Snapshot) {
    let plan = Arc::new(plan);
    let of = agents.iter().sum();
    let firsts: Vec<u32> = agents.iter().scan(0, |next, here| Some(std::mem::replace(next, *next + here))).collect();
    let (coordinator, counter) = (Coordinator::new(Arc::clone(&plan), of), Arc::new(AtomicU64::new(0)));
    let mut sinks: Vec<Box<dyn Fn(AgentCommand)>> = Vec::new();
    for (agent, (here, first)) in agents.iter().zip(&firsts).enumerate() {
        let share = WorkerShare { first: *first, here: *here, of };
        let (plan, firsts, counter, handle) = (Arc::clone(&plan), firsts.clone(), Arc::clone(&counter), coordinator.handle());
        let (sender, commands) = sync_channel(1);
        std::thread::spawn(move || {
            let iterations = Box::new(move |_, count| Box::new(OneCounter(Arc::clone(&counter), count)) as Box<dyn SharedIterations>);
            let workers = AgentWorkers::new(plan, share, firsts, iterations, DescriptorTables::OneForAll);
            sender.send(workers.commands()).unwrap();
            workers.run(
                |context| Ok::<_, UserError>(Users { clock: context.clock.clone(), worker: context.index, log, blocked: None }),
                |report| handle.report(agent, report),
            );
        });
        let commands = commands.recv().unwrap();
        sinks.push(Box::new(move |command| commands.send(command)));
    }
    let (mut total, handle) = (Snapshot::default(), coordinator.handle());
    let ending = coordinator.run_agents(sinks, 20 * MS, |event| {
        if let (LoadEvent::LeafBegan { leaf: 0, .. }, Some(lost)) = (&event, lost) {
            handle.report(lost, AgentReport::Lost { why: "gone".to_owned(), started_before: None });
        }
        if let LoadEvent::Snapshot(snapshot) | LoadEvent::LastSnapshot(snapshot) = event {
            total.merge(*snapshot);
        }
        None::<LoadControl>
    });
    (ending, total)
}

fn log() -> &'static Log {
    Box::leak(Box::default())
}

#[track_caller]
fn each_once(log: &Log, count: u64) {
    let mut numbers: Vec<u64> = log.lock().unwrap().iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..count), "{numbers:?}");
}

#[test]
fn arrivals_are_divided_over_the_workers_of_all_agents() {
    let log = log();
    let (ending, total) = run(LoadProfile::rate(100.0, 300 * MS), &[2, 1], log);
    assert!(matches!(ending, LoadEnding::Completed), "{ending:?}");
    assert_eq!((total.leaves[0].arrivals_due, total.leaves[0].ended), (30, 30));
    each_once(log, 30);
    assert!(log.lock().unwrap().iter().all(|(worker, number)| number % 3 == u64::from(*worker)));
    let mut workers: Vec<u32> = total.generator.iter().map(|slice| slice.worker).collect();
    workers.sort_unstable();
    workers.dedup();
    assert_eq!(workers, [0, 1, 2]);
}

#[test]
fn shared_iterations_run_once_even_if_an_agent_has_no_user() {
    for users in [1, 2, 3, 5] {
        let log = log();
        let profile = LoadProfile::Iterations { users, count: 17, split: IterationSplit::Shared, duration_max_ns: None };
        run(profile, &[1, 2, 1], log);
        each_once(log, 17);
    }
}

#[test]
fn the_tear_down_of_a_lost_first_agent_runs_on_the_next() {
    let log = log();
    let mut plan = TestPlan::new("t", ["s", "down"], Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::rate(100.0, 100 * MS))));
    plan.tear_down = Some(ScenarioRun { role: RunRole::TearDown, ..ScenarioRun::new(ScenarioId(1), LoadProfile::burst(1)) });
    let (ending, total) = run_plan(plan, &[1, 1, 1], log, Some(0));
    assert!(matches!(ending, LoadEnding::Completed), "{ending:?}");
    let of_second: Vec<u64> = log.lock().unwrap().iter().filter(|(worker, _)| *worker == 1).map(|(_, number)| *number).collect();
    assert_eq!(of_second, [1, 4, 7, 0], "its own share of the load, and the tear-down");
    let warnings: Vec<&str> = total.marks.iter().map(|mark| &*mark.text).filter(|text| text.contains("gone")).collect();
    assert_eq!(warnings, ["gone; its share of the load is missing from this point"]);
}

/// Runs an agent whose second worker blocks. The end is requested half a second after the start.
fn run_with_a_blocked_worker(end: AgentCommand) -> (bool, Vec<AgentReport>) {
    let log = log();
    let load = Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::rate(100.0, 600_000 * MS)));
    let share = WorkerShare { first: 4, here: 2, of: 6 };
    let iterations = Box::new(|_, _| Box::new(OneCounter(Arc::default(), 0)) as Box<dyn SharedIterations>);
    let workers = AgentWorkers::new(Arc::new(TestPlan::new("t", ["s"], load)), share, vec![0, 4], iterations, DescriptorTables::OneForAll);
    let commands = workers.commands();
    let mut reports = Vec::new();
    let was_abandoned = workers.run(
        |context| Ok::<_, UserError>(Users { clock: context.clock.clone(), worker: context.index, log, blocked: Some(5) }),
        |report| {
            if let AgentReport::Ready = report {
                let (commands, end) = (commands.clone(), end.clone());
                std::thread::spawn(move || {
                    commands.send(AgentCommand::Start { zero: Monotonic::start() });
                    commands.send(AgentCommand::Begin { leaf: 0, at: 0 });
                    std::thread::sleep(Duration::from_millis(500));
                    commands.send(end);
                });
            }
            reports.push(report);
        },
    );
    (was_abandoned, reports)
}

#[test]
fn an_agent_abandons_a_worker_that_never_returns() {
    let (was_abandoned, reports) = run_with_a_blocked_worker(AgentCommand::Halt);
    assert!(was_abandoned);
    let Some((AgentReport::Broke(why), before)) = reports.split_last() else { panic!("{reports:?}") };
    assert!(why.contains("worker 5 stopped responding and was abandoned"), "its number in the run: {why}");
    let seconds = before.iter().filter_map(|report| if let AgentReport::Snapshot(second) = report { Some(second) } else { None });
    let mut total = Snapshot::default();
    seconds.for_each(|second| total.merge((**second).clone()));
    assert!(total.leaves[0].ended > 0, "what the other worker measured precedes the failure");
    let warnings: Vec<&str> = total.marks.iter().map(|mark| &*mark.text).filter(|text| text.contains("abandoned")).collect();
    assert_eq!(warnings, ["worker 5 was abandoned because it did not respond"]);
}
