//! CPU time by function as folded stacks, as flame graph tools read them: `observer;outer;inner 1234`, in milliseconds (Gregg, *The Flame Graph*, 2016).

use std::collections::{BTreeMap, BTreeSet};

use metrics::Role;

use crate::SignalSeries;

/// How many times the usual time between two readings may have passed for a reading to stand for all of it.
const GAP_MAX: f64 = 2.0;

/// A line per stack in which a runtime's profiler saw the system compute; empty where no runtime was observed.
pub fn folded(signals: &[SignalSeries]) -> String {
    let mut observers = BTreeMap::<&str, Vec<&SignalSeries>>::new();
    for series in signals.iter().filter(|series| series.signal.role == Some(Role::FunctionCpu)) {
        observers.entry(&series.signal.observer).or_default().push(series);
    }
    let mut stacks = BTreeMap::<String, f64>::new();
    for functions in observers.into_values() {
        let stood_for = lengths(&functions);
        for series in functions {
            let seconds: f64 = series.points.iter().map(|point| point.value * stood_for.get(&point.at).copied().unwrap_or(0.0)).sum();
            *stacks.entry(stack(series)).or_default() += seconds;
        }
    }
    let lines = stacks.into_iter().map(|(stack, seconds)| (stack, (seconds * 1000.0).round()));
    lines.filter(|(_, ms)| *ms > 0.0).map(|(stack, ms)| format!("{stack} {ms}\n")).collect()
}

/// Seconds that each reading stands for: those since the one before, but no gap.
fn lengths(functions: &[&SignalSeries]) -> BTreeMap<u64, f64> {
    let instants: BTreeSet<u64> = functions.iter().flat_map(|series| &series.points).map(|point| point.at).collect();
    let instants: Vec<u64> = instants.into_iter().collect();
    let apart: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
    let mut sorted = apart.clone();
    sorted.sort_by(f64::total_cmp);
    // Observers read once a second unless told otherwise.
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
    instants.into_iter().zip(std::iter::once(usual).chain(apart)).map(|(at, length)| (at, length.min(GAP_MAX * usual))).collect()
}

/// Outermost first.
fn stack(series: &SignalSeries) -> String {
    let label = |name: &str| series.signal.labels.iter().find(|(label, _)| label == name).map_or("", |(_, value)| value.as_str());
    let callers = label("under").split(" ← ").filter(|caller| !caller.is_empty());
    let frames: Vec<&str> = [label("function")].into_iter().chain(callers).collect();
    let outermost_first = std::iter::once(series.signal.observer.as_str()).chain(frames.into_iter().rev());
    outermost_first.map(|frame| frame.replace(';', ":")).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use metrics::{Signal, SignalKind, SignalPoint};

    use super::*;

    fn function(name: &str, under: &str, readings: &[(u64, f64)]) -> SignalSeries {
        let labels = [("function", name), ("under", under)].map(|(label, value)| (label.to_owned(), value.to_owned()));
        let signal = Signal::new("node", &format!("function_cpu{{{name}}}"), SignalKind::Gauge, "cores");
        let points = readings.iter().map(|(second, value)| SignalPoint { at: second * 1_000_000_000, value: *value }).collect();
        SignalSeries { signal: Signal { role: Some(Role::FunctionCpu), labels: labels.to_vec(), ..signal }, points }
    }

    #[test]
    fn cores_become_milliseconds_below_their_callers() {
        let hash = function("hash; a.mjs:3", "login a.mjs:9 ← handle a.mjs:20", &[(1, 0.5), (2, 0.25), (3, 0.0)]);
        // Seen from the second reading on; alone in the third.
        let parse = function("parse a.mjs:7", "", &[(2, 0.1), (3, 0.1)]);
        let trifle = function("trifle", "", &[(3, 0.0001)]);
        assert_eq!(folded(&[parse, hash, trifle]), "node;handle a.mjs:20;login a.mjs:9;hash: a.mjs:3 750\nnode;parse a.mjs:7 200\n");
    }

    #[test]
    fn a_gap_is_not_filled_in() {
        let readings = [(1, 1.0), (2, 1.0), (3, 1.0), (60, 1.0), (61, 1.0)];
        assert_eq!(folded(&[function("hash", "", &readings)]), "node;hash 6000\n");
    }

    #[test]
    fn other_signals_are_no_stacks() {
        let mut threads = function("hash", "", &[(1, 1.0)]);
        threads.signal.role = Some(Role::ThreadsWaitingForLock);
        assert_eq!(folded(&[threads]), "");
    }
}
