//! Real workers that are slow to get ready, run out of users, or panic.

use std::sync::Mutex;

use super::*;
use crate::control::{LoadEvent, WorkerError};
use crate::user::{Iteration, IterationEnd, UserError, UserFactory, VirtualUser};
use loadstone_metrics::clock::Clock;
use loadstone_metrics::{GeneratorSlice, Outcome};
use loadstone_plan::{ClosedStage, Load, LoadProfile, ScenarioId, ScenarioRun};

const MS: u64 = 1_000_000;

/// What happened on any worker, in order.
type Log = Mutex<Vec<&'static str>>;

#[derive(Clone, Copy)]
enum Fault {
    None,
    /// At most this many users can be created.
    Users(u64),
    /// Iterations of the user with this number panic.
    Panic(u64),
    /// Iterations of the user with this number never return.
    Block(u64),
}

struct Users<'a> {
    clock: Clock,
    fault: Fault,
    log: &'a Log,
}

struct User {
    clock: Clock,
    panics: bool,
    blocks: bool,
}

impl VirtualUser for User {
    async fn iterate(&mut self, _: Iteration) -> IterationEnd {
        assert!(!self.panics, "a bug");
        if self.blocks {
            loop {
                std::thread::park();
            }
        }
        self.clock.sleep(MS).await;
        IterationEnd::Ended(Outcome::Passed)
    }
}

impl UserFactory for Users<'static> {
    type User = User;

    fn prepare(&self, users: u64) -> Result<(), UserError> {
        assert_eq!(users, 2, "half of four users");
        self.log.lock().unwrap().push("prepared");
        Ok(())
    }

    fn new_user(&self, _: u32, _: ScenarioId, number: u64) -> Result<User, UserError> {
        self.log.lock().unwrap().push("user");
        match self.fault {
            Fault::Users(most) if number >= most => Err("line 3 threw".into()),
            Fault::Panic(bad) => Ok(User { clock: self.clock.clone(), panics: number == bad, blocks: false }),
            Fault::Block(bad) => Ok(User { clock: self.clock.clone(), panics: false, blocks: number == bad }),
            Fault::Users(_) | Fault::None => Ok(User { clock: self.clock.clone(), panics: false, blocks: false }),
        }
    }

    fn count_into(&self, _: &mut GeneratorSlice) {}

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}

/// Four users, one more every 20 ms, on two workers. Returns the ending, the number of recorded iterations, and the log.
fn run(fault: Fault, log: &'static Log) -> (LoadEnding, u64) {
    let stages = vec![ClosedStage { from: 0, to: 4, duration_ns: 80 * MS }, ClosedStage { from: 4, to: 4, duration_ns: 80 * MS }];
    let load = Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::Closed { stages }));
    let coordinator = Coordinator::new(Arc::new(TestPlan::new("t", ["s"], load)), 2);
    let mut total = loadstone_metrics::Snapshot::default();
    let mut has_last = false;
    if let Fault::Block(_) = fault {
        let handle = coordinator.handle();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            handle.send(LoadControl::Halt(crate::control::StopReason::User));
        });
    }
    let ending = coordinator.run(
        |context| {
            if context.index == 1 {
                // A test file that computes at its top level takes time like this.
                std::thread::sleep(Duration::from_millis(50));
            }
            Ok::<_, UserError>(Users { clock: context.clock.clone(), fault, log })
        },
        |event| {
            has_last |= matches!(event, LoadEvent::LastSnapshot(_));
            if let LoadEvent::Snapshot(slice) | LoadEvent::LastSnapshot(slice) = event {
                total.merge(*slice);
            }
            None
        },
    );
    assert!(has_last, "the last snapshot is marked as last");
    (ending, total.leaves.iter().map(|leaf| leaf.ended).sum())
}

#[test]
fn the_load_begins_when_every_worker_is_ready() {
    static LOG: Log = Log::new(Vec::new());
    let (ending, ended) = run(Fault::None, &LOG);
    assert!(matches!(ending, LoadEnding::Completed) && ended > 0, "{ending:?}");
    let log = LOG.lock().unwrap();
    assert_eq!(log[..], ["prepared", "prepared", "user", "user", "user", "user"]);
}

#[test]
fn a_user_that_cannot_be_created_ends_the_run_and_keeps_its_measurements() {
    static LOG: Log = Log::new(Vec::new());
    let (ending, ended) = run(Fault::Users(3), &LOG);
    assert!(matches!(&ending, LoadEnding::Broke(WorkerError::Users(error)) if error.to_string() == "line 3 threw"), "{ending:?}");
    assert!(ended > 0);
}

#[test]
fn a_panic_of_a_worker_ends_the_run_and_not_the_process() {
    static LOG: Log = Log::new(Vec::new());
    let (ending, ended) = run(Fault::Panic(1), &LOG);
    let panicked = |error: &WorkerError| matches!(error, WorkerError::Panicked { worker: 1, message } if message == "a bug");
    assert!(matches!(&ending, LoadEnding::Broke(error) if panicked(error)), "{ending:?}");
    assert!(ended > 0, "what the other worker measured is kept");
}

#[test]
fn a_worker_that_never_returns_is_abandoned_at_a_halt() {
    static LOG: Log = Log::new(Vec::new());
    let (ending, ended) = run(Fault::Block(1), &LOG);
    assert!(matches!(&ending, LoadEnding::Broke(WorkerError::Blocked { worker: 1 })), "{ending:?}");
    assert!(ended > 0, "what the other worker measured is kept");
}
