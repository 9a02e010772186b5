//! The system's resource use for the same work, and its signals.
//!
//! CPU time per served request is repeatable from run to run, even where the throughput of a saturated system is not.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::Role;
use loadstone_run_directory::SignalSeries;

use super::change::{ChangeErrors, Estimate};
use super::model::{ComparedMetric, ComparedRow, ComparedSubject, RowVerdict, Side, SubjectKind};
use super::row::{self, RowInput};
use super::same_load::SameLoad;
use super::side::RunSide;
use super::{blocks, pairs};
use crate::facts::readings::SignalReadings;

/// Maximum number of signals in the list.
const SIGNALS_MAX: usize = 200;

/// The readings of each second of the run that has one: `(second, value)`.
fn by_second(side: &RunSide<'_>, series: &SignalSeries) -> Vec<(usize, f64)> {
    let starts: Vec<f64> = side.run.slices.iter().map(|slice| slice.start as f64 / 1e9).collect();
    let readings = SignalReadings::of(series);
    // A reading describes the time before it.
    let second = |at: f64| starts.partition_point(|start| *start < at).checked_sub(1);
    let of_load = |index: &usize| side.requests.get(*index).is_some_and(|second| second.count > 0.0);
    let points = readings.points().iter().filter(|(_, value)| value.is_finite());
    points.filter_map(|(at, value)| Some((second(*at).filter(of_load)?, *value))).collect()
}

/// For each second with a reading: the sum and its divisor.
type SumsBySecond = Vec<(usize, (f64, f64))>;
type SumsOf = fn(&RunSide<'_>, &SignalSeries) -> SumsBySecond;

fn readings(side: &RunSide<'_>, series: &SignalSeries) -> SumsBySecond {
    by_second(side, series).into_iter().map(|(second, value)| (second, (value, 1.0))).collect()
}

/// CPU seconds per request that ended.
fn cpu_per_request(side: &RunSide<'_>, series: &SignalSeries) -> SumsBySecond {
    by_second(side, series).into_iter().map(|(second, cores)| (second, (cores, side.requests[second].count))).collect()
}

/// The numbers of both runs, and the error of their change if it is known.
fn both(of: SumsOf, baseline: (&RunSide<'_>, &SignalSeries), candidate: (&RunSide<'_>, &SignalSeries), load: Option<&SameLoad>) -> Both {
    let (old, new) = (of(baseline.0, baseline.1), of(candidate.0, candidate.1));
    let estimate = |seconds: &SumsBySecond| blocks::ratio_of_sums(&seconds.iter().map(|(_, sums)| *sums).collect::<Vec<_>>());
    let (baseline, candidate) = (estimate(&old), estimate(&new));
    let aligned = |load: &SameLoad, side, seconds: &SumsBySecond| load.aligned(side, summed(seconds));
    let paired = load.and_then(|load| pairs::ratio(&aligned(load, Side::Baseline, &old), &aligned(load, Side::Candidate, &new)));
    Both { baseline, candidate, paired }
}

/// Adds several readings of one second to one pair of sums.
fn summed(readings: &SumsBySecond) -> BTreeMap<usize, (f64, f64)> {
    let mut seconds = BTreeMap::new();
    for (second, (part, of)) in readings {
        let sum: &mut (f64, f64) = seconds.entry(*second).or_default();
        *sum = (sum.0 + part, sum.1 + of);
    }
    seconds
}

struct Both {
    baseline: Option<Estimate>,
    candidate: Option<Estimate>,
    paired: Option<ChangeErrors>,
}

impl Both {
    fn row(self, metric: ComparedMetric, unit: &str, effect: f64, seconds: f64) -> ComparedRow {
        let Both { baseline, candidate, paired } = self;
        row::of(RowInput { metric, unit, baseline, candidate, paired, effect, seconds })
    }
}

fn named<'a>(side: &RunSide<'a>) -> BTreeMap<&'a str, &'a SignalSeries> {
    side.run.signals.iter().map(|series| (series.signal.name.as_str(), series)).collect()
}

/// Processes and control groups that both runs observed.
pub(super) fn subjects(baseline: &RunSide<'_>, candidate: &RunSide<'_>, load: Option<&SameLoad>, effect: f64) -> Vec<ComparedSubject> {
    let (old, new) = (named(baseline), named(candidate));
    let seconds = shorter(baseline, candidate);
    let different_work = different_work(baseline, candidate, effect);
    let less_work = less_work(baseline, candidate, effect);
    let mut subjects: Vec<ComparedSubject> = Vec::new();
    for (name, series) in &old {
        let Some(other) = new.get(name) else { continue };
        let (metric, of) = match series.signal.role {
            Some(Role::ProcessCpu | Role::GroupCpu) => (ComparedMetric::CpuPerRequest, cpu_per_request as SumsOf),
            Some(Role::ProcessMemory | Role::GroupMemory) => (ComparedMetric::Memory, readings as SumsOf),
            _ => continue,
        };
        let row = both(of, (baseline, series), (candidate, other), load).row(metric, "", effect, seconds);
        let row = match (&different_work, &less_work) {
            (Some(why), _) if metric == ComparedMetric::CpuPerRequest => row::not_comparable(row, why),
            // Memory that is saved because less work was done is no improvement.
            (_, Some(why)) if metric == ComparedMetric::Memory => row::not_comparable(row, why),
            _ => row,
        };
        let signal = &series.signal;
        let name = if signal.part.is_empty() { signal.observer.clone() } else { format!("{} {}", signal.observer, signal.part) };
        match subjects.iter_mut().find(|subject| subject.name == name) {
            Some(subject) => subject.rows.push(row),
            None => subjects.push(subject(SubjectKind::Target, name, vec![row])),
        }
    }
    subjects.iter_mut().for_each(|subject| subject.rows.sort_by_key(|row| row.metric));
    subjects
}

