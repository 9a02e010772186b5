//! The parts of the time of each request over time: one more chart for a request with traces.

use std::collections::HashMap;

use loadstone_metrics::SeriesKey;
use loadstone_metrics::span::{SpanKind, SpanPath};
use loadstone_run_directory::RunTraces;

use super::column;
use crate::view::{Panel, RequestCharts};

/// Maximum number of separate parts; the rest is one part.
const PARTS_MAX: usize = 7;

/// A part of the time of a request: the own time of a span, or the time right before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Own(u32),
    Before(u32),
}

/// Nanoseconds on the critical path by part, and traces, of one step.
#[derive(Debug, Clone, Default)]
struct SpanStep {
    traces: u64,
    parts: HashMap<Part, u64>,
}

/// Adds the chart to those of a request. Its values are means per trace.
pub(crate) fn add(charts: &mut RequestCharts, key: &SeriesKey, traces: &RunTraces) {
    let is_it = |path: &SpanPath| path.kind == SpanKind::Request && path.scenario == key.scenario && path.name == key.name;
    let Some(request) = traces.paths.iter().position(is_it) else { return };
    if charts.panels.is_empty() {
        return;
    }
    let steps = steps(traces, request, charts.step_seconds);
    let mut sums: HashMap<Part, u64> = HashMap::new();
    steps.iter().flat_map(|step| &step.parts).for_each(|(part, ns)| *sums.entry(*part).or_default() += ns);
    let mut parts: Vec<(Part, u64)> = sums.into_iter().filter(|(_, ns)| *ns > 0).collect();
    parts.sort_by_key(|(part, ns)| (std::cmp::Reverse(*ns), name(traces, *part)));
    let shown: Vec<Part> = parts.iter().take(PARTS_MAX).map(|(part, _)| *part).collect();
    let mean = |step: &SpanStep, ns: u64| (step.traces > 0).then(|| ns as f64 / step.traces as f64 / 1e9);
    let of = |part: &Part| {
        let values = steps.iter().map(|step| mean(step, step.parts.get(part).copied().unwrap_or(0)));
        let id = match part {
            Part::Own(path) => format!("spans/own/{path}"),
            Part::Before(path) => format!("spans/before/{path}"),
        };
        column(id, name(traces, *part), values)
    };
    let mut columns: Vec<_> = shown.iter().map(of).collect();
    if parts.len() > shown.len() {
        let rest = |step: &SpanStep| step.parts.iter().filter(|(part, _)| !shown.contains(part)).map(|(_, ns)| ns).sum();
        columns.push(column("spans/rest", "everything else", steps.iter().map(|step| mean(step, rest(step)))));
    }
    if !columns.is_empty() {
        charts.panels.push(Panel {
            id: "spans".to_owned(),
            title: "Time by span".to_owned(),
            unit: "s".to_owned(),
            stacked: true,
            columns,
        });
    }
}

fn steps(traces: &RunTraces, request: usize, step_seconds: f64) -> Vec<SpanStep> {
    let mut below = vec![false; traces.paths.len()];
    below[request] = true;
    // Paths have higher numbers than their parents.
    for (place, path) in traces.paths.iter().enumerate() {
        below[place] |= path.parent.is_some_and(|parent| below[parent as usize]);
    }
    let mut steps: Vec<SpanStep> = Vec::new();
    for slice in &traces.slices {
        let place = (f64::from(slice.second) / step_seconds) as usize;
        if steps.len() <= place {
            steps.resize_with(place + 1, SpanStep::default);
        }
        let step = &mut steps[place];
        for span in slice.spans.iter().filter(|span| below[span.path as usize]) {
            if span.path as usize == request {
                step.traces += span.calls;
            }
            *step.parts.entry(Part::Own(span.path)).or_default() += span.critical_ns;
            *step.parts.entry(Part::Before(span.path)).or_default() += span.lead_ns;
        }
        // The time before a call is part of the caller's time.
        for span in slice.spans.iter().filter(|span| below[span.path as usize]) {
            if let Some(parent) = traces.paths[span.path as usize].parent
                && let Some(own) = step.parts.get_mut(&Part::Own(parent))
            {
                *own = own.saturating_sub(span.lead_ns);
            }
        }
    }
    steps
}

fn name(traces: &RunTraces, part: Part) -> String {
    let (Part::Own(path) | Part::Before(path)) = part;
    let path = &traces.paths[path as usize];
    let span = if path.kind == SpanKind::Request { "between spans".to_owned() } else { format!("{}: {}", path.service, path.name) };
    match part {
        Part::Own(_) if path.kind == SpanKind::Client => format!("{span} (call)"),
        Part::Own(_) => span,
        Part::Before(_) => format!("before {span}"),
    }
}
