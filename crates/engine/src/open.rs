//! Open load: arrivals come when they are due, whatever the target does.
//!
//! Two copies of the same arrival sequence are walked: one as arrivals come due, one as they start. Their distance is what
//! waits for a free user, so a backlog of any length costs no memory and no arrival is ever dropped.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use metrics::Nanos;
use plan::{OpenStage, ScenarioRun};

use crate::arrivals::{Arrivals, Due, Share};
use crate::floor::Floor;
use crate::tasks::{Bell, Spawner, Tasks};
use crate::user::UserFactory;

/// The users of an open leaf on one worker.
struct Desk<C: UserFactory> {
    floor: Rc<Floor<C>>,
    /// Free users, the last to finish on top: its connections are warm.
    free: RefCell<Vec<Rc<Seat>>>,
    seats: Cell<u64>,
    seats_max: u64,
    starting: RefCell<Arrivals>,
    due: Cell<u64>,
    started: Cell<u64>,
    /// Arrivals handed to a user whose iteration has not ended: its task may not even have been polled yet.
    under_way: Cell<u64>,
    spawner: Spawner,
}

/// A user's place: the arrival it is handed, and how it is woken.
#[derive(Default)]
struct Seat {
    assigned: Cell<Option<Due>>,
    bell: Bell,
}

/// Runs an open leaf on one worker until its last iteration has ended or was interrupted.
pub(crate) async fn run<C: UserFactory>(floor: Rc<Floor<C>>, stages: &[OpenStage]) {
    let users_max = floor.run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX).max(1);
    let share = floor.context.share();
    // Fewer users than workers: the first workers have one user each and share all arrivals; the others have none.
    let share = Share { of: share.of.min(users_max), ..share };
    if share.index >= share.of {
        return;
    }
    let arrivals = Arrivals::new(stages, floor.seed, share);
    let tasks = Tasks::default();
    let desk = Rc::new(Desk {
        free: RefCell::default(),
        seats: Cell::new(0),
        seats_max: users_max / share.of + u64::from(users_max % share.of > share.index),
        starting: RefCell::new(arrivals.clone()),
        due: Cell::new(0),
        started: Cell::new(0),
        under_way: Cell::new(0),
        spawner: tasks.spawner(),
        floor,
    });
    tasks.beside(dispatch(desk, arrivals)).await;
}

async fn dispatch<C: UserFactory>(desk: Rc<Desk<C>>, mut arrivals: Arrivals) {
    let floor = Rc::clone(&desk.floor);
    let profile_end = floor.begin + floor.run.profile.duration_ns().unwrap_or(0);
    let mut stopped_at = None;
    // While arrivals come due.
    while !floor.is_stopping() && !floor.halted.get() {
        let now = floor.now();
        for (instant, factor) in floor.scales.borrow_mut().drain(..) {
            let offset = instant.saturating_sub(floor.begin);
            arrivals.scale_from(offset, factor);
            desk.starting.borrow_mut().scale_from(offset, factor);
        }
        let mut ahead = arrivals.clone();
        let Some(next) = ahead.next() else {
            // No arrival is ahead, but the load may yet be scaled up before the profile ends.
            if now >= profile_end {
                break;
            }
            wait_until(&floor, profile_end).await;
            continue;
        };
        let deadline = floor.begin + next.offset_ns;
        if deadline <= now {
            arrivals = ahead;
            desk.came_due(deadline, now);
            continue;
        }
        wait_until(&floor, deadline).await;
    }
    if floor.is_stopping() {
        stopped_at = Some(floor.now());
    }
    // While those that wait for a user, and those that run, come to their end.
    let deadline = stopped_at.unwrap_or_else(|| profile_end.max(floor.now())) + floor.graceful_stop_ns;
    while (desk.under_way.get() > 0 || desk.waiting() > 0 && !floor.is_stopping()) && !floor.halted.get() {
        let graceful = stopped_at.map_or(deadline, |at: Nanos| at + floor.graceful_stop_ns);
        if floor.now() >= graceful {
            break;
        }
        wait_until(&floor, graceful).await;
        if floor.is_stopping() && stopped_at.is_none() {
            stopped_at = Some(floor.now());
        }
    }
}

/// Returns when the instant has come or the floor changed.
pub(crate) async fn wait_until<C: UserFactory>(floor: &Floor<C>, deadline: Nanos) {
    let timer = floor.context.clock.sleep_until(deadline);
    std::future::poll_fn(|context| {
        if floor.changed.poll(context).is_ready() || timer.poll_due(context).is_ready() {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
}

impl<C: UserFactory> Desk<C> {
    fn waiting(&self) -> u64 {
        self.due.get() - self.started.get()
    }

    fn came_due(self: &Rc<Self>, deadline: Nanos, now: Nanos) {
        self.due.set(self.due.get() + 1);
        {
            let mut recorder = self.floor.context.recorder.borrow_mut();
            recorder.generator().timer_lag.record(now.saturating_sub(deadline));
            let counts = recorder.leaf(self.floor.leaf);
            counts.arrivals_due += 1;
            counts.waiting = self.waiting();
        }
        if let Some(seat) = self.free_seat()
            && let Some(due) = self.take()
        {
            seat.assigned.set(Some(due));
            seat.bell.ring();
        }
    }

    /// A free user's seat, or a new one's while there may be more.
    fn free_seat(self: &Rc<Self>) -> Option<Rc<Seat>> {
        if let Some(seat) = self.free.borrow_mut().pop() {
            return Some(seat);
        }
        if self.seats.get() >= self.seats_max {
            return None;
        }
        self.seats.set(self.seats.get() + 1);
        let seat = Rc::new(Seat::default());
        self.spawner.spawn(occupy(Rc::clone(self), Rc::clone(&seat)));
        Some(seat)
    }

    /// The oldest arrival that is due and has not started.
    fn take(&self) -> Option<Due> {
        if self.waiting() == 0 || self.floor.is_stopping() {
            return None;
        }
        let due = self.starting.borrow_mut().next()?;
        self.started.set(self.started.get() + 1);
        self.under_way.set(self.under_way.get() + 1);
        self.floor.context.recorder.borrow_mut().leaf(self.floor.leaf).waiting = self.waiting();
        Some(due)
    }
}

/// One user: iteration after iteration, as arrivals are handed to its seat.
async fn occupy<C: UserFactory>(desk: Rc<Desk<C>>, seat: Rc<Seat>) {
    let floor = Rc::clone(&desk.floor);
    let mut user = floor.new_user();
    loop {
        let due = match seat.assigned.take() {
            Some(due) => due,
            None => {
                seat.bell.heard().await;
                continue;
            }
        };
        if floor.perform(&mut user, floor.now(), Some(floor.begin + due.offset_ns), due.sequence).await.is_none() {
            floor.stop();
        }
        desk.under_way.set(desk.under_way.get() - 1);
        match desk.take() {
            Some(next) => seat.assigned.set(Some(next)),
            None => {
                desk.free.borrow_mut().push(Rc::clone(&seat));
                if desk.under_way.get() == 0 || floor.is_stopping() {
                    floor.changed.ring();
                }
            }
        }
    }
}
