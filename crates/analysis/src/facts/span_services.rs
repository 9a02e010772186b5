//! How much longer each service takes of a request: its spans on the critical path, and the calls that it exchanges with other services.
//!
//! The time of a call without that of the called service is spent between two services: in the network, or in a queue in front of the called one. It counts
//! for the side that more of the added time touches. If one service is slow to reach, so are all calls to it and by it. If nothing decides, it counts for the
//! called service.

use std::collections::BTreeMap;

use loadstone_metrics::span::{SpanKind, SpanPath};
use loadstone_run_directory::RunTraces;

use super::span_stretch::{StretchOfSpans, below};

/// Part of the added time from which a connection between two services counts when sides are compared.
const CONNECTION_PART_MIN: f64 = 0.1;
/// Added time of all connections of the caller over that of the called service, from which the caller's side is slow.
const CALLER_SIDE_FACTOR_MIN: f64 = 1.25;

/// The growth of a request's time in one service, per request. Seconds.
#[derive(Debug, Clone)]
pub(crate) struct ServiceGrowth<'a> {
    pub(crate) service: &'a str,
    /// Of its spans.
    pub(crate) own: f64,
    /// Of its calls to systems without spans.
    pub(crate) calls: f64,
    /// Of calls between it and other services, without the time in these.
    pub(crate) between: f64,
    /// Its paths, the largest growth first, with their growth.
    pub(crate) paths: Vec<(u32, f64)>,
}

impl ServiceGrowth<'_> {
    pub(crate) fn all(&self) -> f64 {
        self.own + self.calls + self.between
    }

    /// Time of its paths per request in a stretch. Seconds.
    pub(crate) fn time(&self, request: u32, in_stretch: &StretchOfSpans) -> f64 {
        self.paths.iter().map(|(path, _)| critical(request, *path, in_stretch)).sum()
    }
}

/// The two services of a call, and the side that is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallSides<'a> {
    pub(crate) caller: &'a str,
    pub(crate) called: &'a str,
    pub(crate) slow: SlowSide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowSide {
    /// Calls of the caller to other services became slower, too.
    Caller,
    /// Other calls of the caller did not become slower, or calls of others to it did.
    Called,
    /// Nothing decides.
    Unknown,
}

impl<'a> CallSides<'a> {
    /// The service that the time counts for.
    pub(crate) fn service(self) -> &'a str {
        if self.slow == SlowSide::Caller { self.caller } else { self.called }
    }
}

/// The growth of each path of a request between two stretches.
pub(super) struct ServiceGrowths<'a> {
    traces: &'a RunTraces,
    /// Path and growth per request. Seconds.
    paths: Vec<(u32, f64)>,
    connections: BTreeMap<(&'a str, &'a str), f64>,
    /// The least growth of a connection that counts. Seconds.
    large: f64,
}

impl<'a> ServiceGrowths<'a> {
    /// `grown`: how much longer the request takes. Seconds.
    pub(super) fn of(traces: &'a RunTraces, request: u32, (low, high): (&StretchOfSpans, &StretchOfSpans), grown: f64) -> Self {
        let by = |path: u32| critical(request, path, high) - critical(request, path, low);
        let paths: Vec<(u32, f64)> = below(traces, request).into_iter().map(|path| (path, by(path))).collect();
        let mut connections = BTreeMap::new();
        for (path, by) in &paths {
            if let Some(answer) = answer(traces, *path) {
                *connections.entry((&*traces.paths[*path as usize].service, &*answer.service)).or_insert(0.0) += by;
            }
        }
        Self { traces, paths, connections, large: CONNECTION_PART_MIN * grown }
    }

    /// The service with the largest growth.
    pub(super) fn most(&self) -> Option<ServiceGrowth<'a>> {
        let mut services: BTreeMap<&'a str, ServiceGrowth<'a>> = BTreeMap::new();
        for (path, by) in &self.paths {
            let span = &self.traces.paths[*path as usize];
            let sides = self.sides(*path);
            let service = sides.map_or(&*span.service, CallSides::service);
            let new = || ServiceGrowth { service, own: 0.0, calls: 0.0, between: 0.0, paths: Vec::new() };
            let of = services.entry(service).or_insert_with(new);
            let part = match (sides, span.kind.is_call()) {
                (Some(_), _) => &mut of.between,
                (None, true) => &mut of.calls,
                (None, false) => &mut of.own,
            };
            *part += by;
            of.paths.push((*path, *by));
        }
        let named = services.into_values().filter(|growth| !growth.service.is_empty());
        let mut most = named.max_by(|a, b| a.all().total_cmp(&b.all()))?;
        most.paths.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(most)
    }

    /// The two services of a call that another service answers. `None`: it is no such call.
    pub(super) fn sides(&self, path: u32) -> Option<CallSides<'a>> {
        let caller: &'a str = &self.traces.paths[path as usize].service;
        let called: &'a str = &answer(self.traces, path)?.service;
        let touching = |service: &str| -> f64 {
            let large = self.connections.iter().filter(|((from, to), by)| (*from == service || *to == service) && **by >= self.large);
            large.map(|(_, by)| by).sum()
        };
        let (of_caller, of_called) = (touching(caller), touching(called));
        let has_quick_calls = || self.connections.iter().any(|((from, to), by)| *from == caller && *to != called && *by < self.large);
        let slow = if of_caller > 0.0 && of_caller >= CALLER_SIDE_FACTOR_MIN * of_called {
            SlowSide::Caller
        } else if of_called > 0.0 && (of_called >= CALLER_SIDE_FACTOR_MIN * of_caller || has_quick_calls()) {
            SlowSide::Called
        } else {
            SlowSide::Unknown
        };
        Some(CallSides { caller, called, slow })
    }
}

/// The span of another service that answers a call.
pub(super) fn answer(traces: &RunTraces, path: u32) -> Option<&SpanPath> {
    let span = &traces.paths[path as usize];
    let is_answer = |other: &&SpanPath| other.parent == Some(path) && other.kind == SpanKind::Server && other.service != span.service;
    traces.paths.iter().find(is_answer).filter(|_| span.kind.is_call())
}

/// Time of a path on the critical path, per request. Seconds.
fn critical(request: u32, path: u32, in_stretch: &StretchOfSpans) -> f64 {
    let all = in_stretch.of(path).map_or(0, |span| span.critical_ns);
    all as f64 / in_stretch.traces(request).max(1) as f64 / 1e9
}
