//! Sends one observer's readings to the channel, counts what is lost, and reports gaps.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{FlowEvent, Nanos, NoticeKind, SignalBatch, SignalNotice};
use loadstone_units::text::{stored, without_os_numbers};

use crate::collector::{SERIES_MAX, SignalReading};

/// Notices of one observer that wait for room in the channel.
const NOTICES_MAX: usize = 64;
/// Flow events of one observer that wait for room in the channel.
const FLOW_EVENTS_MAX: usize = 1_000_000;

/// Delivers one observer's readings to the channel.
pub(crate) struct BatchSender {
    observer: Arc<str>,
    clock: Monotonic,
    sender: SyncSender<SignalBatch>,
    notices: Vec<SignalNotice>,
    flow_events: Vec<FlowEvent>,
    traces: TraceBatch,
    /// Since when it has been failing.
    failing_since: Option<Nanos>,
    lost: u64,
    refused_reported: bool,
}

impl BatchSender {
    pub(crate) fn new(observer: Arc<str>, clock: Monotonic, sender: SyncSender<SignalBatch>) -> Self {
        Self {
            observer,
            clock,
            sender,
            notices: Vec::new(),
            flow_events: Vec::new(),
            traces: TraceBatch::default(),
            failing_since: None,
            lost: 0,
            refused_reported: false,
        }
    }

    /// Adds traces and notices to the next batch.
    pub(crate) fn add(&mut self, traces: TraceBatch, notices: Vec<(NoticeKind, String)>) {
        self.traces.append(traces);
        let (observer, at) = (Arc::clone(&self.observer), self.clock.now());
        let notice = |(kind, what): (NoticeKind, String)| {
            let message = format!("{observer}: {}", stored(&without_os_numbers(&what)));
            SignalNotice::new(&observer, at, kind, message)
        };
        self.notices.extend(notices.into_iter().map(notice));
    }

    /// A reading went well. `refused`: readings refused so far because of the bound on series.
    pub(crate) fn succeeded(&mut self, points: Vec<SignalReading>, flow_events: impl Iterator<Item = FlowEvent>, refused: u64) {
        self.flow_events.extend(flow_events);
        let now = self.clock.now();
        if let Some(since) = self.failing_since.take() {
            let gap = loadstone_units::seconds((now - since) as f64 / 1e9);
            let message = format!("{} reads again after {gap}", self.observer);
            self.notices.push(SignalNotice::new(&self.observer, now, NoticeKind::Recovered { since }, message));
        }
        if refused > 0 && !self.refused_reported {
            self.refused_reported = true;
            let message = format!("{} has more than {SERIES_MAX} series; the rest are left out", self.observer);
            self.notices.push(SignalNotice::new(&self.observer, now, NoticeKind::Incomplete, message));
        }
        self.send(points);
    }

    /// A reading that began at this instant failed. `kind` is [`NoticeKind::Failed`] or [`NoticeKind::TimedOut`].
    pub(crate) fn failed(&mut self, at: Nanos, kind: NoticeKind, reason: &str) {
        if self.failing_since.is_none() {
            self.failing_since = Some(at);
            self.notices.push(SignalNotice::silence(&self.observer, at, kind, stored(&without_os_numbers(reason)).into()));
        }
        self.send(Vec::new());
    }

