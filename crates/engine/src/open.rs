//! Open load: arrivals come when they are due, whatever the target does.
//!
//! Two copies of the same arrival sequence are walked: one as arrivals come due, one as they start. Their distance is what
//! waits for a free user, so a backlog of any length costs no memory and no arrival is ever dropped.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use metrics::Nanos;
use plan::{OpenStage, ScenarioRun};

use crate::active_leaf::ActiveLeaf;
use crate::arrivals::{ArrivalShare, Arrivals, Due};
use crate::tasks::{Spawner, Tasks};
use crate::user::UserFactory;
use crate::wakeup::Wakeup;

/// The virtual users of an open leaf on one worker.
struct UserPool<C: UserFactory> {
    leaf: Rc<ActiveLeaf<C>>,
    /// Free users, the last to finish on top: its connections are warm.
    free: RefCell<Vec<Rc<PooledUser>>>,
    users: Cell<u64>,
    users_max: u64,
    /// The arrivals as they start; the dispatcher walks the same ones as they come due.
    starting: RefCell<Arrivals>,
    due: Cell<u64>,
    started: Cell<u64>,
    /// Arrivals handed to a user whose iteration has not ended: its task may not even have been polled yet.
    under_way: Cell<u64>,
    spawner: Spawner,
}

/// What the pool holds of one user: the arrival it is handed, and how it is woken. The user itself lives in its task.
#[derive(Default)]
struct PooledUser {
    assigned: Cell<Option<Due>>,
    wakeup: Wakeup,
}

/// Runs an open leaf on one worker until its last iteration has ended or was interrupted.
pub(crate) async fn run<C: UserFactory>(leaf: Rc<ActiveLeaf<C>>, stages: &[OpenStage]) {
    let users_max = leaf.run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX).max(1);
    let share = leaf.context.share();
    // Fewer users than workers: the first workers have one user each and share all arrivals; the others have none.
    let share = ArrivalShare { of: share.of.min(users_max), ..share };
    if share.index >= share.of {
        return;
    }
    let arrivals = Arrivals::new(stages, leaf.seed, share);
    let tasks = Tasks::default();
    let pool = Rc::new(UserPool {
        free: RefCell::default(),
        users: Cell::new(0),
        users_max: users_max / share.of + u64::from(users_max % share.of > share.index),
        starting: RefCell::new(arrivals.clone()),
        due: Cell::new(0),
        started: Cell::new(0),
        under_way: Cell::new(0),
        spawner: tasks.spawner(),
        leaf,
    });
    tasks.beside(dispatch(pool, arrivals)).await;
}

async fn dispatch<C: UserFactory>(pool: Rc<UserPool<C>>, mut arrivals: Arrivals) {
    let leaf = Rc::clone(&pool.leaf);
    let profile_end = leaf.begin + leaf.run.profile.duration_ns().unwrap_or(0);
    let mut stopped_at = None;
    // While arrivals come due.
    while !leaf.is_stopping() && !leaf.halted.get() {
        let now = leaf.now();
        for (instant, factor) in leaf.scales.borrow_mut().drain(..) {
            let offset = instant.saturating_sub(leaf.begin);
            arrivals.scale_from(offset, factor);
            pool.starting.borrow_mut().scale_from(offset, factor);
        }
        let mut ahead = arrivals.clone();
        let Some(next) = ahead.next() else {
            // No arrival is ahead, but the load may yet be scaled up before the profile ends.
            if now >= profile_end {
                break;
            }
            leaf.wait_until(profile_end).await;
            continue;
        };
        let deadline = leaf.begin + next.offset_ns;
        if deadline <= now {
            arrivals = ahead;
            pool.came_due(deadline, now);
            continue;
        }
        leaf.wait_until(deadline).await;
    }
    if leaf.is_stopping() {
        stopped_at = Some(leaf.now());
    }
    // While those that wait for a user, and those that run, come to their end.
    let deadline = stopped_at.unwrap_or_else(|| profile_end.max(leaf.now())) + leaf.graceful_stop_ns;
    while (pool.under_way.get() > 0 || pool.waiting() > 0 && !leaf.is_stopping()) && !leaf.halted.get() {
        let graceful = stopped_at.map_or(deadline, |at: Nanos| at + leaf.graceful_stop_ns);
        if leaf.now() >= graceful {
            break;
        }
        leaf.wait_until(graceful).await;
        if leaf.is_stopping() && stopped_at.is_none() {
            stopped_at = Some(leaf.now());
        }
    }
}

impl<C: UserFactory> UserPool<C> {
    fn waiting(&self) -> u64 {
        self.due.get() - self.started.get()
    }

    fn came_due(self: &Rc<Self>, deadline: Nanos, now: Nanos) {
        self.due.set(self.due.get() + 1);
        {
            let mut recorder = self.leaf.context.recorder.borrow_mut();
            recorder.generator().timer_lag.record(now.saturating_sub(deadline));
            let counts = recorder.leaf(self.leaf.number);
            counts.arrivals_due += 1;
            counts.waiting = self.waiting();
        }
        if let Some(user) = self.free_user()
            && let Some(due) = self.take()
        {
            user.assigned.set(Some(due));
            user.wakeup.wake();
        }
    }

    /// A free user, or a new one while there may be more.
    fn free_user(self: &Rc<Self>) -> Option<Rc<PooledUser>> {
        if let Some(user) = self.free.borrow_mut().pop() {
            return Some(user);
        }
        if self.users.get() >= self.users_max {
            return None;
        }
        self.users.set(self.users.get() + 1);
        let user = Rc::new(PooledUser::default());
        self.spawner.spawn(serve_arrivals(Rc::clone(self), Rc::clone(&user)));
        Some(user)
    }

    /// The oldest arrival that is due and has not started.
    fn take(&self) -> Option<Due> {
        if self.waiting() == 0 || self.leaf.is_stopping() {
            return None;
        }
        let due = self.starting.borrow_mut().next()?;
        self.started.set(self.started.get() + 1);
        self.under_way.set(self.under_way.get() + 1);
        self.leaf.context.recorder.borrow_mut().leaf(self.leaf.number).waiting = self.waiting();
        Some(due)
    }
}

/// The task of one user: iteration after iteration, as arrivals are handed to it.
async fn serve_arrivals<C: UserFactory>(pool: Rc<UserPool<C>>, pooled: Rc<PooledUser>) {
    let leaf = Rc::clone(&pool.leaf);
    let mut user = leaf.new_user();
    loop {
        let due = match pooled.assigned.take() {
            Some(due) => due,
            None => {
                pooled.wakeup.wait().await;
                continue;
            }
        };
        if leaf.perform(&mut user, leaf.now(), Some(leaf.begin + due.offset_ns), due.sequence).await.is_none() {
            leaf.stop();
        }
        pool.under_way.set(pool.under_way.get() - 1);
        match pool.take() {
            Some(next) => pooled.assigned.set(Some(next)),
            None => {
                pool.free.borrow_mut().push(Rc::clone(&pooled));
                if pool.under_way.get() == 0 || leaf.is_stopping() {
                    leaf.changed.wake();
                }
            }
        }
    }
}
