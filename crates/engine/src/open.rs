//! Open load: arrivals start when they are due, independent of the target.
//!
//! The dispatcher walks two copies of the same arrival sequence: one as arrivals come due, one as they start. The distance between them is the
//! backlog that waits for a user. A backlog of any length therefore costs no memory, and no arrival is ever dropped.
//!
//! An arrival that finds no free user may create one, as the target's slowness must not delay the load. The generator's own delay must not open
//! connections, though. The dispatcher therefore first reads what has arrived. Only if no iteration of the leaf ended in that turn do the target's
//! responses hold up all users, and [`crate::user_growth`] decides.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::Nanos;
use loadstone_plan::{OpenStage, ScenarioRun};

use crate::active_leaf::{ActiveLeaf, DueArrival};
use crate::arrivals::{ArrivalShare, Arrivals, Due};
use crate::exchange::{ArrivalExchange, ExchangePlace, Message};
use crate::handover::users_of;
use crate::pace::{Ceiling, LeafProgress, Pace};
use crate::tasks::{Spawner, Tasks};
use crate::turns::Turns;
use crate::user::UserFactory;
use crate::user_growth::{GrowthDecision, ON_TIME_LAG_MAX_NS, PoolState, decide};
use crate::wakeup::Wakeup;

/// Arrivals counted as due in one turn. An excessive rate must not occupy the worker so long that it starts less than it can.
const ARRIVALS_COUNTED_PER_TURN_MAX: u32 = 256;

/// The virtual users of an open leaf on one worker.
struct UserPool<C: UserFactory> {
    leaf: Rc<ActiveLeaf<C>>,
    /// Free users, the last one to finish on top: its connections are warm.
    free: RefCell<Vec<Rc<PooledUser>>>,
    users: Cell<u64>,
    users_max: Cell<u64>,
    /// The arrivals that belong to this worker.
    share: ArrivalShare,
    /// Number of handovers that the arrivals have applied.
    handed_over: Cell<usize>,
    /// The arrivals as they start. The dispatcher walks the same ones as they come due.
    starting: RefCell<Arrivals>,
    due: Cell<u64>,
    started: Cell<u64>,
    ended: Cell<u64>,
    /// Arrivals assigned to a user whose iteration has not ended. Its task may not even have been polled yet.
    under_way: Cell<u64>,
    /// No further arrival comes: the leaf ends when the last iteration in progress ends.
    ending: Cell<bool>,
    /// Of the arrivals in the order in which they start, each below this index may create a user.
    users_allowed_below: Cell<u64>,
    /// The arrivals below this index, in the order in which they start, came due while the pool was saturated.
    queued: Cell<u64>,
    pace: Cell<Pace>,
    ceiling: Cell<Ceiling>,
    turns: Turns,
    exchange: ExchangePlace,
    /// Arrivals that waited on another worker while users of this one were free.
    adopted: RefCell<VecDeque<Due>>,
    spawner: Spawner,
}

/// What the pool holds of one user: the arrival assigned to it, and how to wake it. The user itself lives in its task.
#[derive(Default)]
struct PooledUser {
    assigned: Cell<Option<Assigned>>,
    wakeup: Wakeup,
}

#[derive(Clone, Copy)]
struct Assigned {
    due: Due,
    /// The arrival waited because the pool was saturated.
    queued: bool,
}

