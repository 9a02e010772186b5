//! A timer queue for one thread.
//!
//! The runtime's timers round up to a millisecond. A simulated endpoint must not add that to the delay it simulates. One [`WakeTimer`] is set
//! for the earliest deadline. With a spin time it is set that much earlier, and the rest is spent yielding, so that requests are still
//! read meanwhile.

use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use loadstone_platform::wake_timer::WakeTimer;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock::now_ns;

/// Cheap to clone; all clones share one queue. [`DeadlineTimer::sleep_until`] waits, [`DeadlineTimer::drive`] wakes.
#[derive(Clone)]
pub(crate) struct DeadlineTimer {
    inner: Rc<TimerState>,
}

struct TimerState {
    timer: AsyncFd<WakeTimer>,
    heap: RefCell<BinaryHeap<Reverse<Deadline>>>,
    /// The timer's deadline. `u64::MAX` when it is idle.
    armed_ns: Cell<u64>,
    spin_ns: u64,
    sequence: Cell<u64>,
}

struct Deadline {
    at_ns: u64,
    sequence: u64,
    sleep: Rc<SleepState>,
}

#[derive(Default)]
struct SleepState {
    fired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Deadline {}
impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at_ns, self.sequence).cmp(&(other.at_ns, other.sequence))
    }
}

impl DeadlineTimer {
    /// Must be called inside the runtime that will run [`DeadlineTimer::drive`].
    pub(crate) fn new(spin_ns: u64) -> io::Result<Self> {
        // SAFETY: the timer keeps the same descriptor for as long as it lives, and no other code closes it.
        let timer = unsafe { AsyncFd::register_with_interest(WakeTimer::new()?, Interest::READABLE) };
        let inner = TimerState {
            timer: timer.map_err(io::Error::from)?,
            heap: RefCell::default(),
            armed_ns: Cell::new(u64::MAX),
            spin_ns,
            sequence: Cell::new(0),
        };
        Ok(Self { inner: Rc::new(inner) })
    }

    /// Completes at `at_ns` (of [`now_ns`]), in the order of deadlines. Completes at once when that has passed.
    pub(crate) async fn sleep_until(&self, at_ns: u64) {
        if at_ns <= now_ns() {
            return;
        }
        let sleep = Rc::new(SleepState::default());
        let sequence = self.inner.sequence.get();
        self.inner.sequence.set(sequence + 1);
        self.inner.heap.borrow_mut().push(Reverse(Deadline { at_ns, sequence, sleep: Rc::clone(&sleep) }));
        self.arm(at_ns);
        Sleep { state: sleep }.await;
    }

    fn arm(&self, at_ns: u64) {
        let wake_ns = at_ns.saturating_sub(self.inner.spin_ns).max(1);
        if wake_ns >= self.inner.armed_ns.get() {
            return;
        }
        self.inner.armed_ns.set(wake_ns);
        self.inner.timer.get_ref().set_after(wake_ns.saturating_sub(now_ns()));
    }

    /// Wakes sleepers forever. Run it as a separate task.
    pub(crate) async fn drive(self) {
        loop {
            let now = now_ns();
            let next = self.inner.heap.borrow().peek().map(|Reverse(entry)| entry.at_ns);
            match next {
                Some(at_ns) if at_ns <= now => self.fire(now),
                Some(at_ns) if at_ns - now <= self.inner.spin_ns => tokio::task::yield_now().await,
                Some(at_ns) => {
                    self.arm(at_ns);
                    self.expired().await;
                }
                None => self.expired().await,
            }
        }
    }

    fn fire(&self, now: u64) {
        let mut heap = self.inner.heap.borrow_mut();
        while heap.peek().is_some_and(|Reverse(entry)| entry.at_ns <= now) {
            let Some(Reverse(entry)) = heap.pop() else { return };
            entry.sleep.fired.set(true);
            if let Some(waker) = entry.sleep.waker.take() {
                waker.wake();
            }
        }
    }

    async fn expired(&self) {
        match self.inner.timer.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(error) => debug_assert!(false, "{error}"),
        }
        self.inner.timer.get_ref().acknowledge();
        self.inner.armed_ns.set(u64::MAX);
    }
}

struct Sleep {
    state: Rc<SleepState>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.state.fired.get() {
            return Poll::Ready(());
        }
        self.state.waker.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}
