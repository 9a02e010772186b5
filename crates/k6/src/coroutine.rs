//! A coroutine with its own stack, as a future: synchronous code suspends, and the worker's event loop goes on.
//!
//! Read [`Coroutine`] (the side of the event loop) and [`Suspender`] (the side of the code that runs on the stack). A coroutine is never unwound from
//! outside: its frames belong to C, too. Its body must return when it receives [`Resume::Quit`], and end its work when it receives
//! [`Resume::Abort`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::task::Waker;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{CoroutineResult, Yielder};
use loadstone_platform::memory;

/// Size of a coroutine's stack in bytes. The kernel maps its pages when they are first used, and a guard page follows the last one.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// How often a body may suspend after [`Resume::Abort`] or [`Resume::Quit`]. It should not suspend at all.
const SUSPENSIONS_AT_END_MAX: usize = 1_000;

/// Why the body runs again.
#[derive(Debug)]
pub(crate) enum Resume<W> {
    /// The next piece of work.
    Begin(W),
    /// A future that it waits for may be ready.
    Poll,
    /// The work is interrupted: all waits fail until the body is idle.
    Abort,
    /// Return.
    Quit,
}

/// Why the body stopped running.
#[derive(Debug)]
pub(crate) enum Suspension<R> {
    Waiting,
    /// The work has ended, with this result.
    Idle(R),
}

/// The waker of the poll that resumed the body. Valid until the body suspends.
type PollWaker = Option<NonNull<Waker>>;
type InnerYielder<W, R> = Yielder<(Resume<W>, PollWaker), Suspension<R>>;
type Inner<W, R> = corosensei::Coroutine<(Resume<W>, PollWaker), Suspension<R>, Result<(), Box<dyn std::any::Any + Send>>>;

/// Work of type `W`, one piece after another, with results of type `R`.
pub(crate) struct Coroutine<W: 'static, R: 'static> {
    inner: Inner<W, R>,
    works: bool,
}

impl<W, R> Coroutine<W, R> {
    /// The first resumption, of any kind, starts the body.
    ///
    /// # Errors
    /// The stack cannot be mapped.
    pub(crate) fn new(body: impl FnOnce(Suspender<W, R>) + 'static) -> std::io::Result<Self> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        let end = stack.limit().get();
        let inner = Inner::with_stack(stack, move |yielder, (_, waker)| {
            let suspender = Suspender { yielder: NonNull::from(yielder), waker: Cell::new(waker), end };
            // A panic crosses to the thread's stack as a value.
            catch_unwind(AssertUnwindSafe(|| body(suspender)))
        });
        Ok(Self { inner, works: false })
    }

    /// Continues the body. `None`: it has returned.
    pub(crate) fn resume(&mut self, resume: Resume<W>, waker: Option<&Waker>) -> Option<Suspension<R>> {
        if self.inner.done() {
            return None;
        }
        match self.inner.resume((resume, waker.map(NonNull::from))) {
            CoroutineResult::Yield(pause) => {
                self.works = matches!(pause, Suspension::Waiting);
                Some(pause)
            }
            CoroutineResult::Return(Ok(())) => {
                self.works = false;
                None
            }
            CoroutineResult::Return(Err(panic)) => resume_unwind(panic),
        }
    }

    /// Ends the present work, if any.
    pub(crate) fn abort(&mut self) {
        for _ in 0..SUSPENSIONS_AT_END_MAX {
            if !self.works {
                return;
            }
            self.resume(Resume::Abort, None);
        }
    }
}

impl<W, R> Drop for Coroutine<W, R> {
    fn drop(&mut self) {
        self.abort();
        for _ in 0..SUSPENSIONS_AT_END_MAX {
            if self.inner.done() || !self.inner.started() {
                break;
            }
            self.resume(Resume::Quit, None);
        }
        if self.inner.started() && !self.inner.done() {
            // SAFETY: the stack is leaked with all its values, so that nothing refers to freed memory. A body that does not end is a defect.
            unsafe { self.inner.force_reset() };
            debug_assert!(false, "the body of a coroutine did not return");
        }
    }
}

/// The work was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

/// Suspends the coroutine that it belongs to.
pub(crate) struct Suspender<W: 'static, R: 'static> {
    yielder: NonNull<InnerYielder<W, R>>,
    waker: Cell<PollWaker>,
    /// The lowest address of the stack, which grows towards it.
    end: usize,
}