/// Runs an open leaf on one worker until its last iteration has ended or was interrupted.
pub(crate) async fn run<C: UserFactory>(leaf: Rc<ActiveLeaf<C>>, stages: &[OpenStage], exchange: Arc<ArrivalExchange>, turns: Turns) {
    let users_max = leaf.run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX).max(1);
    let share = leaf.context.share();
    // With fewer users than workers, the first workers have one user each and share all arrivals. The others have none.
    let share = ArrivalShare { of: share.of.min(users_max), ..share };
    if share.index >= share.of {
        return;
    }
    let arrivals = Arrivals::new(stages, leaf.seed, share).placed(leaf.run.step_place);
    let tasks = Tasks::default();
    let pool = Rc::new(UserPool {
        free: RefCell::default(),
        users: Cell::new(0),
        users_max: Cell::new(users_of(users_max, share.index, share.of, &[])),
        share,
        handed_over: Cell::new(0),
        starting: RefCell::new(arrivals.clone()),
        due: Cell::new(0),
        started: Cell::new(0),
        ended: Cell::new(0),
        under_way: Cell::new(0),
        ending: Cell::new(false),
        users_allowed_below: Cell::new(0),
        queued: Cell::new(0),
        pace: Cell::default(),
        ceiling: Cell::default(),
        turns,
        exchange: ExchangePlace::new(exchange, leaf.context.index_here() as usize),
        adopted: RefCell::default(),
        spawner: tasks.spawner(),
        leaf,
    });
    tasks.spawner().spawn(exchange_arrivals(Rc::clone(&pool)));
    let place = Rc::clone(&pool);
    tasks.run_until(dispatch(pool, arrivals)).await;
    place.exchange.leave();
}

async fn dispatch<C: UserFactory>(pool: Rc<UserPool<C>>, mut arrivals: Arrivals) {
    let leaf = Rc::clone(&pool.leaf);
    let profile_end = leaf.begin + leaf.run.profile.duration_ns().unwrap_or(0);
    let mut stopped_at = None;
    while !leaf.halted.get() {
        let now = leaf.now();
        if leaf.is_stopping() {
            stopped_at.get_or_insert(now);
        }
        // While no iteration may start, due arrivals are not counted. They are counted when iterations may start again.
        let may_start = leaf.worker_lease.may_start(now);
        let next = if stopped_at.is_none() && may_start { pool.count_due(&mut arrivals, now) } else { None };
        if may_start {
            pool.start_waiting();
        }
        // Until the profile ends, the load may still be scaled up.
        let is_over = stopped_at.is_some() || may_start && next.is_none() && now >= profile_end;
        pool.ending.set(is_over);
        let end = stopped_at.unwrap_or(profile_end) + leaf.graceful_stop_ns;
        let is_idle = pool.under_way.get() == 0 && (stopped_at.is_some() || !pool.has_waiting() && !pool.exchange.is_needed());
        if is_over && is_idle || now >= end {
            return;
        }
        let next_check = if is_over || !may_start { end } else { profile_end };
        let mut until = next.map_or(next_check, |due| last_together(&arrivals, &leaf, due));
        let is_held_up = stopped_at.is_none() && may_start && pool.waiting() > 0 && pool.queued.get() < pool.due.get();
        if is_held_up || until <= now {
            let ended = pool.ended.get();
            pool.turns.whole().await;
            if !is_held_up || pool.ended.get() != ended || leaf.is_stopping() {
                continue;
            }
            match pool.decide_growth(now, leaf.now()) {
                Some(GrowthDecision::Wait(decide_again_at)) => until = until.min(decide_again_at),
                Some(GrowthDecision::AllowUsersBelow(bound)) => {
                    pool.users_allowed_below.set(bound);
                    continue;
                }
                Some(GrowthDecision::Saturated) => {
                    pool.queue_waiting();
                    continue;
                }
                None => continue,
            }
        }
        let held_up = HeldUp::new(&pool);
        leaf.wait_until(until).await;
        drop(held_up);
    }
}

/// While this value exists, the worker knows whether arrivals of this leaf wait for a user.
struct HeldUp(Option<Turns>);

impl HeldUp {
    fn new<C: UserFactory>(pool: &UserPool<C>) -> Self {
        let turns = pool.has_waiting().then(|| pool.turns.clone());
        if let Some(turns) = &turns {
            turns.hold_arrivals(true);
        }
        Self(turns)
    }
}

impl Drop for HeldUp {
    fn drop(&mut self) {
        if let Some(turns) = &self.0 {
            turns.hold_arrivals(false);
        }
    }
}

/// When the last arrival is due that starts together with the next one. `next`: when the next one is due.
fn last_together<C: UserFactory>(arrivals: &Arrivals, leaf: &ActiveLeaf<C>, next: Nanos) -> Nanos {
    let instants = arrivals.clone().map(|due| leaf.begin + due.offset_ns).take(ARRIVALS_COUNTED_PER_TURN_MAX as usize);
    instants.take_while(|due| *due <= next + leaf.start_window_ns).last().unwrap_or(next)
}

