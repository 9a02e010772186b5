//! Requests that wait for the same few request threads, and the service's own metrics endpoint with them.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{NoticeKind, Role, SignalNotice};
use loadstone_plan::{ClosedStage, LoadProfile, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::simulation::{Service, Step, Target, UNLIMITED, ramp, simulate, step};
use crate::synthetic::{SECOND, counter, gauge};

/// A service with three request threads. A report occupies one for 0.2 s, and the quick page takes 2 ms at this station. 21 requests per second pass.
fn service(station_of_quick: usize, load: LoadProfile, seed: u64) -> Run {
    let shared = |step: Step, share: f64| Step { share, ..step };
    let steps =
        vec![shared(step("Report", 0, Service::Fixed(0.2)), 0.7), shared(step("Quick", station_of_quick, Service::Fixed(0.002)), 0.3)];
    simulate(&Target { slots: vec![3, UNLIMITED], steps }, load, seed)
}

/// The process uses so many cores, and its metrics endpoint is read every second until this one.
fn observed(mut run: Run, cores: f64, silent: Option<(u64, NoticeKind)>) -> Vec<Finding> {
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| cores);
    gauge("process:80", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| cores.min(0.9));
    gauge("process:80", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 2.0);
    gauge("app", "version").each_second(&mut run, |_| 1.0);
    if let Some((from, kind)) = silent {
        run.signals.iter_mut().filter(|series| series.signal.observer == "app").for_each(|series| series.points.truncate(from as usize));
        run.notices.push(SignalNotice::silence(&"app".into(), (from + 5) * SECOND, kind, "no response within 5 s".to_owned()));
    }
    findings(&run)
}

fn rising() -> LoadProfile {
    ramp(4.0, 40.0, 60, Timing::Poisson)
}

#[test]
fn an_endpoint_that_stops_answering_while_all_requests_wait_shows_busy_request_threads() {
    for seed in 0..4 {
        let found = observed(service(0, rising(), seed), 0.02, Some((34, NoticeKind::TimedOut)));
        let first = &found[0];
        assert!(first.rule == "effective-concurrency" && first.confidence == Confidence::Medium, "{}", shown(&found));
        assert!(
            first.claim.starts_with("All requests are served about 3 at a time, also \"Quick\", which takes 2.")
                && first.claim.ends_with("and the endpoint that \"app\" reads: as many request threads or workers are all busy"),
            "{}",
            first.claim
        );
        assert!(first.next.contains("observe.jvm({") && first.next.contains("request threads"), "{}", first.next);
    }
}

/// A constant load above the limit has no low load, so the number of threads is unknown. What all requests wait for is known nevertheless.
#[test]
fn busy_request_threads_are_the_cause_also_if_their_number_is_unknown() {
    for seed in 0..4 {
        let run = || service(0, ramp(34.0, 34.0, 60, Timing::Poisson), seed);
        let found = observed(run(), 0.02, Some((17, NoticeKind::TimedOut)));
        assert!(found[0].claim.contains("All requests") && found[0].claim.contains("the endpoint that \"app\" reads"), "{}", shown(&found));
        // The process computes: it may be a core.
        let found = observed(run(), 1.7, Some((17, NoticeKind::TimedOut)));
        assert!(found.iter().all(|one| !one.claim.contains("request threads or workers are all busy")), "{}", shown(&found));
    }
}

/// Requests wait from the first second on, and the endpoint with them soon after. The first seconds of a queue that becomes long once counted as free.
#[test]
fn an_endpoint_that_is_silent_from_the_beginning_waits_in_a_queue_that_was_always_there() {
    for seed in 0..4 {
        let found = observed(service(0, ramp(34.0, 34.0, 120, Timing::Poisson), seed), 0.02, Some((6, NoticeKind::TimedOut)));
        assert!(found[0].claim.contains("All requests") && found[0].claim.contains("the endpoint that \"app\" reads"), "{}", shown(&found));
        // Half of the limit for a minute. The endpoint is silent long before requests wait.
        let stages = [1, 30].map(|users| ClosedStage { from: users, to: users, duration_ns: 60 * SECOND }).to_vec();
        let found = observed(service(0, LoadProfile::Closed { stages }, seed), 0.02, Some((6, NoticeKind::TimedOut)));
        assert!(found.iter().all(|one| !one.claim.contains("\"app\"")), "{}", shown(&found));
    }
}

#[test]
fn other_silence_is_no_evidence_of_busy_request_threads() {
    for seed in 0..4 {
        let claims = |cores: f64, station: usize, silent: Option<(u64, NoticeKind)>| {
            let found = observed(service(station, rising(), seed), cores, silent);
            (found[0].claim.clone(), shown(&found))
        };
        // The endpoint has its own thread, was refused, or was silent long before any request waited.
        for silent in [None, Some((34, NoticeKind::Failed)), Some((10, NoticeKind::TimedOut))] {
            let (claim, all) = claims(0.02, 0, silent);
            assert!(!claim.contains("request threads") && !claim.contains("\"app\""), "{all}");
        }
        // A pool that only one of the two requests needs.
        let (claim, all) = claims(0.02, 1, None);
        assert!(claim.starts_with("\"Report\" is served about 3 at a time"), "{all}");
        // Both cores are busy, so they may be what all requests wait for.
        let found = observed(service(0, rising(), seed), 1.98, Some((34, NoticeKind::TimedOut)));
        assert!(found[0].claim.contains("cores of that number") && found[0].confidence == Confidence::Low, "{}", shown(&found));
    }
    // Nothing waits.
    let found = observed(service(0, ramp(4.0, 10.0, 60, Timing::Poisson), 0), 0.02, Some((34, NoticeKind::TimedOut)));
    assert!(found.is_empty(), "{}", shown(&found));
}
