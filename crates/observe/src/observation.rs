//! All observers of a run, on one thread of their own.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use metrics::clock::{Monotonic, thread_cpu_ns};
use metrics::{FlowEvent, Nanos, NoticeKind, SignalBatch, SignalNotice};
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::MissedTickBehavior;

use crate::observer::{ObserveError, Observer};
use crate::readings::{Readings, SERIES_MAX};

/// Batches that may wait to be taken; more are dropped and counted.
const BATCHES_MAX: usize = 4_096;
/// Notices of one observer that wait for room in the channel.
const NOTICES_MAX: usize = 64;
/// Flow events of one observer that wait for room in the channel.
const FLOW_EVENTS_MAX: usize = 1_000_000;
/// A source that has not answered by then counts as failed for this reading.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Running observers. Dropping it stops them.
#[derive(Debug)]
pub struct Observation {
    batches: Receiver<SignalBatch>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Observation {
    /// Starts reading at once. Two observers of the same name are told apart by `:2`, `:3`, ….
    ///
    /// # Errors
    /// When the thread cannot be made. A source that is not there is a [`SignalNotice`].
    pub fn start(mut observers: Vec<Observer>, clock: Monotonic) -> Result<Self, ObserveError> {
        let mut names = HashSet::new();
        for observer in &mut observers {
            let plain = observer.name.clone();
            for number in 2.. {
                if names.insert(observer.name.clone()) {
                    break;
                }
                observer.name = format!("{plain}:{number}");
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|problem| ObserveError::Thread(problem.to_string()))?;
        let (sender, batches) = sync_channel(BATCHES_MAX);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("observe".to_owned()).spawn(move || {
            LocalSet::new().block_on(&runtime, async {
                for observer in observers {
                    tokio::task::spawn_local(watch(observer, clock, sender.clone()));
                }
                tokio::task::spawn_local(own_cost(clock, sender));
                // The sender is only ever dropped; either way it is the end.
                let _ = stopped.await;
            });
        });
        let thread = thread.map_err(|problem| ObserveError::Thread(problem.to_string()))?;
        Ok(Self { batches, stop: Some(stop), thread: Some(thread) })
    }

    /// What has been read since the last call, without waiting.
    pub fn take(&self) -> impl Iterator<Item = SignalBatch> + '_ {
        self.batches.try_iter()
    }

    /// The next batch; `None` when there was none for so long.
    pub fn next(&self, wait: Duration) -> Option<SignalBatch> {
        self.batches.recv_timeout(wait).ok()
    }

    /// Stops reading; returns what was still waiting to be taken.
    pub fn stop(mut self) -> Vec<SignalBatch> {
        self.end();
        self.batches.try_iter().collect()
    }

    fn end(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.end();
    }
}

/// One observer's way from its readings to the channel.
struct Delivery {
    observer: Arc<str>,
    clock: Monotonic,
    sender: SyncSender<SignalBatch>,
    notices: Vec<SignalNotice>,
    flow_events: Vec<FlowEvent>,
    /// Since when it has been failing.
    failing_since: Option<Nanos>,
    lost: u64,
    refused_told: bool,
}

async fn watch(mut observer: Observer, clock: Monotonic, sender: SyncSender<SignalBatch>) {
    let name: Arc<str> = observer.name.as_str().into();
    let mut readings = Readings::new(&name);
    let mut delivery = Delivery {
        observer: name,
        clock,
        sender,
        notices: Vec::new(),
        flow_events: Vec::new(),
        failing_since: None,
        lost: 0,
        refused_told: false,
    };
    let mut ticks = tokio::time::interval(Duration::from_nanos(observer.source.period_ns(observer.every_ns)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let begin = clock.now();
        readings.begin(begin);
        let read = tokio::time::timeout(ANSWER_LIMIT, observer.source.read(&mut readings)).await;
        let read = read.unwrap_or_else(|_| Err(format!("it did not answer within {} s", ANSWER_LIMIT.as_secs())));
        let points = readings.finish(clock.now());
        match read {
            Ok(()) => {
                let read_at = begin + clock.now().saturating_sub(begin) / 2;
                delivery.flow_events.extend(readings.take_journeys(read_at));
                delivery.well(points, readings.refused());
            }
            Err(problem) => {
                observer.source.reset();
                delivery.failed(begin, problem);
                // A source that is down is not asked more often than it reports.
                tokio::time::sleep(Duration::from_nanos(observer.every_ns)).await;
            }
        }
    }
}

impl Delivery {
    fn well(&mut self, points: Vec<crate::readings::Point>, refused: u64) {
        let now = self.clock.now();
        if let Some(since) = self.failing_since.take() {
            let gap = units::seconds((now - since) as f64 / 1e9);
            let message = format!("{} reads again after {gap}", self.observer);
            self.notices.push(SignalNotice {
                observer: Arc::clone(&self.observer),
                at: now,
                kind: NoticeKind::Recovered { since },
                message,
            });
        }
        if refused > 0 && !self.refused_told {
            self.refused_told = true;
            let message = format!("{} has more than {SERIES_MAX} series; the rest are left out", self.observer);
            self.notices.push(SignalNotice { observer: Arc::clone(&self.observer), at: now, kind: NoticeKind::Incomplete, message });
        }
        self.send(points);
    }

    fn failed(&mut self, at: Nanos, problem: String) {
        if self.failing_since.is_none() {
            self.failing_since = Some(at);
            let message = format!("{} cannot read: {problem}", self.observer);
            self.notices.push(SignalNotice { observer: Arc::clone(&self.observer), at, kind: NoticeKind::Failed, message });
        }
        self.send(Vec::new());
    }

    /// Never waits: what the reader has no room for is dropped, counted, and told with the next batch.
    fn send(&mut self, points: Vec<crate::readings::Point>) {
        let loss = (self.lost > 0).then(|| SignalNotice {
            observer: Arc::clone(&self.observer),
            at: self.clock.now(),
            kind: NoticeKind::Incomplete,
            message: format!("{} readings of {} were lost because nobody took them", self.lost, self.observer),
        });
        if points.is_empty() && self.notices.is_empty() && self.flow_events.is_empty() && loss.is_none() {
            return;
        }
        let kept = self.notices.len();
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(loss);
        let flow_events = std::mem::take(&mut self.flow_events);
        let batch = SignalBatch { observer: Arc::clone(&self.observer), points, notices, flow_events };
        match self.sender.try_send(batch) {
            Ok(()) => self.lost = 0,
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                self.lost += batch.points.len() as u64;
                // The one about losses is made anew with the next attempt.
                // A journey that finished has finished, whenever that is told.
                self.flow_events = batch.flow_events;
                self.flow_events.truncate(FLOW_EVENTS_MAX);
                self.notices = batch.notices;
                self.notices.truncate(kept.min(NOTICES_MAX));
            }
        }
    }
}

/// What observing costs on this machine, as a signal of its own.
async fn own_cost(clock: Monotonic, sender: SyncSender<SignalBatch>) {
    let mut readings = Readings::new("observe");
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        readings.begin(clock.now());
        readings.counter("cpu", "seconds", "CPU time of the thread that runs all observers", thread_cpu_ns() as f64 / 1e9);
        let points = readings.finish(clock.now());
        // A full channel loses this reading and nothing else.
        let _ = sender.try_send(SignalBatch { observer: "observe".into(), points, notices: Vec::new(), flow_events: Vec::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(room: usize) -> (Delivery, Receiver<SignalBatch>) {
        let (sender, receiver) = sync_channel(room);
        let (observer, clock) = ("app".into(), Monotonic::start());
        (
            Delivery {
                observer,
                clock,
                sender,
                notices: Vec::new(),
                flow_events: Vec::new(),
                failing_since: None,
                lost: 0,
                refused_told: false,
            },
            receiver,
        )
    }

    fn points(count: u32) -> Vec<crate::readings::Point> {
        let mut readings = Readings::new("app");
        (0..count).for_each(|number| readings.gauge(&format!("m{number}"), "1", "", 1.0));
        readings.finish(0)
    }

    #[test]
    fn what_nobody_takes_is_lost_and_told() {
        let (mut delivery, receiver) = delivery(1);
        delivery.well(points(2), 0);
        delivery.well(points(3), 0);
        delivery.well(points(4), 0);
        assert_eq!(receiver.try_iter().map(|batch| (batch.points.len(), batch.notices.len())).collect::<Vec<_>>(), [(2, 0)]);
        delivery.well(points(1), 0);
        delivery.well(points(1), 0);
        let batch = receiver.try_recv().unwrap();
        assert_eq!((batch.points.len(), batch.notices[0].kind), (1, NoticeKind::Incomplete));
        assert!(batch.notices[0].message.starts_with("7 readings of app were lost"), "{}", batch.notices[0].message);
    }

    /// A gap that begins while nobody takes batches is still told, once, and so is its end.
    #[test]
    fn notices_wait_for_room() {
        let (mut delivery, receiver) = delivery(1);
        delivery.well(points(1), 0);
        delivery.failed(5, "gone".to_owned());
        delivery.failed(6, "gone".to_owned());
        delivery.well(points(1), 0);
        assert_eq!(receiver.try_iter().count(), 1);
        delivery.well(points(1), 0);
        let kinds: Vec<_> = receiver.try_recv().unwrap().notices.iter().map(|notice| notice.kind).collect();
        assert_eq!(kinds, [NoticeKind::Failed, NoticeKind::Recovered { since: 5 }, NoticeKind::Incomplete]);
    }

    #[test]
    fn too_many_series_are_refused_and_told_once() {
        let mut readings = Readings::new("app");
        (0..SERIES_MAX + 5).for_each(|number| readings.gauge(&format!("m{number}"), "1", "", 1.0));
        assert_eq!((readings.finish(0).len(), readings.refused()), (SERIES_MAX, 5));
        let (mut delivery, receiver) = delivery(4);
        delivery.well(points(1), readings.refused());
        delivery.well(points(1), readings.refused());
        let notices: Vec<usize> = receiver.try_iter().map(|batch| batch.notices.len()).collect();
        assert_eq!(notices, [1, 0]);
    }
}
