//! Where a request spends its time, by the spans of its traces: the mean time of a request as a sum of parts.
//!
//! The parts come from the critical path (Zhang et al., "CRISP: Critical path analysis of large-scale microservice architectures", USENIX ATC 2022), so that
//! they add up: the time outside of all spans, the own time of each span, and the time right before each call. Comparing two stretches part by part shows which
//! part grew.

use loadstone_metrics::SeriesKind;
use loadstone_metrics::span::{SpanKind, SpanPath};
use loadstone_run_directory::{Run, RunTraces};

use super::changes::{CHANGE_MIN_S, Change, Changes};
use super::load_response::{LoadResponse, SLOWER_FACTOR_MIN};
use super::span_changes;
use super::span_services::{CallSides, ServiceGrowth, ServiceGrowths};
use super::span_stretch::{StretchOfSpans, TimePart, below, between, lies_in, request_path};
use super::timeline::TimelineOf;

/// Traces that a stretch must have.
const TRACES_MIN: u64 = 30;
/// Part of the growth from which a span is named.
const GROWTH_PART_MIN: f64 = 0.5;
/// The same for all spans of a service: with more summands, more of the growth may be chance.
const SERVICE_GROWTH_PART_MIN: f64 = 0.6;
/// Part of the request's time that slower calls must take, where its own times do not change.
const CALLS_GROWTH_PART_MIN: f64 = 0.05;
/// Share of the seconds that must show it.
const SECONDS_SHARE_MIN: f64 = 0.75;
/// Part of a request's time by which the spans of a stretch may take longer than its requests.
const MISMATCH_PART_MAX: f64 = 0.05;
/// Calls for each request from which they count as repeated, and the minimum of their share of its time.
const REPEATED_CALLS_MIN: f64 = 10.0;
const REPEATED_SHARE_MIN: f64 = 0.3;

/// What accounts for the growth of a request's time.
#[derive(Debug, Clone)]
pub(crate) enum GrownPart<'a> {
    /// One part has at least half of it.
    One(TimePart),
    /// No single part does, but all spans of a service together, with the calls that it exchanges with others.
    Service(ServiceGrowth<'a>),
}

/// A request whose time grew, and the part that accounts for the growth.
#[derive(Debug, Clone)]
pub(crate) struct SpanGrowth<'a> {
    pub(crate) request: &'a str,
    pub(crate) why: GrowthWhy,
    /// The compared stretches, the earlier one first. Seconds since the run began.
    pub(crate) before_span: (f64, f64),
    pub(crate) after_span: (f64, f64),
    pub(crate) part: GrownPart<'a>,
    /// The span of the part. For time outside of all spans, the first span of the request. For a service, its span with the largest growth.
    pub(crate) span: &'a SpanPath,
    /// Its parent span, if it has one.
    pub(crate) parent: Option<&'a SpanPath>,
    /// The two services of the call, if the part is the time between them.
    pub(crate) sides: Option<CallSides<'a>>,
    pub(crate) before: PartTimes,
    pub(crate) after: PartTimes,
}

/// Why two stretches are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GrowthWhy {
    Load,
    /// Times changed at an instant. Seconds since the run began.
    Change(f64),
    /// Calls became slower at an instant, without a measurable change of the request's own times. The earlier time is that of the later calls. Seconds since
    /// the run began.
    Calls(f64),
}

/// A request and one part of its time in a stretch, per request. Seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PartTimes {
    pub(crate) whole: f64,
    pub(crate) part: f64,
    pub(crate) traces: u64,
    /// How often a request makes the part's span.
    pub(crate) calls: f64,
    /// How long each of those takes.
    pub(crate) each: f64,
}

/// A call that each request makes many times, one after another.
#[derive(Debug, Clone)]
pub(crate) struct RepeatedCall<'a> {
    pub(crate) request: &'a str,
    pub(crate) span: &'a SpanPath,
    pub(crate) parent: Option<&'a SpanPath>,
    /// Calls per request, mean.
    pub(crate) calls: f64,
    pub(crate) traces: u64,
    /// How long these calls hold up a request, with the time between them. Seconds.
    pub(crate) time: f64,
    /// The same as a share of the request's time within the system.
    pub(crate) share: f64,
    /// Part of their time during which they hold up the request: all of it, if they run one after another.
    pub(crate) one_by_one: f64,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl SpanGrowth<'_> {
    /// The part's share of the growth.
    pub(crate) fn share(&self) -> f64 {
        ((self.after.part - self.before.part) / (self.after.whole - self.before.whole)).min(1.0)
    }
}

