//! CPU time by function, over the samples of a profiler.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::{Role, unit};

use super::position::Position;
use crate::collector::{MetricSpec, SignalCollector};

/// Distinct functions in a run; later ones count as `(other)`.
const FUNCTIONS_MAX: usize = 150;
/// Of one report, functions with less of a core than this are `(other)`, so that a long tail does not use the room up.
const CORES_MIN: f64 = 0.01;
/// Part of all seconds that a function must have used, where it must prove itself.
const SHARE_MIN: f64 = 0.003;
/// Functions without a line that are remembered; beyond that they begin anew.
const MET_MAX: usize = 5_000;

const FUNCTION_CPU: MetricSpec<'_> =
    MetricSpec::gauge("function_cpu", "cores", "Cores in use by function, by samples of the stack").role(Role::FunctionCpu);
const SAMPLES_EACH: MetricSpec<'_> =
    MetricSpec::gauge("function_samples", unit::COUNT, "Samples of the stack that stand for a second of CPU time")
        .role(Role::FunctionSamples);

/// Seconds by function since the last report.
#[derive(Debug, Default)]
pub(crate) struct FunctionSamples {
    /// Samples per second of CPU time; 0: unknown.
    hz: f64,
    /// Observed time. Seconds.
    seconds: f64,
    sums: BTreeMap<Position, f64>,
    /// Everything reported once is reported again, as 0, so that its line goes down.
    reported: BTreeSet<Position>,
    proof: Option<FunctionProof>,
}

/// CPU time that a function must have used over the run before it gets its own line. Where one sample is a large part of a second, a flat profile would
/// otherwise fill the table with the functions that happened to be sampled first.
#[derive(Debug)]
struct FunctionProof {
    /// Seconds, at least.
    seconds_min: f64,
    /// All seconds so far, and those of functions that have no line yet.
    total: f64,
    met: BTreeMap<Position, f64>,
}

impl FunctionProof {
    fn has(&mut self, function: &Position, seconds: f64) -> bool {
        if self.met.len() >= MET_MAX {
            self.met.clear();
        }
        let met = self.met.entry(function.clone()).or_default();
        *met += seconds;
        let is_proven = *met >= self.seconds_min.max(self.total * SHARE_MIN);
        if is_proven {
            self.met.remove(function);
        }
        is_proven
    }
}

impl FunctionSamples {
    /// By a profiler that takes so many samples in a second of CPU time.
    pub(crate) fn at(hz: f64) -> Self {
        Self { hz, ..Self::default() }
    }

    /// Where a function gets a line only after so many seconds, as three samples stand for.
    pub(crate) fn proven_by(self, seconds_min: f64) -> Self {
        // Sums of samples are a little less than their number says.
        let proof = FunctionProof { seconds_min: seconds_min * 0.999, total: 0.0, met: BTreeMap::new() };
        Self { proof: Some(proof), ..self }
    }

    /// Forgets what was sampled before a gap: it says nothing about it.
    pub(crate) fn reset(&mut self) {
        self.seconds = 0.0;
        self.sums.clear();
    }

    /// Adds to the observed time.
    pub(crate) fn looked(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    /// Of these, so many went to a function.
    pub(crate) fn add(&mut self, function: Position, seconds: f64) {
        *self.sums.entry(function).or_default() += seconds;
    }

    /// Reports cores in use, and resets. Reports nothing if no time was observed.
    pub(crate) fn report(&mut self, out: &mut SignalCollector) {
        if self.seconds <= 0.0 {
            return;
        }
        let mut reports = BTreeMap::<Position, f64>::new();
        let sums = std::mem::take(&mut self.sums);
        self.proof.iter_mut().for_each(|proof| proof.total += sums.values().sum::<f64>());
        for (function, seconds) in sums {
            let cores = seconds / self.seconds;
            let is_known = self.reported.contains(&function);
            let is_proven = is_known || self.proof.as_mut().is_none_or(|proof| proof.has(&function, seconds));
            let has_room = is_proven && cores >= CORES_MIN && self.reported.len() < FUNCTIONS_MAX;
            let other = || Position { at: "(other)".to_owned(), under: String::new() };
            *reports.entry(if is_known || has_room { function.clone() } else { other() }).or_default() += cores;
            if has_room {
                self.reported.insert(function);
            }
        }
        for function in self.reported.iter().filter(|function| !reports.contains_key(*function)).cloned().collect::<Vec<_>>() {
            reports.insert(function, 0.0);
        }
        for (Position { at, under }, cores) in reports {
            let labels = [("function", at.as_str()), ("under", under.as_str())];
            let known = if under.is_empty() { 1 } else { 2 };
            out.put_labelled(FUNCTION_CPU, &labels[..known], cores);
        }
        if self.hz > 0.0 {
            out.put(SAMPLES_EACH, self.hz);
        }
        self.seconds = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(at: &str) -> Position {
        Position { at: at.to_owned(), under: "handle".to_owned() }
    }

    fn reported(samples: &mut FunctionSamples) -> Vec<(String, f64)> {
        let mut out = SignalCollector::new("node");
        samples.report(&mut out);
        out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), point.value)).collect()
    }

    #[test]
    fn seconds_become_cores_and_trifles_are_one() {
        let mut samples = FunctionSamples::default();
        samples.looked(2.0);
        samples.add(function("login"), 1.5);
        samples.add(function("a"), 0.01);
        samples.add(function("b"), 0.01);
        let login = "node/function_cpu{function=login,under=handle}".to_owned();
        assert_eq!(reported(&mut samples), [("node/function_cpu{function=(other)}".to_owned(), 0.01), (login.clone(), 0.75)]);
        assert_eq!(reported(&mut samples), []);
        samples.looked(1.0);
        assert_eq!(reported(&mut samples), [(login, 0.0)]);
    }

    #[test]
    fn who_must_prove_itself_is_other_until_it_has() {
        let mut samples = FunctionSamples::default().proven_by(0.06);
        let names = |samples: &mut FunctionSamples| -> Vec<String> { reported(samples).into_iter().map(|(name, _)| name).collect() };
        let (other, hot) = ("node/function_cpu{function=(other)}".to_owned(), "node/function_cpu{function=hot,under=handle}".to_owned());
        for number in 0..400 {
            samples.looked(1.0);
            samples.add(function(&format!("rare{number}")), 0.02);
            assert_eq!(names(&mut samples), [other.as_str()]);
        }
        for _ in 0..2 {
            samples.looked(1.0);
            samples.add(function("hot"), 0.02);
            assert_eq!(names(&mut samples), [other.as_str()]);
        }
        samples.looked(1.0);
        samples.add(function("hot"), 0.02);
        assert_eq!(names(&mut samples), [hot.as_str()]);
    }
}
