//! Floors: what a ranking by one number finds that is given the instant of the fault, which the analysis is not.
//!
//! | floor | score of a signal |
//! |---|---|
//! | alerts | the largest distance after the instant from the mean before, in standard deviations (a z-score) |
//! | BARO | the largest distance after from the median before, in interquartile ranges (Pham, Ha and Zhang, 2024); a range of 0 counts as 1 |
//!
//! | spans | the growth of a service's time on the critical path of a request, where there are traces |
//!
//! A service has the score of its highest signal. The time of a call, without that of the called service, counts for the called service.

use std::collections::BTreeMap;

use loadstone_metrics::span::{SpanKind, SpanPath};
use loadstone_run_directory::RunTraces;

use super::case::{KnownOnset, ServiceSignal};

/// Readings before the instant that a signal needs.
const BEFORE_MIN: usize = 3;
/// Part of its level that a signal is assumed to vary by, so that a constant one has no infinite score.
const VARIATION_PART_MIN: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Floor {
    Alerts,
    Baro,
}

/// Services by descending score.
pub(super) fn ranked(known: &KnownOnset, floor: Floor) -> Vec<String> {
    let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
    for signal in &known.signals {
        let score = score(signal, known.at, floor);
        let best = scores.entry(&signal.service).or_insert(0.0);
        *best = best.max(score);
    }
    let mut ranked: Vec<(&str, f64)> = scores.into_iter().filter(|(_, score)| *score > 0.0).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    ranked.into_iter().map(|(service, _)| service.to_owned()).collect()
}

/// Services by descending growth of their time on the critical path, from the requests that began before an instant to those after it.
pub(super) fn ranked_by_spans(traces: &RunTraces, at: f64) -> Vec<String> {
    let before = time_by_service(traces, |_, to| to <= at);
    let after = time_by_service(traces, |from, _| from >= at);
    let grown = after.iter().map(|(service, time)| (*service, time - before.get(service).copied().unwrap_or(0.0)));
    let mut grown: Vec<(&str, f64)> = grown.filter(|(_, growth)| *growth > 0.0).collect();
    grown.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    grown.into_iter().map(|(service, _)| service.to_owned()).collect()
}

/// Time on the critical path per request, in nanoseconds, over the seconds for which the condition on their begin and end holds.
fn time_by_service(traces: &RunTraces, holds: impl Fn(f64, f64) -> bool) -> BTreeMap<&str, f64> {
    let (mut requests, mut times) = (0, BTreeMap::new());
    let inside = traces.slices.iter().filter(|slice| holds(f64::from(slice.second), f64::from(slice.second + slice.seconds)));
    for span in inside.flat_map(|slice| &slice.spans) {
        match traces.paths.get(span.path as usize) {
            Some(path) if path.kind == SpanKind::Request => requests += span.calls,
            Some(path) => *times.entry(called(&traces.paths, span.path, path)).or_insert(0.0) += span.critical_ns as f64,
            None => {}
        }
    }
    times.values_mut().for_each(|time| *time /= requests.max(1) as f64);
    times
}

/// The service that a call waits for, or the service of the span.
fn called<'a>(paths: &'a [SpanPath], number: u32, path: &'a SpanPath) -> &'a str {
    let is_answer = |other: &&SpanPath| other.parent == Some(number) && other.kind == SpanKind::Server && other.service != path.service;
    let answer = if path.kind.is_call() { paths.iter().find(is_answer) } else { None };
    &answer.unwrap_or(path).service
}

fn score(signal: &ServiceSignal, at: f64, floor: Floor) -> f64 {
    let side = |is_before: bool| -> Vec<f64> {
        signal
            .readings
            .iter()
            .filter(|(instant, value)| (*instant < at) == is_before && value.is_finite())
            .map(|(_, value)| *value)
            .collect()
    };
    let (mut before, after) = (side(true), side(false));
    if before.len() < BEFORE_MIN || after.is_empty() {
        return 0.0;
    }
    before.sort_by(f64::total_cmp);
    match floor {
        Floor::Alerts => {
            let mean = before.iter().sum::<f64>() / before.len() as f64;
            let variance = before.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (before.len() - 1) as f64;
            let deviation = variance.sqrt().max(VARIATION_PART_MIN * mean.abs());
            let farthest = after.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
            if deviation > 0.0 { farthest / deviation } else { farthest }
        }
        Floor::Baro => {
            let highest = after.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = quantile(&before, 0.75) - quantile(&before, 0.25);
            (highest - quantile(&before, 0.5)).abs() / if range > 0.0 { range } else { 1.0 }
        }
    }
}

/// Of sorted values, by linear interpolation.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}
