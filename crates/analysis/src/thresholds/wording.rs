//! The sentences of threshold results.

use std::collections::BTreeSet;

use loadstone_metrics::SeriesKey;
use loadstone_plan::{Aggregate, Comparison, Metric, MetricKind, Selector, Threshold};

use super::samples::{self, MeasuredValue, WorstWindow};
use crate::ThresholdState;
use crate::own_metrics;
use crate::statistics::{SAMPLES_BEYOND_MIN, samples_beyond};

/// `p99 was 38.2 ms (95 % interval 37.1 ms to 40 ms)`.
pub(super) fn reading(threshold: &Threshold, worst: &WorstWindow, interval: Option<(f64, f64)>, windows: (u32, u32)) -> String {
    let value = |value: f64| in_unit(threshold, value);
    let measured = match worst.measured {
        MeasuredValue::Value(measured) => value(measured),
        MeasuredValue::AtLeast(least) if matches!(threshold.metric, Metric::FlowTime { .. }) => {
            format!("at least {} (the value lies among journeys that did not finish)", value(least))
        }
        MeasuredValue::AtLeast(least) => format!("at least {} (longer responses were cut off by a time limit)", value(least)),
        MeasuredValue::NoData => "not measured".to_owned(),
    };
    let mut text = format!("{} was {measured}", subject(threshold));
    if let Some((low, high)) = interval {
        text.push_str(&format!(" (95 % interval {} to {})", value(low), value(high)));
    }
    if let loadstone_plan::Window::Every { seconds } = threshold.window {
        let (failed, judged) = windows;
        text.push_str(&format!(" in the worst window, from second {} for {seconds} s", loadstone_units::number(worst.at_seconds)));
        if judged > 1 {
            text.push_str(&format!(" ({failed} of {judged} windows failed)"));
        }
    }
    text
}

/// The reading, compared with the bound: `p99 was 38.2 ms; bound below 50 ms (12,000 samples, 120 beyond it)`.
pub(super) fn detail(threshold: &Threshold, worst: &WorstWindow, reading: &str, cut_off: bool) -> String {
    let value = |value: f64| in_unit(threshold, value);
    let mut text = format!("{reading}; bound {} {}", comparison(threshold.bound.comparison), value(threshold.bound.value));
    if let Aggregate::Quantile(q) = threshold.aggregate
        && (samples::is_time(&threshold.metric) || matches!(threshold.metric, Metric::Own { .. }))
    {
        let beyond = samples_beyond(worst.samples, q);
        let few = if beyond < SAMPLES_BEYOND_MIN { ", too few to rely on" } else { "" };
        let cut = if cut_off { "; some requests were cut off and count as longer" } else { "" };
        text.push_str(&format!(
            " ({} samples, {} beyond it{few}{cut})",
            loadstone_units::count(worst.samples),
            loadstone_units::count(beyond)
        ));
    }
    text
}

/// What ends the sentence while the run is in progress.
pub(super) fn outlook(state: ThresholdState, failing: bool) -> &'static str {
    match (state, failing) {
        (ThresholdState::Failed, _) => "; it can no longer be met",
        (_, true) => "; it currently fails",
        _ => "",
    }
}

/// Why there was no data, with the known names.
pub(super) fn no_data(threshold: &Threshold, known: &BTreeSet<SeriesKey>, signals: &BTreeSet<String>, list_max: usize) -> String {
    let Some(kind) = samples::kind_of(&threshold.metric) else {
        if let Metric::Own { name, .. } = &threshold.metric {
            let tags = &threshold.selector.tags;
            let with_tags = tags.iter().map(|(tag, value)| format!(" with {tag}={value}")).collect::<String>();
            return format!("no value was recorded for the metric \"{name}\"{with_tags}");
        }
        let Metric::Signal { name } = &threshold.metric else {
            let name = threshold.selector.name.as_deref().unwrap_or_default();
            return format!(
                "no journey of flow \"{name}\" was seen: check that the test calls `start(key)` and that something calls `finish(key)`"
            );
        };
        return no_signal(name, signals, list_max);
    };
    let noun = match kind {
        loadstone_metrics::SeriesKind::Request => "request",
        loadstone_metrics::SeriesKind::Group => "group",
        loadstone_metrics::SeriesKind::Iteration => "scenario",
        loadstone_metrics::SeriesKind::Check => "check",
    };
    let of_kind: Vec<&SeriesKey> = known.iter().filter(|key| key.kind == kind).collect();
    if of_kind.is_empty() {
        return format!("no {noun} ended, so there is nothing to judge");
    }
    let Selector { name, scenario, group, tags } = &threshold.selector;
    let field = |key: &'_ SeriesKey, which: usize| [&key.name, &key.scenario, &key.group][which].to_string();
    for (which, (noun, wanted)) in [(noun, name), ("scenario", scenario), ("group", group)].into_iter().enumerate() {
        if let Some(wanted) = wanted
            && !of_kind.iter().any(|key| field(key, which) == *wanted)
        {
            let names: BTreeSet<String> = of_kind.iter().map(|key| field(key, which)).filter(|name| !name.is_empty()).collect();
            return format!("no {noun} is named \"{wanted}\"; {}", known_names(&names, list_max));
        }
    }
    if !tags.is_empty() && of_kind.iter().any(|key| samples::selects(threshold, key)) {
        let tags = tags.iter().map(|(tag, value)| format!("{tag}={value}")).collect::<Vec<_>>().join(", ");
        return format!("no {noun} that the threshold selects has the tags {tags}");
    }
    if of_kind.iter().any(|key| samples::selects(threshold, key)) {
        if let loadstone_plan::Window::Every { seconds } = threshold.window {
            return format!("no window of {seconds} s was at least half full: run longer, or use shorter windows");
        }
        return format!("no {noun} was measured in the judged period (after {} s)", threshold.after_seconds);
    }
    format!("no {noun} matches the threshold's name, scenario and group together")
}