impl<C: UserFactory> UserPool<C> {
    fn waiting(&self) -> u64 {
        self.due.get() - self.started.get()
    }

    fn has_waiting(&self) -> bool {
        self.waiting() > 0 || !self.adopted.borrow().is_empty()
    }

    /// Counts the arrivals that have come due. Returns when the next one is or was due. `None`: no further arrival comes.
    fn count_due(&self, arrivals: &mut Arrivals, now: Nanos) -> Option<Nanos> {
        let leaf = &self.leaf;
        for (instant, factor) in leaf.scales.borrow_mut().drain(..) {
            let offset = instant.saturating_sub(leaf.begin);
            arrivals.scale_from(offset, factor);
            self.starting.borrow_mut().scale_from(offset, factor);
        }
        self.take_handovers(arrivals);
        let mut recorder = leaf.context.recorder.borrow_mut();
        let mut counted = 0;
        loop {
            let mut ahead = arrivals.clone();
            let next = ahead.next()?;
            let deadline = leaf.begin + next.offset_ns;
            if deadline > now || counted >= ARRIVALS_COUNTED_PER_TURN_MAX && !next.at_once {
                return Some(deadline);
            }
            *arrivals = ahead;
            counted += 1;
            self.due.set(self.due.get() + 1);
            if next.at_once {
                self.users_allowed_below.set(self.due.get());
            }
            recorder.generator().timer_lag.record(now - deadline);
            recorder.leaf(leaf.number).arrivals_due += u64::from(leaf.is_load());
        }
    }

    /// Takes over this worker's part of lost workers' arrivals.
    fn take_handovers(&self, arrivals: &mut Arrivals) {
        let count = self.leaf.handover_count();
        let known = self.handed_over.replace(count);
        if known == count {
            return;
        }
        let handovers = self.leaf.handovers();
        // Both copies walk the same arrivals, and `arrivals` is ahead.
        let from_sequence = arrivals.next_sequence();
        for handover in &handovers[known..] {
            arrivals.hand_over(handover, self.leaf.begin, from_sequence);
            self.starting.borrow_mut().hand_over(handover, self.leaf.begin, from_sequence);
        }
        let users_max = self.leaf.run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX).max(1);
        self.users_max.set(users_of(users_max, self.share.index, self.share.of, &handovers));
    }

    /// Assigns waiting arrivals to free users, and to new users where arrivals may create them.
    fn start_waiting(self: &Rc<Self>) {
        while self.has_waiting() {
            let free = self.free.borrow_mut().pop();
            let Some(user) = free.or_else(|| self.new_user()) else { return };
            let Some(next) = self.take() else { return };
            user.assigned.set(Some(next));
            user.wakeup.wake();
        }
    }

    fn new_user(self: &Rc<Self>) -> Option<Rc<PooledUser>> {
        let is_allowed = self.started.get() < self.users_allowed_below.get() || !self.adopted.borrow().is_empty();
        if !is_allowed || self.users.get() >= self.users_max.get() {
            return None;
        }
        self.users.set(self.users.get() + 1);
        let user = Rc::new(PooledUser::default());
        self.spawner.spawn(serve_arrivals(Rc::clone(self), Rc::clone(&user)));
        Some(user)
    }

    /// Decides what to do about arrivals that wait, after a turn that was requested at `turn_requested_at`. `None`: no arrival waits.
    fn decide_growth(&self, turn_requested_at: Nanos, now: Nanos) -> Option<GrowthDecision> {
        let oldest = self.starting.borrow().clone().next()?;
        let (due, started, ended) = (self.due.get(), self.started.get(), self.ended.get());
        let state = PoolState {
            users: self.users.get(),
            users_max: self.users_max.get(),
            oldest_due_at: self.leaf.begin + oldest.offset_ns,
            turn_requested_at,
            started,
            due,
            pace: self.pace.get(),
            ceiling: self.ceiling.get(),
        };
        let state = state.measured(LeafProgress { at: now, due, started, ended, worked_ns: self.turns.worked_ns() });
        self.pace.set(state.pace);
        self.ceiling.set(state.ceiling);
        Some(decide(&state, now))
    }

    /// Records all arrivals that wait as queued behind a saturated pool, and asks the other workers for their free users.
    fn queue_waiting(&self) {
        self.queued.set(self.due.get());
        self.record_waiting();
        self.exchange.set_queueing(true);
    }

    /// The next arrival for a user of this worker.
    fn take(&self) -> Option<Assigned> {
        if self.leaf.is_stopping() {
            return None;
        }
        let adopted = self.adopted.borrow_mut().pop_front().map(|due| Assigned { due, queued: true });
        let next = adopted.or_else(|| self.take_oldest())?;
        self.under_way.set(self.under_way.get() + 1);
        Some(next)
    }

    /// The oldest arrival of this worker that is due and has not started.
    fn take_oldest(&self) -> Option<Assigned> {
        if self.waiting() == 0 || self.leaf.is_stopping() {
            return None;
        }
        let due = self.starting.borrow_mut().next()?;
        let queued = self.started.get() < self.queued.get();
        self.started.set(self.started.get() + 1);
        if queued {
            self.record_waiting();
        }
        if self.waiting() == 0 {
            self.exchange.set_queueing(false);
        }
        Some(Assigned { due, queued })
    }

    /// Offers a free user, or room for a new one, to workers on which arrivals wait.
    fn offer_free(&self) {
        if !self.has_waiting() && (!self.free.borrow().is_empty() || self.users.get() < self.users_max.get()) && !self.leaf.is_stopping() {
            self.exchange.offer();
        }
    }

    /// Records how many arrivals wait because the target holds up all users.
    fn record_waiting(&self) {
        let waiting = self.queued.get().saturating_sub(self.started.get());
        self.leaf.context.recorder.borrow_mut().leaf(self.leaf.number).waiting = waiting;
    }
}