impl<W, R> Suspender<W, R> {
    fn suspend(&self, pause: Suspension<R>) -> Resume<W> {
        self.waker.set(None);
        // SAFETY: the yielder lives at the bottom of the coroutine's stack, and the suspender does not leave it: `body` receives it by value.
        let (resume, waker) = unsafe { self.yielder.as_ref() }.suspend(pause);
        self.waker.set(waker);
        resume
    }

    /// Returns the pages to the kernel that earlier, deeper calls have used. It takes some microseconds, and each page a fault when it is used again.
    #[inline(never)]
    pub(crate) fn release_unused_stack(&self) {
        let here = 0u8;
        let page_bytes = memory::page_bytes();
        // The page below the present one is left to the call itself.
        let first_used = (std::ptr::from_ref(&here) as usize & !(page_bytes - 1)).saturating_sub(page_bytes);
        if first_used > self.end {
            // SAFETY: the range belongs to this stack and is below all its frames, whose code is suspended in this call. It begins at a page, since the
            // stack is a mapping, and so does its end.
            unsafe { memory::release_pages(self.end, first_used - self.end) };
        }
    }

    /// The work has ended: waits for the next.
    pub(crate) fn idle(&self, result: R) -> Resume<W> {
        self.suspend(Suspension::Idle(result))
    }

