//! CPU time by function, over the samples of a profiler.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::function_labels::OTHER;
use loadstone_metrics::{Role, unit};

use super::position::Position;
use crate::collector::{MetricSpec, SignalCollector};

/// Distinct functions in a run; later ones count as `(other)`.
const FUNCTIONS_MAX: usize = 150;
/// Functions with less of a core than this in a report count as `(other)`, so that a long tail does not fill the table.
const CORES_MIN: f64 = 0.01;
/// Minimum share of all seconds before a function gets its own line, if a minimum applies.
const SHARE_MIN: f64 = 0.003;
/// Maximum number of functions without a line whose sums are kept; beyond that the sums restart.
const MET_MAX: usize = 5_000;

const FUNCTION_CPU: MetricSpec<'_> =
    MetricSpec::gauge("function_cpu", "cores", "Cores in use by function, by samples of the stack").role(Role::FunctionCpu);
const SAMPLES_EACH: MetricSpec<'_> =
    MetricSpec::gauge("function_samples", unit::COUNT, "Samples of the stack per second of CPU time").role(Role::FunctionSamples);

/// Seconds by function since the last report.
#[derive(Debug, Default)]
pub(crate) struct FunctionSamples {
    /// Samples per second of CPU time; 0: unknown.
    hz: f64,
    /// Observed time. Seconds.
    seconds: f64,
    sums: BTreeMap<Position, f64>,
    /// Functions that were reported once are reported again, as 0, so that their line drops to 0.
    reported: BTreeSet<Position>,
    proof: Option<FunctionProof>,
}

/// CPU time that a function must have used over the run before it gets its own line. Where one sample is a large part of a second, a flat profile would
/// otherwise fill the table with the functions that happened to be sampled first.
#[derive(Debug)]
struct FunctionProof {
    /// Minimum seconds.
    seconds_min: f64,
    /// All seconds so far, and the seconds of functions without a line.
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
    /// For a profiler with this many samples per second of CPU time.
    pub(crate) fn at(hz: f64) -> Self {
        Self { hz, ..Self::default() }
    }

    /// A function gets a line only after this many seconds, for example the time of three samples.
    #[cfg(target_os = "linux")]
    pub(crate) fn proven_by(self, seconds_min: f64) -> Self {
        // Rounding makes sums of samples slightly smaller than their count.
        let proof = FunctionProof { seconds_min: seconds_min * 0.999, total: 0.0, met: BTreeMap::new() };
        Self { proof: Some(proof), ..self }
    }

    /// Discards samples from before a gap, which are not valid for the time after it.
    pub(crate) fn reset(&mut self) {
        self.seconds = 0.0;
        self.sums.clear();
    }

    /// Adds to the observed time.
    pub(crate) fn looked(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    /// Adds seconds of the observed time to a function.
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
            let other = || Position { at: OTHER.to_owned(), under: String::new() };
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