fn no_signal(name: &str, known: &BTreeSet<String>, list_max: usize) -> String {
    let observer = |name: &str| name.split_once('/').map_or(String::new(), |(observer, _)| observer.to_owned());
    let of_observer: BTreeSet<String> = known.iter().filter(|known| observer(known) == observer(name)).cloned().collect();
    if of_observer.is_empty() {
        let observers: BTreeSet<String> = known.iter().map(|known| observer(known)).collect();
        return format!(
            "no signal named \"{name}\" was read: check the observer's name and that it could connect; observers that read: {}",
            list(&observers, list_max).unwrap_or_else(|| NONE.to_owned())
        );
    }
    format!("no signal named \"{name}\" was read; {}", known_names(&of_observer, list_max))
}

const NONE: &str = "there are none";

/// `known: a, b and 3 more`.
fn known_names(names: &BTreeSet<String>, max: usize) -> String {
    list(names, max).map_or_else(|| NONE.to_owned(), |names| format!("known: {names}"))
}

/// `None` if there are none.
fn list(names: &BTreeSet<String>, max: usize) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(max).map(String::as_str).collect();
    let rest = names.len() - shown.len();
    match (shown.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(shown.join(", ")),
        (false, rest) => Some(format!("{} and {rest} more", shown.join(", "))),
    }
}

fn subject(threshold: &Threshold) -> String {
    match (&threshold.metric, threshold.aggregate) {
        (_, Aggregate::Quantile(q)) => loadstone_units::percentile(q),
        (Metric::Failures, Aggregate::Rate) => "the failed share".to_owned(),
        (Metric::FailedIterations, Aggregate::Rate) => "the failed share".to_owned(),
        (Metric::ScriptErrors, Aggregate::Rate) => "the share of script errors".to_owned(),
        (Metric::PassedChecks, Aggregate::Rate) => "the share of passed checks".to_owned(),
        (Metric::Checks | Metric::FailedChecks, Aggregate::Rate) => "the share of failed checks".to_owned(),
        (Metric::FlowLost, Aggregate::Rate) => "the lost share".to_owned(),
        (Metric::Own { kind: MetricKind::Rate, .. }, Aggregate::Rate) => "the share".to_owned(),
        (Metric::Own { kind: MetricKind::Counter, .. }, Aggregate::Count) => "the sum".to_owned(),
        (_, Aggregate::Count) => "the count".to_owned(),
        (_, Aggregate::Rate) => "the rate".to_owned(),
        (_, Aggregate::Mean) => "the mean".to_owned(),
        (_, Aggregate::Min) => "the minimum".to_owned(),
        (_, Aggregate::Max) => "the maximum".to_owned(),
        (_, Aggregate::Last) => "the last value".to_owned(),
    }
}

fn comparison(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Below => "below",
        Comparison::AtMost => "at most",
        Comparison::Above => "above",
        Comparison::AtLeast => "at least",
        Comparison::Equals => "exactly",
    }
}

fn in_unit(threshold: &Threshold, value: f64) -> String {
    match (&threshold.metric, threshold.aggregate) {
        (Metric::Signal { .. } | Metric::FlowBacklog, _) => loadstone_units::number(value),
        (Metric::Own { kind: MetricKind::Rate, .. }, Aggregate::Rate) => loadstone_units::share(value),
        (Metric::Own { kind: MetricKind::Rate, .. }, Aggregate::Count) => loadstone_units::number(value),
        (Metric::Own { kind: MetricKind::Trend, .. }, Aggregate::Count) => loadstone_units::number(value),
        (Metric::Own { unit, .. }, Aggregate::Rate) => format!("{}/s", own_metrics::in_unit(value, unit)),
        (Metric::Own { unit, .. }, _) => own_metrics::in_unit(value, unit),
        (_, Aggregate::Count) => loadstone_units::number(value),
        (metric, Aggregate::Rate) if metric.rate_is_share() => loadstone_units::share(value),
        (_, Aggregate::Rate) => loadstone_units::rate(value),
        _ => loadstone_units::seconds(value),
    }
}
