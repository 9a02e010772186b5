//! The data of Nezha (Yu et al., FSE 2023): 101 faults in Online Boutique and Train Ticket.
//!
//! | file below `rca_data/DAY` | content | converted to |
//! |---|---|---|
//! | `DAY-fault_list.json` | pod, fault and instant of each injection | the answer alone |
//! | `trace/HH_MM_trace.csv` | spans of sampled requests, three minutes for each fault | spans |
//! | `metric/POD_metric.csv` | one reading a minute | signals |
//!
//! A span has no kind there. A span whose parent is in another pod, or that has none, is a server span. One with a child in another pod is a client span.
//! Deliberately absent: log lines, which are no input of Loadstone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Deserialize;

use super::case::{CaseAnswer, CaseSpan, FaultKind, KnownOnset, Measured, ReplayCase, ServiceSignal, SpanRole};

const ONLINE_BOUTIQUE: &str = "Nezha, Online Boutique";
const TRAIN_TICKET: &str = "Nezha, Train Ticket";

/// Minutes with traces of each fault, from the one in which it was injected.
const MINUTES: i64 = 3;
/// Seconds around the injection whose readings the floors see. Faults follow each other about every eight minutes.
const FLOOR_BEFORE_S: f64 = 300.0;
const FLOOR_AFTER_S: f64 = 180.0;
/// Length of a stretch before an injection that counts as a window without a fault. Seconds.
const HEALTHY_MIN_S: f64 = 30.0;
const SECOND_NS: u64 = 1_000_000_000;
const MIB: f64 = (1_u64 << 20) as f64;

#[derive(Debug, Deserialize)]
struct Injection {
    inject_time: String,
    inject_pod: String,
    inject_type: String,
}

#[derive(Debug, Deserialize)]
struct PublishedSpan {
    #[serde(rename = "TraceID")]
    trace: String,
    #[serde(rename = "SpanID")]
    id: String,
    #[serde(rename = "ParentID")]
    parent: String,
    #[serde(rename = "PodName")]
    pod: String,
    #[serde(rename = "OperationName")]
    name: String,
    #[serde(rename = "StartTimeUnixNano")]
    start_ns: u64,
    #[serde(rename = "EndTimeUnixNano")]
    end_ns: u64,
}

/// The readings of a pod: metric → (seconds since 1970, value).
type PodReadings = BTreeMap<String, Vec<(f64, f64)>>;

/// Passes on every fault, and the stretch before each that is long enough, by the instants of the injections. Only those with a wanted name are read.
pub(super) fn cases(folder: &Path, is_wanted: &dyn Fn(&str) -> bool, take: &mut dyn FnMut(ReplayCase) -> Result<()>) -> Result<()> {
    let data = folder.join("rca_data");
    let mut days: Vec<_> = fs::read_dir(&data).with_context(|| format!("reading {}", data.display()))?.collect::<Result<_, _>>()?;
    days.sort_by_key(fs::DirEntry::file_name);
    for day in days.iter().filter(|day| day.path().is_dir()) {
        let name = day.file_name().to_string_lossy().into_owned();
        let list = day.path().join(format!("{name}-fault_list.json"));
        let text = fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))?;
        let hours: BTreeMap<String, Vec<Injection>> = serde_json::from_str(&text).with_context(|| format!("in {}", list.display()))?;
        let readings = readings(&day.path().join("metric"))?;
        for injection in hours.values().flatten() {
            let at: Timestamp = format!("{}Z", injection.inject_time.replace(' ', "T")).parse().context("the instant of an injection")?;
            let name = format!("{}-{}", system_of(&injection.inject_pod).1, at.strftime("%Y-%m-%d-%H-%M"));
            if is_wanted(&name) {
                of_injection(&day.path(), (name, injection, at), &readings)?.into_iter().try_for_each(&mut *take)?;
            }
        }
    }
    Ok(())
}

/// Name and short name of the system to which a pod belongs.
fn system_of(pod: &str) -> (&'static str, &'static str) {
    if pod.starts_with("ts-") { (TRAIN_TICKET, "train-ticket") } else { (ONLINE_BOUTIQUE, "online-boutique") }
}

/// `checkoutservice` of `checkoutservice-578fcf4766-9csqn`.
fn service_of(pod: &str) -> &str {
    pod.rsplitn(3, '-').nth(2).unwrap_or(pod)
}

