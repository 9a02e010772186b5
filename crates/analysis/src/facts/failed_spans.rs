//! Where requests fail inside the system, by the spans of their traces: the deepest span that fails as often as they do.
//!
//! Spans are stored as counts by path and second, not as single traces. A span belongs to the failed requests if it fails as often, and in the same seconds.

use loadstone_metrics::SeriesKind;
use loadstone_metrics::span::{SpanKind, SpanPath, SpanSlice, TraceSlice};
use loadstone_run_directory::Run;

use super::failures::Failing;
use super::span_stretch::{StretchOfSpans, below, between, lies_in, request_path};
use crate::RunTally;

/// Failed spans that show a place.
const FAILED_MIN: f64 = 5.0;
/// Part of the failed requests by which the failed spans may be more or fewer, in all and summed over the seconds.
const DIFFERENCE_PART_MAX: f64 = 0.1;
/// And the number: a request may begin in one second and end in the next.
const DIFFERENCE_MAX: f64 = 1.5;
/// Share of the requests with a trace from which their traces are no sample.
const ALL_TRACED_SHARE_MIN: f64 = 0.9;
/// Standard deviations of a sample.
const SAMPLE_DEVIATIONS_MAX: f64 = 2.0;

/// The place where the requests of one name fail.
pub(crate) struct FailedPlace<'a> {
    /// Their index among the failing requests.
    pub(crate) failing: usize,
    pub(crate) span: &'a SpanPath,
    pub(crate) at: FailedAt<'a>,
    /// Requests in which the span failed, and all traces in the stretch.
    pub(crate) failed: u64,
    pub(crate) traces: u64,
    /// Seconds since the run began.
    pub(crate) stretch: (f64, f64),
}

/// What fails there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FailedAt<'a> {
    /// The service of the span itself.
    Service,
    /// A call of which the called side has no span. With the called service, if it has spans of other calls.
    Unanswered(Option<&'a str>),
    /// A call that the called service answered without a failure.
    Answered(&'a str),
}

impl FailedPlace<'_> {
    /// The service at fault, as far as the spans show it.
    pub(crate) fn service(&self) -> &str {
        match self.at {
            FailedAt::Service | FailedAt::Unanswered(None) => &self.span.service,
            FailedAt::Unanswered(Some(called)) | FailedAt::Answered(called) => called,
        }
    }
}

/// For each failing request whose spans show the place.
pub(super) fn find<'a>(run: &'a Run, tally: &RunTally, failing: &[Failing<'_>]) -> Vec<FailedPlace<'a>> {
    if run.traces.is_empty() {
        return Vec::new();
    }
    let requests = failing.iter().enumerate().filter(|(_, failing)| failing.key.kind == SeriesKind::Request);
    requests.filter_map(|(index, failing)| place(run, failing, index, tally.duration_seconds())).collect()
}

fn place<'a>(run: &'a Run, failing: &Failing<'_>, index: usize, end: f64) -> Option<FailedPlace<'a>> {
    let traces = &run.traces;
    let request = request_path(traces, &failing.key.name)?;
    let stretch = failing.when.span(end);
    let search = FailureSearch::of(run, failing, request, stretch)?;
    let matching: Vec<(u32, FailureCount)> =
        below(traces, request).into_iter().filter_map(|path| Some((path, search.counted_alike(path)?))).collect();
    let (path, count) = deepest(run, request, &matching)?;
    let span = &traces.paths[path as usize];
    let failed = search.all.of(path).map_or(0.0, |span| count.failed(span));
    (!span.service.is_empty()).then(|| FailedPlace {
        failing: index,
        span,
        at: search.at(path, failed),
        failed: failed as u64,
        traces: search.all.traces(request),
        stretch,
    })
}

/// The end of the chain of spans that fail as often. Where it divides, no branch is known to be the cause.
fn deepest(run: &Run, request: u32, matching: &[(u32, FailureCount)]) -> Option<(u32, FailureCount)> {
    let (mut found, mut inside) = (None, request);
    loop {
        let lower = below(&run.traces, inside);
        let left: Vec<&(u32, FailureCount)> = matching.iter().filter(|(path, _)| lower.contains(path)).collect();
        let is_nearest = |path: u32| !left.iter().any(|(other, _)| below(&run.traces, *other).contains(&path));
        let nearest: Vec<&&(u32, FailureCount)> = left.iter().filter(|(path, _)| is_nearest(*path)).collect();
        match nearest[..] {
            [one] => (found, inside) = (Some(**one), one.0),
            _ => return found,
        }
    }
}

/// How the failed requests of a path are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureCount {
    /// One request has one failed span.
    Failed,
    /// A request repeats the call until it succeeds: requests with such a span, minus spans that did not fail.
    WithoutSuccess,
}

