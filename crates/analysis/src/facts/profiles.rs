//! CPU time of each request by function, from a runtime's profiler: over the whole load, and while work was held up compared with while it was not.
//!
//! A function's cores in use over the requests that end per second are its CPU time per request (utilisation law, D = U / X). Comparing two stretches function
//! by function is what a differential flame graph shows (Gregg, *Differential Flame Graphs*, 2014). Here the comparison is per request and not per second, so
//! that more load alone makes no difference.

use std::collections::BTreeSet;

use loadstone_metrics::Role;

use super::readings::SignalReadings;
use super::search::READINGS_MIN;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::{Spans, Strain};

/// Requests in either stretch of a comparison.
const REQUESTS_MIN: f64 = 30.0;

/// Factor over the CPU time of a process up to which samples may show it. Samples of a saturated machine count threads that wait for a core. With more, they
/// count threads that wait in a native function as computing.
const SAMPLED_OVER_USED_MAX: f64 = 1.6;

/// Whether a profile of so many cores can be CPU time: some observed process used about as many, or none was observed. Observers do not name each other's
/// process. An observer that reads no states of threads samples what runs on a core.
pub(crate) fn is_cpu_time(signals: &ObservedSignals<'_>, observer: &str, sampled_cores: f64, span: (f64, f64)) -> bool {
    is_by_cores(signals, observer, sampled_cores, |used, _| used, span)
}

/// Whether it can be that of threads that compute or wait for a core, of which there are more.
pub(crate) fn is_work_for_cores(signals: &ObservedSignals<'_>, observer: &str, sampled_cores: f64, span: (f64, f64)) -> bool {
    is_by_cores(signals, observer, sampled_cores, work_for_cores, span)
}

/// Cores that a process used, and those that it waited for. Where it waits for more than it gets, its threads may as well be blocked.
pub(crate) fn work_for_cores(used: f64, waited: f64) -> f64 {
    used + waited.min(used)
}

fn is_by_cores(
    signals: &ObservedSignals<'_>,
    observer: &str,
    sampled_cores: f64,
    work: impl Fn(f64, f64) -> f64,
    (from, to): (f64, f64),
) -> bool {
    if !signals.parts_with(Role::ThreadsOnCpu).any(|part| part.observer == observer) {
        return true;
    }
    let of = |part| {
        let waited = signals.mean(part, Role::ProcessRunDelay, from, to).unwrap_or(0.0);
        Some(work(signals.mean(part, Role::ProcessCpu, from, to)?, waited))
    };
    let most = signals.parts_with(Role::ProcessCpu).filter_map(of).reduce(f64::max);
    most.is_none_or(|most| sampled_cores <= SAMPLED_OVER_USED_MAX * most)
}

/// Samples per second of CPU time in runs that do not record it.
const SAMPLES_PER_SECOND_DEFAULT: f64 = 99.0;

/// Samples per second of CPU time of a runtime.
pub(super) fn samples_per_second(signals: &ObservedSignals<'_>, part: ObservedPart<'_>) -> f64 {
    signals.mean(part, Role::FunctionSamples, 0.0, f64::INFINITY).unwrap_or(SAMPLES_PER_SECOND_DEFAULT)
}

/// One runtime.
pub(crate) struct FunctionProfile<'a> {
    pub(crate) observer: &'a str,
    /// Requests that ended during the load.
    pub(crate) requests: f64,
    /// Samples per second of CPU time.
    pub(crate) samples_per_second: f64,
    pub(crate) functions: Vec<FunctionTime<'a>>,
    /// Whether an observed process used as many cores: otherwise the samples also count threads that wait in a native function.
    pub(crate) is_cpu_time: bool,
    /// `None`: work was never held up, or one of the stretches is too short.
    pub(crate) compared: Option<ComparedStretches>,
}

/// CPU seconds per request.
pub(crate) struct FunctionTime<'a> {
    pub(crate) cpu: SignalReadings<'a>,
    pub(crate) function: &'a str,
    /// The system's own functions that called it, innermost first, separated by ` ← `. It may be empty.
    pub(crate) under: &'a str,
    /// Over the whole load.
    pub(crate) whole: f64,
    /// While no work was held up, and while work was.
    pub(crate) each: (f64, f64),
}