/// Requests whose times grew with the load, or at an instant under constant load, the largest growth first.
pub(super) fn growths<'a>(run: &'a Run, responses: &[LoadResponse], changes: &Changes) -> Vec<SpanGrowth<'a>> {
    let traces = &run.traces;
    if traces.is_empty() {
        return Vec::new();
    }
    let by_load = responses.iter().filter_map(|response| {
        let low = response.low?;
        growth(run, &response.name, GrowthWhy::Load, (low.from, low.to), grown_part(response)?)
    });
    let by_change = changes.found.iter().filter(|change| change.is_slower()).filter_map(|change: &Change| {
        let TimelineOf::Series(key) = &change.of else { return None };
        let end = change.until.unwrap_or(change.to);
        let is_request = key.kind == SeriesKind::Request;
        is_request.then(|| growth(run, &key.name, GrowthWhy::Change(change.at), (change.from, change.at), (change.at, end)))?
    });
    let mut found: Vec<SpanGrowth<'a>> = by_change.collect();
    let more = by_calls(run).into_iter().filter(|growth| growth.is_new(&found)).collect::<Vec<_>>();
    found.extend(more);
    // A request that changed at an instant is reported as that alone.
    found.extend(by_load.collect::<Vec<_>>().into_iter().filter(|growth| growth.is_new(&found)).collect::<Vec<_>>());
    found.sort_by(|a, b| (b.after.whole - b.before.whole).total_cmp(&(a.after.whole - a.before.whole)));
    found
}

/// Requests with calls that became slower at an instant: for each, the instant with the largest growth.
fn by_calls(run: &Run) -> Vec<SpanGrowth<'_>> {
    let mut found: Vec<SpanGrowth<'_>> = Vec::new();
    for change in span_changes::find(run) {
        let name = &run.traces.paths[change.request as usize].name;
        let Some(new) = growth(run, name, GrowthWhy::Calls(change.at), (change.from, change.at), (change.at, change.until)) else {
            continue;
        };
        match found.iter_mut().find(|known| known.request == new.request) {
            Some(known) if known.grown() >= new.grown() => {}
            Some(known) => *known = new,
            None => found.push(new),
        }
    }
    found
}

/// The stretch in which a request took clearly longer than under low load. Seconds since the run began.
fn grown_part(response: &LoadResponse) -> Option<(f64, f64)> {
    const BLOCKS_MIN: usize = 4;
    let grown = response.grown_blocks(SLOWER_FACTOR_MIN);
    let to = grown.last()?.to;
    // A single slow second while the load rises is not its begin.
    let enough = grown.windows(BLOCKS_MIN).map(|blocks| blocks[0].from);
    enough.into_iter().find(|from| response.has_grown(SLOWER_FACTOR_MIN, *from, to)).map(|from| (from, to))
}

impl SpanGrowth<'_> {
    /// How much longer the request takes. Seconds.
    fn grown(&self) -> f64 {
        self.after.whole - self.before.whole
    }

    fn is_new(&self, found: &[SpanGrowth<'_>]) -> bool {
        found.iter().all(|other| other.request != self.request)
    }
}

