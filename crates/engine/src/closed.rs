//! Closed load: a number of users, each in a loop of iterations.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::select;
use loadstone_metrics::Nanos;
use loadstone_plan::{ClosedStage, IterationSplit};

use crate::active_leaf::ActiveLeaf;
use crate::handover::users_of;
use crate::level::UserLevel;
use crate::messages::LeafShared;
use crate::tasks::{Spawner, Tasks};
use crate::user::{UserFactory, VirtualUser};
use crate::wakeup::Wakeup;

/// How many more iterations a user may run.
pub(crate) enum Quota {
    /// As many as it can while the level includes it.
    Unlimited,
    PerUser(u64),
    /// As many as remain of a count that all users of all workers share.
    Shared(u64),
}

impl Quota {
    /// The number of the user's next iteration within the leaf. `None`: the user may run no more.
    fn take<C: UserFactory>(&mut self, loops: &UserLoops<C>) -> Option<u64> {
        match self {
            Quota::Shared(count) => loops.shared.numbers.take().filter(|number| number < count),
            Quota::PerUser(left) => {
                *left = left.checked_sub(1)?;
                loops.next_number()
            }
            Quota::Unlimited => loops.next_number(),
        }
    }
}

/// The virtual users of a closed leaf on one worker.
struct UserLoops<C: UserFactory> {
    leaf: Rc<ActiveLeaf<C>>,
    /// By local index. A user that the level no longer includes leaves after its iteration.
    users: RefCell<Vec<Rc<LoopingUser>>>,
    /// Users that the level has removed, in that order, if their iterations have a time limit.
    removed: RefCell<VecDeque<Removal>>,
    level: Cell<usize>,
    present: Cell<u64>,
    /// Numbers the leaf's iterations over all workers without gaps. This costs one atomic add per iteration of closed load, to memory that all workers
    /// write.
    shared: Arc<LeafShared>,
    /// Numbers those of this worker, if its users do not need numbers that are unique over all workers.
    own_numbers: Cell<u64>,
    spawner: Spawner,
}

/// One index of the level: whether the level includes a user there, and whether a user is there.
#[derive(Default)]
struct LoopingUser {
    wanted: Cell<bool>,
    present: Cell<bool>,
    /// When its iteration is interrupted, once the level has removed it.
    deadline: Cell<Nanos>,
    interruption: Wakeup,
}

/// A user that the level has removed.
struct Removal {
    index: usize,
    deadline: Nanos,
}

/// Runs a closed profile on one worker until its last iteration has ended or was interrupted.
pub(crate) async fn run<C: UserFactory>(leaf: Rc<ActiveLeaf<C>>, stages: &[ClosedStage], shared: Arc<LeafShared>) {
    let level = UserLevel::new(stages, leaf.run.step_place);
    let tasks = Tasks::default();
    let loops = UserLoops::new(leaf, shared, &tasks);
    tasks.run_until(follow(loops, level)).await;
}

/// Runs a counted profile on one worker.
pub(crate) async fn run_iterations<C: UserFactory>(
    leaf: Rc<ActiveLeaf<C>>,
    users: u64,
    count: u64,
    split: IterationSplit,
    shared: Arc<LeafShared>,
) {
    let tasks = Tasks::default();
    let loops = UserLoops::new(leaf, shared, &tasks);
    let lead = async {
        let leaf = &loops.leaf;
        let end = leaf.run.profile.duration_ns().map_or(Nanos::MAX, |duration| leaf.begin + duration);
        loop {
            let next_handover = loops.set_level(users, || match split {
                IterationSplit::PerUser => Quota::PerUser(count),
                IterationSplit::Shared => Quota::Shared(count),
            });
            if loops.present.get() == 0 || leaf.is_stopping() || leaf.halted.get() || leaf.now() >= end {
                break;
            }
            leaf.wait_until(next_handover.map_or(end, |at| end.min(at))).await;
        }
        loops.wind_down().await;
    };
    tasks.run_until(lead).await;
}

async fn follow<C: UserFactory>(loops: Rc<UserLoops<C>>, level: UserLevel) {
    let leaf = Rc::clone(&loops.leaf);
    let mut factor = 1.0f64;
    let users = |level: u64, factor: f64| (level as f64 * factor).round() as u64;
    while !leaf.is_stopping() && !leaf.halted.get() {
        if let Some((_, latest)) = leaf.scales.borrow_mut().drain(..).next_back() {
            factor = latest;
        }
        let reading = level.at(leaf.now().saturating_sub(leaf.begin));
        let Some(until) = reading.until_ns else {
            loops.set_level(users(level.last(), factor), || Quota::Unlimited);
            break;
        };
        let next_handover = loops.set_level(users(reading.users, factor), || Quota::Unlimited);
        let next_interruption = loops.interrupt_removed();
        leaf.wait_until([next_handover, next_interruption].into_iter().flatten().fold(leaf.begin + until, Nanos::min)).await;
    }
    loops.wind_down().await;
}

