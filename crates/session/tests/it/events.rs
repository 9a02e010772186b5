//! The events of a run, and the order in which subscribers receive them.

use std::sync::Mutex;

use loadstone_engine::WorkerContext;
use loadstone_metrics::{MarkKind, SeriesKind};
use loadstone_plan::FlowSpec;
use loadstone_run_directory::RunEnd;
use loadstone_session::{LoadControl, PrintedLines, RunEvent, Session, SessionError, StopReason};
use loadstone_stub::{Behaviour, Server};

use crate::small_runs::{self, EventLog, Recording};

#[test]
fn every_event_goes_to_all_subscribers_in_their_order() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let (mut first, mut second) = (Recording::new("a", &log), Recording::new("b", &log));
    let finished = small_runs::run(small_runs::plan(&server.url("/"), 2), folder.path(), &mut [&mut first, &mut second]).unwrap();
    assert_eq!((small_runs::stop_reason(&finished.ending), finished.failure.is_none()), (None, true));
    let log = log.borrow();
    let events: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("a: ")).collect();
    for pair in log.chunks(2) {
        assert_eq!(pair[0].strip_prefix("a: "), pair[1].strip_prefix("b: "), "{log:?}");
    }
    let seconds = events.iter().filter(|event| event.starts_with("snapshot") && **event != "snapshot due").count();
    // The first second has the mark of the leaf that starts.
    let mut expected = vec!["started shop", "time begins", "snapshot due", "snapshot [GET /]"];
    (2..seconds).for_each(|_| expected.extend(["snapshot due", "snapshot"]));
    expected.extend(["snapshot due", "snapshot (last)", "closing", "finished Completed"]);
    assert_eq!(events, expected);

    let run = small_runs::read(&finished.directory);
    assert_eq!((run.end, run.slices.len()), (Some(RunEnd::Completed), seconds));
    let requests = run.slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == SeriesKind::Request);
    assert_eq!(requests.map(|series| (series.count, series.failed)).reduce(|a, b| (a.0 + b.0, a.1 + b.1)), Some((40, 0)));
}

#[test]
fn the_runs_time_begins_when_every_worker_is_ready() {
    let (server, folder) = (small_runs::server(), small_runs::folder());
    let ready = Mutex::new(None);
    let prepare = |context: &WorkerContext| {
        // Like a test file that computes at its top level.
        while context.clock.now() < 1_300_000_000 {}
        *ready.lock().unwrap() = Some(jiff::Timestamp::now());
    };
    let finished =
        small_runs::run_prepared(small_runs::plan(&server.url("/"), 1), folder.path(), PrintedLines::new(), prepare, &mut []).unwrap();
    let run = small_runs::read(&finished.directory);
    let began = run.slices.iter().flat_map(|slice| &slice.marks).find(|mark| mark.kind == MarkKind::LeafBegan);
    assert!(began.is_some_and(|mark| mark.at < 1_000_000_000), "in the first second: {began:?}");
    assert!(!run.slices[0].leaves.is_empty(), "which is not empty");
    let (started, ready) = (run.info.started.parse::<jiff::Timestamp>().unwrap(), ready.into_inner().unwrap().unwrap());
    // The file has whole milliseconds.
    assert!(started.as_millisecond() >= ready.as_millisecond(), "{started} was before {ready}");
}

#[test]
fn marks_and_lines_of_any_subscriber_reach_all_of_them_and_the_directory_without_secrets() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut plan = small_runs::plan(&server.url("/"), 1);
    plan.secrets.learn("hunter2");
    let printed = PrintedLines::new();
    printed.sender().line("printed hunter2".to_owned());
    let mut listener = Recording::new("a", &log);
    let mut due = 0;
    let mut speaker = Recording::replying("b", &log, |event, requests| {
        if matches!(event, RunEvent::SnapshotDue { .. }) {
            due += 1;
            if due == 1 {
                requests.mark(MarkKind::Adjusted, "turned by hunter2");
                requests.say("says hunter2");
            }
        }
        if matches!(event, RunEvent::Closing) {
            requests.say("last words");
        }
        Ok(())
    });
    let finished = small_runs::run_printing(plan, folder.path(), printed, &mut [&mut listener, &mut speaker]).unwrap();
    drop(speaker);
    let log = log.borrow();
    let events: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("a: ")).collect();
    assert_eq!(events[2..5], ["snapshot due", "line says •••", "line printed •••"], "lines come before the second that they belong to");
    assert!(events[5].starts_with("snapshot") && events[5].ends_with("[turned by •••]"), "{events:?}");
    assert_eq!(events[events.len() - 3..], ["closing", "line last words", "finished Completed"]);
    let console = std::fs::read_to_string(finished.directory.join("console.log")).unwrap();
    assert_eq!(console, "says •••\nprinted •••\nlast words\n");
    let run = small_runs::read(&finished.directory);
    assert_eq!(run.slices[0].marks.last().map(|mark| mark.text.as_str()), Some("turned by •••"));
}

