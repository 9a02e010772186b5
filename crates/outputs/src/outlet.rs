//! One output on its own thread, behind a bounded queue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::second::OutputSecond;
use crate::sink::OutputSink;

/// Seconds of the run that may wait for a slow receiver; further ones are lost and counted.
pub(crate) const QUEUE: usize = 60;
/// Attempts per delivery. The waits between them grow: 0.5 s, 1 s.
const ATTEMPTS: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Time limit at the end of a run for the queued seconds.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The delivery statistics of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDelivery {
    /// For people: `Prometheus at http://…`.
    pub destination: String,
    /// Delivered seconds of the run.
    pub delivered: u64,
    /// Lost seconds of the run.
    pub lost: u64,
    /// The reason of the last loss; empty if nothing was lost.
    pub problem: String,
}

#[derive(Debug, Default)]
struct Counts {
    delivered: AtomicU64,
    lost: AtomicU64,
    problem: Mutex<String>,
}

/// The sending end. It never waits for the receiver during the run.
#[derive(Debug)]
pub(crate) struct Outlet {
    destination: String,
    queue: Option<SyncSender<Arc<OutputSecond>>>,
    pushed: u64,
    counts: Arc<Counts>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
    /// Whether the first loss was reported.
    is_loss_reported: bool,
}

impl Outlet {
    /// # Errors
    /// When no thread can be created.
    pub(crate) fn start(destination: String, sink: Box<dyn OutputSink>) -> std::io::Result<Self> {
        let (queue, seconds) = sync_channel(QUEUE);
        let (over, ended) = sync_channel::<()>(1);
        let counts = Arc::new(Counts::default());
        let own = Arc::clone(&counts);
        let thread = std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            deliver(&seconds, sink, &own);
            // The drop signals the end to a waiting `finish`.
            drop(over);
        })?;
        Ok(Self { destination, queue: Some(queue), pushed: 0, counts, ended, thread: Some(thread), is_loss_reported: false })
    }

    pub(crate) fn push(&mut self, second: &Arc<OutputSecond>) {
        self.pushed += 1;
        let Some(queue) = &self.queue else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(Arc::clone(second)) {
            self.counts.lose(1, format!("the receiver is slow: {QUEUE} seconds are queued already"));
        }
    }

    /// The first loss, reported once.
    pub(crate) fn news(&mut self) -> Option<String> {
        if self.is_loss_reported || self.counts.lost.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.is_loss_reported = true;
        Some(format!("{} is dropping data: {}", self.destination, self.counts.problem()))
    }

    /// Waits at most five seconds for queued data; the rest is lost.
    pub(crate) fn finish(mut self) -> OutputDelivery {
        drop(self.queue.take());
        if self.ended.recv_timeout(LAST_WAIT) == Err(RecvTimeoutError::Timeout) {
            // Its thread ends with the process.
            drop(self.thread.take());
        } else if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let delivered = self.counts.delivered.load(Ordering::Relaxed);
        let lost = self.pushed - delivered.min(self.pushed);
        let mut problem = self.counts.problem();
        if lost > 0 && problem.is_empty() {
            problem = format!("the receiver did not answer within {} s of the end of the run", LAST_WAIT.as_secs());
        }
        OutputDelivery { destination: self.destination, delivered, lost, problem: if lost == 0 { String::new() } else { problem } }
    }
}

impl Counts {
    fn lose(&self, seconds: u64, problem: String) {
        self.lost.fetch_add(seconds, Ordering::Relaxed);
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    fn problem(&self) -> String {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn deliver(seconds: &Receiver<Arc<OutputSecond>>, mut sink: Box<dyn OutputSink>, counts: &Counts) {
    while let Ok(second) = seconds.recv() {
        sink.take(&second);
        let mut taken = 1;
        for second in seconds.try_iter() {
            sink.take(&second);
            taken += 1;
        }
        match attempt(sink.as_mut()) {
            Ok(arrived) => {
                counts.delivered.fetch_add(arrived, Ordering::Relaxed);
                if arrived < taken {
                    counts.lose(taken - arrived, "the receiver takes longer than a second".to_owned());
                }
            }
            Err(problem) => {
                sink.give_up();
                counts.lose(taken, problem);
            }
        }
    }
}

fn attempt(sink: &mut dyn OutputSink) -> Result<u64, String> {
    let mut wait = FIRST_WAIT;
    for _ in 1..ATTEMPTS {
        match sink.flush() {
            Err(error) if error.is_transient => std::thread::sleep(wait),
            other => return other.map_err(|error| error.text),
        }
        wait *= 2;
    }
    sink.flush().map_err(|error| error.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::DeliveryError;

    /// Returns one scripted answer per flush; without an answer it waits for ever.
    struct Scripted {
        answers: Receiver<Result<(), DeliveryError>>,
        taken: u64,
    }

    impl OutputSink for Scripted {
        fn take(&mut self, _: &OutputSecond) {
            self.taken += 1;
        }

        fn flush(&mut self) -> Result<u64, DeliveryError> {
            self.answers.recv().unwrap_or(Ok(())).map(|()| std::mem::take(&mut self.taken))
        }

        fn give_up(&mut self) {
            self.taken = 0;
        }
    }

    fn outlet() -> (Outlet, SyncSender<Result<(), DeliveryError>>) {
        let (answers, receiver) = sync_channel(200);
        (Outlet::start("Test".to_owned(), Box::new(Scripted { answers: receiver, taken: 0 })).unwrap(), answers)
    }

    fn problem(is_transient: bool) -> Result<(), DeliveryError> {
        Err(DeliveryError { text: "refused".to_owned(), is_transient })
    }

    #[test]
    fn what_arrives_is_counted() {
        let (mut outlet, answers) = outlet();
        drop(answers);
        (0..5).for_each(|_| outlet.push(&Arc::default()));
        assert_eq!(outlet.news(), None);
        assert_eq!(outlet.finish(), OutputDelivery { destination: "Test".to_owned(), delivered: 5, lost: 0, problem: String::new() });
    }

    #[test]
    fn a_passing_problem_is_tried_again_and_a_lasting_one_is_not() {
        let (mut outlet, answers) = outlet();
        for answer in [problem(true), Ok(()), problem(false)] {
            answers.send(answer).unwrap();
        }
        outlet.push(&Arc::default());
        while outlet.counts.delivered.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        outlet.push(&Arc::default());
        while outlet.counts.lost.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(outlet.news().as_deref(), Some("Test is dropping data: refused"));
        assert_eq!(outlet.news(), None, "reported once");
        drop(answers);
        assert_eq!(
            outlet.finish(),
            OutputDelivery { destination: "Test".to_owned(), delivered: 1, lost: 1, problem: "refused".to_owned() }
        );
    }

    #[test]
    fn a_receiver_that_never_answers_holds_nobody_up() {
        let (mut outlet, answers) = outlet();
        let pushes = 3 * QUEUE as u64;
        (0..pushes).for_each(|_| outlet.push(&Arc::default()));
        let news = outlet.news().unwrap();
        assert!(news.contains("60 seconds are queued already"), "{news}");
        let delivery = outlet.finish();
        assert_eq!((delivery.delivered, delivery.lost), (0, pushes));
        drop(answers);
    }
}
