//! Which signals moved at an instant, and which did not.

use loadstone_metrics::{Role, Signal};
use loadstone_run_directory::SignalSeries;

use super::readings::SignalReadings;
use crate::statistics::{interquartile_range, median};

/// Seconds that are examined on either side of the instant.
const EXAMINED_S: f64 = 30.0;
/// Seconds on either side that are left out.
const LEFT_OUT_S: f64 = 1.0;
/// Readings on either side.
const READINGS_MIN: usize = 3;
/// Score from which a signal moved.
const SCORE_MIN: f64 = 4.0;
/// Part of the larger level by which a signal must move.
pub(super) const MOVED_PART_MIN: f64 = 0.25;
/// Cores, or part of the time, by which a signal must move. The machine's own background work varies by less.
const CORES_MOVED_MIN: f64 = 0.05;
/// Threads by which their number in one place must move. A few samples of the stacks are always somewhere.
const THREADS_MOVED_MIN: f64 = 1.0;
const THREADS: [Role; 6] = [
    Role::ThreadsOnCpu,
    Role::ThreadsWaitingForLock,
    Role::ThreadsWaitingForMember,
    Role::ThreadsWaitingForIo,
    Role::ThreadsWaitingForTimer,
    Role::ThreadsWaitingForOther,
];
/// Part of its level by which every signal is assumed to vary, even if its readings did not.
pub(super) const VARIATION_PART_MIN: f64 = 0.02;

/// A signal around an instant.
#[derive(Debug, Clone)]
pub(crate) struct SignalMove<'a> {
    pub(crate) signal: &'a Signal,
    /// Medians of its readings before and after.
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// How far it moved, in multiples of its variation: |median after − median before| / interquartile range before. BARO's score (Pham, Ha and Zhang,
    /// "BARO: Robust root cause analysis for microservices via multivariate Bayesian online change point detection", 2024) takes the maximum after instead.
    pub(crate) score: f64,
    /// Readings before and after.
    pub(crate) readings: (u64, u64),
}

impl SignalMove<'_> {
    pub(crate) fn has_moved(&self) -> bool {
        let larger = self.before.abs().max(self.after.abs());
        self.score >= SCORE_MIN
            && is_large_enough(self.signal, self.before, self.after)
            && (self.after - self.before).abs() >= MOVED_PART_MIN * larger
    }

    /// Whether its levels before and after are about the same. A signal that varied a lot before has neither moved nor remained.
    pub(crate) fn has_remained(&self) -> bool {
        let larger = self.before.abs().max(self.after.abs());
        !is_large_enough(self.signal, self.before, self.after) || (self.after - self.before).abs() < MOVED_PART_MIN * larger
    }

    /// `process:8080/cpu from 0.2 to 0.99`.
    pub(crate) fn phrase(&self) -> String {
        let shown = |value: f64| loadstone_units::in_unit(value, self.signal.unit_shown());
        format!("{} from {} to {}", self.signal.name, shown(self.before), shown(self.after))
    }
}

/// Whether two levels differ by more than background work, for units in which that is known.
pub(crate) fn is_large_enough(signal: &Signal, before: f64, after: f64) -> bool {
    let is_of_threads = signal.role.is_some_and(|role| THREADS.contains(&role));
    let least = match signal.unit_shown() {
        _ if is_of_threads => THREADS_MOVED_MIN,
        "cores" | "share" | "s/s" => CORES_MOVED_MIN,
        _ => 0.0,
    };
    (after - before).abs() >= least
}

/// All signals that were read on both sides of an instant. Those that moved rank first, then those with a role, then by score. Only readings from `from` to
/// `to` count. Of those that moved, waits for locks rank first, and threads that wait
/// for a core last.
pub(crate) fn around(signals: &[SignalSeries], at: f64, from: f64, to: f64) -> Vec<SignalMove<'_>> {
    let mut moves: Vec<SignalMove<'_>> = signals.iter().filter_map(|series| of_signal(series, at, from, to)).collect();
    let place = |found: &SignalMove<'_>| (!found.has_moved(), found.signal.role.is_none(), closeness(found.signal.role));
    moves.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| b.score.total_cmp(&a.score)).then_with(|| a.signal.name.cmp(&b.signal.name)));
    moves
}

/// How close a signal is to a cause, lower first: sessions that wait for a lock show why requests wait. Threads that wait for a core often follow from the
/// work that a pause left behind. Connections, threads, descriptors, memory and traffic follow from requests that take longer, or are of other programs.
pub(super) fn closeness(role: Option<Role>) -> u8 {
    match role {
        Some(Role::SessionsWaitingForLock) => 0,
        Some(
            Role::SessionsBlocked
            | Role::SessionsBlockedBy
            | Role::CallsAwaited
            | Role::PoolWaiting
            | Role::GroupThrottled
            | Role::AcceptQueue
            | Role::RoundTrip,
        ) => 1,
        Some(Role::ProcessRunDelay | Role::MachineRunQueue) => 3,
        Some(
            Role::ProcessConnections
            | Role::ProcessThreads
            | Role::ProcessCount
            | Role::ProcessDescriptors
            | Role::ProcessMemory
            | Role::PortsInUse
            | Role::ThreadsWaitingForTimer
            | Role::NetworkReceived
            | Role::NetworkSent,
        ) => 4,
        _ => 2,
    }
}

/// Whether a signal describes a resource, so that it is evidence if it did not move.
pub(crate) fn is_of_resource(signal: &Signal) -> bool {
    let roles = [
        Role::ProcessCpu,
        Role::MachineIdle,
        Role::DiskBusy,
        Role::GroupThrottled,
        Role::PoolWaiting,
        Role::SessionsActive,
        Role::CallHold,
        Role::GarbageCollection,
        Role::QueueLength,
    ];
    signal.role.is_some_and(|role| roles.contains(&role))
}

fn of_signal(series: &SignalSeries, at: f64, from: f64, to: f64) -> Option<SignalMove<'_>> {
    let readings = SignalReadings::of(series);
    let between = |low: f64, high: f64| -> Vec<f64> {
        readings.between(low.max(from), high.min(to)).map(|(_, value)| value).filter(|value| value.is_finite()).collect()
    };
    let (before, after) = (between(at - EXAMINED_S, at - LEFT_OUT_S), between(at + LEFT_OUT_S, at + EXAMINED_S));
    if before.len() < READINGS_MIN || after.len() < READINGS_MIN {
        return None;
    }
    let (low, high) = (median(&before), median(&after));
    // A signal that was moving already did not move at that instant: the shift between the halves of the time before counts as its variation.
    let (early, late) = before.split_at(before.len() / 2);
    let drift = (median(late) - median(early)).abs();
    let variation = interquartile_range(&before).max(drift).max(VARIATION_PART_MIN * low.abs().max(high.abs()));
    let score = if variation > 0.0 { (high - low).abs() / variation } else { 0.0 };
    Some(SignalMove { signal: &series.signal, before: low, after: high, score, readings: (before.len() as u64, after.len() as u64) })
}