#[test]
fn a_run_with_flows_reports_the_end_of_its_load() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut plan = small_runs::plan(&server.url("/"), 1);
    plan.flows.push(FlowSpec { name: "delivery".to_owned(), stages: Vec::new(), timeout_ns: Some(1_000_000_000), drain_ns: 1_000_000_000 });
    let mut listener = Recording::new("a", &log);
    let finished = small_runs::run(plan, folder.path(), &mut [&mut listener]).unwrap();
    assert_eq!(small_runs::stop_reason(&finished.ending), None);
    let log = log.borrow();
    let ended = log.iter().position(|line| line == "a: load ended").expect("the load has ended");
    assert!(log[ended..].iter().any(|line| line.contains("no open journeys left")), "{log:?}");
}

#[test]
fn subscribers_receive_nothing_if_the_target_is_unreachable() {
    let (folder, log) = (small_runs::folder(), EventLog::default());
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut listener = Recording::new("a", &log);
    let refused = small_runs::run(small_runs::plan(&format!("http://{address}/"), 1), folder.path(), &mut [&mut listener]);
    let problem = refused.expect_err("nothing listens there");
    assert!(matches!(problem, SessionError::Unreachable(_)), "{problem}");
    assert!(problem.to_string().contains("nothing listens on"), "{problem}");
    assert!(log.borrow().is_empty());
    assert_eq!(small_runs::runs(folder.path()), 0);
}

#[test]
fn findings_are_reported_during_the_run() {
    let server = Server::builder().route("GET /", Behaviour::new().status(500)).start().expect("a server");
    let (folder, log) = (small_runs::folder(), EventLog::default());
    let mut claims = Vec::new();
    let mut listener = Recording::replying("a", &log, |event, requests| {
        if let RunEvent::Provisional { found, before } = event
            && let Some(first) = found.new_first(*before)
        {
            claims.push((first.rule.clone(), found.seconds));
            requests.control(LoadControl::Stop(StopReason::User));
        }
        Ok(())
    });
    // Far longer than an analysis needs, even on a busy machine: it stops at the first finding.
    let early = |session| Session { folder: folder.path().to_owned(), finds_early: true, ..session };
    let finished = small_runs::run_session(small_runs::plan(&server.url("/"), 300), early, |_| {}, &mut [&mut listener]).unwrap();
    drop(listener);
    assert_eq!(small_runs::stop_reason(&finished.ending), Some(StopReason::User), "{:?}", log.borrow());
    let (rule, seconds) = &claims[0];
    let slices = small_runs::read(&finished.directory).slices.len() as f64;
    assert!(rule == "failures" && *seconds >= 4.0 && *seconds < slices, "{claims:?} of {slices} s");
}

#[test]
fn a_run_whose_directory_vanishes_continues_elsewhere_and_keeps_its_seconds() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let runs = folder.path().join("runs");
    let mut remover = Recording::replying("a", &log, |event, _| {
        if matches!(event, RunEvent::Snapshot { snapshot, .. } if snapshot.slice == 1) {
            std::fs::remove_dir_all(&runs)?;
        }
        Ok(())
    });
    let finished = small_runs::run(small_runs::plan(&server.url("/"), 4), &runs, &mut [&mut remover]).unwrap();
    assert!(finished.failure.is_none(), "{:?}", finished.failure);
    assert!(!finished.directory.starts_with(&runs), "{}", finished.directory.display());
    let run = small_runs::read(&finished.directory);
    std::fs::remove_dir_all(&finished.directory).unwrap();
    assert_eq!(run.end, Some(RunEnd::Completed));
    let requests = run.slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == SeriesKind::Request);
    assert_eq!(requests.map(|series| series.count).sum::<u64>(), 80, "also those before it vanished");
    let notice =
        |line: &String| line.starts_with("a: line warning: the run directory ") && line.contains(" has vanished; the run continues in ");
    assert!(log.borrow().iter().any(notice), "{:?}", log.borrow());
}
