//! The data of PetShop (Hardt et al., CLeaR 2024): 68 issues of an application on AWS, with latency, requests and availability of each service every five
//! minutes.
//!
//! There are no traces, no resources and no single requests. An issue has five rows, and the rows without one are from other days. The conversion therefore
//! shortens time, and one row becomes one second:
//!
//! - the record is the last [`BASELINE_ROWS`] rows in a row without an issue, followed by the rows of the issue. A row without an issue in which the front end
//!   answered less than [`AVAILABLE_MIN`] of its requests is an outage, and no baseline
//! - the requests of the front end in a second are as many as the row states, with times of its percentiles and mean, and its share of failures
//! - each other service is one that the front end depends on: calls, calls answered, mean time, which are the readings of stubs and proxies
//!
//! The analysis is not given where the two parts meet. It could see the seam: the load of other days differs by some percent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::case::{CaseAnswer, CaseSpan, FaultKind, KnownOnset, Measured, ReplayCase, ServiceSignal, SpanRole};

/// Rows without an issue that precede it.
const BASELINE_ROWS: usize = 60;
/// Least share of requests that the front end answers in rows that count as free of an issue: an outage is among them.
const AVAILABLE_MIN: f64 = 0.95;
/// Rows of an issue, and of a window without one.
const ISSUE_ROWS: usize = 5;
/// Windows without an issue of each traffic.
const HEALTHY_MAX: usize = 40;
/// Second of the first row.
const FIRST_S: f64 = 1.0;
/// Any day: the rows are from several.
const ZERO_WALL_NS: u64 = 1_700_000_000_000_000_000;
const SECOND_NS: f64 = 1e9;

#[derive(Debug, Deserialize)]
struct IssueFile {
    target: IssueTarget,
    root_cause: IssueCause,
}

#[derive(Debug, Deserialize)]
struct IssueTarget {
    node: String,
    metric: String,
}

#[derive(Debug, Deserialize)]
struct IssueCause {
    node: String,
}

/// (service, metric, statistic) → value.
type PublishedRow = BTreeMap<(String, String, String), f64>;

/// Passes on every issue, and windows without one where the folder has such rows. Only those with a wanted name are converted.
pub(super) fn cases(folder: &Path, is_wanted: &dyn Fn(&str) -> bool, take: &mut dyn FnMut(ReplayCase) -> Result<()>) -> Result<()> {
    for (system, traffic) in [
        ("PetShop, low traffic", "low_traffic"),
        ("PetShop, high traffic", "high_traffic"),
        ("PetShop, temporal traffic 1", "temporal_traffic1"),
        ("PetShop, temporal traffic 2", "temporal_traffic2"),
    ] {
        let place = folder.join("dataset").join(traffic);
        let without = place.join("noissue/metrics.csv");
        let normal = if without.is_file() { rows(&without)? } else { Vec::new() };
        let mut parts = None;
        let mut front = String::new();
        for issue in issues(&place)? {
            let text = fs::read_to_string(issue.join("target.json")).with_context(|| format!("reading {}", issue.display()))?;
            let file: IssueFile = serde_json::from_str(&text).with_context(|| format!("in {}", issue.display()))?;
            let split = issue.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
            let name = format!("petshop-{traffic}-{split}-{}", issue.file_name().unwrap_or_default().to_string_lossy());
            front = file.target.node;
            let (_, baseline) = parts.get_or_insert_with(|| normal_parts(&normal, &front));
            let answer = CaseAnswer { service: file.root_cause.node, fault: file.target.metric, kind: FaultKind::Unstated };
            if is_wanted(&name) {
                take(case((system, name), &front, baseline, &rows(&issue.join("metrics.csv"))?, Some(answer)))?;
            }
        }
        let Some((others, baseline)) = parts else { continue };
        let windows = others.chunks_exact(ISSUE_ROWS).filter(|window| window.iter().all(|row| is_available(row, &front)));
        for (number, window) in windows.take(HEALTHY_MAX).enumerate() {
            let name = format!("petshop-{traffic}-normal-{number}");
            if is_wanted(&name) {
                take(case((system, name), &front, baseline, window, None))?;
            }
        }
    }
    Ok(())
}

