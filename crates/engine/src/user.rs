//! The interface between the engine and the users that perform iterations.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use loadstone_metrics::{GeneratorSlice, Nanos, Outcome};
use loadstone_plan::ScenarioId;

/// One iteration that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When the arrival is due, on the run's clock. In closed load: when its user became free for it.
    pub scheduled: Nanos,
    pub scenario: ScenarioId,
    /// Number of the iteration within its leaf, from 0, over all workers. Closed load: in the order in which iterations start, without gaps. Open
    /// load: the arrival's number; an arrival that never starts, since the load was stopped, leaves its number unused. See also
    /// [`UserFactory::needs_iteration_numbers`].
    pub sequence: u64,
}

/// An arrival assigned to a user.
#[derive(Debug, Clone)]
pub struct Iteration {
    pub arrival: Arrival,
    /// Leaf of the load tree (depth-first number).
    pub leaf: u32,
    /// Open load: the first request's response time counts from `arrival.scheduled`. Closed load: from its own start.
    pub open: bool,
    /// Open load: when it was due, earlier iterations occupied all users of the leaf, and there could be no more. It then waited for one.
    pub waited_for_user: bool,
    /// When the leaf's load ends: at its profile's end, or earlier if the run is stopped. A loop inside an iteration ends then. `Nanos::MAX` where
    /// only a count bounds the leaf (bursts, iterations).
    pub load_end: Rc<Cell<Nanos>>,
}

/// How an iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationEnd {
    /// `Passed`, or why it failed.
    Ended(Outcome),
    /// The iteration ended with an error that its script did not handle, and failed with this outcome. A set-up that ends like this ends the run.
    Threw(Outcome),
    /// There was nothing left to do (a feeder ran out). The iteration is not recorded, and its leaf starts no further iteration.
    Exhausted,
}

/// One virtual user. It runs one iteration at a time and keeps its connections between them.
pub trait VirtualUser {
    /// Runs one iteration. The engine records the iteration itself, the user its requests.
    ///
    /// Dropping the future interrupts the iteration. The user closes its requests in flight and records them as [`Outcome::Interrupted`] when the
    /// future is dropped.
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = IterationEnd>;

    /// Closed load: work that the user does once, before its first iteration. It is not an iteration and is not counted. Returns whether the user can
    /// continue.
    fn begin(&mut self, context: Iteration) -> impl Future<Output = bool> {
        let _ = context;
        std::future::ready(true)
    }

    /// Closed load: work that the user does once, after its last iteration, within the time that iterations have to end.
    fn finish(&mut self, context: Iteration) -> impl Future<Output = ()> {
        let _ = context;
        std::future::ready(())
    }

    /// When its latest iteration ended, if that was before the user could continue and the user knows the time. `None`: when it continued.
    fn ended(&self) -> Option<Nanos> {
        None
    }
}

/// Why no further user can be created.
pub type UserError = Box<dyn std::error::Error + Send + Sync>;

/// Supplies one worker with users. Lives on that worker's thread.
pub trait UserFactory: 'static {
    type User: VirtualUser + 'static;

    /// Prepares, before the load, what its users will need. `users`: how many users this worker will certainly have at once; it may have more. The
    /// load begins when all workers have returned from this call.
    ///
    /// # Errors
    /// The script or its data cannot be loaded, and the run ends.
    fn prepare(&self, users: u64) -> Result<(), UserError> {
        let _ = users;
        Ok(())
    }

    /// Creates a user. `number` counts the users of the leaf from 0 and is unique across workers.
    ///
    /// # Errors
    /// The user cannot be created, and the run ends.
    fn new_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> Result<Self::User, UserError>;

    /// Whether its users use the numbers of iterations in closed load. If not, a number is only unique among the iterations of one worker, and workers
    /// share no memory per iteration.
    fn needs_iteration_numbers(&self) -> bool {
        true
    }

    /// Records the factory's own counts: its connections, and how late it read from them. Called at the end of each slice.
    fn count_into(&self, slice: &mut GeneratorSlice);

    /// Whether responses may be read late, by [`loadstone_metrics::late_read_max_ns`] at most, without affecting anything that users wait for. This
    /// holds if the kernel notes when a response arrived, and only the end of an iteration of open load follows from it. The worker then sleeps through
    /// arriving responses until a timer is due.
    fn reads_can_wait(&self) -> bool {
        false
    }

    /// Work in addition to the users (a script engine's jobs and I/O). Polled on the worker's thread until the run ends.
    fn drive(&self) -> impl Future<Output = ()> + 'static;
}