/// The seconds in which no work was held up, and those in which work was.
pub(crate) struct ComparedStretches {
    pub(crate) held: Spans,
    /// Readings in either.
    pub(crate) readings: (usize, usize),
    /// Requests that ended in either.
    pub(crate) requests: (f64, f64),
    /// The same per second.
    pub(crate) rates: (f64, f64),
}

impl ComparedStretches {
    /// From the first held-up second to the last. Seconds since the run began.
    pub(crate) fn span(&self) -> (f64, f64) {
        (self.held.first().map_or(0.0, |first| first.0), self.held.last().map_or(0.0, |last| last.1))
    }

    pub(crate) fn held_seconds(&self) -> f64 {
        length(&self.held)
    }

    /// Readings of a signal while work was held up.
    pub(crate) fn held_readings<'r>(&'r self, readings: &'r SignalReadings<'_>) -> impl Iterator<Item = f64> + 'r {
        inside(readings, &self.held)
    }
}

pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Vec<FunctionProfile<'a>> {
    signals.parts_with(Role::FunctionCpu).filter_map(|part| profile(signals, part, strain)).collect()
}

fn profile<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>, strain: &Strain) -> Option<FunctionProfile<'a>> {
    let series = signals.read_each(part, Role::FunctionCpu);
    let loaded = vec![strain.loaded()?];
    let (free, held) = strain.free_and_held();
    let all = (readings(&series, &loaded), requests(strain, &loaded) / length(&loaded));
    if all.0 == 0 || all.1 <= 0.0 {
        return None;
    }
    let is_long = |spans: &Spans| requests(strain, spans) >= REQUESTS_MIN && readings(&series, spans) >= READINGS_MIN;
    let compared = (is_long(&free) && is_long(&held)).then(|| ComparedStretches {
        readings: (readings(&series, &free), readings(&series, &held)),
        requests: (requests(strain, &free), requests(strain, &held)),
        rates: (requests(strain, &free) / length(&free), requests(strain, &held) / length(&held)),
        held: held.clone(),
    });
    // A function without a reading used no CPU time.
    let of = |cpu: &SignalReadings<'_>, spans: &Spans, (count, rate): (usize, f64)| inside(cpu, spans).sum::<f64>() / count as f64 / rate;
    let functions = series.iter().map(|cpu| FunctionTime {
        cpu: cpu.clone(),
        function: cpu.label("function").unwrap_or_default(),
        under: cpu.label("under").unwrap_or_default(),
        whole: of(cpu, &loaded, all),
        each: compared.as_ref().map_or((0.0, 0.0), |both| {
            let (free_per, held_per) = ((both.readings.0, both.rates.0), (both.readings.1, both.rates.1));
            (of(cpu, &free, free_per), of(cpu, &held, held_per))
        }),
    });
    let ended = requests(strain, &loaded);
    let samples_per_second = samples_per_second(signals, part);
    let functions: Vec<FunctionTime<'_>> = functions.collect();
    let cores = functions.iter().map(|one| one.whole).sum::<f64>() * all.1;
    let is_cpu_time = is_cpu_time(signals, part.observer, cores, loaded[0]);
    Some(FunctionProfile { observer: part.observer, requests: ended, samples_per_second, functions, is_cpu_time, compared })
}

fn length(spans: &Spans) -> f64 {
    spans.iter().map(|(from, to)| to - from).sum()
}

fn requests(strain: &Strain, spans: &Spans) -> f64 {
    spans.iter().map(|(from, to)| strain.throughput(*from, *to) * (to - from)).sum()
}

fn inside<'r>(readings: &'r SignalReadings<'_>, spans: &'r Spans) -> impl Iterator<Item = f64> + 'r {
    readings.points().iter().filter(|(at, _)| lies_in(*at, spans)).map(|(_, value)| *value)
}

/// At how many instants functions were reported.
fn readings(functions: &[SignalReadings<'_>], spans: &Spans) -> usize {
    let all = functions.iter().flat_map(SignalReadings::points).map(|(at, _)| *at);
    all.filter(|at| lies_in(*at, spans)).map(f64::to_bits).collect::<BTreeSet<_>>().len()
}

fn lies_in(at: f64, spans: &Spans) -> bool {
    spans.iter().any(|(from, to)| at > *from && at <= *to)
}