fn growth<'a>(run: &'a Run, name: &str, why: GrowthWhy, before: (f64, f64), after: (f64, f64)) -> Option<SpanGrowth<'a>> {
    let traces = &run.traces;
    let request = request_path(traces, name)?;
    let (low, high) = (between(traces, before), between(traces, after));
    let (low_traces, high_traces) = (low.traces(request), high.traces(request));
    if low_traces.min(high_traces) < TRACES_MIN {
        return None;
    }
    let is_of_calls = matches!(why, GrowthWhy::Calls(_));
    let low = if is_of_calls { low.with_calls_of(&high, request) } else { low };
    // Requests that take seconds begin in other seconds than they end in, and other calls are theirs. Then only the spans are compared.
    let service = if is_of_calls {
        (of_spans(traces, request, &low), of_spans(traces, request, &high))
    } else {
        (service_mean(run, name, before)?, service_mean(run, name, after)?)
    };
    let grown = service.1 - service.0;
    if grown < CHANGE_MIN_S || is_of_calls && grown < CALLS_GROWTH_PART_MIN * service.1 {
        return None;
    }
    let found = (request, (&low, service.0), (&high, service.1));
    let services = ServiceGrowths::of(traces, request, (&low, &high), grown);
    let part = match largest_part(traces, found) {
        Some(part) => GrownPart::One(part),
        None => GrownPart::Service(services.most().filter(|most| most.all() >= SERVICE_GROWTH_PART_MIN * grown)?),
    };
    let time = |in_stretch: &StretchOfSpans, service: f64| match &part {
        GrownPart::One(part) => in_stretch.time(traces, request, *part, service),
        GrownPart::Service(growth) => growth.time(request, in_stretch),
    };
    if !is_of_calls && !is_seen_all_along((run, name, request), &time, (&low, service.0), after) {
        return None;
    }
    let path_of_part = match &part {
        GrownPart::One(TimePart::Own(path) | TimePart::Before(path)) => *path,
        GrownPart::One(TimePart::Outside) => {
            *below(traces, request).iter().find(|path| traces.paths[**path as usize].parent == Some(request))?
        }
        GrownPart::Service(growth) => growth.paths.first()?.0,
    };
    let span = &traces.paths[path_of_part as usize];
    let parent = span.parent.map(|parent| &traces.paths[parent as usize]).filter(|parent| parent.kind != SpanKind::Request);
    let call = match part {
        GrownPart::One(TimePart::Own(path)) => Some(path),
        GrownPart::One(TimePart::Before(_)) if span.kind == SpanKind::Server => span.parent,
        _ => None,
    };
    let at = |in_stretch: &StretchOfSpans, service: f64| PartTimes {
        whole: service,
        part: time(in_stretch, service),
        traces: in_stretch.traces(request),
        calls: in_stretch.of(path_of_part).map_or(0.0, |span| span.calls as f64) / in_stretch.traces(request) as f64,
        each: in_stretch.of(path_of_part).and_then(|span| span.total.mean()).unwrap_or(0.0) / 1e9,
    };
    Some(SpanGrowth {
        request: &traces.paths[request as usize].name,
        why,
        before_span: before,
        after_span: after,
        span,
        parent,
        sides: call.and_then(|call| services.sides(call)),
        before: at(&low, service.0),
        after: at(&high, service.1),
        part,
    })
}

/// Time of all spans of a request, per request. Seconds.
fn of_spans(traces: &RunTraces, request: u32, in_stretch: &StretchOfSpans) -> f64 {
    in_stretch.critical_below(traces, request) as f64 / in_stretch.traces(request).max(1) as f64 / 1e9
}

/// The part with most of the added time of a request. The stretches are given with the request's mean time in them, the earlier one first.
fn largest_part(traces: &RunTraces, (request, low, high): (u32, (&StretchOfSpans, f64), (&StretchOfSpans, f64))) -> Option<TimePart> {
    let time = |part: TimePart, (in_stretch, service): (&StretchOfSpans, f64)| in_stretch.time(traces, request, part, service);
    // Times are counted when a request ends, spans when it begins. If these are not the same requests, as when many reach their time limit, their difference is
    // meaningless.
    let is_of_same = |stretch: (&StretchOfSpans, f64)| time(TimePart::Outside, stretch) >= -MISMATCH_PART_MAX * stretch.1;
    let outside = (is_of_same(low) && is_of_same(high)).then_some(TimePart::Outside);
    let paths = below(traces, request);
    let parts = outside.into_iter().chain(paths.iter().flat_map(|path| [TimePart::Own(*path), TimePart::Before(*path)]));
    let grown = parts.map(|part| (part, time(part, high) - time(part, low)));
    grown.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, by)| *by >= GROWTH_PART_MIN * (high.1 - low.1)).map(|(part, _)| part)
}

