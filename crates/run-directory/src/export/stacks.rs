//! CPU time by stack, summed from the readings of `function_cpu`.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::Role;
use loadstone_metrics::function_labels::callers;

use crate::SignalSeries;

/// A reading represents the time since the previous one, up to this multiple of the usual interval.
const GAP_MAX: f64 = 2.0;

/// Seconds of the run in each stack: the observer, then functions, outermost first.
pub(super) fn cpu_by_stack(signals: &[SignalSeries]) -> BTreeMap<Vec<&str>, f64> {
    let mut observers = BTreeMap::<&str, Vec<&SignalSeries>>::new();
    for series in signals.iter().filter(|series| series.signal.role == Some(Role::FunctionCpu)) {
        observers.entry(&series.signal.observer).or_default().push(series);
    }
    let mut stacks = BTreeMap::<Vec<&str>, f64>::new();
    for functions in observers.into_values() {
        let stood_for = lengths(&functions);
        for series in functions {
            let seconds: f64 = series.points.iter().map(|point| point.value * stood_for.get(&point.at).copied().unwrap_or(0.0)).sum();
            *stacks.entry(stack(series)).or_default() += seconds;
        }
    }
    stacks
}

/// Seconds that each reading represents: the time since the previous one, without gaps.
fn lengths(functions: &[&SignalSeries]) -> BTreeMap<u64, f64> {
    let instants: BTreeSet<u64> = functions.iter().flat_map(|series| &series.points).map(|point| point.at).collect();
    let instants: Vec<u64> = instants.into_iter().collect();
    let apart: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
    let mut sorted = apart.clone();
    sorted.sort_by(f64::total_cmp);
    // By default, observers read once a second.
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
    instants.into_iter().zip(std::iter::once(usual).chain(apart)).map(|(at, length)| (at, length.min(GAP_MAX * usual))).collect()
}

fn stack(series: &SignalSeries) -> Vec<&str> {
    let label = |name: &str| series.signal.label_value(name).unwrap_or_default();
    let callers = callers(label("under"));
    let mut frames: Vec<&str> = std::iter::once(label("function")).chain(callers).chain([series.signal.observer.as_str()]).collect();
    frames.reverse();
    frames
}

#[cfg(test)]
pub(super) mod tests {
    use loadstone_metrics::{Signal, SignalKind, SignalPoint};

    use super::*;

    pub(in super::super) fn function(name: &str, under: &str, readings: &[(u64, f64)]) -> SignalSeries {
        let labels = [("function", name), ("under", under)].map(|(label, value)| (label.to_owned(), value.to_owned()));
        let signal = Signal::new("node", &format!("function_cpu{{{name}}}"), SignalKind::Gauge, "cores");
        let points = readings.iter().map(|(second, value)| SignalPoint { at: second * 1_000_000_000, value: *value }).collect();
        SignalSeries { signal: Signal { role: Some(Role::FunctionCpu), labels: labels.to_vec(), ..signal }, points }
    }
}
