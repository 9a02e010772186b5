//! The spans of the requests that began in a stretch of time, by path.

use loadstone_metrics::span::{SpanKind, SpanSlice, TraceSlice};
use loadstone_run_directory::RunTraces;

/// A part of a request's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimePart {
    /// Before and after all spans: in the network, or waiting to be accepted.
    Outside,
    /// What the span of this path does itself, or waits for, after its last call too.
    Own(u32),
    /// What its caller does or waits for right before the span of this path begins.
    Before(u32),
}

/// The spans of one request in a stretch, by path.
pub(crate) struct StretchOfSpans {
    pub(crate) spans: Vec<SpanSlice>,
}

/// The path of a request by its name as findings show it, which contains the scenario if several have such a request.
pub(crate) fn request_path(traces: &RunTraces, name: &str) -> Option<u32> {
    let place = traces.paths.iter().position(|path| path.kind == SpanKind::Request && *path.name == *name)?;
    u32::try_from(place).ok()
}

/// All paths below one.
pub(crate) fn below(traces: &RunTraces, path: u32) -> Vec<u32> {
    let mut found = vec![path];
    // Paths are numbered after their parents.
    for (place, other) in traces.paths.iter().enumerate() {
        if other.parent.is_some_and(|parent| found.contains(&parent)) {
            found.push(place as u32);
        }
    }
    found.remove(0);
    found
}

/// The spans of the requests that began in a stretch.
pub(crate) fn between(traces: &RunTraces, span: (f64, f64)) -> StretchOfSpans {
    let mut all = TraceSlice::default();
    traces.slices.iter().filter(|slice| lies_in(slice, span)).for_each(|slice| all.merge(slice));
    StretchOfSpans { spans: all.spans }
}

pub(super) fn lies_in(slice: &TraceSlice, (from, to): (f64, f64)) -> bool {
    f64::from(slice.second) >= from - 1e-9 && f64::from(slice.second + slice.seconds) <= to + 1e-9
}

impl StretchOfSpans {
    pub(crate) fn of(&self, path: u32) -> Option<&SpanSlice> {
        self.spans.iter().find(|span| span.path == path)
    }

    /// Traces of a request.
    pub(crate) fn traces(&self, request: u32) -> u64 {
        self.of(request).map_or(0, |request| request.calls)
    }

    /// A part's time per request. Seconds.
    pub(super) fn time(&self, traces: &RunTraces, request: u32, part: TimePart, service: f64) -> f64 {
        match part {
            TimePart::Outside => service - self.of(request).and_then(|whole| whole.total.mean()).unwrap_or(0.0) / 1e9,
            TimePart::Own(_) | TimePart::Before(_) => self.sum(traces, part) / self.traces(request).max(1) as f64,
        }
    }

    /// The time of a part within spans, of all requests. Seconds.
    pub(super) fn sum(&self, traces: &RunTraces, part: TimePart) -> f64 {
        let ns = match part {
            TimePart::Outside => 0,
            TimePart::Own(path) => {
                let leads: u64 =
                    self.spans.iter().filter(|span| traces.paths[span.path as usize].parent == Some(path)).map(|span| span.lead_ns).sum();
                self.of(path).map_or(0, |span| span.critical_ns).saturating_sub(leads)
            }
            TimePart::Before(path) => self.of(path).map_or(0, |span| span.lead_ns),
        };
        ns as f64 / 1e9
    }

    /// The same times per call, with the calls of another stretch. A path that this stretch lacks has the times of the other one.
    pub(super) fn with_calls_of(&self, other: &StretchOfSpans, request: u32) -> Self {
        let per_request = self.traces(request) as f64 / other.traces(request).max(1) as f64;
        let scaled = |theirs: &SpanSlice| {
            let mine = self.of(theirs.path).filter(|mine| mine.calls > 0).unwrap_or(theirs);
            let factor = theirs.calls as f64 * per_request / mine.calls.max(1) as f64;
            let calls = if theirs.path == request { self.traces(request) } else { (theirs.calls as f64 * per_request) as u64 };
            SpanSlice {
                calls,
                critical_ns: (mine.critical_ns as f64 * factor) as u64,
                lead_ns: (mine.lead_ns as f64 * factor) as u64,
                ..mine.clone()
            }
        };
        Self { spans: other.spans.iter().map(scaled).collect() }
    }

    /// Critical time of a path and all below it. Nanoseconds.
    pub(crate) fn critical_below(&self, traces: &RunTraces, path: u32) -> u64 {
        let all = below(traces, path);
        self.spans.iter().filter(|span| span.path == path || all.contains(&span.path)).map(|span| span.critical_ns).sum()
    }
}
