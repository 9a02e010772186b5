//! The charts of Loadstone's own measurements: builds panels from steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use loadstone_analysis::LoadSource;
use loadstone_metrics::{Histogram, Outcome};

use super::axis::Axis;
use super::digest::{PERCENTILES, StepDigest, TimeDigest};
use super::step::{FailedAs, TimelineFlow, TimelineStep, WorkerTime};
use super::{column, has_values, percentile_columns};
use crate::view::{ChartColumn, Panel};

/// Maximum number of workers with their own line. With more workers, only the mean and the busiest are shown.
const WORKER_LINES_MAX: usize = 16;

/// Maximum number of failure lines, each for one request and one outcome. One line shows the rest.
const FAILURE_LINES_MAX: usize = 7;

/// All panels, top to bottom. A panel without values is left out.
/// `source`: what may have delayed the requests.
pub(crate) fn build(axis: &Axis, source: &LoadSource) -> Vec<Panel> {
    let mut panels = vec![rate(axis), response(axis), users(axis), in_flight(axis), failures(axis), phases(axis, source), bytes(axis)];
    panels.extend(flows(axis));
    panels.extend([generator(axis, source), generator_lag(axis, source)]);
    panels.retain(|panel| panel.columns.iter().any(|column| column.values.iter().any(Option::is_some)));
    panels
}

fn panel(id: &str, title: &str, unit: &str, columns: Vec<ChartColumn>) -> Panel {
    Panel { id: id.to_owned(), title: title.to_owned(), unit: unit.to_owned(), stacked: false, columns }
}

fn stacked(id: &str, title: &str, unit: &str, columns: Vec<ChartColumn>) -> Panel {
    Panel { stacked: true, ..panel(id, title, unit, columns) }
}

/// One value per step.
fn over(axis: &Axis, id: &str, label: &str, value: impl Fn(&TimelineStep) -> Option<f64>) -> ChartColumn {
    column(id, label, axis.steps().iter().map(value))
}

fn rate(axis: &Axis) -> Panel {
    let mut columns = Vec::new();
    if axis.any_open() {
        columns.push(over(axis, "rate/achieved", "arrivals started", |step| step.rate(step.arrivals_started)));
        columns.push(over(axis, "rate/ended", "iterations ended", |step| step.rate(step.iterations_ended)));
    }
    columns.push(over(axis, "rate/requests", "requests", |step| step.rate(step.requests())));
    if axis.step_seconds() > 1 {
        columns.push(over(axis, "rate/requests/min", "requests, slowest second", |step| step.request_rate.map(|range| range.low)));
        columns.push(over(axis, "rate/requests/max", "requests, fastest second", |step| step.request_rate.map(|range| range.high)));
    }
    columns.push(over(axis, "rate/failures", "failed requests", |step| step.rate(step.failed())));
    if axis.any_open() {
        // Drawn last, over the line that follows it.
        columns.push(over(axis, "rate/asked", "arrivals asked", |step| step.rate(step.arrivals_due)));
    }
    panel("rate", "Rate", "/s", columns)
}