fn is_available(row: &PublishedRow, front: &str) -> bool {
    value(row, front, "availability", "Average").is_some_and(|percent| percent >= AVAILABLE_MIN * 100.0)
}

/// The baseline, and the rows before it. Both are empty if no stretch is long enough.
fn normal_parts<'a>(rows: &'a [PublishedRow], front: &str) -> (&'a [PublishedRow], &'a [PublishedRow]) {
    let starts = (0..=rows.len().saturating_sub(BASELINE_ROWS)).rev();
    let of = |start: usize| rows.get(start..start + BASELINE_ROWS);
    let found = starts.filter_map(|start| Some((start, of(start)?))).find(|(_, part)| part.iter().all(|row| is_available(row, front)));
    found.map_or((&rows[..0], &rows[..0]), |(start, part)| (&rows[..start], part))
}

/// Folders of issues, in order of their numbers.
fn issues(place: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for split in ["train", "test"] {
        let folder = place.join(split);
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            found.push(entry?.path());
        }
    }
    let number = |path: &PathBuf| path.to_string_lossy().rsplit('_').next().and_then(|number| number.parse::<u32>().ok());
    found.retain(|path| number(path).is_some());
    found.sort_by_key(|path| (path.parent().map(Path::to_owned), number(path)));
    Ok(found)
}

/// Three lines of headings, one with the name of the index, and the rows.
fn rows(file: &Path) -> Result<Vec<PublishedRow>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(file).with_context(|| format!("reading {}", file.display()))?;
    let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().with_context(|| format!("in {}", file.display()))?;
    ensure!(records.len() > 4, "{} has no rows", file.display());
    let key = |column: usize| [0, 1, 2].map(|line: usize| records[line].get(column).unwrap_or_default().to_owned());
    let keys: Vec<[String; 3]> = (0..records[0].len()).map(key).collect();
    let row = |record: &csv::StringRecord| -> PublishedRow {
        let values = keys.iter().zip(record.iter()).skip(1);
        let read = values.filter_map(|([service, metric, statistic], value)| {
            let value = value.parse::<f64>().ok().filter(|value| value.is_finite())?;
            Some(((service.clone(), metric.clone(), statistic.clone()), value))
        });
        read.collect()
    };
    Ok(records[4..].iter().map(row).collect())
}

fn case(
    (system, name): (&'static str, String),
    front: &str,
    baseline: &[PublishedRow],
    issue: &[PublishedRow],
    answer: Option<CaseAnswer>,
) -> ReplayCase {
    let all: Vec<&PublishedRow> = baseline.iter().chain(issue).collect();
    let signals = signals(&all, front);
    let onset = FIRST_S + baseline.len() as f64;
    let known_onset = answer.is_some().then(|| KnownOnset { at: onset, signals: signals.clone() });
    let missing = if baseline.is_empty() { "the rows without an issue".to_owned() } else { String::new() };
    let mut services: BTreeSet<String> = signals.iter().map(|signal| signal.service.clone()).collect();
    services.insert(front.to_owned());
    ReplayCase {
        name,
        system,
        answer,
        services,
        zero_wall_ns: ZERO_WALL_NS,
        spans: if baseline.is_empty() { Vec::new() } else { requests(&all, front) },
        has_traces: false,
        signals,
        known_onset,
        covers_fault: !baseline.is_empty(),
        missing,
    }
}

fn value(row: &PublishedRow, service: &str, metric: &str, statistic: &str) -> Option<f64> {
    row.get(&(service.to_owned(), metric.to_owned(), statistic.to_owned())).copied()
}

/// The requests of the front end, a row in each second.
fn requests(rows: &[&PublishedRow], front: &str) -> Vec<CaseSpan> {
    let mut spans = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let count = value(row, front, "requests", "Sum").unwrap_or(0.0).round() as usize;
        let available = value(row, front, "availability", "Average").unwrap_or(100.0) / 100.0;
        let failed = ((1.0 - available.clamp(0.0, 1.0)) * count as f64).round() as usize;
        let times = times(row, front, count);
        for (place, time) in times.iter().enumerate() {
            let end = FIRST_S + number as f64 + (place as f64 + 0.5) / count as f64;
            let end_ns = (end * SECOND_NS) as u64;
            let id = spans.len() as u64 + 1;
            spans.push(CaseSpan {
                trace: u128::from(id),
                id,
                parent: 0,
                service: front.to_owned(),
                name: front.to_owned(),
                role: SpanRole::Server,
                start_ns: end_ns.saturating_sub((time * SECOND_NS) as u64),
                end_ns,
                // Evenly spread.
                failed: (place + 1) * failed / count > place * failed / count,
            });
        }
    }
    spans
}