/// Whether most of the seconds show that the part accounts for their growth: a few seconds may move a mean. `time`: the part's time in a stretch, given the
/// mean time of a request in it.
fn is_seen_all_along(
    (run, name, request): (&Run, &str, u32),
    time: &dyn Fn(&StretchOfSpans, f64) -> f64,
    (low, service_low): (&StretchOfSpans, f64),
    (from, to): (f64, f64),
) -> bool {
    let before = time(low, service_low);
    let (mut seen, mut all) = (0, 0);
    for slice in run.traces.slices.iter().filter(|slice| lies_in(slice, (from, to))) {
        let second = StretchOfSpans { spans: slice.spans.clone() };
        let length = (f64::from(slice.second), f64::from(slice.second + slice.seconds));
        let Some(service) = service_mean(run, name, length).filter(|_| second.traces(request) > 0) else { continue };
        all += 1;
        let grown = service - service_low;
        seen += usize::from(grown > 0.0 && time(&second, service) - before >= 0.5 * GROWTH_PART_MIN * grown);
    }
    all > 0 && seen as f64 >= SECONDS_SHARE_MIN * f64::from(all)
}

/// Calls that each request makes at least ten times, one after another, and that take a considerable part of its time; the longest first.
pub(super) fn repeated(run: &Run) -> Vec<RepeatedCall<'_>> {
    /// Part of their time during which calls must hold up the request. Concurrent calls hold it up only for the longest of them.
    const ONE_BY_ONE: f64 = 0.5;
    let traces = &run.traces;
    let (Some(first), Some(last)) = (traces.slices.first(), traces.slices.last()) else { return Vec::new() };
    let (from, to) = (f64::from(first.second), f64::from(last.second + last.seconds));
    let all = between(traces, (from, to));
    let requests = (0..traces.paths.len() as u32).filter(|path| traces.paths[*path as usize].kind == SpanKind::Request);
    let mut found = Vec::new();
    for request in requests {
        let count = all.traces(request);
        let Some(whole) = all.of(request).map(|whole| whole.total.sum() as f64).filter(|whole| *whole > 0.0) else { continue };
        let of = |path: u32| {
            let (span, what) = (all.of(path)?, &traces.paths[path as usize]);
            let calls = span.calls as f64 / count as f64;
            let held_up = (all.critical_below(traces, path) + span.lead_ns) as f64;
            let one_by_one = (held_up / (span.total.sum() as f64).max(1.0)).min(1.0);
            let share = held_up / whole;
            let is_many = count >= TRACES_MIN && what.kind == SpanKind::Client && calls >= REPEATED_CALLS_MIN;
            (is_many && one_by_one >= ONE_BY_ONE && share >= REPEATED_SHARE_MIN).then(|| RepeatedCall {
                request: &traces.paths[request as usize].name,
                span: what,
                parent: what.parent.map(|parent| &traces.paths[parent as usize]).filter(|parent| parent.kind != SpanKind::Request),
                calls,
                traces: count,
                time: held_up / count as f64 / 1e9,
                share,
                one_by_one,
                from,
                to,
            })
        };
        found.extend(below(traces, request).into_iter().filter_map(of).max_by(|a, b| a.time.total_cmp(&b.time)));
    }
    found.sort_by(|a, b| b.time.total_cmp(&a.time));
    found
}

/// The span that takes most of a request's time itself, with that time and the request's whole time, per request in seconds.
pub(crate) fn longest_part<'a>(run: &'a Run, name: &str) -> Option<(&'a SpanPath, f64, f64)> {
    let traces = &run.traces;
    let (first, last) = (traces.slices.first()?, traces.slices.last()?);
    let request = request_path(traces, name)?;
    let all = between(traces, (f64::from(first.second), f64::from(last.second + last.seconds)));
    let whole = all.of(request).and_then(|whole| whole.total.mean()).filter(|_| all.traces(request) >= TRACES_MIN)? / 1e9;
    let time = |path: u32| (path, all.time(traces, request, TimePart::Own(path), whole));
    let (path, time) = below(traces, request).into_iter().map(time).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (whole > 0.0).then(|| (&traces.paths[path as usize], time, whole))
}

/// Mean service time of a request that ended in a stretch. Seconds.
pub(crate) fn service_mean(run: &Run, name: &str, (from, to): (f64, f64)) -> Option<f64> {
    let inside = run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= from - 1e-3 && slice.end as f64 / 1e9 <= to + 1e-3);
    let series = inside.flat_map(|slice| &slice.series);
    let mine = series.filter(|series| series.key.kind == SeriesKind::Request && *series.key.name == *name);
    let (count, sum) = mine.fold((0, 0), |(count, sum), series| (count + series.service.count(), sum + series.service.sum()));
    (count > 0).then(|| sum as f64 / count as f64 / 1e9)
}
