//! An event loop that has work all the time while work is held up, and the observed process that runs it.
//!
//! A loop is one thread, so its process uses about one core. Observers of a runtime and of a process do not name each other: the process of a loop is the
//! only one with the same CPU time.

use loadstone_metrics::Role;

use super::exhausted::{Exhausted, ExhaustedResource};
use super::process_cpu::{CpuLimit, ProcessCpu};
use super::readings::{SignalReadings, longest_run};
use super::search::{FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN};
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Difference between the CPU time of the loop's process and that of an observed process, as a part of the former, up to which they are the same.
const SAME_CPU_PART_MAX: f64 = 0.15;

pub(crate) struct FullLoop<'a> {
    pub(crate) part: ObservedPart<'a>,
    pub(crate) busy: SignalReadings<'a>,
    /// Share of the time in which it has work.
    pub(crate) share: f64,
    /// Seconds since the run began.
    pub(crate) stretch: (f64, f64),
}

pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Option<FullLoop<'a>> {
    signals.parts_with(Role::EventLoopBusy).find_map(|part| {
        let busy = signals.read(part, Role::EventLoopBusy)?;
        let span = longest_run(busy.points(), READINGS_MIN, LENGTH_MIN_S - 1.0, |share| share >= FULL_PART_MIN)?;
        let stretch = strain.held_part(span, 1.0)?;
        let share = busy.mean(stretch.0, stretch.1)?;
        Some(FullLoop { part, busy, share, stretch })
    })
}

impl<'a> FullLoop<'a> {
    /// Cores that its process used, if its runtime reports them.
    pub(crate) fn cores(&self, signals: &ObservedSignals<'a>, (from, to): (f64, f64)) -> Option<f64> {
        signals.mean(self.part, Role::EventLoopCpu, from, to)
    }

    /// Whether a process used as much CPU time meanwhile.
    pub(crate) fn uses_as_much(&self, signals: &ObservedSignals<'a>, process: ObservedPart<'a>, (from, to): (f64, f64)) -> bool {
        let used = signals.mean(process, Role::ProcessCpu, from, to);
        let cores = self.cores(signals, (from, to));
        cores.zip(used).is_some_and(|(cores, used)| (used - cores).abs() <= SAME_CPU_PART_MAX * cores)
    }

    /// The process that runs it, if this resource is its busy thread: the loop and the thread are then the same.
    pub(crate) fn as_thread<'e>(&self, signals: &ObservedSignals<'a>, exhausted: &'e Exhausted<'a>) -> Option<&'e ProcessCpu<'a>> {
        let ExhaustedResource::ProcessCpu(cpu) = &exhausted.resource else { return None };
        let span = (exhausted.from, exhausted.to);
        let is_one_thread = matches!(cpu.limit, CpuLimit::OneThread(_)) && span.0 < self.stretch.1 && self.stretch.0 < span.1;
        let alike = signals.parts_with(Role::ProcessCpu).filter(|process| self.uses_as_much(signals, *process, span));
        let alike: Vec<&str> = alike.map(|process| process.observer).collect();
        (is_one_thread && alike == [cpu.process]).then_some(cpu)
    }
}
