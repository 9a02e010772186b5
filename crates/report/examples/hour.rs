//! Writes the run directory and the report of a synthetic hour to a folder: ten requests, two flows and thirty signals, second by second through the
//! real writer. The page's tests open the report. `loadstone report` recreates it from the directory.

use std::path::Path;

use loadstone_metrics::{
    FlowSlice, GeneratorSlice, Histogram, LeafSlice, Outcome, Phases, Recorder, Sample, SeriesKey, SeriesKind, Signal, SignalKind,
    SignalPoint, Snapshot,
};
use loadstone_plan::{FlowSpec, LoadProfile, TestPlan};
use loadstone_run_directory::{HostFacts, Reader, RunEnd, RunInfo, SignalSeries, Writer};

const SECONDS: u32 = 3600;
const SECOND_NS: u64 = 1_000_000_000;
const NAMES: [&str; 10] =
    ["List products", "Show product", "Search", "Add to basket", "Show basket", "Log in", "Check out", "Pay", "Show order", "Log out"];
const FLOWS: [&str; 2] = ["Confirmation mail", "Delivery"];
/// Requests of each name per second.
const REQUESTS: u64 = 20;
const SIGNALS: u64 = 30;
/// The second that contains a request of five seconds. No chart may lose it.
const SPIKE: u32 = 2101;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(folder) = std::env::args_os().nth(1) else { return Err("give a folder to write to".into()) };
    let folder = Path::new(&folder);
    let mut writer = Writer::create(&folder.join("runs"), info(), &plan())?;
    let mut recorder = Recorder::new(0, 100);
    let signals: Vec<Signal> = (0..SIGNALS).map(signal).collect();
    for second in 0..SECONDS {
        writer.snapshot(&slice(&mut recorder, second))?;
        let at = (u64::from(second) + 1) * SECOND_NS;
        let read = |(n, signal): (usize, &Signal)| SignalSeries {
            signal: signal.clone(),
            points: vec![SignalPoint { at, value: level(n as u64, second, signal.kind) }],
        };
        writer.signals(&signals.iter().enumerate().map(read).collect::<Vec<_>>())?;
    }
    let directory = writer.finish(&RunEnd::Completed)?;
    let run = Reader::open(&directory)?.run()?;
    let view = loadstone_report::ReportView::build(&run, &loadstone_analysis::conclude(&run));
    std::fs::write(folder.join("report.html"), loadstone_report::html(&view))?;
    Ok(())
}

/// Equal seeds, equal numbers: SplitMix64's finalizer (Steele, Lea, Flood 2014).
fn noise(seed: u64) -> u64 {
    let mixed = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

fn slice(recorder: &mut Recorder, second: u32) -> Snapshot {
    let begin = u64::from(second) * SECOND_NS;
    let load = 1_000_000 + u64::from(second) * 700;
    for (n, name) in (0..).zip(NAMES) {
        let key = SeriesKey::new(SeriesKind::Request, "Visit", name);
        let id = recorder.series(&key);
        for request in 0..REQUESTS {
            let draw = noise(u64::from(second) << 16 | n << 8 | request);
            let spike = if second == SPIKE && n == 6 && request == 0 { 5 * SECOND_NS } else { 0 };
            let wait = load * (n + 1) + draw % (4 * load) + if draw.is_multiple_of(97) { 12 * load } else { 0 } + spike;
            let started = begin + request * (SECOND_NS / REQUESTS);
            let failed = draw.is_multiple_of(499);
            let sample = Sample {
                scheduled: started - (draw % 60_000).min(started),
                started,
                ended: started + wait,
                phases: Phases { wait, body: 30_000, ..Phases::default() },
                outcome: if failed { Outcome::Status } else { Outcome::Passed },
                status: if failed { 503 } else { 200 },
                bytes_sent: 140,
                bytes_received: 1_900,
                retried: 0,
                trace: None,
            };
            recorder.record(id, &sample);
        }
    }
    let arrivals = REQUESTS;
    *recorder.leaf(0) = LeafSlice { leaf: 0, arrivals_due: arrivals, started: arrivals, ended: arrivals, ..LeafSlice::default() };
    let is_last = second + 1 == SECONDS;
    recorder.users_active(0, begin, if is_last { 0 } else { 40 + noise(u64::from(second)) % 9 });
    *recorder.generator() = GeneratorSlice {
        wall_ns: SECOND_NS,
        busy_ns: 180_000_000 + noise(begin) % 20_000_000,
        connections: 44,
        ..GeneratorSlice::default()
    };
    let mut snapshot = recorder.drain(second, begin, begin + SECOND_NS);
    snapshot.flows = FLOWS.map(|name| flow(name, second)).into();
    snapshot
}

fn flow(name: &str, second: u32) -> FlowSlice {
    let mut time = Histogram::new();
    (0..10).for_each(|n| time.record(80_000_000 + noise(u64::from(second * 10 + n)) % 400_000_000));
    let backlog = 5 + noise(u64::from(second)) % 7;
    FlowSlice { name: name.into(), started: 10, finished: 10, backlog, oldest_ns: backlog * 60_000_000, time, ..FlowSlice::default() }
}

/// Six observers with five signals each.
fn signal(n: u64) -> Signal {
    let observer = ["process:8080", "host", "postgres", "redis", "metrics", "cgroup"][n as usize % 6];
    let (metric, unit, kind) = [
        ("cpu", "seconds", SignalKind::Counter),
        ("memory", "bytes", SignalKind::Gauge),
        ("connections", "connections", SignalKind::Gauge),
        ("operations", "1", SignalKind::Counter),
        ("queue", "1", SignalKind::Gauge),
    ][n as usize / 6];
    Signal::new(observer, metric, kind, unit).help(&format!("{metric} of {observer}"))
}

fn level(n: u64, second: u32, kind: SignalKind) -> f64 {
    let noise = (noise(u64::from(second) << 8 | n) % 1000) as f64 / 1000.0;
    match kind {
        SignalKind::Counter => f64::from(second) * (n + 1) as f64 * 0.3 + noise * 0.2,
        SignalKind::Gauge => (n + 1) as f64 * 1000.0 + f64::from(second) + noise * 300.0,
    }
}

fn info() -> RunInfo {
    RunInfo {
        loadstone: env!("CARGO_PKG_VERSION").to_owned(),
        started: "2026-11-20T18:00:00Z".to_owned(),
        file: Some("hour.load.ts".to_owned()),
        script: None,
        commit: None,
        branch: None,
        dirty: false,
        workers: 1,
        host: HostFacts { cores: 2, ..HostFacts::default() },
        ..RunInfo::default()
    }
}

fn plan() -> TestPlan {
    let flow = |name: &str| FlowSpec { name: name.to_owned(), timeout_ns: None, drain_ns: 0, stages: Vec::new() };
    let profile = LoadProfile::rate(REQUESTS as f64, u64::from(SECONDS) * SECOND_NS);
    TestPlan {
        target: Some("http://127.0.0.1:8080".to_owned()),
        flows: FLOWS.map(flow).into(),
        ..TestPlan::of_scenario("An hour in the shop", "Visit", profile)
    }
}
