//! Time, and waiting for it.
//!
//! A [`Clock`] belongs to one thread. It returns `now` and lets tasks sleep, but does not know what drives it. The engine fires it from a timer of the
//! kernel in a real run, and by stepping in a test on virtual time. Nothing else in the project reads a clock. [`Monotonic`] is the part that may cross
//! threads.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use loadstone_platform::clock::monotonic_ns;
pub use loadstone_platform::clock::{raw_ahead_ns, thread_cpu_ns, wall_ns};

/// Nanoseconds since the run's clock began.
pub type Nanos = u64;

/// The longest delay with which a worker may read a response whose time does not suffer from it, unless arrivals start in windows. Nanoseconds.
pub const LATE_READ_MAX_NS: Nanos = 200_000;

/// The same for a start window. Arrivals that start together are at most two windows apart from the next ones, so one wake-up can serve both the
/// responses to some and the start of the next.
pub fn late_read_max_ns(start_window_ns: Nanos) -> Nanos {
    LATE_READ_MAX_NS.max(start_window_ns.saturating_mul(2))
}

/// The monotonic clock relative to a run's origin. All copies read the same time.
#[derive(Debug, Clone, Copy)]
pub struct Monotonic {
    origin_ns: u64,
}

impl Monotonic {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    /// A clock whose zero is, or will be, at this value of the monotonic clock.
    pub fn with_origin(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    pub fn now(&self) -> Nanos {
        monotonic_ns().saturating_sub(self.origin_ns)
    }

    /// The value of the monotonic clock, in nanoseconds, at which this clock reads zero.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }
}

#[derive(Debug)]
enum TimeSource {
    Real(Cell<Monotonic>),
    Virtual(Cell<Nanos>),
}

#[derive(Debug, Default)]
struct Timers {
    /// `(deadline, slot, generation)`. An entry is dead if its generation is not the slot's.
    heap: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    dead: usize,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    /// The current deadline. The heap entry may be earlier; when it comes up, it is pushed again.
    deadline: Nanos,
    /// The deadline of its heap entry. `Nanos::MAX`: it has none. A free slot keeps its entry, for the next timer: most time limits are much longer
    /// than what they limit, so that each is a little later than the one before.
    queued_for: Nanos,
    fired: bool,
    waker: Option<Waker>,
}

impl Default for Slot {
    fn default() -> Self {
        Self { generation: 0, deadline: Nanos::MAX, queued_for: Nanos::MAX, fired: false, waker: None }
    }
}

/// One thread's clock: time and timers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Clock {
    inner: Rc<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    source: TimeSource,
    timers: RefCell<Timers>,
    /// Set when a deadline was queued that is earlier than the driver knows of.
    rearm: Cell<bool>,
}

impl Clock {
    pub fn real(monotonic: Monotonic) -> Self {
        Self::new(TimeSource::Real(Cell::new(monotonic)))
    }

    /// A clock that stays at zero until [`Clock::advance_to`] moves it.
    pub fn virtual_time() -> Self {
        Self::new(TimeSource::Virtual(Cell::new(0)))
    }

    fn new(source: TimeSource) -> Self {
        Self { inner: Rc::new(ClockState { source, timers: RefCell::default(), rearm: Cell::new(false) }) }
    }

    pub fn now(&self) -> Nanos {
        match &self.inner.source {
            TimeSource::Real(monotonic) => monotonic.get().now(),
            TimeSource::Virtual(now) => now.get(),
        }
    }

    /// Counts time from another zero from now on. Earlier instants lose their meaning, so there must be no timers yet. A virtual clock is not
    /// affected.
    pub fn begin(&self, zero: Monotonic) {
        debug_assert!(self.inner.timers.borrow().heap.is_empty(), "a timer was set before the clock began");
        if let TimeSource::Real(monotonic) = &self.inner.source {
            monotonic.set(zero);
        }
    }

    pub fn is_virtual(&self) -> bool {
        matches!(self.inner.source, TimeSource::Virtual(_))
    }

    /// Moves a virtual clock forward and fires the timers that came due. A real clock only fires.
    pub fn advance_to(&self, to: Nanos) {
        if let TimeSource::Virtual(now) = &self.inner.source {
            now.set(now.get().max(to));
        }
        self.fire();
    }

