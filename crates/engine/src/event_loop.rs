//! A worker's event loop: poll what was woken, fire the timers that are due, sleep until the next.
//!
//! The runtime's own timers have a granularity of a millisecond; a timerfd is armed for the exact nanosecond instead.

use std::cell::RefCell;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use metrics::clock::Clock;
use metrics::{Nanos, Recorder};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::unix::AsyncFd;

use crate::turns::Turns;

/// A turn that lasts longer than this kept every other user waiting and is recorded as a stall.
const STALL_NS: u64 = 1_000_000;
/// Rounds of fire and poll in one turn before sockets get their chance again.
const ROUNDS_MAX: u32 = 16;

/// Drives `work` and the clock of one thread on a tokio current-thread runtime.
pub(crate) struct EventLoop<F> {
    clock: Clock,
    recorder: Rc<RefCell<Recorder>>,
    turns: Turns,
    timer: AsyncFd<OwnedFd>,
    armed: Nanos,
    work: Pin<Box<F>>,
}

impl<F: Future> EventLoop<F> {
    /// # Errors
    /// When the kernel gives no timer (out of descriptors). Must be called inside the runtime.
    pub(crate) fn new(clock: Clock, recorder: Rc<RefCell<Recorder>>, turns: Turns, work: F) -> std::io::Result<Self> {
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // SAFETY: the descriptor is owned by the AsyncFd from here on, and nothing else closes it.
        let timer = unsafe { AsyncFd::register(timer)? };
        Ok(Self { clock, recorder, turns, timer, armed: Nanos::MAX, work: Box::pin(work) })
    }

    fn arm(&mut self) {
        let Some(deadline) = self.clock.next_deadline() else { return };
        let now = self.clock.now();
        if self.armed > now && self.armed <= deadline {
            return;
        }
        let wait = deadline.saturating_sub(now).max(1);
        let value = Timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as i64 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // Cannot fail: the descriptor is a timer and the time is valid.
        let _ = rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
        self.armed = now + wait;
    }
}

impl<F: Future> Future for EventLoop<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let began = self.clock.now();
        self.turns.begin();
        let mut rounds = 0;
        loop {
            self.clock.fire();
            if let Poll::Ready(output) = self.work.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            rounds += 1;
            match self.clock.next_deadline() {
                Some(deadline) if deadline <= self.clock.now() => {
                    if rounds == ROUNDS_MAX {
                        context.waker().wake_by_ref();
                        break;
                    }
                }
                _ => break,
            }
        }
        if self.turns.is_wanted() {
            context.waker().wake_by_ref();
        } else {
            self.arm();
        }
        while let Poll::Ready(ready) = self.timer.poll_read_ready(context) {
            match ready {
                Ok(mut guard) => guard.clear_ready(),
                Err(_) => break,
            }
        }
        let lasted = self.clock.now().saturating_sub(began);
        if lasted > STALL_NS {
            self.recorder.borrow_mut().generator().stalls.record(lasted);
        }
        Poll::Pending
    }
}

/// Drives `work` on virtual time: whenever nothing is woken, the clock jumps to the next deadline. `None` when nothing is
/// left to wait for, or `until` is reached, before `work` completes.
#[cfg(test)]
pub(crate) fn on_virtual_time<F: Future>(clock: &Clock, turns: &Turns, until: Nanos, work: F) -> Option<F::Output> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    struct Flag(AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = std::task::Waker::from(Arc::clone(&flag));
    let mut context = Context::from_waker(&waker);
    let mut work = std::pin::pin!(work);
    loop {
        turns.begin();
        while flag.0.swap(false, Ordering::Relaxed) {
            if let Poll::Ready(output) = work.as_mut().poll(&mut context) {
                return Some(output);
            }
        }
        if turns.is_wanted() {
            continue;
        }
        let next = clock.next_deadline().filter(|next| *next <= until)?;
        clock.advance_to(next);
    }
}
