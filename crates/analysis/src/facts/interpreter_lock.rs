//! A lock of an interpreter that a thread has all the time while work is held up, and others want it: the threads of a process compute one at a time.

use loadstone_metrics::Role;

use super::readings::{SignalReadings, longest_run};
use super::search::{LENGTH_MIN_S, READINGS_MIN};
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Share of the time in which a thread has the lock, in each reading and on average. A reading has few samples.
const READING_SHARE_MIN: f64 = 0.5;
const SHARE_MIN: f64 = 0.9;
/// Threads that compute or want to, by their stacks, mean. With one, it is the thread that is the limit.
const COMPUTING_MIN: f64 = 1.5;
/// Cores in use by the process of an interpreter, as a part of the share, of which it is the process.
const CORES_PER_SHARE: std::ops::RangeInclusive<f64> = 0.7..=1.3;

pub(crate) struct FullInterpreter<'a> {
    pub(crate) part: ObservedPart<'a>,
    pub(crate) held: SignalReadings<'a>,
    /// Share of the time in which a thread has the lock.
    pub(crate) share: f64,
    /// Threads that compute or wait for the lock.
    pub(crate) computing: f64,
    /// The only process that uses about one core, with the cores in use and their mean; `None`: there is none, or several.
    pub(crate) process: Option<(SignalReadings<'a>, f64)>,
    /// Seconds since the run began.
    pub(crate) stretch: (f64, f64),
}

pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Option<FullInterpreter<'a>> {
    signals.parts_with(Role::InterpreterLock).find_map(|part| {
        let held = signals.read(part, Role::InterpreterLock)?;
        let span = longest_run(held.points(), READINGS_MIN, LENGTH_MIN_S - 1.0, |share| share >= READING_SHARE_MIN)?;
        let stretch = strain.held_part(span, 1.0)?;
        let mean = |readings: &SignalReadings<'a>| readings.mean(stretch.0, stretch.1);
        let share = mean(&held).filter(|share| *share >= SHARE_MIN)?;
        let computing = SignalReadings::sum(&signals.read_each(part, Role::ThreadsOnCpu)).and_then(|readings| mean(&readings))?;
        let used = signals.parts_with(Role::ProcessCpu).filter_map(|part| signals.read(part, Role::ProcessCpu));
        let used = used.filter_map(|readings| Some((mean(&readings)?, readings)));
        let mut alike = used.filter(|(cores, _)| CORES_PER_SHARE.contains(&(cores / share)));
        let process = alike.next().filter(|_| alike.next().is_none()).map(|(cores, readings)| (readings, cores));
        (computing >= COMPUTING_MIN).then_some(FullInterpreter { part, held, share, computing, process, stretch })
    })
}
