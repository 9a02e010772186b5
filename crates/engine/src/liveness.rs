//! How long each worker of this process has been silent. A worker reports at least once a second.
//!
//! A worker that something blocks (a protocol's loop over endless input, a selector on a hostile page) sees no command. The coordinator must end
//! without it.

use loadstone_metrics::Nanos;

use crate::messages::SNAPSHOT_NS;

/// A silence that is reported while the run continues.
const NOTICE_AFTER_NS: Nanos = 5 * SNAPSHOT_NS;
/// A worker that is silent for longer is abandoned: after a request to end now, after a request to stop, and without a request.
const HALTED_MAX_NS: Nanos = 3 * SNAPSHOT_NS;
const STOPPED_MAX_NS: Nanos = 15 * SNAPSHOT_NS;
const SILENT_MAX_NS: Nanos = 60 * SNAPSHOT_NS;
/// A worker that is silent for longer may not read its commands.
const BLOCKED_MIN_NS: Nanos = 2 * SNAPSHOT_NS;
/// Longest time that one check adds: if the whole process was suspended, its workers were not blocked.
const CHECK_MAX_NS: Nanos = SNAPSHOT_NS;

/// What was requested of the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestedEnd {
    None,
    Stop,
    Halt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerSilence {
    /// Reported once per silence.
    Notice(usize),
    Abandon(usize),
}

impl WorkerSilence {
    /// For users. `number`: of the worker among all of the run.
    pub(crate) fn text(self, number: u32) -> String {
        match self {
            WorkerSilence::Notice(_) => {
                format!("worker {number} has not responded for 5 s: something in the test or in a response blocks it")
            }
            WorkerSilence::Abandon(_) => format!("worker {number} was abandoned because it did not respond"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Liveness {
    /// By worker: how long it has been silent, and whether this was reported.
    silent: Vec<(Nanos, bool)>,
    checked: Nanos,
    requested: RequestedEnd,
}

impl Liveness {
    pub(crate) fn new(workers: usize) -> Self {
        Self { silent: vec![(0, false); workers], checked: 0, requested: RequestedEnd::None }
    }

    /// The time begins.
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.checked = now;
        self.silent.fill((0, false));
    }

    pub(crate) fn heard(&mut self, worker: usize) {
        if let Some(silent) = self.silent.get_mut(worker) {
            *silent = (0, false);
        }
    }

    pub(crate) fn request(&mut self, request: RequestedEnd) {
        self.requested = self.requested.max(request);
    }

    /// A blocked worker must not block the sender of commands, too: it may lose a command.
    pub(crate) fn may_be_blocked(&self, worker: usize) -> bool {
        self.silent_ns(worker) > BLOCKED_MIN_NS
    }

    fn silent_ns(&self, worker: usize) -> Nanos {
        self.silent.get(worker).map_or(0, |(silent_ns, _)| *silent_ns)
    }

    /// What to do about the workers in `expected` that were silent until now.
    pub(crate) fn check(&mut self, now: Nanos, expected: impl Fn(usize) -> bool) -> Vec<WorkerSilence> {
        let passed = now.saturating_sub(self.checked);
        if passed < SNAPSHOT_NS / 2 {
            return Vec::new();
        }
        self.checked = now;
        let max_ns = match self.requested {
            RequestedEnd::None => SILENT_MAX_NS,
            RequestedEnd::Stop => STOPPED_MAX_NS,
            RequestedEnd::Halt => HALTED_MAX_NS,
        };
        let mut found = Vec::new();
        for (worker, (silent_ns, is_reported)) in self.silent.iter_mut().enumerate().filter(|(worker, _)| expected(*worker)) {
            *silent_ns += passed.min(CHECK_MAX_NS);
            if *silent_ns > NOTICE_AFTER_NS && !std::mem::replace(is_reported, *silent_ns > NOTICE_AFTER_NS) {
                found.push(WorkerSilence::Notice(worker));
            }
            if *silent_ns > max_ns {
                found.push(WorkerSilence::Abandon(worker));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = SNAPSHOT_NS;

    /// When a worker that is silent from the start is reported and abandoned. Whole seconds.
    fn of_silent_worker(request: RequestedEnd) -> (Option<u64>, Option<u64>) {
        let mut liveness = Liveness::new(2);
        liveness.begin(0);
        liveness.request(request);
        let (mut notice, mut abandon) = (None, None);
        for second in 1..100 {
            liveness.heard(1);
            for silence in liveness.check(second * S, |_| true) {
                let first = if silence == WorkerSilence::Notice(0) { &mut notice } else { &mut abandon };
                assert!(matches!(silence, WorkerSilence::Notice(0) | WorkerSilence::Abandon(0)), "the other worker reports each second");
                first.get_or_insert(second);
            }
        }
        (notice, abandon)
    }

    #[test]
    fn a_blocked_worker_is_reported_and_abandoned() {
        assert_eq!(of_silent_worker(RequestedEnd::None), (Some(6), Some(61)));
        assert_eq!(of_silent_worker(RequestedEnd::Stop), (Some(6), Some(16)));
        assert_eq!(of_silent_worker(RequestedEnd::Halt), (Some(6), Some(4)));
    }

    #[test]
    fn a_suspended_process_blocks_nobody() {
        let mut liveness = Liveness::new(1);
        liveness.begin(0);
        assert_eq!(liveness.check(3_600 * S, |_| true), []);
        assert_eq!(liveness.silent_ns(0), S);
    }
}