    /// Sleeps until `deadline`. Ready at once if it has passed.
    pub fn sleep_until(&self, deadline: Nanos) -> Timer {
        let timer = self.timer();
        timer.reset(deadline);
        timer
    }

    pub fn sleep(&self, ns: u64) -> Timer {
        self.sleep_until(self.now().saturating_add(ns))
    }

    /// An unarmed timer. Resetting a queued timer to a later deadline costs one store. A connection can therefore use a single timer for the time
    /// limits of all its requests.
    pub fn timer(&self) -> Timer {
        let mut timers = self.inner.timers.borrow_mut();
        let slot = timers.free.pop().unwrap_or_else(|| {
            timers.slots.push(Slot::default());
            (timers.slots.len() - 1) as u32
        });
        Timer { clock: self.clone(), slot }
    }

    /// The next instant at which [`Clock::fire`] has work. Clears the re-arm flag.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.inner.rearm.set(false);
        self.inner.timers.borrow().heap.peek().map(|Reverse((deadline, ..))| *deadline)
    }

    /// Whether a deadline was queued that is earlier than the last one returned to the driver.
    pub fn needs_rearm(&self) -> bool {
        self.inner.rearm.get()
    }

    /// Wakes every timer that is due. Returns how many.
    pub fn fire(&self) -> usize {
        self.fire_at(self.now())
    }

    /// Like [`Clock::fire`], for a caller that has just read the clock.
    pub fn fire_at(&self, now: Nanos) -> usize {
        let mut fired = 0;
        loop {
            let mut timers = self.inner.timers.borrow_mut();
            match timers.heap.peek() {
                Some(Reverse((deadline, ..))) if *deadline <= now => {}
                _ => return fired,
            }
            let Some(Reverse((_, index, generation))) = timers.heap.pop() else { return fired };
            let slot = &mut timers.slots[index as usize];
            if slot.generation != generation {
                timers.dead = timers.dead.saturating_sub(1);
                continue;
            }
            if slot.deadline > now {
                slot.queued_for = slot.deadline;
                if slot.deadline != Nanos::MAX {
                    let entry = Reverse((slot.deadline, index, generation));
                    timers.heap.push(entry);
                }
                continue;
            }
            slot.queued_for = Nanos::MAX;
            slot.fired = true;
            let waker = slot.waker.take();
            drop(timers);
            fired += 1;
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Number of queued deadlines, including those of dropped timers. For tests and bounds.
    pub fn pending(&self) -> usize {
        let timers = self.inner.timers.borrow();
        timers.heap.len() - timers.dead
    }
}

/// A resettable timer and the future that completes when it is due.
#[derive(Debug)]
pub struct Timer {
    clock: Clock,
    slot: u32,
}

impl Timer {
    /// Sets the timer to `deadline`. `Nanos::MAX` disarms it.
    pub fn reset(&self, deadline: Nanos) {
        let inner = &self.clock.inner;
        let mut timers = inner.timers.borrow_mut();
        let timers = &mut *timers;
        let slot = &mut timers.slots[self.slot as usize];
        slot.deadline = deadline;
        slot.fired = false;
        // Its entry comes up in time.
        if deadline >= slot.queued_for || deadline == Nanos::MAX {
            return;
        }
        if slot.queued_for != Nanos::MAX {
            slot.generation = slot.generation.wrapping_add(1);
            timers.dead += 1;
        }
        slot.queued_for = deadline;
        let generation = slot.generation;
        let first = timers.heap.peek().is_none_or(|Reverse((earliest, ..))| deadline < *earliest);
        timers.heap.push(Reverse((deadline, self.slot, generation)));
        if first {
            inner.rearm.set(true);
        }
        timers.compact();
    }

    /// Whether the deadline has passed since the last reset.
    pub fn is_due(&self) -> bool {
        let timers = self.clock.inner.timers.borrow();
        let slot = &timers.slots[self.slot as usize];
        slot.fired || slot.deadline <= self.clock.now()
    }

    pub fn poll_due(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_due() {
            return Poll::Ready(());
        }
        self.poll_fired(context)
    }

    /// Like [`Timer::poll_due`], but does not read the clock. A deadline that has passed is noticed after the clock was fired.
    pub fn poll_fired(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.clock.inner.timers.borrow_mut();
        let slot = &mut timers.slots[self.slot as usize];
        if slot.fired {
            return Poll::Ready(());
        }
        match &slot.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => slot.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_due(context)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let mut timers = self.clock.inner.timers.borrow_mut();
        let timers = &mut *timers;
        let slot = &mut timers.slots[self.slot as usize];
        slot.deadline = Nanos::MAX;
        slot.fired = false;
        slot.waker = None;
        timers.free.push(self.slot);
    }
}

impl Timers {
    /// Drops dead heap entries when they outnumber the live ones, so that cancelled long time limits cannot accumulate.
    fn compact(&mut self) {
        if self.dead < 64 || self.dead * 2 < self.heap.len() {
            return;
        }
        let slots = &self.slots;
        self.heap.retain(|Reverse((_, slot, generation))| slots[*slot as usize].generation == *generation);
        self.dead = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn polled(timer: &mut Timer, count: &Arc<Count>) -> bool {
        let waker = Waker::from(Arc::clone(count));
        Pin::new(timer).poll(&mut Context::from_waker(&waker)).is_ready()
    }

    #[test]
    fn timers_fire_in_order_and_once() {
        let clock = Clock::virtual_time();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let mut late = clock.sleep_until(20);
        let mut early = clock.sleep_until(10);
        assert!(!polled(&mut late, &count) && !polled(&mut early, &count));
        assert_eq!(clock.next_deadline(), Some(10));
        clock.advance_to(10);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(polled(&mut early, &count) && !polled(&mut late, &count));
        clock.advance_to(100);
        assert!(polled(&mut late, &count));
        assert_eq!(clock.pending(), 0);
    }

    #[test]
    fn postponing_a_deadline_keeps_one_entry() {
        let clock = Clock::virtual_time();
        let timer = clock.timer();
        for deadline in 1..1000 {
            timer.reset(deadline * 1_000);
        }
        assert_eq!(clock.pending(), 1);
        clock.advance_to(1_000);
        assert!(!timer.is_due());
        clock.advance_to(999_000);
        assert!(timer.is_due());
    }

    #[test]
    fn cancelled_timers_do_not_accumulate() {
        let clock = Clock::virtual_time();
        for _ in 0..100_000 {
            drop(clock.sleep_until(1_000_000_000));
        }
        assert!(clock.inner.timers.borrow().heap.len() < 200);
        assert_eq!(clock.inner.timers.borrow().slots.len(), 1);
    }

    #[test]
    fn a_new_timer_takes_over_the_queued_deadline_of_a_dropped_one() {
        let clock = Clock::virtual_time();
        drop(clock.sleep_until(1_000));
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let mut later = clock.sleep_until(2_000);
        assert!(!polled(&mut later, &count));
        assert_eq!(clock.pending(), 1);
        clock.advance_to(1_500);
        assert!(!polled(&mut later, &count), "the dropped timer was due, this one is not");
        assert_eq!(clock.next_deadline(), Some(2_000));
        clock.advance_to(2_000);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(polled(&mut later, &count));
        drop(later);
        let mut next = clock.sleep_until(5_000);
        drop(clock.sleep_until(9_000));
        let mut earlier = clock.sleep_until(4_000);
        assert!(!polled(&mut next, &count) && !polled(&mut earlier, &count));
        clock.advance_to(4_000);
        assert!(polled(&mut earlier, &count) && !polled(&mut next, &count));
        clock.advance_to(9_000);
        assert!(polled(&mut next, &count));
        assert_eq!(count.0.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn an_earlier_deadline_requests_a_rearm() {
        let clock = Clock::virtual_time();
        let _a = clock.sleep_until(100);
        assert!(clock.needs_rearm());
        assert_eq!(clock.next_deadline(), Some(100));
        let _b = clock.sleep_until(200);
        assert!(!clock.needs_rearm());
        let _c = clock.sleep_until(50);
        assert!(clock.needs_rearm());
    }
}