fn of_injection(
    day: &Path,
    (name, injection, at): (String, &Injection, Timestamp),
    readings: &BTreeMap<String, PodReadings>,
) -> Result<Vec<ReplayCase>> {
    let files: Vec<_> = (0..MINUTES)
        .map(|minute| {
            let instant = at + jiff::SignedDuration::from_mins(minute);
            day.join("trace").join(format!("{}_trace.csv", instant.strftime("%H_%M")))
        })
        .collect();
    let there: Vec<_> = files.iter().filter(|file| file.is_file()).collect();
    let rows: Vec<PublishedSpan> = there.iter().map(|file| rows(file)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let at_ns = u64::try_from(at.as_nanosecond()).context("the instant of an injection")?;
    let zero_wall_ns =
        rows.iter().filter(|row| row.parent == "root").map(|row| row.start_ns).min().unwrap_or(at_ns) / SECOND_NS * SECOND_NS;
    let onset = (at_ns as f64 - zero_wall_ns as f64) / 1e9;
    let spans = spans(&rows, zero_wall_ns);
    let end = spans.iter().map(|span| span.end_ns as f64 / 1e9).fold(0.0, f64::max);
    let service = service_of(&injection.inject_pod).to_owned();
    let system = system_of(&injection.inject_pod).0;
    let in_run = |from: f64, to: f64| signals(readings, zero_wall_ns as f64 / 1e9, (from, to));
    let mut missing = Vec::new();
    if there.len() < files.len() {
        missing.push(format!("{} of {} minutes of traces", files.len() - there.len(), files.len()));
    }
    let begins = |is_before: bool| spans.iter().any(|span| span.parent == 0 && (span.start_ns as f64 / 1e9 < onset) == is_before);
    for (is_before, what) in [(true, "no traces before the fault"), (false, "no traces after the fault")] {
        if !spans.is_empty() && !begins(is_before) {
            missing.push(what.to_owned());
        }
    }
    let before = before(&spans, onset);
    let faulty = ReplayCase {
        name,
        system,
        answer: Some(CaseAnswer { service, fault: injection.inject_type.clone(), kind: kind(&injection.inject_type) }),
        services: readings.keys().cloned().collect(),
        zero_wall_ns,
        has_traces: true,
        signals: in_run(0.0, end),
        known_onset: Some(KnownOnset { at: onset, signals: in_run(onset - FLOOR_BEFORE_S, onset + FLOOR_AFTER_S) }),
        covers_fault: begins(true) && begins(false),
        missing: missing.join(", "),
        spans,
    };
    let is_long = onset >= HEALTHY_MIN_S && !before.is_empty();
    let healthy = is_long.then(|| ReplayCase {
        name: format!("{}-before", faulty.name),
        answer: None,
        signals: in_run(0.0, onset),
        known_onset: None,
        missing: String::new(),
        spans: before,
        ..faulty.clone()
    });
    Ok(std::iter::once(faulty).chain(healthy).collect())
}

fn kind(fault: &str) -> FaultKind {
    match fault {
        "cpu_contention" | "cpu_consumed" => FaultKind::Cpu,
        "network_delay" => FaultKind::Network,
        "return" | "exception" => FaultKind::Code,
        _ => FaultKind::Unstated,
    }
}

/// The requests that ended before an instant, with their spans.
fn before(spans: &[CaseSpan], onset: f64) -> Vec<CaseSpan> {
    let ended: HashSet<u128> =
        spans.iter().filter(|span| span.parent == 0 && (span.end_ns as f64) / 1e9 < onset).map(|span| span.trace).collect();
    spans.iter().filter(|span| ended.contains(&span.trace)).cloned().collect()
}

fn rows(file: &Path) -> Result<Vec<PublishedSpan>> {
    let mut reader = csv::Reader::from_path(file).with_context(|| format!("reading {}", file.display()))?;
    reader.deserialize::<PublishedSpan>().collect::<Result<_, _>>().with_context(|| format!("in {}", file.display()))
}

/// Each span once: the minutes overlap. Requests that began before second 0 are left out.
fn spans(rows: &[PublishedSpan], zero_wall_ns: u64) -> Vec<CaseSpan> {
    let pods: HashMap<(&str, &str), &str> = rows.iter().map(|row| ((&*row.trace, &*row.id), &*row.pod)).collect();
    let calls: HashSet<(&str, &str)> = rows
        .iter()
        .filter(|row| pods.get(&(&*row.trace, &*row.parent)).is_some_and(|pod| *pod != row.pod))
        .map(|row| (&*row.trace, &*row.parent))
        .collect();
    let mut seen = HashSet::new();
    let mut spans = Vec::new();
    for row in rows.iter().filter(|row| row.start_ns >= zero_wall_ns) {
        let (Ok(trace), Ok(id)) = (u128::from_str_radix(&row.trace, 16), u64::from_str_radix(&row.id, 16)) else { continue };
        if !seen.insert((trace, id)) {
            continue;
        }
        let parent = if row.parent == "root" { None } else { pods.get(&(&*row.trace, &*row.parent)) };
        let role = match parent {
            None => SpanRole::Server,
            Some(pod) if *pod != row.pod => SpanRole::Server,
            Some(_) if calls.contains(&(&*row.trace, &*row.id)) => SpanRole::Client,
            Some(_) => SpanRole::Internal,
        };
        spans.push(CaseSpan {
            trace,
            id,
            parent: u64::from_str_radix(&row.parent, 16).unwrap_or(0),
            service: service_of(&row.pod).to_owned(),
            name: row.name.clone(),
            role,
            start_ns: row.start_ns - zero_wall_ns,
            end_ns: row.end_ns.max(row.start_ns) - zero_wall_ns,
            failed: false,
        });
    }
    spans
}

/// By service, from the files of its pods.
fn readings(folder: &Path) -> Result<BTreeMap<String, PodReadings>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(pod) = file.strip_suffix("_metric.csv") else { continue };
        let mut reader = csv::Reader::from_path(entry.path()).with_context(|| format!("reading {file}"))?;
        let columns: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        let pod_readings: &mut PodReadings = all.entry(service_of(pod).to_owned()).or_default();
        for record in reader.records() {
            let record = record.with_context(|| format!("in {file}"))?;
            let Some(at) = columns.iter().position(|column| column == "TimeStamp").and_then(|place| record.get(place)?.parse::<f64>().ok())
            else {
                continue;
            };
            for (column, value) in columns.iter().zip(&record) {
                let is_label = matches!(column.as_str(), "Time" | "TimeStamp" | "PodName");
                if let Some(value) = value.parse::<f64>().ok().filter(|value| !is_label && value.is_finite()) {
                    pod_readings.entry(column.clone()).or_default().push((at, value));
                }
            }
        }
    }
    Ok(all)
}

