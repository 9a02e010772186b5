//! Requests of a subscriber, and the effect of its failures.

use loadstone_metrics::SeriesKind;
use loadstone_plan::{Aggregate, Comparison, FlowSpec, Metric, Threshold};
use loadstone_run_directory::RunEnd;
use loadstone_session::{LoadControl, RunEvent, SessionError, StopReason};

use crate::small_runs::{self, EventLog, Recording};

/// Longer than any of these tests: a run that is not stopped fails by its ending.
const SECONDS: u64 = 60;

/// Runs with a subscriber that makes this request at the end of the first second.
fn asking(control: LoadControl) -> (Option<StopReason>, Option<RunEnd>) {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut control = Some(control);
    let mut subscriber = Recording::replying("a", &log, |event, requests| {
        if matches!(event, RunEvent::Snapshot { .. }) {
            control.take().into_iter().for_each(|control| requests.control(control));
        }
        Ok(())
    });
    let finished = small_runs::run(small_runs::plan(&server.url("/"), SECONDS), folder.path(), &mut [&mut subscriber]).expect("it begins");
    assert!(finished.failure.is_none());
    let end = small_runs::read(&finished.directory).end;
    (small_runs::stop_reason(&finished.ending), end)
}

#[test]
fn a_subscriber_can_stop_and_halt_a_run() {
    let by_user = (Some(StopReason::User), Some(RunEnd::Interrupted));
    assert_eq!(asking(LoadControl::Stop(StopReason::User)), by_user);
    let broken = || StopReason::Failure("the building burns".to_owned());
    let failed = (Some(broken()), Some(RunEnd::Failed("the building burns".to_owned())));
    assert_eq!(asking(LoadControl::Halt(broken())), failed);
}

#[test]
fn a_subscriber_can_pause_the_load() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut seconds = 0;
    let mut subscriber = Recording::replying("a", &log, |event, requests| {
        if let RunEvent::SnapshotDue { .. } = event {
            seconds += 1;
            match seconds {
                1 => requests.control(LoadControl::Scale(0.0)),
                4 => requests.control(LoadControl::Stop(StopReason::User)),
                _ => {}
            }
        }
        Ok(())
    });
    let finished = small_runs::run(small_runs::plan(&server.url("/"), SECONDS), folder.path(), &mut [&mut subscriber]).unwrap();
    let run = small_runs::read(&finished.directory);
    let started = |slice: usize| run.slices[slice].leaves.iter().map(|leaf| leaf.started).sum::<u64>();
    assert!(started(0) > 0 && started(2) == 0, "{:?}", [started(0), started(1), started(2)]);
}

#[test]
fn a_subscriber_that_cannot_start_prevents_the_run() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut refusing = Recording::replying("a", &log, |_, _| Err("no paper".into()));
    let mut behind = Recording::new("b", &log);
    let refused = small_runs::run(small_runs::plan(&server.url("/"), 1), folder.path(), &mut [&mut refusing, &mut behind]);
    assert!(matches!(refused, Err(SessionError::Subscriber(ref problem)) if problem.to_string() == "no paper"));
    assert_eq!(*log.borrow(), ["a: started shop"]);
    assert_eq!((small_runs::runs(folder.path()), server.recording().connections), (0, 1), "only the probe of the target");
}

#[test]
fn a_subscriber_that_fails_later_halts_the_run_and_the_others_receive_its_end() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut failing = Recording::replying("a", &log, |event, _| match event {
        RunEvent::Snapshot { .. } => Err("no more paper".into()),
        _ => Ok(()),
    });
    let mut behind = Recording::new("b", &log);
    let plan = small_runs::plan(&server.url("/"), SECONDS);
    let finished = small_runs::run(plan, folder.path(), &mut [&mut failing, &mut behind]).unwrap();
    assert_eq!(small_runs::stop_reason(&finished.ending), Some(StopReason::Failure("no more paper".to_owned())));
    assert_eq!(finished.failure.expect("it failed").to_string(), "no more paper");
    assert_eq!(log.borrow().last().map(String::as_str), Some("b: finished Failed(\"no more paper\")"));
    assert_eq!(small_runs::read(&finished.directory).end, Some(RunEnd::Failed("no more paper".to_owned())));
}

#[test]
fn a_failure_between_two_seconds_halts_the_run_with_the_next() {
    let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
    let mut failing = Recording::replying("a", &log, |event, _| match event {
        RunEvent::LoadEnded { .. } => Err("no more ink".into()),
        _ => Ok(()),
    });
    let mut plan = small_runs::plan(&server.url("/"), 1);
    plan.flows.push(FlowSpec { name: "delivery".to_owned(), stages: Vec::new(), timeout_ns: None, drain_ns: 60_000_000_000 });
    let finished = small_runs::run(plan, folder.path(), &mut [&mut failing]).unwrap();
    assert_eq!(small_runs::stop_reason(&finished.ending), Some(StopReason::Failure("no more ink".to_owned())));
}

#[test]
fn a_threshold_with_abort_ends_the_run_unless_it_was_stopped_before() {
    let few = Threshold::new("few requests", Metric::Requests, Aggregate::Count, Comparison::AtMost, 1.0);
    let threshold = Threshold { abort: true, ..few };
    for (stops, ending) in [(false, StopReason::Threshold("few requests".to_owned())), (true, StopReason::User)] {
        let (server, folder, log) = (small_runs::server(), small_runs::folder(), EventLog::default());
        let mut subscriber = Recording::replying("a", &log, |event, requests| {
            if stops && matches!(event, RunEvent::SnapshotDue { .. }) {
                requests.control(LoadControl::Stop(StopReason::User));
            }
            Ok(())
        });
        let mut plan = small_runs::plan(&server.url("/"), SECONDS);
        plan.thresholds.push(threshold.clone());
        let finished = small_runs::run(plan, folder.path(), &mut [&mut subscriber]).unwrap();
        assert_eq!(small_runs::stop_reason(&finished.ending), Some(ending));
    }
}

#[test]
fn an_iteration_of_one_request_ends_with_it() {
    let (server, folder) = (small_runs::server(), small_runs::folder());
    let finished = small_runs::run(small_runs::plan(&server.url("/"), 2), folder.path(), &mut []).unwrap();
    let run = small_runs::read(&finished.directory);
    let times = |wanted: SeriesKind| {
        let series = run.slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == wanted);
        series.map(|series| (series.response.count(), series.response.sum())).fold((0, 0), |(count, sum), (n, ns)| (count + n, sum + ns))
    };
    assert_eq!(times(SeriesKind::Iteration), times(SeriesKind::Request));
    assert_eq!(times(SeriesKind::Request).0, 40);
}
