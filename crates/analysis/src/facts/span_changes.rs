//! Parts of requests that take longer from an instant on, compared call by call.
//!
//! One name may stand for requests of several kinds, and a call may be made by few of them. Such a call can become slower without a measurable change of the
//! request's own times. So each part of the critical path is compared with itself, per call, by the test of [`super::changes`]. The number of tests is
//! accounted for (Benjamini and Hochberg 1995). A higher load is no reason to compare.

use std::collections::BTreeMap;

use loadstone_metrics::span::SpanKind;
use loadstone_run_directory::{Run, RunTraces};

use super::changes::CHANGE_FACTOR_MIN;
use super::load_stretches;
use crate::statistics::discoveries;
use crate::statistics::shift::{self, Shift};

/// Share of the discoveries that may be false.
const FALSE_DISCOVERY_SHARE_MAX: f64 = 0.003;
/// Calls that a value has at least, so that a single one has little weight.
const VALUE_CALLS_MIN: u64 = 5;
/// Part of the request's time from which a part is examined.
const EXAMINED_PART_MIN: f64 = 0.01;
/// Factor up to which the load after the instant may exceed that before it.
const LOAD_FACTOR_MAX: f64 = 1.1;

/// A part of a request's time that takes longer per call from an instant on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpanChange {
    /// Path of the request.
    pub(super) request: u32,
    /// Seconds since the run began: the first traces, the instant, and the end of the slower stretch.
    pub(super) from: f64,
    pub(super) at: f64,
    pub(super) until: f64,
}

/// The calls of one part of a request's time, over time.
struct TestedCalls {
    request: u32,
    /// Begin and logarithm of the mean time per call.
    values: Vec<(f64, f64)>,
    /// Of the last value.
    end: f64,
    shift: Option<Shift>,
}

/// The calls of one path in a period.
struct PeriodCalls {
    /// Seconds since the run began.
    from: f64,
    calls: u64,
    /// On the critical path, and right before it in its parent. Seconds.
    own: f64,
    before: f64,
}

pub(super) fn find(run: &Run) -> Vec<SpanChange> {
    let traces = &run.traces;
    let Some(last) = traces.slices.last() else { return Vec::new() };
    let end = f64::from(last.second + last.seconds);
    let requests = requests(traces);
    let least = examined_from(traces, &requests);
    let mut tests = Vec::new();
    for (periods, request) in by_path(traces).iter().zip(&requests) {
        let parts: [fn(&PeriodCalls) -> f64; 2] = [|period| period.own, |period| period.before];
        let Some(least) = least.get(request).copied() else { continue };
        tests.extend(parts.into_iter().filter_map(|time| tested(*request, periods, time, (least, end))));
    }
    let p_values: Vec<f64> = tests.iter().map(|test| test.shift.map_or(1.0, |shift| shift.p_value)).collect();
    let significant = tests.iter().zip(discoveries(&p_values, FALSE_DISCOVERY_SHARE_MAX)).filter(|(_, is)| *is).map(|(test, _)| test);
    significant.filter_map(TestedCalls::change).filter(|change| !has_more_load(run, change)).collect()
}

/// For each path, the path of its request. Paths are numbered after their parents.
fn requests(traces: &RunTraces) -> Vec<u32> {
    let mut requests: Vec<u32> = Vec::with_capacity(traces.paths.len());
    for (path, span) in (0..).zip(&traces.paths) {
        let request = span.parent.and_then(|parent| requests.get(parent as usize).copied());
        requests.push(request.unwrap_or(path));
    }
    requests
}

/// For each request, the time of all calls of a part from which it is examined. Seconds.
fn examined_from(traces: &RunTraces, requests: &[u32]) -> BTreeMap<u32, f64> {
    let mut sums = BTreeMap::new();
    for span in traces.slices.iter().flat_map(|slice| &slice.spans) {
        if requests.get(span.path as usize) == Some(&span.path) && traces.paths[span.path as usize].kind == SpanKind::Request {
            *sums.entry(span.path).or_insert(0.0) += EXAMINED_PART_MIN * span.total.sum() as f64 / 1e9;
        }
    }
    sums
}

/// The periods of each path in which it was called.
fn by_path(traces: &RunTraces) -> Vec<Vec<PeriodCalls>> {
    let mut found: Vec<Vec<PeriodCalls>> = traces.paths.iter().map(|_| Vec::new()).collect();
    for slice in &traces.slices {
        let mut leads = BTreeMap::<u32, u64>::new();
        for span in &slice.spans {
            traces.paths[span.path as usize].parent.iter().for_each(|parent| *leads.entry(*parent).or_default() += span.lead_ns);
        }
        for span in slice.spans.iter().filter(|span| span.calls > 0) {
            let own = span.critical_ns.saturating_sub(leads.get(&span.path).copied().unwrap_or(0));
            found[span.path as usize].push(PeriodCalls {
                from: f64::from(slice.second),
                calls: span.calls,
                own: own as f64 / 1e9,
                before: span.lead_ns as f64 / 1e9,
            });
        }
    }
    found
}

/// `least`: the time of all calls from which they are tested. Seconds.
fn tested(request: u32, periods: &[PeriodCalls], time_of: fn(&PeriodCalls) -> f64, (least, end): (f64, f64)) -> Option<TestedCalls> {
    let (mut values, mut all) = (Vec::new(), 0.0);
    let (mut begin, mut calls, mut time) = (None, 0, 0.0);
    for period in periods {
        calls += period.calls;
        time += time_of(period);
        let begun = *begin.get_or_insert(period.from);
        if calls >= VALUE_CALLS_MIN {
            values.push((begun, (time / calls as f64).max(1e-6).ln()));
            all += time;
            (begin, calls, time) = (None, 0, 0.0);
        }
    }
    let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    (all > 0.0 && all >= least).then(|| TestedCalls { request, shift: shift::find(&numbers), values, end })
}

impl TestedCalls {
    /// The slower stretch. `None`: its calls became faster, or hardly slower.
    fn change(&self) -> Option<SpanChange> {
        let shift = self.shift?;
        let begin = |place: usize| self.values.get(place).map_or(self.end, |(begin, _)| *begin);
        let mean = |values: &[(f64, f64)]| values.iter().map(|(_, value)| value).sum::<f64>() / values.len().max(1) as f64;
        let before = mean(&self.values[..shift.start]);
        let after = mean(&self.values[shift.start..shift.end]);
        (shift.start > 0 && after - before >= CHANGE_FACTOR_MIN.ln()).then(|| SpanChange {
            request: self.request,
            from: begin(0),
            at: begin(shift.start),
            until: begin(shift.end),
        })
    }
}

/// Whether more load may have caused the change.
fn has_more_load(run: &Run, change: &SpanChange) -> bool {
    let asked = load_stretches::asked_in_all(&run.plan, &run.slices);
    let mean = |from: f64, to: f64| {
        let inside = run.slices.iter().zip(&asked).filter(|(slice, _)| {
            let middle = slice.start.midpoint(slice.end) as f64 / 1e9;
            (from..to).contains(&middle)
        });
        let (count, sum) = inside.fold((0, 0.0), |(count, sum), (_, asked)| (count + 1, sum + asked));
        sum / f64::from(count.max(1))
    };
    mean(change.at, change.until) > LOAD_FACTOR_MAX * mean(change.from, change.at)
}