/// The signals of all services in a stretch, in seconds since the run began.
fn signals(readings: &BTreeMap<String, PodReadings>, zero: f64, (from, to): (f64, f64)) -> Vec<ServiceSignal> {
    let of_service = |(service, metrics): (&String, &PodReadings)| {
        let cut = |points: &[(f64, f64)], factor: f64| -> Vec<(f64, f64)> {
            let moved = points.iter().map(|(at, value)| (at - zero, value * factor));
            moved.filter(|(at, _)| *at >= from && *at <= to).collect()
        };
        let mut found: Vec<ServiceSignal> = Vec::new();
        let mut add = |metric: &str, unit: &'static str, measured: Measured, readings: Vec<(f64, f64)>| {
            if !readings.is_empty() {
                found.push(ServiceSignal { service: service.clone(), metric: metric.to_owned(), unit, measured, readings });
            }
        };
        for (metric, points) in metrics {
            let (unit, measured, factor) = meaning(metric);
            add(&signal_name(metric), unit, measured, cut(points, factor));
        }
        add("cpu_max", "cores", Measured::CoresMax, cut(&cores_max(metrics), 1.0));
        found
    };
    readings.iter().flat_map(of_service).collect()
}

/// Unit, meaning, and the factor to the unit. `CpuUsage(m)` is in hundredths of a core: with `CpuUsageRate(%)`, it gives limits of 0.2 and 0.3 cores.
fn meaning(metric: &str) -> (&'static str, Measured, f64) {
    match metric {
        "CpuUsage(m)" => ("cores", Measured::Cores, 0.01),
        "MemoryUsage(Mi)" => ("bytes", Measured::Memory, MIB),
        _ if metric.contains("(s)") => ("seconds", Measured::Other, 1.0),
        _ if metric.contains("(%)") => ("share", Measured::Other, 0.01),
        _ if metric.contains("Ops") => ("per second", Measured::Other, 1.0),
        _ => ("1", Measured::Other, 1.0),
    }
}