/// Why the memory does not describe the same work in both runs: one of them served fewer requests per second; `None`: both served as many.
fn less_work(baseline: &RunSide<'_>, candidate: &RunSide<'_>, effect: f64) -> Option<String> {
    let served = |side: &RunSide<'_>| {
        let totals = &side.summary.totals;
        totals.request_rate * (1.0 - totals.requests_failed as f64 / totals.requests.max(1) as f64)
    };
    let (old, new) = (served(baseline), served(candidate));
    let which = if new < old { "candidate" } else { "baseline" };
    (old.max(new) > old.min(new) * (1.0 + effect))
        .then(|| format!("the {which} served fewer requests per second, so it needed less memory"))
}

/// Why the CPU time per request does not describe the same work in both runs; `None`: as far as known it does.
fn different_work(baseline: &RunSide<'_>, candidate: &RunSide<'_>, effect: f64) -> Option<String> {
    let of_cpu = |series: &&SignalSeries| matches!(series.signal.role, Some(Role::ProcessCpu | Role::GroupCpu));
    let processes = |side: &RunSide<'_>| -> BTreeSet<String> {
        side.run.signals.iter().filter(of_cpu).map(|series| format!("{} {}", series.signal.observer, series.signal.part)).collect()
    };
    if let Some(name) = processes(baseline).symmetric_difference(&processes(candidate)).next() {
        return Some(format!("only one of the runs observed \"{}\", which may have done part of the work", name.trim_end()));
    }
    let for_each_request = |side: &RunSide<'_>, name: &str| {
        let finished: u64 = side.summary.flows.iter().filter(|flow| flow.name == name).map(|flow| flow.finished).sum();
        finished as f64 / side.summary.totals.requests.max(1) as f64
    };
    let differs = |flow: &&crate::FlowRow| {
        let (old, new) = (for_each_request(baseline, &flow.name), for_each_request(candidate, &flow.name));
        old.max(new) > old.min(new) * (1.0 + effect)
    };
    let flow = baseline.summary.flows.iter().find(differs)?;
    Some(format!("requests start journeys of \"{}\", and one of the runs finished more of them", flow.name))
}

/// All other signals that both runs observed, except those with the same constant value in both.
pub(super) fn signals(baseline: &RunSide<'_>, candidate: &RunSide<'_>, load: Option<&SameLoad>, effect: f64) -> Vec<ComparedSubject> {
    let new = named(candidate);
    let seconds = shorter(baseline, candidate);
    let is_listed = |series: &SignalSeries| {
        !matches!(series.signal.role, Some(Role::ProcessCpu | Role::GroupCpu | Role::ProcessMemory | Role::GroupMemory))
    };
    let of = |(name, series): (&str, &SignalSeries)| {
        let other = new.get(name)?;
        let unit = series.signal.unit_shown();
        let row = both(readings, (baseline, series), (candidate, other), load).row(ComparedMetric::Value, unit, effect, seconds);
        let is_constant = row.baseline == row.candidate && row.low == row.high;
        (!is_constant).then(|| subject(SubjectKind::Signal, name.to_owned(), vec![row]))
    };
    named(baseline).into_iter().filter(|(_, series)| is_listed(series)).filter_map(of).collect()
}

/// Sorts signals: first those that moved, by probability, then the rest by name.
pub(super) fn list(signals: &mut Vec<ComparedSubject>) {
    let rank = |subject: &ComparedSubject| {
        let row = subject.rows.first();
        let moved = row.is_some_and(|row: &ComparedRow| row.verdict == RowVerdict::Moved);
        (!moved, if moved { row.and_then(|row| row.p).unwrap_or(1.0) } else { 1.0 })
    };
    signals.sort_by(|a, b| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)).then_with(|| a.name.cmp(&b.name)));
    signals.truncate(SIGNALS_MAX);
}

fn subject(kind: SubjectKind, name: String, rows: Vec<ComparedRow>) -> ComparedSubject {
    ComparedSubject { kind, name, scenario: String::new(), group: String::new(), only_in: None, rows, shift: Vec::new() }
}

fn shorter(baseline: &RunSide<'_>, candidate: &RunSide<'_>) -> f64 {
    baseline.loaded().seconds.len().min(candidate.loaded().seconds.len()) as f64
}
