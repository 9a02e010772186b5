//! Drains a worker's recorder at the end of each second and sends the snapshot to the coordinator.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use loadstone_metrics::{Nanos, Snapshot};

use crate::context::WorkerContext;
use crate::host::HostMeter;
use crate::messages::{SNAPSHOT_NS, WorkerLink, WorkerReport};
use crate::user::UserFactory;

/// Snapshots held back while the coordinator is busy. Beyond this, older ones are merged.
const SNAPSHOTS_HELD_MAX: usize = 60;

/// Takes one worker's snapshots.
pub(crate) struct SnapshotTicker<C> {
    context: WorkerContext,
    factory: Rc<C>,
    link: WorkerLink,
    meter: RefCell<HostMeter>,
    /// Number and begin of the current snapshot.
    next: Cell<(u32, Nanos)>,
    backlog: RefCell<VecDeque<Box<Snapshot>>>,
}

impl<C: UserFactory> SnapshotTicker<C> {
    pub(crate) fn new(context: WorkerContext, factory: Rc<C>, link: WorkerLink) -> Self {
        let meter = HostMeter::start(context.index_here() == 0, context.clock.now());
        Self { context, factory, link, meter: RefCell::new(meter), next: Cell::new((0, 0)), backlog: RefCell::default() }
    }

    /// Takes a snapshot at the end of every second. Never returns.
    pub(crate) async fn tick(self: Rc<Self>) {
        loop {
            let (number, _) = self.next.get();
            let end = Nanos::from(number + 1) * SNAPSHOT_NS;
            self.context.clock.sleep_until(end).await;
            self.take();
        }
    }

    /// Ends the current snapshot now. A worker that overslept whole seconds puts them into one snapshot, under the last second's number.
    fn take(&self) {
        let now = self.context.clock.now();
        let (first, start) = self.next.get();
        let number = first.max((now / SNAPSHOT_NS).saturating_sub(1) as u32);
        let end = (Nanos::from(number + 1) * SNAPSHOT_NS).min(now);
        self.next.set((number + 1, end));
        let snapshot = {
            let mut recorder = self.context.recorder.borrow_mut();
            self.meter.borrow_mut().read_into(recorder.generator(), now);
            self.factory.count_into(recorder.generator());
            recorder.drain(number, start, end)
        };
        let mut backlog = self.backlog.borrow_mut();
        backlog.push_back(Box::new(snapshot));
        while let Some(oldest) = backlog.pop_front() {
            if let Err(kept) = self.link.try_send(oldest) {
                backlog.push_front(kept);
                break;
            }
        }
        if backlog.len() > SNAPSHOTS_HELD_MAX
            && let Some(oldest) = backlog.pop_front()
            && let Some(next) = backlog.front_mut()
        {
            next.merge(*oldest);
        }
    }

    /// The last, shorter snapshot, and all that were held back.
    pub(crate) fn finish(&self) {
        self.take();
        for snapshot in self.backlog.borrow_mut().drain(..) {
            self.link.send(WorkerReport::Snapshot(snapshot));
        }
    }
}
