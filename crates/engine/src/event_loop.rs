//! A worker's event loop: poll the woken work, fire the timers that are due, sleep until the next timer.
//!
//! The runtime's own timers have a granularity of one millisecond. The event loop arms a [`WakeTimer`] for the exact nanosecond instead. Arming it and
//! being woken by it costs more than a request does. It is therefore armed only when nothing else is left to do, and not for timers that are due at
//! once. As long as it is armed for the next one, as in closed load, each wait for sockets is a single system call. If the users allow late reads of
//! responses and a timer is due soon, the worker sleeps until then, even if responses arrive. One wake-up then serves both.

use std::cell::RefCell;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use loadstone_metrics::clock::Clock;
use loadstone_metrics::{Nanos, Recorder};
use loadstone_platform::wake_timer::{WakeTimer, sleep_ns};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::turns::Turns;

/// A turn that lasts longer than this delayed every other user and is recorded as a stall.
const STALL_MIN_NS: u64 = 1_000_000;
/// Rounds of firing timers and polling in one turn before the sockets are polled again.
const ROUNDS_PER_TURN_MAX: u32 = 16;
/// The worker spins for a deadline that is nearer than this. Sleeping and being woken by a timer takes more CPU time than that (13 µs on a virtual
/// machine).
const SPIN_MAX_NS: Nanos = 10_000;

/// Drives `work` and the clock of one thread on a tokio current-thread runtime.
pub(crate) struct EventLoop<F> {
    clock: Clock,
    recorder: Rc<RefCell<Recorder>>,
    turns: Turns,
    /// How long responses may wait at present. `None`: not at all, see [`UserFactory::reads_can_wait`](crate::UserFactory::reads_can_wait).
    reads_wait_max: Box<dyn Fn() -> Option<Nanos>>,
    timer: AsyncFd<WakeTimer>,
    /// When the timer fires, or fired.
    armed: Nanos,
    woken: Arc<Woken>,
    waker: Waker,
    work: Pin<Box<F>>,
}

/// Whether the work was woken, which the runtime does not report. Also wakes the event loop itself.
#[derive(Default)]
struct Woken {
    work: AtomicBool,
    event_loop: OnceLock<Waker>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.work.swap(true, Ordering::AcqRel)
            && let Some(event_loop) = self.event_loop.get()
        {
            event_loop.wake_by_ref();
        }
    }
}

impl<F: Future> EventLoop<F> {
    /// # Errors
    /// The kernel provides no timer (out of descriptors). Must be called inside the runtime.
    pub(crate) fn new(
        clock: Clock,
        recorder: Rc<RefCell<Recorder>>,
        turns: Turns,
        reads_wait_max: Box<dyn Fn() -> Option<Nanos>>,
        work: F,
    ) -> std::io::Result<Self> {
        // SAFETY: the AsyncFd owns the descriptor from here on, and nothing else closes it.
        let timer = unsafe { AsyncFd::register_with_interest(WakeTimer::new()?, Interest::READABLE)? };
        let woken = Arc::new(Woken { work: AtomicBool::new(true), event_loop: OnceLock::new() });
        let waker = Waker::from(Arc::clone(&woken));
        Ok(Self { clock, recorder, turns, reads_wait_max, timer, armed: 0, woken, waker, work: Box::pin(work) })
    }

    /// Whether the timer fires by this deadline.
    fn is_armed_for(&self, deadline: Nanos, now: Nanos) -> bool {
        self.armed > now && self.armed <= deadline
    }

    fn arm(&mut self, deadline: Nanos, now: Nanos) {
        let wait = deadline.saturating_sub(now).max(1);
        self.timer.get_ref().set_after(wait);
        self.armed = now + wait;
    }

    /// Fires the timers that are due at `now` and polls the woken work. Returns whether there was anything to do, and the time at the end; or the output
    /// of the work.
    fn turn(&mut self, mut now: Nanos) -> ControlFlow<F::Output, (bool, Nanos)> {
        let mut worked = false;
        for _ in 0..ROUNDS_PER_TURN_MAX {
            let fired = self.clock.fire_at(now) > 0;
            if !self.woken.work.swap(false, Ordering::AcqRel) && !fired {
                break;
            }
            worked = true;
            if let Poll::Ready(output) = self.work.as_mut().poll(&mut Context::from_waker(&self.waker)) {
                return ControlFlow::Break(output);
            }
            now = self.clock.now();
            if self.clock.next_deadline().is_none_or(|deadline| deadline > now) {
                break;
            }
        }
        ControlFlow::Continue((worked, now))
    }

    /// Sleeps until the next deadline, if it is near and no socket must be read earlier. Returns whether it slept.
    fn sleep_through(&self, now: Nanos) -> bool {
        let Some(deadline) = self.clock.next_deadline() else { return false };
        if deadline <= now + SPIN_MAX_NS || self.woken.work.load(Ordering::Acquire) || self.turns.holds_arrivals() {
            return false;
        }
        if (self.reads_wait_max)().is_none_or(|max| deadline > now + max) {
            return false;
        }
        // A signal may end the sleep early. The next turn then has no work.
        sleep_ns(deadline - now);
        true
    }