/// As many times as there were requests, with the percentiles of the row and its mean, in an order that mixes short and long ones. Seconds.
fn times(row: &PublishedRow, front: &str, count: usize) -> Vec<f64> {
    let of = |statistic: &str| value(row, front, "latency", statistic).unwrap_or(0.0);
    let known = [(0.5, of("p50")), (0.9, of("p90")), (0.95, of("p95")), (0.99, of("p99"))];
    let mean = of("Average");
    // A line between two percentiles has their mean; the two ends are chosen so that the whole has the mean of the row.
    let inner: f64 = known.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum();
    let (p50, p99) = (known[0].1, known[3].1);
    let rest = mean - inner;
    let lowest = ((rest - 0.01 * p99) / 0.25 - p50).clamp(0.0, p50);
    let highest = ((rest - 0.25 * (lowest + p50)) / 0.005 - p99).max(p99);
    let points: Vec<(f64, f64)> = [(0.0, lowest)].into_iter().chain(known).chain([(1.0, highest)]).collect();
    let at = |part: f64| {
        let pair = points.windows(2).find(|pair| part <= pair[1].0).unwrap_or(&points[points.len() - 2..]);
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        low + (high - low) * (part - from) / (to - from)
    };
    // Steps of the golden ratio visit all parts evenly and in no order (Weyl).
    (0..count).map(|number| at(((number as f64 + 0.5) * 0.618_033_988_75).fract())).collect()
}

