//! Closed load: a number of users, each in a loop of iterations.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::Nanos;
use loadstone_plan::{ClosedStage, IterationSplit};

use crate::active_leaf::ActiveLeaf;
use crate::handover::users_of;
use crate::level::UserLevel;
use crate::messages::{IterationNumbers, LeafShared};
use crate::tasks::{Spawner, Tasks};
use crate::user::{UserFactory, VirtualUser};

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
    fn take(&mut self, numbers: &IterationNumbers) -> Option<u64> {
        if let Quota::PerUser(left) = self {
            *left = left.checked_sub(1)?;
        }
        let number = numbers.take()?;
        match self {
            Quota::Shared(count) if number >= *count => None,
            _ => Some(number),
        }
    }
}

/// The virtual users of a closed leaf on one worker.
struct UserLoops<C: UserFactory> {
    leaf: Rc<ActiveLeaf<C>>,
    /// By local index. A user that the level no longer includes leaves after its iteration.
    users: RefCell<Vec<Rc<LoopingUser>>>,
    level: Cell<usize>,
    present: Cell<u64>,
    /// Numbers the leaf's iterations over all workers without gaps. This costs one atomic add per iteration of closed load.
    shared: Arc<LeafShared>,
    spawner: Spawner,
}

/// One index of the level: whether the level includes a user there, and whether a user is there.
#[derive(Default)]
struct LoopingUser {
    wanted: Cell<bool>,
    present: Cell<bool>,
}

/// Runs a closed profile on one worker until its last iteration has ended or was interrupted.
pub(crate) async fn run<C: UserFactory>(leaf: Rc<ActiveLeaf<C>>, stages: &[ClosedStage], shared: Arc<LeafShared>) {
    let level = UserLevel::new(stages);
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
    while !leaf.is_stopping() && !leaf.halted.get() {
        if let Some((_, latest)) = leaf.scales.borrow_mut().drain(..).next_back() {
            factor = latest;
        }
        let reading = level.at(leaf.now().saturating_sub(leaf.begin));
        let Some(until) = reading.until_ns else { break };
        let next_handover = loops.set_level((reading.users as f64 * factor).round() as u64, || Quota::Unlimited);
        leaf.wait_until(next_handover.map_or(leaf.begin + until, |at| at.min(leaf.begin + until))).await;
    }
    loops.wind_down().await;
}

impl<C: UserFactory> UserLoops<C> {
    fn new(leaf: Rc<ActiveLeaf<C>>, shared: Arc<LeafShared>, tasks: &Tasks) -> Rc<Self> {
        Rc::new(Self { leaf, users: RefCell::default(), level: Cell::new(0), present: Cell::new(0), shared, spawner: tasks.spawner() })
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
        for user in slots.iter().take(level).skip(mine as usize) {
            user.wanted.set(false);
        }
        handovers.get(begun).filter(|_| !is_of_users).map(|handover| handover.from)
    }

    /// Waits for running iterations, at most for the graceful stop.
    async fn wind_down(&self) {
        let leaf = &self.leaf;
        leaf.stop();
        leaf.context.recorder.borrow_mut().leaf(leaf.number).users_asked = 0;
        let deadline = leaf.now() + leaf.graceful_stop_ns;
        while self.present.get() > 0 && !leaf.halted.get() && leaf.now() < deadline {
            leaf.wait_until(deadline).await;
        }
    }
}

/// The task of one user: one iteration after another, while the level includes it and its quota lasts.
async fn run_user<C: UserFactory>(loops: Rc<UserLoops<C>>, slot: Rc<LoopingUser>, mut quota: Quota) {
    let leaf = Rc::clone(&loops.leaf);
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
        let Some(number) = quota.take(&loops.shared.numbers) else { break };
        match leaf.perform(&mut user, now, None, number).await {
            Some(ended) => now = ended,
            None => leaf.stop(),
        }
    }
    if can_go_on {
        user.finish(leaf.outside_iteration()).await;
    }
    slot.present.set(false);
    loops.present.set(loops.present.get() - 1);
    leaf.changed.wake();
}
