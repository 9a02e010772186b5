//! Synthetic runs for tests.

use loadstone_metrics::{Outcome, Phases, Recorder, Sample, SeriesKey, SeriesKind, Snapshot};
use loadstone_plan::{LoadProfile, TestPlan};
use loadstone_run_directory::{HostFacts, RunInfo};

pub(crate) fn info() -> RunInfo {
    RunInfo {
        loadstone: "0.1.0".to_owned(),
        started: "2026-11-20T18:30:05Z".to_owned(),
        file: Some("shop.load.ts".to_owned()),
        script: None,
        commit: None,
        branch: None,
        dirty: false,
        workers: 1,
        host: HostFacts { cores: 2, ..HostFacts::default() },
        tags: vec!["nightly".to_owned()],
        ..RunInfo::default()
    }
}

pub(crate) fn plan(name: &str) -> TestPlan {
    let plan = TestPlan::of_scenario(name, "Buy", LoadProfile::rate(100.0, 3_000_000_000));
    TestPlan { target: Some("http://127.0.0.1:8080".to_owned()), ..plan }
}

pub(crate) fn key(kind: SeriesKind, name: &str) -> SeriesKey {
    SeriesKey::new(kind, "Buy", name)
}

/// Second `slice` with `requests` requests of each name, spread over about a factor of four in time.
pub(crate) fn slice(slice: u32, names: &[&str], requests: u64) -> Snapshot {
    let mut recorder = Recorder::new(0, 100);
    let begin = u64::from(slice) * 1_000_000_000;
    for (index, name) in names.iter().enumerate() {
        let id = recorder.series(&key(SeriesKind::Request, name));
        for n in 0..requests {
            let started = begin + n * 1_000_000;
            let wait = 5_000_000 + (n * 7_919 + u64::from(slice) * 104_729) % 15_000_000;
            let body = 20_000 + n * 131 % 50_000;
            // The first name plays the first request of open iterations: it starts a little after its schedule.
            let scheduled = if index == 0 { started - (10_000 + n * 37 % 40_000).min(started) } else { started };
            let outcome = if n % 50 == 49 { Outcome::Status } else { Outcome::Passed };
            let status = if outcome == Outcome::Passed { 200 } else { 500 };
            let phases = Phases { wait, body, ..Phases::default() };
            let ended = started + wait + body;
            recorder.record(
                id,
                &Sample {
                    scheduled,
                    started,
                    ended,
                    phases,
                    outcome,
                    status,
                    bytes_sent: 120,
                    bytes_received: 900,
                    retried: 0,
                    trace: None,
                },
            );
        }
    }
    recorder.drain(slice, begin, begin + 1_000_000_000)
}