/// The readings of all services but the front end. A service without calls in a row has none there.
fn signals(rows: &[&PublishedRow], front: &str) -> Vec<ServiceSignal> {
    let services: BTreeSet<&String> = rows.iter().flat_map(|row| row.keys()).map(|(service, _, _)| service).collect();
    let mut found = Vec::new();
    for service in services.into_iter().filter(|service| *service != front) {
        let mut add = |metric: &str, unit, measured, of: &dyn Fn(&PublishedRow, f64) -> Option<f64>| {
            let reading = |(number, row): (usize, &&PublishedRow)| {
                let calls = value(row, service, "requests", "Sum").filter(|calls| *calls > 0.0)?;
                Some((FIRST_S + number as f64 + 0.5, of(row, calls)?))
            };
            let readings: Vec<(f64, f64)> = rows.iter().enumerate().filter_map(reading).collect();
            if !readings.is_empty() {
                found.push(ServiceSignal { service: service.clone(), metric: metric.to_owned(), unit, measured, readings });
            }
        };
        let available = |row: &PublishedRow| Some(value(row, service, "availability", "Average")? / 100.0);
        add("calls", "per second", Measured::Calls, &|_, calls| Some(calls));
        add("answered", "per second", Measured::Answered, &|row, calls| Some(calls * available(row)?));
        add("time", "seconds", Measured::CallTime, &|row, _| value(row, service, "latency", "Average"));
        add("time_p90", "seconds", Measured::Other, &|row, _| value(row, service, "latency", "p90"));
        add("availability", "share", Measured::Other, &|row, _| available(row));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(entries: &[(&str, &str, &str, f64)]) -> PublishedRow {
        entries
            .iter()
            .map(|(service, metric, statistic, value)| (((*service).into(), (*metric).into(), (*statistic).into()), *value))
            .collect()
    }

    /// All times are multiplied by the factor.
    fn front(factor: f64) -> PublishedRow {
        row(&[
            ("Front", "requests", "Sum", 1_000.0),
            ("Front", "availability", "Average", 97.0),
            ("Front", "latency", "Average", 0.11 * factor),
            ("Front", "latency", "p50", 0.05 * factor),
            ("Front", "latency", "p90", 0.25 * factor),
            ("Front", "latency", "p95", 0.3 * factor),
            ("Front", "latency", "p99", 0.4 * factor),
            ("Cart", "requests", "Sum", 200.0),
            ("Cart", "availability", "Average", 90.0),
            ("Cart", "latency", "Average", 0.02),
            ("Idle", "requests", "Sum", 0.0),
            ("Idle", "latency", "Average", 0.0),
        ])
    }

    #[test]
    fn requests_have_the_count_the_percentiles_the_mean_and_the_failures_of_their_row() {
        for factor in [1.0, 2.0] {
            let row = front(factor);
            let spans = requests(&[&row], "Front");
            let mut times: Vec<f64> = spans.iter().map(|span| (span.end_ns - span.start_ns) as f64 / 1e9).collect();
            let of_all = times.iter().sum::<f64>() / times.len() as f64;
            times.sort_by(f64::total_cmp);
            assert_eq!((spans.len(), spans.iter().filter(|span| span.failed).count()), (1_000, 30));
            assert!((of_all / factor - 0.11).abs() < 0.002, "{of_all}");
            for (place, expected) in [(500, 0.05), (900, 0.25), (950, 0.3)] {
                assert!((times[place] / factor - expected).abs() < 0.02 * expected, "{} at {place}", times[place]);
            }
            assert!(spans.iter().all(|span| (1_000_000_000..2_000_000_000).contains(&span.end_ns)));
        }
    }

    #[test]
    fn services_without_calls_have_no_readings_and_the_front_end_is_no_dependency() {
        let row = front(1.0);
        let found = signals(&[&row], "Front");
        let named: Vec<(&str, &str, f64)> = found.iter().map(|signal| (&*signal.service, &*signal.metric, signal.readings[0].1)).collect();
        assert_eq!(named, [("Cart", "calls", 200.0), ("Cart", "answered", 180.0), ("Cart", "time", 0.02), ("Cart", "availability", 0.9)]);
    }

    #[test]
    fn the_baseline_is_the_last_stretch_in_which_the_front_end_answered() {
        let down = row(&[("Front", "availability", "Average", 41.0), ("Front", "requests", "Sum", 7.0)]);
        let mut rows = vec![front(1.0); BASELINE_ROWS + 20];
        rows[BASELINE_ROWS + 3] = down;
        let (others, baseline) = normal_parts(&rows, "Front");
        assert_eq!((others.len(), baseline.len()), (3, BASELINE_ROWS));
        assert!(baseline.iter().all(|row| is_available(row, "Front")));
        assert_eq!(normal_parts(&rows[..BASELINE_ROWS - 1], "Front").1.len(), 0);
    }

    #[test]
    fn an_issue_follows_the_rows_without_one() {
        let (normal, slow) = (front(1.0), front(2.0));
        let baseline = vec![normal; BASELINE_ROWS];
        let answer = CaseAnswer { service: "Cart".to_owned(), fault: "latency".to_owned(), kind: FaultKind::Unstated };
        let case = case(("system", "name".to_owned()), "Front", &baseline, &[slow], Some(answer));
        let onset = case.known_onset.as_ref().unwrap().at;
        let mean = |is_before: bool| {
            let side = case.spans.iter().filter(|span| ((span.end_ns as f64) / 1e9 < onset) == is_before);
            let times: Vec<f64> = side.map(|span| (span.end_ns - span.start_ns) as f64 / 1e9).collect();
            (times.len(), times.iter().sum::<f64>() / times.len() as f64)
        };
        let ((before, low), (after, high)) = (mean(true), mean(false));
        assert_eq!((before, after), (1_000 * BASELINE_ROWS, 1_000));
        assert!((low - 0.11).abs() < 0.002 && (high - 0.22).abs() < 0.004, "{low} {high}");
    }
}
