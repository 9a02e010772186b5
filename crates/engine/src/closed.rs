//! Closed load: a number of users, each in its loop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::Nanos;
use plan::{ClosedStage, IterationSplit};

use crate::floor::Floor;
use crate::level::Level;
use crate::open::wait_until;
use crate::tasks::{Spawner, Tasks};
use crate::user::UserFactory;

/// How many iterations a user may still run.
pub(crate) enum Quota {
    /// For as long as its place exists.
    Unlimited,
    PerUser(u64),
    /// As many as are left of so many for all users of all workers.
    Shared(u64),
}

impl Quota {
    /// The number of the user's next iteration, from the leaf's; `None` when it may run no more.
    fn take(&mut self, numbers: &AtomicU64) -> Option<u64> {
        if let Quota::PerUser(left) = self {
            *left = left.checked_sub(1)?;
        }
        // Relaxed: the counter orders nothing but itself.
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        match self {
            Quota::Shared(count) if number >= *count => None,
            _ => Some(number),
        }
    }
}

struct Ring<C: UserFactory> {
    floor: Rc<Floor<C>>,
    /// This worker's users, by local index; `true` while wanted. A user whose place is no longer wanted leaves after its iteration.
    places: RefCell<Vec<Rc<Place>>>,
    level: Cell<usize>,
    present: Cell<u64>,
    /// Numbers the leaf's iterations, common to all workers, so that none is left out. One atomic add per iteration of closed load.
    numbers: Arc<AtomicU64>,
    spawner: Spawner,
}

#[derive(Default)]
struct Place {
    wanted: Cell<bool>,
    occupied: Cell<bool>,
}

/// Runs a closed profile on one worker until its last iteration has ended or was interrupted.
pub(crate) async fn run<C: UserFactory>(floor: Rc<Floor<C>>, stages: &[ClosedStage], numbers: Arc<AtomicU64>) {
    let level = Level::new(stages);
    let tasks = Tasks::default();
    let ring = Ring::new(floor, numbers, &tasks);
    tasks.beside(follow(ring, level)).await;
}

/// Runs a counted profile on one worker.
pub(crate) async fn run_iterations<C: UserFactory>(
    floor: Rc<Floor<C>>,
    users: u64,
    count: u64,
    split: IterationSplit,
    numbers: Arc<AtomicU64>,
) {
    let tasks = Tasks::default();
    let ring = Ring::new(floor, numbers, &tasks);
    let lead = async {
        ring.set_level(users, || match split {
            IterationSplit::PerUser => Quota::PerUser(count),
            IterationSplit::Shared => Quota::Shared(count),
        });
        let floor = &ring.floor;
        let end = floor.run.profile.duration_ns().map_or(Nanos::MAX, |duration| floor.begin + duration);
        while ring.present.get() > 0 && !floor.is_stopping() && !floor.halted.get() && floor.now() < end {
            wait_until(floor, end).await;
        }
        ring.wind_down().await;
    };
    tasks.beside(lead).await;
}

async fn follow<C: UserFactory>(ring: Rc<Ring<C>>, level: Level) {
    let floor = Rc::clone(&ring.floor);
    let mut factor = 1.0f64;
    while !floor.is_stopping() && !floor.halted.get() {
        if let Some((_, latest)) = floor.scales.borrow_mut().drain(..).next_back() {
            factor = latest;
        }
        let reading = level.at(floor.now().saturating_sub(floor.begin));
        let Some(until) = reading.until_ns else { break };
        ring.set_level((reading.users as f64 * factor).round() as u64, || Quota::Unlimited);
        wait_until(&floor, floor.begin + until).await;
    }
    ring.wind_down().await;
}

impl<C: UserFactory> Ring<C> {
    fn new(floor: Rc<Floor<C>>, numbers: Arc<AtomicU64>, tasks: &Tasks) -> Rc<Self> {
        Rc::new(Self { floor, places: RefCell::default(), level: Cell::new(0), present: Cell::new(0), numbers, spawner: tasks.spawner() })
    }

    /// Makes the level of all workers together `users`; this worker keeps the users whose index is its share.
    fn set_level(self: &Rc<Self>, users: u64, quota: impl Fn() -> Quota) {
        let share = self.floor.context.share();
        let mine = users / share.of + u64::from(users % share.of > share.index);
        self.floor.context.recorder.borrow_mut().leaf(self.floor.leaf).users_asked = mine;
        let mut places = self.places.borrow_mut();
        let level = self.level.replace(mine as usize);
        for index in level..mine as usize {
            if index == places.len() {
                places.push(Rc::default());
            }
            let place = &places[index];
            place.wanted.set(true);
            if !place.occupied.replace(true) {
                self.present.set(self.present.get() + 1);
                self.spawner.spawn(occupy(Rc::clone(self), Rc::clone(place), quota()));
            }
        }
        for place in places.iter().take(level).skip(mine as usize) {
            place.wanted.set(false);
        }
    }

    /// Lets running iterations finish within the graceful stop.
    async fn wind_down(&self) {
        let floor = &self.floor;
        floor.stop();
        floor.context.recorder.borrow_mut().leaf(floor.leaf).users_asked = 0;
        let deadline = floor.now() + floor.graceful_stop_ns;
        while self.present.get() > 0 && !floor.halted.get() && floor.now() < deadline {
            wait_until(floor, deadline).await;
        }
    }
}

async fn occupy<C: UserFactory>(ring: Rc<Ring<C>>, place: Rc<Place>, mut quota: Quota) {
    let floor = Rc::clone(&ring.floor);
    let mut user = floor.new_user();
    // The end of an iteration is the start of the next.
    let mut now = floor.now();
    while place.wanted.get() && !floor.is_stopping() {
        // At the end of the load users may be awake before the one who stops them.
        if now >= floor.load_end.get() {
            break;
        }
        let Some(number) = quota.take(&ring.numbers) else { break };
        match floor.perform(&mut user, now, None, number).await {
            Some(ended) => now = ended,
            None => floor.stop(),
        }
    }
    place.occupied.set(false);
    ring.present.set(ring.present.get() - 1);
    floor.changed.ring();
}