/// Cores that the pod may use, where both numbers were read.
fn cores_max(metrics: &PodReadings) -> Vec<(f64, f64)> {
    let (Some(used), Some(rates)) = (metrics.get("CpuUsage(m)"), metrics.get("CpuUsageRate(%)")) else { return Vec::new() };
    let pairs = used.iter().zip(rates).filter(|((at, _), (same, rate))| at == same && *rate > 0.0);
    pairs.map(|((at, used), (_, rate))| (*at, used * 0.01 / (rate * 0.01))).collect()
}

/// `PodServerLatencyP95` of `PodServerLatencyP95(s)`.
fn signal_name(metric: &str) -> String {
    metric.split_once('(').map_or(metric, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, parent: &str, pod: &str, (start, end): (u64, u64)) -> PublishedSpan {
        let (trace, id, parent, pod) = ("0a".to_owned(), id.to_owned(), parent.to_owned(), pod.to_owned());
        PublishedSpan { trace, id, parent, pod, name: "op".to_owned(), start_ns: start * SECOND_NS, end_ns: end * SECOND_NS }
    }

    #[test]
    fn a_pod_belongs_to_the_service_that_it_is_named_after() {
        assert_eq!(service_of("ts-order-other-service-6cdbf9b4cc-h7mqk"), "ts-order-other-service");
        assert_eq!(service_of("frontend"), "frontend");
    }

    #[test]
    fn kinds_of_spans_follow_from_the_pods_of_their_parents_and_children() {
        let rows = [
            row("1", "root", "front-a-1", (100, 110)),
            row("2", "1", "front-a-1", (101, 109)),
            row("3", "2", "cart-b-2", (102, 108)),
            row("4", "3", "cart-b-2", (103, 104)),
            // The next minute has this span again, and a request from before the run.
            row("4", "3", "cart-b-2", (103, 104)),
            row("5", "root", "front-a-1", (90, 95)),
        ];
        let spans = spans(&rows, 100 * SECOND_NS);
        let roles: Vec<(u64, u64, SpanRole, &str)> = spans.iter().map(|span| (span.id, span.parent, span.role, &*span.service)).collect();
        assert_eq!(
            roles,
            [
                (1, 0, SpanRole::Server, "front"),
                (2, 1, SpanRole::Client, "front"),
                (3, 2, SpanRole::Server, "cart"),
                (4, 3, SpanRole::Internal, "cart"),
            ]
        );
        assert_eq!((spans[2].start_ns, spans[2].end_ns), (2 * SECOND_NS, 8 * SECOND_NS));
    }

    #[test]
    fn requests_in_progress_at_the_injection_belong_to_no_healthy_window() {
        let other = |trace: &str, start, end| PublishedSpan { trace: trace.to_owned(), ..row("1", "root", "front-a-1", (start, end)) };
        let spans = spans(&[other("a", 0, 4), other("b", 3, 6), other("c", 7, 8)], 0);
        let left: Vec<u128> = before(&spans, 5.0).iter().map(|span| span.trace).collect();
        assert_eq!(left, [0xa]);
    }

    #[test]
    fn readings_have_their_instants_and_get_units_with_known_meaning() {
        let metrics: PodReadings = [
            ("CpuUsage(m)".to_owned(), vec![(1_000.0, 5.0), (1_060.0, 20.0)]),
            ("CpuUsageRate(%)".to_owned(), vec![(1_000.0, 25.0), (1_060.0, 100.0)]),
            ("MemoryUsage(Mi)".to_owned(), vec![(1_000.0, 2.0)]),
        ]
        .into();
        let found = signals(&[("cart".to_owned(), metrics)].into(), 990.0, (0.0, 60.0));
        let of = |metric: &str| found.iter().find(|signal| signal.metric == metric).map(|signal| signal.readings.clone()).unwrap();
        let close = |a: &[(f64, f64)], b: (f64, f64)| a.len() == 1 && (a[0].0 - b.0).abs() < 1e-9 && (a[0].1 - b.1).abs() < 1e-6;
        assert!(close(&of("CpuUsage"), (10.0, 0.05)), "{found:?}");
        assert!(close(&of("cpu_max"), (10.0, 0.2)), "{found:?}");
        assert!(close(&of("MemoryUsage"), (10.0, 2_097_152.0)), "{found:?}");
    }
}
