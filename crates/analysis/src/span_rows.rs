//! The table of spans: the parts of each request's time, over the whole run and at low and high load.

use loadstone_metrics::span::SpanKind;
use loadstone_run_directory::Run;

use crate::facts::Facts;
use crate::facts::load_blocks::LoadStretch;
use crate::facts::span_stretch::{StretchOfSpans, below, between};
use crate::{RequestSpans, SpanRow};

/// Maximum number of spans shown for a request, those with the most time; their ancestors are shown too.
const ROWS_MAX: usize = 40;

pub(crate) fn of(facts: &Facts<'_>) -> Vec<RequestSpans> {
    let run = facts.run;
    let traces = &run.traces;
    let (Some(first), Some(last)) = (traces.slices.first(), traces.slices.last()) else { return Vec::new() };
    let all = between(traces, (f64::from(first.second), f64::from(last.second + last.seconds)));
    let requests = (0_u32..).zip(&traces.paths).filter(|(_, path)| path.kind == SpanKind::Request);
    let mut rows: Vec<RequestSpans> = requests
        .filter(|(number, _)| all.traces(*number) > 0)
        .map(|(number, request)| {
            let response = facts.responses.iter().find(|response| *response.name == *request.name);
            let stretch = |part: Option<LoadStretch>| part.map(|part| between(traces, (part.from, part.to)));
            let (low, high) = response.map_or((None, None), |response| (stretch(response.low), stretch(response.high)));
            RequestSpans {
                scenario: request.scenario.to_string(),
                name: request.name.to_string(),
                traces: all.traces(number),
                seconds: mean(&all, number),
                spans: spans(run, number, (&all, low.as_ref(), high.as_ref())),
            }
        })
        .collect();
    rows.sort_by(|a, b| (&a.scenario, &a.name).cmp(&(&b.scenario, &b.name)));
    rows
}

fn mean(stretch: &StretchOfSpans, path: u32) -> f64 {
    stretch.of(path).and_then(|span| span.total.mean()).unwrap_or(0.0) / 1e9
}

fn spans(run: &Run, request: u32, stretches: (&StretchOfSpans, Option<&StretchOfSpans>, Option<&StretchOfSpans>)) -> Vec<SpanRow> {
    let paths = &run.traces.paths;
    let (all, low, high) = stretches;
    let taken = |path: u32| all.of(path).map_or(0, |span| span.critical_ns + span.lead_ns);
    let mut most = below(&run.traces, request);
    most.retain(|path| all.of(*path).is_some());
    most.sort_by_key(|path| std::cmp::Reverse(taken(*path)));
    most.truncate(ROWS_MAX);
    // With their ancestors, in the order of a tree.
    let mut shown: Vec<u32> = Vec::new();
    for path in most {
        let mut above = Some(path).filter(|path| *path != request);
        while let Some(path) = above.filter(|path| !shown.contains(path)) {
            shown.push(path);
            above = paths[path as usize].parent.filter(|parent| *parent != request);
        }
    }
    let mut ordered = Vec::new();
    let mut open = vec![(request, 0)];
    while let Some((path, depth)) = open.pop() {
        if path != request {
            ordered.push((path, depth));
        }
        let mut children: Vec<u32> = shown.iter().copied().filter(|child| paths[*child as usize].parent == Some(path)).collect();
        children.sort_by_key(|child| taken(*child));
        open.extend(children.into_iter().map(|child| (child, if path == request { 0 } else { depth + 1 })));
    }
    let per_request = |stretch: &StretchOfSpans, ns: u64| ns as f64 / stretch.traces(request).max(1) as f64 / 1e9;
    let critical = |stretch: &StretchOfSpans, path: u32| per_request(stretch, stretch.of(path).map_or(0, |span| span.critical_ns));
    ordered
        .into_iter()
        .filter_map(|(path, depth)| {
            let (span, what) = (all.of(path)?, &paths[path as usize]);
            let seconds = |quantile: f64| span.total.quantile(quantile).map_or(0.0, |ns| ns as f64 / 1e9);
            Some(SpanRow {
                depth,
                service: what.service.to_string(),
                name: what.name.to_string(),
                kind: what.kind,
                calls: span.calls as f64 / all.traces(request).max(1) as f64,
                errors: span.errors,
                mean_seconds: span.total.mean().unwrap_or(0.0) / 1e9,
                p95_seconds: seconds(0.95),
                own_seconds: span.own.mean().unwrap_or(0.0) / 1e9,
                path_seconds: critical(all, path),
                before_seconds: per_request(all, span.lead_ns),
                low_path_seconds: low.filter(|low| low.traces(request) > 0).map(|low| critical(low, path)),
                high_path_seconds: high.filter(|high| high.traces(request) > 0).map(|high| critical(high, path)),
            })
        })
        .collect()
}
