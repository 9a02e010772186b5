//! Limits what one connection may read before the rest of the worker runs.
//!
//! A server can send faster than its bytes are decoded. A protocol that reads until it has something for its caller would then never yield: pings,
//! empty frames and comments give it nothing. Time limits, Ctrl-C and all other users of the worker would wait for ever.

use std::task::Context;

/// Successful reads in a row, each of at most one scratch buffer.
const READS_IN_A_ROW_MAX: u8 = 8;

#[derive(Debug, Default)]
pub(crate) struct ReadBudget(u8);

impl ReadBudget {
    /// Whether the connection must yield before it reads again. If so, its task is woken.
    pub(crate) fn is_spent(&mut self, context: &Context<'_>) -> bool {
        if self.0 < READS_IN_A_ROW_MAX {
            self.0 += 1;
            return false;
        }
        self.0 = 0;
        context.waker().wake_by_ref();
        true
    }

    /// The kernel had no more.
    pub(crate) fn renew(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    struct Counter(AtomicU32);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_connection_yields_after_some_reads_and_is_woken() {
        let counter = Arc::new(Counter(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&counter));
        let context = Context::from_waker(&waker);
        let mut budget = ReadBudget::default();
        let spent = (0..100).filter(|_| budget.is_spent(&context)).count();
        assert_eq!((spent, counter.0.load(Ordering::Relaxed)), (11, 11));
        for _ in 0..100 {
            budget.renew();
            assert!(!budget.is_spent(&context), "a connection that waits for its server never yields");
        }
    }
}
