//! All observers of a run, on one separate thread.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use loadstone_metrics::clock::{Monotonic, thread_cpu_ns};
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{NoticeKind, SignalBatch, unit};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::MissedTickBehavior;
use tokio::time::error::Elapsed;

use crate::collector::{MetricSpec, SignalCollector};
use crate::delivery::BatchSender;
use crate::error::{ObserveError, ReadError};
use crate::jitter::Jitter;
use crate::observer::Observer;

/// Batches that may wait to be taken; more are dropped and counted.
const BATCHES_MAX: usize = 4_096;
/// A source that has not responded by then counts as failed for this reading.
const RESPONSE_LIMIT: Duration = Duration::from_secs(5);

/// Running observers. Dropping it stops them.
#[derive(Debug)]
pub struct Observation {
    batches: Receiver<SignalBatch>,
    /// Present until reading begins.
    begin: Option<oneshot::Sender<Monotonic>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Observation {
    /// Starts reading at once; otherwise as [`Observation::prepare`].
    ///
    /// # Errors
    /// When the thread cannot be made.
    pub fn start(observers: Vec<Observer>, clock: Monotonic) -> Result<Self, ObserveError> {
        let mut observation = Self::prepare(observers)?;
        observation.begin(clock);
        Ok(observation)
    }

    /// Reads once [`Observation::begin`] is called. Observers of the same name get the suffixes `:2`, `:3`, ….
    ///
    /// # Errors
    /// When the thread cannot be created. A missing source is a [`SignalNotice`].
    pub fn prepare(mut observers: Vec<Observer>) -> Result<Self, ObserveError> {
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
        let (begin, begun) = oneshot::channel::<Monotonic>();
        let thread = std::thread::Builder::new().name("observe".to_owned()).spawn(move || {
            LocalSet::new().block_on(&runtime, async {
                let Ok(clock) = begun.await else { return };
                let (end, ended) = watch::channel(());
                let mut watching = JoinSet::new();
                for observer in observers {
                    watching.spawn_local(watch(observer, clock, sender.clone(), ended.clone()));
                }
                tokio::task::spawn_local(own_cost(clock, sender));
                // The sender is only dropped; that signals the end.
                let _ = stopped.await;
                drop((end, ended));
                while watching.join_next().await.is_some() {}
            });
        });
        let thread = thread.map_err(|problem| ObserveError::Thread(problem.to_string()))?;
        Ok(Self { batches, begin: Some(begin), stop: Some(stop), thread: Some(thread) })
    }

    /// Begins to read signals, on this clock.
    pub fn begin(&mut self, clock: Monotonic) {
        if let Some(begin) = self.begin.take() {
            // The thread waits for the clock unless it panicked, in which case its channel is closed.
            let _ = begin.send(clock);
        }
    }

    /// The readings since the last call, without waiting.
    pub fn take(&self) -> impl Iterator<Item = SignalBatch> + '_ {
        self.batches.try_iter()
    }

    /// The next batch; `None` after a time-out.
    pub fn next(&self, wait: Duration) -> Option<SignalBatch> {
        self.batches.recv_timeout(wait).ok()
    }

    /// Stops reading and returns the remaining batches.
    pub fn stop(mut self) -> Vec<SignalBatch> {
        self.end();
        self.batches.try_iter().collect()
    }

    fn end(&mut self) {
        self.begin = None;
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

/// Reads one observer for as long as the run lasts.
async fn watch(mut observer: Observer, clock: Monotonic, sender: SyncSender<SignalBatch>, mut ended: watch::Receiver<()>) {
    let mut readings = SignalCollector::new(&observer.name);
    let mut delivery = BatchSender::new(observer.name.as_str().into(), clock, sender);
    tokio::select! {
        () = read_on(&mut observer, clock, &mut readings, &mut delivery) => {}
        _ = ended.changed() => {}
    }
    readings.begin(clock.now());
    // Each reader bounds its last reading itself.
    let finished = observer.reader.finish(&mut readings).await;
    let (points, traces, notices) = (readings.finish(clock.now()), readings.take_traces(), readings.take_notices());
    let has_more = !points.is_empty() || !traces.is_empty() || !notices.is_empty();
    // A silent observer with nothing to add did not read again, so it does not count as a success.
    if finished.is_ok() && has_more {
        delivery.add(traces, notices);
        delivery.succeeded(points, std::iter::empty(), readings.refused());
    }
}

async fn read_on(observer: &mut Observer, clock: Monotonic, readings: &mut SignalCollector, delivery: &mut BatchSender) {
    let period_ns = observer.reader.period_ns(observer.every_ns);
    let mut ticks = tokio::time::interval(Duration::from_nanos(period_ns));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut jitter = Jitter::new(&observer.name);
    let keeps_time = observer.reader.keeps_time();
    let mut is_first = true;
    loop {
        ticks.tick().await;
        // The first reading is immediate, because it shows whether the source is available.
        if !std::mem::take(&mut is_first) && !keeps_time {
            tokio::time::sleep(jitter.next(period_ns)).await;
        }
        let begin = clock.now();
        readings.begin(begin);
        let read = tokio::time::timeout(RESPONSE_LIMIT, observer.reader.read(readings)).await;
        let end = clock.now();
        let points = readings.finish(end);
        if let Some((kind, reason)) = failure_of(read) {
            observer.reader.reset();
            delivery.failed(begin, kind, &reason);
            // A source that is down is not read more often than it reports.
            tokio::time::sleep(Duration::from_nanos(observer.every_ns)).await;
        } else {
            let refused = readings.refused();
            delivery.add(readings.take_traces(), readings.take_notices());
            delivery.succeeded(points, readings.take_journeys(end), refused);
        }
    }
}

/// Why a reading failed. `Elapsed`: the source did not respond.
fn failure_of(read: Result<Result<(), ReadError>, Elapsed>) -> Option<(NoticeKind, String)> {
    match read {
        Ok(Ok(())) => None,
        Ok(Err(problem)) => Some((NoticeKind::Failed, problem.to_string())),
        Err(_) => Some((NoticeKind::TimedOut, format!("no response within {} s", RESPONSE_LIMIT.as_secs()))),
    }
}

/// The CPU cost of observing on this machine.
const OWN_CPU: MetricSpec<'_> = MetricSpec::counter("cpu", unit::SECONDS, "CPU time of the thread that runs all observers");

async fn own_cost(clock: Monotonic, sender: SyncSender<SignalBatch>) {
    let mut readings = SignalCollector::new("observe");
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        readings.begin(clock.now());
        readings.put(OWN_CPU, thread_cpu_ns() as f64 / 1e9);
        let points = readings.finish(clock.now());
        // A full channel loses this reading and nothing else.
        let (notices, flow_events, traces) = (Vec::new(), Vec::new(), TraceBatch::default());
        let _ = sender.try_send(SignalBatch { observer: "observe".into(), points, notices, flow_events, traces });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_source_that_does_not_respond_times_out() {
        let silent = tokio::time::timeout(Duration::ZERO, std::future::pending::<Result<(), ReadError>>()).await;
        assert_eq!(failure_of(silent), Some((NoticeKind::TimedOut, "no response within 5 s".to_owned())));
        assert_eq!(failure_of(Ok(Err("no response within 5 s".into()))).map(|(kind, _)| kind), Some(NoticeKind::Failed));
        assert_eq!(failure_of(Ok(Ok(()))), None);
    }
}
