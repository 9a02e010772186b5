//! What the engine asks of whoever performs iterations.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use loadstone_metrics::{GeneratorSlice, Nanos, Outcome};
use loadstone_plan::ScenarioId;

/// One iteration that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, on the run's clock. In closed load: when its user became free for it.
    pub scheduled: Nanos,
    pub scenario: ScenarioId,
    /// Number of the iteration within its leaf, from 0, over all workers. Closed load: in the order in which they start, so that none is left
    /// out. Open load: the arrival's; one that never starts, since the load was stopped, leaves its number unused.
    pub sequence: u64,
}

/// An arrival handed to a user.
#[derive(Debug, Clone)]
pub struct Iteration {
    pub arrival: Arrival,
    /// Leaf of the load tree (depth-first number).
    pub leaf: u32,
    /// Open load: the first request's response time counts from `arrival.scheduled`. Closed load: from its own start.
    pub open: bool,
    /// When the leaf stops asking for work: its profile's end, or earlier once the run is being stopped. A loop inside an
    /// iteration ends then. `Nanos::MAX` where only a count bounds the leaf (bursts, iterations).
    pub load_end: Rc<Cell<Nanos>>,
}

/// How an iteration came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationEnd {
    /// `Passed`, or why it failed.
    Ended(Outcome),
    /// It was broken off by an error that it did not handle; why it failed. A set-up that ends so ends the run.
    Threw(Outcome),
    /// There was nothing left to do (a feeder ran out). The iteration is not recorded, and its leaf starts no more.
    Exhausted,
}

/// One virtual user. It runs one iteration at a time and keeps its connections between them.
pub trait VirtualUser {
    /// Runs one iteration. The engine records the iteration itself, the user its requests.
    ///
    /// Dropping the future interrupts the iteration: what it had in flight is closed and recorded as
    /// [`Outcome::Interrupted`], by the user, from its drop.
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = IterationEnd>;

    /// Closed load: what it does once, before its first iteration. It is no iteration, and nothing of it is counted. Returns whether the user can
    /// go on.
    fn begin(&mut self, aside: Iteration) -> impl Future<Output = bool> {
        let _ = aside;
        std::future::ready(true)
    }

    /// Closed load: what it does once, after its last iteration, within the time that iterations have to end.
    fn finish(&mut self, aside: Iteration) -> impl Future<Output = ()> {
        let _ = aside;
        std::future::ready(())
    }

    /// When its latest iteration ended, if that was before it could go on and the user knows. `None`: when it went on.
    fn ended(&self) -> Option<Nanos> {
        None
    }
}

/// Why there can be no further user.
pub type UserError = Box<dyn std::error::Error + Send + Sync>;

/// Supplies one worker with users. Lives on that worker's thread.
pub trait UserFactory: 'static {
    type User: VirtualUser + 'static;

    /// Does ahead of the load what its users will need. `users`: as many as this worker is certain to have at once, if not more. The load
    /// begins when all workers have returned from here.
    ///
    /// # Errors
    /// Nothing can be loaded, and the run ends.
    fn prepare(&self, users: u64) -> Result<(), UserError> {
        let _ = users;
        Ok(())
    }

    /// A new user. `number` counts the users of the leaf from 0 and is unique across workers.
    ///
    /// # Errors
    /// The run ends with it.
    fn new_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> Result<Self::User, UserError>;

    /// Writes down what the factory itself counts: its connections, and how late it read from them. Called at the end of each slice.
    fn count_into(&self, slice: &mut GeneratorSlice);

    /// Whether nothing that users wait for suffers if it is read late, by a fifth of a millisecond at most: the kernel notes when it arrived, and nothing
    /// but the end of an iteration of open load follows from it. The worker then sleeps through arriving responses until something is due.
    fn reads_can_wait(&self) -> bool {
        false
    }

    /// Work that must go on beside the users (a script engine's jobs and I/O). Polled on the worker's thread until the run ends.
    fn drive(&self) -> impl Future<Output = ()> + 'static;
}