    /// Never waits. Readings that do not fit into the channel are dropped, counted, and reported with the next batch.
    fn send(&mut self, points: Vec<SignalReading>) {
        let loss = (self.lost > 0).then(|| {
            let message = format!("{} readings of {} were lost because they were not taken in time", self.lost, self.observer);
            SignalNotice::new(&self.observer, self.clock.now(), NoticeKind::Incomplete, message)
        });
        if points.is_empty() && self.notices.is_empty() && self.flow_events.is_empty() && self.traces.is_empty() && loss.is_none() {
            return;
        }
        let kept = self.notices.len();
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(loss);
        let flow_events = std::mem::take(&mut self.flow_events);
        let traces = std::mem::take(&mut self.traces);
        let batch = SignalBatch { observer: Arc::clone(&self.observer), points, notices, flow_events, traces };
        match self.sender.try_send(batch) {
            Ok(()) => self.lost = 0,
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                self.lost += batch.points.len() as u64;
                // The next attempt creates a new notice about losses.
                // Finished journeys remain valid, so the next batch carries them.
                self.flow_events = batch.flow_events;
                self.flow_events.truncate(FLOW_EVENTS_MAX);
                self.traces = batch.traces;
                self.notices = batch.notices;
                self.notices.truncate(kept.min(NOTICES_MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use loadstone_metrics::unit;

    use super::*;
    use crate::collector::{MetricSpec, SignalCollector};

    fn delivery(room: usize) -> (BatchSender, Receiver<SignalBatch>) {
        let (sender, receiver) = sync_channel(room);
        (BatchSender::new("app".into(), Monotonic::start(), sender), receiver)
    }

    fn put(readings: &mut SignalCollector, number: usize) {
        readings.put(MetricSpec::gauge(&format!("m{number}"), unit::COUNT, ""), 1.0);
    }

    fn points(count: usize) -> Vec<SignalReading> {
        let mut readings = SignalCollector::new("app");
        (0..count).for_each(|number| put(&mut readings, number));
        readings.finish(0)
    }

    #[test]
    fn readings_that_nobody_takes_are_lost_and_reported() {
        let (mut delivery, receiver) = delivery(1);
        delivery.succeeded(points(2), std::iter::empty(), 0);
        delivery.succeeded(points(3), std::iter::empty(), 0);
        delivery.succeeded(points(4), std::iter::empty(), 0);
        assert_eq!(receiver.try_iter().map(|batch| (batch.points.len(), batch.notices.len())).collect::<Vec<_>>(), [(2, 0)]);
        delivery.succeeded(points(1), std::iter::empty(), 0);
        delivery.succeeded(points(1), std::iter::empty(), 0);
        let batch = receiver.try_recv().unwrap();
        assert_eq!((batch.points.len(), batch.notices[0].kind), (1, NoticeKind::Incomplete));
        assert!(batch.notices[0].message.starts_with("7 readings of app were lost"), "{}", batch.notices[0].message);
    }

    /// A gap that begins while nobody takes batches is still reported once, and so is its end.
    #[test]
    fn notices_wait_for_room() {
        let (mut delivery, receiver) = delivery(1);
        delivery.succeeded(points(1), std::iter::empty(), 0);
        delivery.failed(5, NoticeKind::TimedOut, "gone");
        delivery.failed(6, NoticeKind::Failed, "gone");
        delivery.succeeded(points(1), std::iter::empty(), 0);
        assert_eq!(receiver.try_iter().count(), 1);
        delivery.succeeded(points(1), std::iter::empty(), 0);
        let kinds: Vec<_> = receiver.try_recv().unwrap().notices.iter().map(|notice| notice.kind).collect();
        assert_eq!(kinds, [NoticeKind::TimedOut, NoticeKind::Recovered { since: 5 }, NoticeKind::Incomplete]);
    }

    #[test]
    fn too_many_series_are_refused_and_reported_once() {
        let mut readings = SignalCollector::new("app");
        (0..SERIES_MAX + 5).for_each(|number| put(&mut readings, number));
        assert_eq!((readings.finish(0).len(), readings.refused()), (SERIES_MAX, 5));
        let (mut delivery, receiver) = delivery(4);
        delivery.succeeded(points(1), std::iter::empty(), readings.refused());
        delivery.succeeded(points(1), std::iter::empty(), readings.refused());
        let notices: Vec<usize> = receiver.try_iter().map(|batch| batch.notices.len()).collect();
        assert_eq!(notices, [1, 0]);
    }
}
