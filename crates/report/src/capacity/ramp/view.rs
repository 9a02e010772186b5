//! The estimate as a page draws it: every string is formatted and every value has its position.

use loadstone_analysis::{CapacityInterval, RampEstimate, ScalabilityLaw, Summary};
use serde::Serialize;

use super::cells;
use crate::picture::{AxisTick, Interval, PlotAxis, Tone};

/// Points of a curve, which is drawn as straight lines.
const CURVE_POINTS: usize = 80;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct RampView {
    pub test: String,
    pub run: String,
    pub word: String,
    pub tone: Tone,
    pub headline: String,
    /// The highest measured throughput and the limit, each with its title.
    pub facts: Vec<(String, String)>,
    /// Ticks for the number of requests in the system, on a logarithmic axis.
    pub inside: Vec<AxisTick>,
    /// Ticks for the throughput.
    pub throughputs: Vec<AxisTick>,
    /// The interval of the highest throughput, on that axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Interval>,
    pub stretches: Vec<StretchMark>,
    /// The fitted law, from left to right.
    pub curve: Vec<(f64, f64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesView>,
    /// Resources whose limit is unknown, and why.
    pub unknown: Vec<(String, String)>,
}

/// Requests in the system against throughput.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct StretchMark {
    pub x: f64,
    pub y: f64,
    pub text: String,
}

/// Where each resource would be saturated. The one that saturates first is first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ResourcesView {
    /// Ticks for the throughput, on a logarithmic axis.
    pub ticks: Vec<AxisTick>,
    /// The throughput that the run sustained.
    pub seen: f64,
    pub rows: Vec<CeilingRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct CeilingRow {
    pub what: String,
    pub full_at: String,
    pub bar: Interval,
}

impl RampView {
    pub fn of(estimate: &RampEstimate, summary: &Summary) -> Self {
        let (word, tone, headline) = conclusion(estimate);
        let inside = PlotAxis::in_logarithms(estimate.stretches.iter().map(|stretch| stretch.in_system));
        let ceiling = estimate.throughput_max;
        let throughputs = estimate.stretches.iter().map(|stretch| stretch.throughput);
        let throughputs = PlotAxis::around(throughputs.chain(ceiling.iter().map(|of| of.high)).chain([0.0]), 0.0);
        let stretch = |of: &loadstone_analysis::RampPoint| StretchMark {
            x: inside.place(of.in_system),
            y: throughputs.place(of.throughput),
            text: format!(
                "{} to {}: {} with {} in the system",
                loadstone_units::seconds(of.from_seconds),
                loadstone_units::seconds(of.to_seconds),
                loadstone_units::rate(of.throughput),
                loadstone_units::number(of.in_system)
            ),
        };
        let what_if = estimate.what_if.iter().map(|of| ("what if", of.remark.clone()));
        let facts = cells::facts(estimate, summary).into_iter().chain(what_if);
        let draw = |law: ScalabilityLaw| inside.samples(CURVE_POINTS).map(|(x, n)| (x, throughputs.place(law.throughput(n)))).collect();
        Self {
            test: summary.test.clone(),
            run: summary.id.clone(),
            word,
            tone,
            headline,
            facts: facts.map(|(title, text)| (title.to_owned(), text)).collect(),
            inside: inside.ticks(loadstone_units::number),
            throughputs: throughputs.ticks(loadstone_units::rate),
            ceiling: ceiling.map(|of| throughputs.interval(Some(of.low), of.value, Some(of.high))),
            stretches: estimate.stretches.iter().map(stretch).collect(),
            curve: estimate.law.map_or_else(Vec::new, draw),
            resources: resources(estimate),
            unknown: estimate.unknown_ceilings.iter().map(|of| (of.what.clone(), of.why.clone())).collect(),
        }
    }
}

/// The word, its tone and the sentence.
fn conclusion(estimate: &RampEstimate) -> (String, Tone, String) {
    match estimate.throughput_max {
        Some(CapacityInterval { value, low, high }) => {
            let interval = format!("{} to {}", loadstone_units::rate(low), loadstone_units::rate(high));
            let headline =
                format!("This kind of load cannot exceed this throughput (95 % interval {interval}). Times rise well before it.");
            (format!("At most {}", loadstone_units::rate(value)), Tone::None, headline)
        }
        None => ("Not identified".to_owned(), Tone::Warn, estimate.unknown_because.clone().unwrap_or_default()),
    }
}

/// `None` if no ceiling is known.
fn resources(estimate: &RampEstimate) -> Option<ResourcesView> {
    let ends = estimate.ceilings.iter().flat_map(|of| [of.throughput_max.low, of.throughput_max.high]);
    let axis = PlotAxis::in_logarithms(ends.chain([estimate.seen]));
    let row = |of: &loadstone_analysis::ResourceCeiling| {
        let CapacityInterval { value, low, high } = of.throughput_max;
        let bar = axis.interval(Some(low), value, Some(high));
        CeilingRow { what: of.what.clone(), full_at: cells::interval(of.throughput_max), bar }
    };
    (!estimate.ceilings.is_empty()).then(|| ResourcesView {
        ticks: axis.ticks(loadstone_units::rate),
        seen: axis.place(estimate.seen),
        rows: estimate.ceilings.iter().map(row).collect(),
    })
}
