//! Findings while the run goes on, from what its directory holds so far, on a thread of their own. Read [`ProvisionalFindings`].

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use loadstone_analysis::Provisional;
use loadstone_metrics::Nanos;
use loadstone_metrics::clock::thread_cpu_ns;
use loadstone_run_directory::{Reader, RunError};

/// An analysis begins this long after the one before at the earliest.
const EVERY_NS: u64 = 5_000_000_000;
/// One that took a second of a core is followed by this many without: analyses take at most 2 % of a core.
const IDLE_SHARE: u64 = 50;

/// Analyses the run so far, again and again, each time as soon as it may. It reads what is on disk, as the end of the run does: nothing has to be
/// kept for it, and it knows no secrets.
pub(crate) struct ProvisionalFindings {
    orders: SyncSender<()>,
    done: Receiver<Done>,
    schedule: Schedule,
    latest: Option<Provisional>,
}

/// An analysis that is over.
struct Done {
    found: Result<Provisional, RunError>,
    cpu_ns: u64,
}

/// When the next analysis may begin. On the run's clock, so that it needs none of its own.
#[derive(Debug)]
struct Schedule {
    next_at: Nanos,
    began_at: Nanos,
    is_busy: bool,
}

impl ProvisionalFindings {
    /// `None` when the system gives no thread: the run goes on without them.
    pub(crate) fn start(directory: PathBuf) -> Option<Self> {
        let (orders, ordered) = sync_channel::<()>(1);
        let (sender, done) = sync_channel(1);
        let work = move || {
            // The load comes first. On Linux, this is of the calling thread alone (setpriority(2)).
            let _ = rustix::process::setpriority_process(None, 19);
            while ordered.recv().is_ok() {
                let began = thread_cpu_ns();
                let found = Reader::open(&directory).and_then(Reader::run).map(|run| Provisional::of(&run));
                if sender.send(Done { found, cpu_ns: thread_cpu_ns().saturating_sub(began) }).is_err() {
                    break;
                }
            }
        };
        // Nobody waits for it: once the run is over, it ends with the analysis that it has begun.
        std::thread::Builder::new().name("findings".to_owned()).spawn(work).ok()?;
        let schedule = Schedule { next_at: EVERY_NS, began_at: 0, is_busy: false };
        Some(Self { orders, done, schedule, latest: None })
    }

    /// Once a second. Never waits. Returns what an analysis has found meanwhile, and what the one before had.
    pub(crate) fn second(&mut self, now: Nanos) -> Option<(&Provisional, Option<Provisional>)> {
        let news = match self.done.try_recv() {
            Ok(Done { found, cpu_ns }) => {
                self.schedule.ended(cpu_ns);
                // A directory that cannot be read now is told of at the end of the run.
                found.ok()
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        };
        if self.schedule.begins(now) {
            let _ = self.orders.try_send(());
        }
        let news = news?;
        let before = self.latest.take();
        let news = match &before {
            Some(before) => news.after(before),
            None => news,
        };
        Some((self.latest.insert(news), before))
    }
}

impl Schedule {
    /// Whether one may begin; it has begun, then.
    fn begins(&mut self, now: Nanos) -> bool {
        let begins = !self.is_busy && now >= self.next_at;
        if begins {
            (self.is_busy, self.began_at) = (true, now);
        }
        begins
    }

    fn ended(&mut self, cpu_ns: u64) {
        self.is_busy = false;
        self.next_at = self.began_at + cpu_ns.saturating_mul(IDLE_SHARE).max(EVERY_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn analyses_take_two_hundredths_of_a_core_at_most() {
        let mut schedule = Schedule { next_at: EVERY_NS, began_at: 0, is_busy: false };
        // Of an ever longer run, each costs more.
        let (mut spent, mut begun) = (0, 0);
        for second in 1..=3600 {
            let now = second * SECOND;
            if schedule.is_busy {
                let cost = now / 2_000;
                spent += cost;
                schedule.ended(cost);
            }
            begun += u64::from(schedule.begins(now));
            assert!(spent <= now / 50 + now / 2_000, "{spent} ns after {second} s");
        }
        assert!(begun > 20, "{begun}");
    }

    #[test]
    fn none_begins_while_one_is_under_way() {
        let mut schedule = Schedule { next_at: EVERY_NS, began_at: 0, is_busy: false };
        let begun: Vec<u64> = (1..60).filter(|second| schedule.begins(second * SECOND)).collect();
        assert_eq!(begun, [5]);
        schedule.ended(SECOND);
        let begun: Vec<u64> = (40..60).filter(|second| schedule.begins(second * SECOND)).collect();
        assert_eq!(begun, [55]);
    }
}
