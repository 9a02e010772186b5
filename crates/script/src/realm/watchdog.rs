//! Interrupts JavaScript that does not yield.

use std::cell::Cell;
use std::rc::Rc;

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Monotonic;

/// Longest turn of JavaScript. Nanoseconds.
pub(crate) const TURN_NS_MAX: Nanos = 2_000_000_000;

/// Counts turns, and measures the present one.
///
/// The clock is read only when QuickJS asks (every 10,000 branches), so a turn costs one increment. It is the real clock even in a run on
/// virtual time: an endless loop does not wait for a test to advance the time.
#[derive(Debug, Clone)]
pub(crate) struct Watchdog {
    turn: Rc<Cell<u64>>,
    limit_ns: Nanos,
}

impl Watchdog {
    pub(crate) fn new(limit_ns: Nanos) -> Self {
        Self { turn: Rc::default(), limit_ns }
    }

    /// A new turn begins.
    pub(crate) fn turn(&self) {
        self.turn.set(self.turn.get().wrapping_add(1));
    }

    /// The handler that QuickJS calls; true interrupts.
    pub(crate) fn handler(&self) -> impl FnMut() -> bool + 'static {
        let (turn, limit_ns, clock) = (Rc::clone(&self.turn), self.limit_ns, Monotonic::start());
        let mut seen = (u64::MAX, 0);
        move || {
            let now = clock.now();
            if seen.0 != turn.get() {
                seen = (turn.get(), now);
            }
            now - seen.1 > limit_ns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_interrupted_only_when_it_outlasts_the_limit() {
        let never = Watchdog::new(Nanos::MAX);
        let mut handler = never.handler();
        assert!((0..1000).all(|_| !handler()));
        let at_once = Watchdog::new(0);
        let mut handler = at_once.handler();
        assert!(!handler(), "the first check of a turn starts its time");
        while !handler() {}
        at_once.turn();
        assert!(!handler(), "a new turn restarts the time");
    }
}