impl FailureCount {
    fn failed(self, span: &SpanSlice) -> f64 {
        match self {
            FailureCount::Failed => span.errors as f64,
            FailureCount::WithoutSuccess => (span.traces + span.errors).saturating_sub(span.calls) as f64,
        }
    }
}

struct FailureSearch<'a> {
    run: &'a Run,
    all: StretchOfSpans,
    seconds: Vec<&'a TraceSlice>,
    /// Failed requests among those with a trace, and by how much they may be more or fewer.
    failed: f64,
    difference_max: f64,
    /// Failed requests by second, if their own spans show the failures.
    by_second: Option<Vec<f64>>,
}

impl<'a> FailureSearch<'a> {
    fn of(run: &'a Run, failing: &Failing<'_>, request: u32, stretch: (f64, f64)) -> Option<Self> {
        let all = between(&run.traces, stretch);
        let (traces, requests) = (all.traces(request) as f64, failing.while_failing.1 as f64);
        let failed = failing.share() * traces;
        let is_sample = traces < ALL_TRACED_SHARE_MIN * requests;
        let by_chance = if is_sample { SAMPLE_DEVIATIONS_MAX * (failed * (1.0 - failing.share())).sqrt() } else { 0.0 };
        let difference_max = f64::max(DIFFERENCE_PART_MAX * failed, DIFFERENCE_MAX) + by_chance;
        let seconds: Vec<&TraceSlice> = run.traces.slices.iter().filter(|slice| lies_in(slice, stretch)).collect();
        let errors = |slice: &&TraceSlice| slice.spans.iter().filter(|span| span.path == request).map(|span| span.errors as f64).sum();
        let by_second: Vec<f64> = seconds.iter().map(errors).collect();
        let is_shown = (by_second.iter().sum::<f64>() - failed).abs() <= difference_max;
        (failed >= FAILED_MIN).then(|| Self { run, all, seconds, failed, difference_max, by_second: is_shown.then_some(by_second) })
    }

    /// How a path's failures are counted if they are as many as failed requests, in the same seconds.
    fn counted_alike(&self, path: u32) -> Option<FailureCount> {
        let span = self.all.of(path)?;
        let is_alike = |count: &FailureCount| {
            let failed = count.failed(span);
            failed >= FAILED_MIN && (failed - self.failed).abs() <= self.difference_max && self.is_in_same_seconds(path, *count)
        };
        [FailureCount::Failed, FailureCount::WithoutSuccess].into_iter().find(is_alike)
    }

    fn is_in_same_seconds(&self, path: u32, count: FailureCount) -> bool {
        let Some(by_second) = &self.by_second else { return true };
        let mine =
            self.seconds.iter().map(|slice| slice.spans.iter().filter(|span| span.path == path).map(|span| count.failed(span)).sum());
        let difference: f64 = by_second.iter().zip(mine).map(|(request, span): (&f64, f64)| (request - span).abs()).sum();
        difference <= f64::max(DIFFERENCE_PART_MAX * self.failed, DIFFERENCE_MAX)
    }

    fn at(&self, path: u32, failed: f64) -> FailedAt<'a> {
        let paths = &self.run.traces.paths;
        let span = &paths[path as usize];
        if !span.kind.is_call() {
            return FailedAt::Service;
        }
        let is_answer = |other: &&SpanPath| other.parent == Some(path) && other.kind == SpanKind::Server && other.service != span.service;
        let Some(place) = paths.iter().position(|other| is_answer(&other)) else { return FailedAt::Unanswered(None) };
        let calls = |path: u32| self.all.of(path).map_or(0, |span| span.calls) as f64;
        let unanswered = calls(path) - calls(place as u32);
        let called: &str = &paths[place].service;
        if unanswered >= failed - self.difference_max { FailedAt::Unanswered(Some(called)) } else { FailedAt::Answered(called) }
    }
}