impl<C: UserFactory> UserLoops<C> {
    fn new(leaf: Rc<ActiveLeaf<C>>, shared: Arc<LeafShared>, tasks: &Tasks) -> Rc<Self> {
        let (users, removed, spawner) = (RefCell::default(), RefCell::default(), tasks.spawner());
        Rc::new(Self { leaf, users, removed, level: Cell::new(0), present: Cell::new(0), shared, own_numbers: Cell::new(0), spawner })
    }

    fn next_number(&self) -> Option<u64> {
        if self.leaf.factory.needs_iteration_numbers() {
            return self.shared.numbers.take();
        }
        Some(self.own_numbers.replace(self.own_numbers.get() + 1))
    }

    /// Sets the level of all workers together to `users`. This worker runs its share of them, and its share of those of lost workers. Returns when
    /// the latter will grow.
    fn set_level(self: &Rc<Self>, users: u64, quota: impl Fn() -> Quota) -> Option<Nanos> {
        let handovers = self.leaf.handovers();
        // If each user has its own count, the number of iterations that a lost user had already run is unknown.
        let is_of_users = matches!(quota(), Quota::PerUser(_));
        let now = self.leaf.now();
        let begun = if is_of_users { 0 } else { handovers.iter().take_while(|handover| handover.from <= now).count() };
        let share = self.leaf.context.share();
        let mine = users_of(users, share.index, share.of, &handovers[..begun]);
        self.leaf.context.recorder.borrow_mut().leaf(self.leaf.number).users_asked = mine;
        let mut slots = self.users.borrow_mut();
        let level = self.level.replace(mine as usize);
        for index in level..mine as usize {
            if index == slots.len() {
                slots.push(Rc::default());
            }
            let user = &slots[index];
            user.wanted.set(true);
            if !user.present.replace(true) {
                self.present.set(self.present.get() + 1);
                self.spawner.spawn(run_user(Rc::clone(self), Rc::clone(user), quota()));
            }
        }
        for (index, user) in slots.iter().enumerate().take(level).skip(mine as usize) {
            user.wanted.set(false);
            if let Some(grace) = self.leaf.run.graceful_ramp_down_ns {
                let deadline = now.saturating_add(grace);
                user.deadline.set(deadline);
                self.removed.borrow_mut().push_back(Removal { index, deadline });
            }
        }
        handovers.get(begun).filter(|_| !is_of_users).map(|handover| handover.from)
    }

    /// Interrupts users that were removed and whose iterations have had their time. Returns when the next one is due.
    fn interrupt_removed(&self) -> Option<Nanos> {
        let (mut slots, mut removed) = (self.users.borrow_mut(), self.removed.borrow_mut());
        while let Some(Removal { index, deadline }) = removed.front() {
            if *deadline > self.leaf.now() {
                return Some(*deadline);
            }
            // A user that has come back since then, or was removed again, stays.
            let user = &mut slots[*index];
            if !user.wanted.get() && user.present.get() && user.deadline.get() == *deadline {
                // The place is free at once, for a user that the level adds before this one has left.
                std::mem::take(user).interruption.wake();
            }
            removed.pop_front();
        }
        None
    }

    /// Waits for running iterations, at most for the graceful stop.
    async fn wind_down(&self) {
        let leaf = &self.leaf;
        leaf.stop();
        leaf.context.recorder.borrow_mut().leaf(leaf.number).users_asked = 0;
        let deadline = leaf.now() + leaf.graceful_stop_ns;
        while self.present.get() > 0 && !leaf.halted.get() && leaf.now() < deadline {
            let next_interruption = self.interrupt_removed();
            leaf.wait_until(next_interruption.map_or(deadline, |at| deadline.min(at))).await;
        }
    }
}

/// The task of one user.
async fn run_user<C: UserFactory>(loops: Rc<UserLoops<C>>, slot: Rc<LoopingUser>, quota: Quota) {
    let leaf = &loops.leaf;
    let iterations = iterate(&loops, &slot, quota);
    match leaf.run.graceful_ramp_down_ns {
        // An interrupted iteration is dropped.
        Some(_) => _ = select(pin!(iterations), pin!(slot.interruption.wait())).await,
        None => iterations.await,
    }
    slot.present.set(false);
    loops.present.set(loops.present.get() - 1);
    leaf.changed.wake();
}

/// One iteration after another, while the level includes the user and its quota lasts.
async fn iterate<C: UserFactory>(loops: &UserLoops<C>, slot: &LoopingUser, mut quota: Quota) {
    let leaf = &loops.leaf;
    let Some(mut user) = leaf.new_user() else { return };
    let can_go_on = user.begin(leaf.outside_iteration()).await;
    // The end of an iteration is the start of the next.
    let mut now = leaf.now();
    while can_go_on && slot.wanted.get() && !leaf.is_stopping() {
        let Some(at) = leaf.may_start(now).await else { break };
        now = at;
        // At the end of the load, users may wake up before the dispatcher stops them.
        if now >= leaf.load_end.get() {
            break;
        }
        let Some(number) = quota.take(loops) else { break };
        match leaf.perform(&mut user, now, None, number).await {
            Some(ended) => now = ended,
            None => leaf.stop(),
        }
    }
    if can_go_on {
        user.finish(leaf.outside_iteration()).await;
    }
}