/// p50, p90, p95, p99 and max of the distribution that `times` selects. `read` returns its values that the steps have cached.
fn percentiles<'a>(
    axis: &'a Axis,
    prefix: &str,
    times: impl Fn(&'a TimelineStep) -> &'a Histogram,
    read: impl Fn(&'a StepDigest) -> Option<&'a TimeDigest>,
) -> Vec<ChartColumn> {
    let steps = axis.steps();
    let histograms: Vec<&Histogram> = steps.iter().map(times).collect();
    let kept = |index: usize| Some(steps.iter().map(|step| read(step.digest()).and_then(|times| times.percentiles[index])).collect());
    let mut columns = percentile_columns(prefix, &PERCENTILES, &histograms, axis.step_seconds(), kept);
    columns.push(column(format!("{prefix}/max"), "max", steps.iter().map(|step| read(step.digest()).and_then(|times| times.max))));
    columns
}

fn response(axis: &Axis) -> Panel {
    panel("response", "Response time", "s", percentiles(axis, "response", |step| &step.response, |digest| Some(&digest.response)))
}

fn users(axis: &Axis) -> Panel {
    let level = |value: fn(&TimelineStep) -> u64| move |step: &TimelineStep| step.is_measured().then(|| value(step) as f64);
    let mut columns = vec![over(axis, "users/active", "active", level(|step| step.users.active))];
    if axis.any_closed() {
        columns.push(over(axis, "users/asked", "asked", level(|step| step.users.asked)));
    }
    if axis.any_open() {
        columns.push(over(axis, "users/waiting", "arrivals waiting for a user", level(|step| step.users.waiting)));
    }
    panel("users", "Users", "1", columns)
}

fn in_flight(axis: &Axis) -> Panel {
    let columns = vec![
        over(axis, "in_flight/requests", "requests (mean)", |step| step.share(step.in_flight_ns)),
        over(axis, "in_flight/connections", "connections", |step| step.is_measured().then_some(step.connections as f64)),
    ];
    panel("in_flight", "In flight", "1", columns)
}

fn failures(axis: &Axis) -> Panel {
    let mut kinds: BTreeMap<&FailedAs, u64> = BTreeMap::new();
    for (kind, count) in axis.steps().iter().flat_map(|step| &step.failures) {
        *kinds.entry(kind).or_default() += count;
    }
    let mut kinds: Vec<(&FailedAs, u64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (drawn, others) = kinds.split_at(kinds.len().min(FAILURE_LINES_MAX));
    let count =
        |step: &TimelineStep, wanted: &FailedAs| step.failures.iter().find(|(kind, _)| kind == wanted).map_or(0, |(_, count)| *count);
    let line = |(kind, _): &(&FailedAs, u64)| {
        let id = format!("failures/{}/{}", outcome_id(kind.outcome), kind.request);
        over(axis, &id, &format!("{}: {}", kind.request, kind.outcome.label()), |step| step.rate(count(step, kind)))
    };
    let mut columns: Vec<ChartColumn> = drawn.iter().map(line).collect();
    if !others.is_empty() {
        let rest = |step: &TimelineStep| step.rate(others.iter().map(|(kind, _)| count(step, kind)).sum());
        columns.push(over(axis, "failures/others", "others", rest));
    }
    stacked("failures", "Failures", "/s", columns)
}

/// The outcome as in every JSON file: `ports_exhausted`.
pub(crate) fn outcome_id(outcome: Outcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Ids and labels of the phases of a request, in order.
pub(super) const PHASES: [(&str, &str); 6] = [
    ("queue", "queue for a connection"),
    ("dns", "name resolution"),
    ("connect", "connect"),
    ("tls", "TLS handshake"),
    ("wait", "wait for first byte"),
    ("body", "body"),
];

/// Seconds per request, so that the stack adds up to the mean response time. A phase that only half of the requests had counts half.
fn phases(axis: &Axis, source: &LoadSource) -> Panel {
    let per_request = |step: &TimelineStep, ns: u128| (!step.response.is_empty()).then(|| ns as f64 / 1e9 / step.response.count() as f64);
    let mut columns = vec![over(axis, "phases/lag", &source.lag, |step| per_request(step, step.lag.sum()))];
    for (index, (id, label)) in PHASES.iter().enumerate() {
        columns.push(over(axis, &format!("phases/{id}"), label, |step| per_request(step, step.phase_ns[index])));
    }
    let known = |step: &TimelineStep| step.lag.sum() + step.phase_ns.iter().sum::<u128>();
    columns
        .push(over(axis, "phases/other", "sending and other", |step| per_request(step, step.response.sum().saturating_sub(known(step)))));
    columns.retain(has_values);
    stacked("phases", "Mean time per request, by phase", "s", columns)
}

fn bytes(axis: &Axis) -> Panel {
    let columns = vec![
        over(axis, "bytes/received", "received", |step| step.rate(step.bytes_received)),
        over(axis, "bytes/sent", "sent", |step| step.rate(step.bytes_sent)),
    ];
    panel("bytes", "Bytes", "bytes/s", columns)
}

/// For each flow: its times, the open journeys, the rates, the age of the oldest journey, and the share that was overtaken.
fn flows(axis: &Axis) -> Vec<Panel> {
    let names: BTreeSet<&Arc<str>> = axis.steps().iter().flat_map(|step| step.flows.iter().map(|flow| &flow.name)).collect();
    names.into_iter().flat_map(|name| flow(axis, name)).collect()
}

fn flow(axis: &Axis, name: &Arc<str>) -> Vec<Panel> {
    let id = |part: &str| format!("flow/{name}/{part}");
    let of = |step: &TimelineStep, value: &dyn Fn(&TimelineStep, &TimelineFlow) -> Option<f64>| {
        step.flows.iter().find(|flow| flow.name == *name).and_then(|flow| value(step, flow))
    };
    let line = |part: &str, label: &str, value: &dyn Fn(&TimelineStep, &TimelineFlow) -> Option<f64>| {
        over(axis, &id(part), label, |step| of(step, value))
    };
    let stages: Vec<Arc<str>> = axis
        .steps()
        .iter()
        .find_map(|step| step.flows.iter().find(|flow| flow.name == *name))
        .map_or_else(Vec::new, |flow| flow.stages.iter().map(|(stage, _)| Arc::clone(stage)).collect());
    let mut backlog = vec![line("backlog/all", "open", &|_, flow| Some(flow.backlog as f64))];
    for (index, stage) in stages.iter().enumerate() {
        let at = move |_: &TimelineStep, flow: &TimelineFlow| flow.stages.get(index).map(|(_, open)| *open as f64);
        backlog.push(line(&format!("backlog/{stage}"), &format!("at \"{stage}\""), &at));
    }
    let rate = vec![
        line("rate/started", "started", &|step, flow| step.rate(flow.started)),
        line("rate/finished", "finished", &|step, flow| step.rate(flow.finished)),
    ];
    let overtaken = |_: &TimelineStep, flow: &TimelineFlow| (flow.finished > 0).then(|| flow.overtaken as f64 / flow.finished as f64);
    vec![
        panel(
            &format!("flow/{name}"),
            &format!("{name}: time"),
            "s",
            percentiles(axis, &format!("flow/{name}"), |step| flow_times(step, name), |digest| digest.flow(name)),
        ),
        panel(&id("backlog"), &format!("{name}: open"), "1", backlog),
        panel(&id("rate"), &format!("{name}: rate"), "/s", rate),
        panel(
            &id("oldest"),
            &format!("{name}: age of the oldest"),
            "s",
            vec![line("oldest/age", "oldest open", &|_, flow| Some(flow.oldest_ns as f64 / 1e9))],
        ),
        panel(&id("order"), &format!("{name}: order"), "share", vec![line("order/overtaken", "overtaken", &overtaken)]),
    ]
}

/// Empty if the step has none.
fn flow_times<'a>(step: &'a TimelineStep, name: &str) -> &'a Histogram {
    static NONE: LazyLock<Histogram> = LazyLock::new(Histogram::new);
    step.flows.iter().find(|flow| *flow.name == *name).map_or(&NONE, |flow| &flow.time)
}

fn busy(worker: &WorkerTime) -> Option<f64> {
    (worker.wall_ns > 0).then(|| worker.busy_ns as f64 / worker.wall_ns as f64)
}

fn generator(axis: &Axis, source: &LoadSource) -> Panel {
    let workers = axis.steps().iter().map(|step| step.workers.len()).max().unwrap_or(0);
    let mut columns = Vec::new();
    if workers <= WORKER_LINES_MAX {
        for index in 0..workers {
            let share = |step: &TimelineStep| step.workers.get(index).and_then(busy);
            columns.push(over(axis, &format!("generator/busy/{index}"), &format!("worker {index} busy"), share));
        }
    } else {
        let shares = |step: &TimelineStep| step.workers.iter().filter_map(busy).collect::<Vec<f64>>();
        columns.push(over(axis, "generator/busy/mean", "workers busy, mean", |step| {
            let shares = shares(step);
            (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
        }));
        columns.push(over(axis, "generator/busy/max", "busiest worker", |step| shares(step).into_iter().reduce(f64::max)));
    }
    let waiting = |step: &TimelineStep| {
        let shares =
            step.workers.iter().filter(|worker| worker.wall_ns > 0).map(|worker| worker.run_queue_ns as f64 / worker.wall_ns as f64);
        shares.reduce(f64::max)
    };
    columns.push(over(axis, "generator/run_queue", "waiting for a core (worst worker)", waiting));
    for (id, label, ns) in [
        ("generator/steal", "stolen by the hypervisor", (|step: &TimelineStep| step.steal_ns) as fn(&TimelineStep) -> u64),
        ("generator/throttled", "throttled by the cgroup", |step: &TimelineStep| step.throttled_ns),
    ] {
        columns.push(over(axis, id, label, |step| step.share(ns(step))));
        if columns.last().is_some_and(|column| !has_values(column)) {
            columns.pop();
        }
    }
    panel("generator", &source.in_place_of_generator("Load generator"), "share", columns)
}

fn generator_lag(axis: &Axis, source: &LoadSource) -> Panel {
    let columns = vec![
        over(axis, "generator_lag/p99", &format!("{} p99", source.lag), |step| step.digest().lag.p99()),
        over(axis, "generator_lag/max", &format!("{} max", source.lag), |step| step.digest().lag.max),
        over(axis, "generator_lag/timer_p99", "timer lag p99", |step| step.digest().timer_lag.p99()),
        over(axis, "generator_lag/read_max", "longest unread response", |step| step.digest().read_lag.max),
        over(axis, "generator_lag/stall", "longest stall", |step| step.is_measured().then_some(step.stall_ns_max as f64 / 1e9)),
    ];
    panel("generator_lag", &source.in_place_of_generator("Generator delays"), "s", columns)
}
