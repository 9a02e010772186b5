//! A limit on the rate of new connections: each waits for a slot of a grid in time.
//!
//! All workers share the grid, and every worker has its share of the slots. Together they therefore never exceed the rate, and no worker needs to
//! know of the others. An unused slot is lost, so there are no bursts.

use std::cell::Cell;

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Clock;

/// The index of this worker among all workers, which determines its slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPosition {
    pub worker: u32,
    pub workers: u32,
}

impl Default for WorkerPosition {
    fn default() -> Self {
        Self { worker: 0, workers: 1 }
    }
}

#[derive(Debug)]
pub(crate) struct Admission {
    /// Slots per second of all workers together.
    rate: f64,
    position: WorkerPosition,
    /// First slot that is not taken.
    next: Cell<u64>,
    /// Slots that were waited for before a connection requested them.
    reserved: Cell<u32>,
}

impl Admission {
    pub(crate) fn new(rate: f64, position: WorkerPosition) -> Self {
        Self { rate, position, next: Cell::new(0), reserved: Cell::new(0) }
    }

    /// Takes this worker's next slot, and returns its instant.
    fn take(&self, now: Nanos) -> Nanos {
        let (worker, workers) = (u64::from(self.position.worker), u64::from(self.position.workers.max(1)));
        let earliest = self.next.get().max((now as f64 * self.rate / 1e9).ceil() as u64);
        let behind = (earliest % workers + workers - worker % workers) % workers;
        let slot = if behind == 0 { earliest } else { earliest + workers - behind };
        self.next.set(slot + 1);
        (slot as f64 * 1e9 / self.rate).ceil() as Nanos
    }

    /// Waits for a slot and reserves it for the next connection.
    pub(crate) async fn reserve(&self, clock: &Clock) {
        clock.sleep_until(self.take(clock.now())).await;
        self.reserved.set(self.reserved.get() + 1);
    }

    /// Waits for a slot, unless one was reserved.
    pub(crate) async fn enter(&self, clock: &Clock) {
        match self.reserved.get().checked_sub(1) {
            Some(left) => self.reserved.set(left),
            None => clock.sleep_until(self.take(clock.now())).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_workers_together_take_every_slot_once() {
        for (rate, workers) in [(10.0, 1), (1000.0, 3), (1.5, 2), (333.0, 4)] {
            let mut slots = Vec::new();
            for worker in 0..workers {
                let admission = Admission::new(rate, WorkerPosition { worker, workers });
                let mine: Vec<Nanos> = (0..2000).map(|_| admission.take(0)).take_while(|at| *at < 60_000_000_000).collect();
                slots.extend(mine);
            }
            slots.sort_unstable();
            let expected = (60.0 * rate).min(f64::from(workers) * 2000.0) as usize;
            assert_eq!(slots.len(), expected, "{rate} {workers}");
            let apart = slots.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff((1e9 / rate) as u64) <= 1);
            assert!(apart, "{rate} {workers}");
        }
    }

    #[test]
    fn unused_slots_are_lost() {
        let admission = Admission::new(10.0, WorkerPosition::default());
        assert_eq!(admission.take(0), 0);
        assert_eq!([admission.take(950_000_001), admission.take(950_000_001)], [1_000_000_000, 1_100_000_000]);
    }
}