    /// Suspends until `future` is ready.
    pub(crate) fn wait<F: Future>(&self, future: F) -> Result<F::Output, Interrupted> {
        let mut future = std::pin::pin!(future);
        loop {
            if let Some(waker) = self.waker.get() {
                // SAFETY: the poll that resumed this coroutine has not returned, and it borrows the waker.
                let waker = unsafe { waker.as_ref() };
                if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut std::task::Context::from_waker(waker)) {
                    return Ok(output);
                }
            }
            self.suspend_once()?;
        }
    }

    /// Lets the rest of the worker run.
    pub(crate) fn give_way(&self) -> Result<(), Interrupted> {
        let Some(waker) = self.waker.get() else { return Ok(()) };
        // SAFETY: as in `wait`.
        unsafe { waker.as_ref() }.wake_by_ref();
        self.suspend_once()
    }

    fn suspend_once(&self) -> Result<(), Interrupted> {
        match self.suspend(Suspension::Waiting) {
            Resume::Poll => Ok(()),
            Resume::Abort | Resume::Quit | Resume::Begin(_) => Err(Interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::rc::Rc;
    use std::task::{Context, Poll};

    use super::*;

    /// Adds numbers, and waits for each from a future.
    fn adder(dropped: Rc<Cell<u32>>) -> Coroutine<u32, Result<u32, Interrupted>> {
        struct Counts(Rc<Cell<u32>>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let mut coroutine = Coroutine::new(move |suspender: Suspender<u32, Result<u32, Interrupted>>| {
            let mut sum = 0;
            let mut next = suspender.idle(Ok(0));
            while let Resume::Begin(number) = next {
                let counts = Counts(Rc::clone(&dropped));
                let mut polls = 0;
                let waited = suspender.wait(poll_fn(move |context| {
                    let _ = &counts;
                    polls += 1;
                    context.waker().wake_by_ref();
                    if polls > 2 { Poll::Ready(number) } else { Poll::Pending }
                }));
                next = suspender.idle(waited.map(|number| {
                    sum += number;
                    sum
                }));
            }
        })
        .unwrap();
        assert!(matches!(coroutine.resume(Resume::Poll, None), Some(Suspension::Idle(Ok(0)))));
        coroutine
    }

    fn run(coroutine: &mut Coroutine<u32, Result<u32, Interrupted>>, number: u32) -> Result<u32, Interrupted> {
        let waker = Waker::noop();
        let mut pause = coroutine.resume(Resume::Begin(number), Some(waker));
        loop {
            match pause {
                Some(Suspension::Idle(result)) => return result,
                Some(Suspension::Waiting) => pause = coroutine.resume(Resume::Poll, Some(waker)),
                None => panic!("it returned"),
            }
        }
    }

    #[test]
    fn work_waits_for_futures_and_continues() {
        let mut coroutine = adder(Rc::default());
        assert_eq!((run(&mut coroutine, 2), run(&mut coroutine, 5)), (Ok(2), Ok(7)));
    }

    #[test]
    fn aborted_work_drops_its_future_on_the_coroutine_and_the_next_work_runs() {
        let dropped = Rc::new(Cell::new(0));
        let mut coroutine = adder(Rc::clone(&dropped));
        assert!(matches!(coroutine.resume(Resume::Begin(2), Some(Waker::noop())), Some(Suspension::Waiting)));
        coroutine.abort();
        assert_eq!(dropped.get(), 1);
        assert_eq!(run(&mut coroutine, 3), Ok(3));
    }

    #[test]
    fn dropping_a_coroutine_in_any_state_returns_from_its_body() {
        for state in 0..3 {
            let dropped = Rc::new(Cell::new(0));
            let mut coroutine = adder(Rc::clone(&dropped));
            if state == 1 {
                coroutine.resume(Resume::Begin(1), Some(Waker::noop()));
            } else if state == 2 {
                run(&mut coroutine, 1).unwrap();
            }
            drop(coroutine);
            assert_eq!(Rc::strong_count(&dropped), 1, "state {state}");
        }
    }

    #[test]
    fn a_panic_reaches_the_event_loop() {
        let mut coroutine = Coroutine::<u32, u32>::new(|_| panic!("on the coroutine")).unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| coroutine.resume(Resume::Poll, Some(Waker::noop())).is_some())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on the coroutine"));
    }

    #[test]
    fn stacks_are_mapped_lazily() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let before = resident();
        let coroutines: Vec<_> = (0..200)
            .map(|_| {
                let mut coroutine = adder(Rc::default());
                run(&mut coroutine, 1).unwrap();
                coroutine
            })
            .collect();
        let each = resident().saturating_sub(before) / coroutines.len();
        assert!(each < 64 << 10, "{each} bytes for each coroutine, whose stack has {STACK_BYTES}");
    }

    #[test]
    fn pages_of_earlier_calls_are_returned_and_the_stack_remains_usable() {
        fn resident_of(address: usize) -> usize {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut inside = false;
            for line in maps.lines() {
                if let Some((from, rest)) = line.split_once('-')
                    && let (Ok(from), Some(to)) = (usize::from_str_radix(from, 16), rest.split(' ').next())
                {
                    inside = (from..usize::from_str_radix(to, 16).unwrap()).contains(&address);
                } else if inside && let Some(kilobytes) = line.strip_prefix("Rss:") {
                    return kilobytes.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024;
                }
            }
            panic!("the stack is not mapped");
        }
        #[inline(never)]
        fn deep(levels: usize) -> usize {
            let block = std::hint::black_box([levels; 512]);
            if levels == 0 { 0 } else { deep(levels - 1) + block[levels % 512] }
        }
        let sizes = Rc::new(Cell::new((0, 0, 0)));
        let measured = Rc::clone(&sizes);
        let mut coroutine = Coroutine::<(), ()>::new(move |suspender| {
            let here = std::ptr::from_ref(&suspender) as usize;
            let sum = deep(100);
            let before = resident_of(here);
            suspender.release_unused_stack();
            let after = resident_of(here);
            measured.set((before, after, deep(100) - sum));
        })
        .unwrap();
        assert!(coroutine.resume(Resume::Poll, Some(Waker::noop())).is_none());
        let (before, after, difference) = sizes.get();
        assert!(before > 400 << 10 && after < 64 << 10, "{before} bytes before, {after} after");
        assert_eq!(difference, 0);
    }

    #[test]
    fn a_future_is_polled_with_the_waker_of_the_latest_poll() {
        struct Recorded(Rc<Cell<usize>>);
        impl Future for Recorded {
            type Output = ();
            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                self.0.set(std::ptr::from_ref(context.waker()) as usize);
                Poll::Pending
            }
        }
        let seen = Rc::new(Cell::new(0));
        let recorded = Rc::clone(&seen);
        let mut coroutine = Coroutine::<(), ()>::new(move |suspender| {
            let _ = suspender.wait(Recorded(recorded));
        })
        .unwrap();
        for waker in [Waker::noop().clone(), Waker::noop().clone()] {
            coroutine.resume(Resume::Poll, Some(&waker));
            assert_eq!(seen.get(), std::ptr::from_ref(&waker) as usize);
        }
    }
}