/// The task that exchanges messages with other workers: about arrivals that wait there, and users that are free there.
async fn exchange_arrivals<C: UserFactory>(pool: Rc<UserPool<C>>) {
    loop {
        match poll_fn(|context| pool.exchange.poll_message(context)).await {
            Message::Recheck => {}
            Message::Free { worker } => pool.exchange.answer(worker, || pool.take_oldest().map(|next| next.due)),
            Message::Arrival(arrival) => {
                pool.adopted.borrow_mut().extend(arrival);
                pool.start_waiting();
            }
        }
        pool.offer_free();
        pool.leaf.changed.wake();
    }
}

/// The task of one user: one iteration after another, as arrivals are assigned to it.
async fn serve_arrivals<C: UserFactory>(pool: Rc<UserPool<C>>, pooled: Rc<PooledUser>) {
    let leaf = Rc::clone(&pool.leaf);
    let Some(mut user) = leaf.new_user() else { return };
    loop {
        let Some(Assigned { due, queued }) = pooled.assigned.take() else {
            pooled.wakeup.wait().await;
            continue;
        };
        let Some(now) = leaf.may_start(leaf.now()).await else {
            pool.under_way.set(pool.under_way.get() - 1);
            leaf.changed.wake();
            return;
        };
        let scheduled = leaf.begin + due.offset_ns;
        let is_late = now > scheduled + ON_TIME_LAG_MAX_NS;
        if is_late && !queued {
            leaf.context.recorder.borrow_mut().leaf(leaf.number).held_back += 1;
        }
        if leaf.perform(&mut user, now, Some(DueArrival { scheduled, waited_for_user: queued && is_late }), due.sequence).await.is_none() {
            leaf.stop();
        }
        pool.under_way.set(pool.under_way.get() - 1);
        pool.ended.set(pool.ended.get() + 1);
        match pool.take() {
            Some(next) => pooled.assigned.set(Some(next)),
            None => {
                pool.free.borrow_mut().push(Rc::clone(&pooled));
                pool.offer_free();
                if pool.under_way.get() == 0 && pool.ending.get() || leaf.is_stopping() {
                    leaf.changed.wake();
                }
            }
        }
    }
}