    /// Prepares to wait for sockets until the next deadline. Returns whether the next turn begins without waiting: the deadline is near, or the timer
    /// must be armed for it and more may have arrived while there was work. A timer that is armed already costs nothing.
    fn must_continue(&mut self, worked: bool, now: Nanos) -> bool {
        let Some(deadline) = self.clock.next_deadline() else { return false };
        let is_near = deadline <= now + SPIN_MAX_NS;
        if !is_near && self.is_armed_for(deadline, now) {
            return false;
        }
        if worked {
            return true;
        }
        if is_near {
            while self.clock.now() < deadline {
                std::hint::spin_loop();
            }
            return true;
        }
        self.arm(deadline, now);
        false
    }
}

impl<F: Future> Future for EventLoop<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.woken.event_loop.get_or_init(|| context.waker().clone());
        let begun = self.clock.now();
        self.turns.begin(begun);
        let (worked, now) = match self.turn(begun) {
            ControlFlow::Break(output) => return Poll::Ready(output),
            ControlFlow::Continue(turned) => turned,
        };
        let lasted = self.turns.end(now);
        if lasted > STALL_MIN_NS {
            self.recorder.borrow_mut().generator().stalls.record(lasted);
        }
        // Before that, the timer cannot have fired, and this task is registered with it.
        if self.armed <= now {
            while let Poll::Ready(ready) = self.timer.poll_read_ready(context) {
                match ready {
                    Ok(mut guard) => guard.clear_ready(),
                    Err(_) => break,
                }
                self.timer.get_ref().acknowledge();
            }
        }
        if self.turns.is_wanted() || self.sleep_through(now) || self.must_continue(worked, now) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// Drives `work` on virtual time: whenever nothing is woken, the clock jumps to the next deadline. Returns `None` if no deadline is left, or `until`
/// is reached, before `work` completes.
#[cfg(test)]
pub(crate) fn on_virtual_time<F: Future>(clock: &Clock, turns: &Turns, until: Nanos, work: F) -> Option<F::Output> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut context = Context::from_waker(&waker);
    let mut work = std::pin::pin!(work);
    loop {
        turns.begin(clock.now());
        while flag.0.swap(false, Ordering::Relaxed) {
            if let Poll::Ready(output) = work.as_mut().poll(&mut context) {
                return Some(output);
            }
        }
        turns.end(clock.now());
        if turns.is_wanted() {
            continue;
        }
        let next = clock.next_deadline().filter(|next| *next <= until)?;
        clock.advance_to(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use loadstone_metrics::{LATE_READ_MAX_NS, late_read_max_ns};

    const US: u64 = 1_000;

    /// A worker that has nothing to do until a timer fires in `ahead_ns`. Returns whether it slept.
    fn asleep(ahead_ns: u64, turns: &Turns, reads_wait_max: Option<Nanos>) -> bool {
        let runtime = crate::worker::runtime().unwrap();
        let _inside = runtime.enter();
        let clock = Clock::virtual_time();
        let timer = clock.timer();
        timer.reset(ahead_ns);
        let recorder = Rc::new(RefCell::new(Recorder::new(0, 10)));
        let work = std::future::pending::<()>();
        let mut event_loop = EventLoop::new(clock, recorder, turns.clone(), Box::new(move || reads_wait_max), work).unwrap();
        assert!(!event_loop.sleep_through(0), "its work was never polled");
        assert!(matches!(event_loop.turn(0), ControlFlow::Continue((true, 0))));
        event_loop.sleep_through(0)
    }

    #[test]
    fn a_worker_sleeps_through_only_for_a_near_deadline_and_late_reads() {
        let turns = Turns::default();
        let usual = Some(LATE_READ_MAX_NS);
        assert!(asleep(100 * US, &turns, usual));
        assert!(!asleep(100 * US, &turns, None), "a user waits for a response");
        assert!(!asleep(LATE_READ_MAX_NS + US, &turns, usual), "a response may wait no longer than this");
        assert!(!asleep(SPIN_MAX_NS, &turns, usual));
        turns.hold_arrivals(true);
        assert!(!asleep(100 * US, &turns, usual), "an arrival waits for the user of that response");
        turns.hold_arrivals(false);
        assert!(asleep(100 * US, &turns, usual));
    }

    #[test]
    fn a_start_window_extends_the_sleep_to_the_next_arrivals_that_start_together() {
        let wide = Some(late_read_max_ns(200 * US));
        assert!(asleep(300 * US, &Turns::default(), wide), "10,000 a second: three start together, every 300 µs");
        assert!(!asleep(401 * US, &Turns::default(), wide));
        assert_eq!(late_read_max_ns(70 * US), LATE_READ_MAX_NS);
    }
}
