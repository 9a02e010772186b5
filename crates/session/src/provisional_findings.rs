//! Findings during the run, computed on a separate thread from the directory so far. Read [`ProvisionalFindings`].

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use loadstone_analysis::Provisional;
use loadstone_metrics::Nanos;
use loadstone_metrics::clock::thread_cpu_ns;
use loadstone_run_directory::{Reader, RunError};

/// Minimum time between the starts of two analyses.
const INTERVAL_MIN_NS: u64 = 5_000_000_000;
/// Minimum time between the starts, as a multiple of the CPU time of the first one: analyses take at most 2 % of a core.
const INTERVAL_PER_CPU_TIME: u64 = 50;

/// Analyses the run so far repeatedly, as often as the limits allow. It reads the directory, as the end of the run does, so it needs no data in memory and
/// sees no secrets.
pub(crate) struct ProvisionalFindings {
    orders: SyncSender<()>,
    done: Receiver<Done>,
    schedule: Schedule,
    latest: Option<Provisional>,
}

/// A completed analysis.
struct Done {
    found: Result<Provisional, RunError>,
    cpu_ns: u64,
}

/// When the next analysis may start. Uses the run's clock.
#[derive(Debug)]
struct Schedule {
    next_at: Nanos,
    began_at: Nanos,
    is_busy: bool,
}

impl ProvisionalFindings {
    /// `None` if the system cannot start a thread. The run continues without provisional findings.
    pub(crate) fn start(directory: PathBuf) -> Option<Self> {
        let (orders, ordered) = sync_channel::<()>(1);
        let (sender, done) = sync_channel(1);
        let work = move || {
            // The load has priority.
            loadstone_platform::threads::yield_to_others();
            while ordered.recv().is_ok() {
                let began = thread_cpu_ns();
                let found = Reader::open(&directory).and_then(Reader::run).map(|mut run| Provisional::of(&mut run));
                if sender.send(Done { found, cpu_ns: thread_cpu_ns().saturating_sub(began) }).is_err() {
                    break;
                }
            }
        };
        // Not joined: after the run, the thread ends with its current analysis.
        std::thread::Builder::new().name("findings".to_owned()).spawn(work).ok()?;
        let schedule = Schedule { next_at: INTERVAL_MIN_NS, began_at: 0, is_busy: false };
        Some(Self { orders, done, schedule, latest: None })
    }

    /// Called once a second. Never waits. Returns the findings of a completed analysis, and those of the previous one.
    pub(crate) fn second(&mut self, now: Nanos) -> Option<(&Provisional, Option<Provisional>)> {
        let news = match self.done.try_recv() {
            Ok(Done { found, cpu_ns }) => {
                self.schedule.ended(cpu_ns);
                // A directory that cannot be read now is reported at the end of the run.
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
    /// Starts an analysis if the limits allow. Returns whether it did.
    fn begins(&mut self, now: Nanos) -> bool {
        let begins = !self.is_busy && now >= self.next_at;
        if begins {
            (self.is_busy, self.began_at) = (true, now);
        }
        begins
    }

    fn ended(&mut self, cpu_ns: u64) {
        self.is_busy = false;
        self.next_at = self.began_at + cpu_ns.saturating_mul(INTERVAL_PER_CPU_TIME).max(INTERVAL_MIN_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn analyses_take_two_hundredths_of_a_core_at_most() {
        let mut schedule = Schedule { next_at: INTERVAL_MIN_NS, began_at: 0, is_busy: false };
        // The cost of an analysis grows with the run.
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
    fn no_analysis_starts_during_another() {
        let mut schedule = Schedule { next_at: INTERVAL_MIN_NS, began_at: 0, is_busy: false };
        let begun: Vec<u64> = (1..60).filter(|second| schedule.begins(second * SECOND)).collect();
        assert_eq!(begun, [5]);
        schedule.ended(SECOND);
        let begun: Vec<u64> = (40..60).filter(|second| schedule.begins(second * SECOND)).collect();
        assert_eq!(begun, [55]);
    }
}
