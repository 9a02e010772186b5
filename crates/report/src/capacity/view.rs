//! The capacity as a page draws it: every string is formatted and every value has its position.

use loadstone_analysis::{Capacity, CapacityProbe, CapacityVerdict, ObjectiveReading, ProbeLean};
use serde::Serialize;

use super::cells;
use crate::picture::{AxisTick, Interval, PlotAxis, Tone};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct CapacityView {
    pub test: String,
    pub word: String,
    pub tone: Tone,
    pub headline: String,
    /// Which objectives must hold, which fails first, and what limits the system, each with its title.
    pub facts: Vec<(String, String)>,
    /// The run that shows the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_run: Option<String>,
    /// Number of probes, and their duration.
    pub cost: String,
    /// Ticks for the loads, on a logarithmic axis.
    pub loads: Vec<AxisTick>,
    /// The interval of the capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Interval>,
    /// In the order of execution.
    pub probes: Vec<ProbeView>,
    pub objectives: Vec<ObjectiveView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ProbeView {
    pub load: String,
    /// Share of the width.
    pub x: f64,
    pub word: String,
    pub tone: Tone,
    pub length: String,
    pub run: String,
    /// The measured values, one for each objective.
    pub measured: Vec<String>,
    pub findings: Vec<String>,
}

/// One objective over the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ObjectiveView {
    pub title: String,
    pub ticks: Vec<AxisTick>,
    /// Position of the bound.
    pub bound: f64,
    pub marks: Vec<ObjectiveMark>,
}

/// The result of one probe for this objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ObjectiveMark {
    pub x: f64,
    #[serde(flatten)]
    pub interval: Interval,
    pub tone: Tone,
    pub text: String,
}

impl CapacityView {
    pub fn of(capacity: &Capacity) -> Self {
        let (_, word, paint) = cells::word(capacity.verdict);
        let interval = capacity.capacity;
        let loads = capacity.probes.iter().map(|probe| probe.load).chain(interval.iter().flat_map(|of| [of.low, of.high]));
        let axis = PlotAxis::in_logarithms(loads);
        let facts = std::iter::once(("must hold".to_owned(), capacity.objectives.join(" and ")));
        Self {
            test: capacity.test.clone(),
            word: heading(capacity).unwrap_or_else(|| word.to_owned()),
            tone: paint.into(),
            headline: capacity.headline.clone(),
            facts: facts.chain(cells::limits(capacity).into_iter().map(|(title, text)| (title.to_owned(), text))).collect(),
            limit_run: capacity.limit_run.clone(),
            cost: cells::cost(capacity),
            loads: axis.ticks(|load| capacity.unit.words(load)),
            answer: interval.map(|of| axis.interval(Some(of.low), of.value, Some(of.high))),
            probes: capacity.probes.iter().map(|one| probe(capacity, &axis, one)).collect(),
            objectives: (0..capacity.objectives.len()).filter_map(|which| objective(capacity, &axis, which)).collect(),
        }
    }
}

/// The answer as a number: `95.9/s`, `about 95.9/s`, `at least 160/s`.
fn heading(capacity: &Capacity) -> Option<String> {
    let words = |load: f64| capacity.unit.words(load);
    match capacity.verdict {
        CapacityVerdict::Found => capacity.capacity.map(|of| words(of.value)),
        CapacityVerdict::Rough => capacity.capacity.map(|of| format!("about {}", words(of.value))),
        CapacityVerdict::AtLeast => capacity.highest_held.map(|load| format!("at least {}", words(load))),
        CapacityVerdict::Below => capacity.lowest_failed.map(|load| format!("less than {}", words(load))),
        CapacityVerdict::CannotTell => None,
    }
}

fn probe(capacity: &Capacity, axis: &PlotAxis, of: &CapacityProbe) -> ProbeView {
    let (_, word, paint) = cells::lean(of);
    ProbeView {
        load: capacity.unit.words(of.load),
        x: axis.place(of.load),
        word: word.to_owned(),
        tone: paint.into(),
        length: loadstone_units::seconds(of.seconds),
        run: of.run.clone(),
        measured: of.reading.objectives.iter().map(cells::reading).collect(),
        findings: of.findings.clone(),
    }
}

/// `None` if no probe measured the objective.
fn objective(capacity: &Capacity, loads: &PlotAxis, which: usize) -> Option<ObjectiveView> {
    let read = || capacity.probes.iter().filter_map(|probe| Some((probe, probe.reading.objectives.get(which)?)));
    let (_, first) = read().next()?;
    let values = read().flat_map(|(_, of)| [of.measured, of.low, of.high]).flatten().chain([first.bound]);
    // Times grow steeply with the load; shares of failures begin at 0.
    let axis = if first.is_time { PlotAxis::in_logarithms(values) } else { PlotAxis::around(values, 0.0) };
    let mark = |(probe, of): (&CapacityProbe, &ObjectiveReading)| {
        let (_, word, _) = cells::lean(probe);
        let text = format!("{} {word}: {}", capacity.unit.words(probe.load), cells::reading(of));
        let interval = match (of.low, of.high) {
            // Without an interval: a point, not the whole axis.
            (None, None) => axis.interval(of.measured, of.measured?, of.measured),
            (low, high) => axis.interval(low, of.measured?, high),
        };
        // Another objective may have failed.
        let tone = match probe.lean {
            ProbeLean::Unusable => Tone::Warn,
            _ if of.holds => Tone::Good,
            _ => Tone::Bad,
        };
        Some(ObjectiveMark { x: loads.place(probe.load), interval, tone, text })
    };
    Some(ObjectiveView {
        title: first.objective.clone(),
        ticks: axis.ticks(|value| cells::value_of(first, value)),
        bound: axis.place(first.bound),
        marks: read().filter_map(mark).collect(),
    })
}
