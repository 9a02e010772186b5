//! Causes that reject work instead of delaying it: exhausted file descriptors, a full heap, a quota.

use loadstone_analysis::{Confidence, conclude};
use loadstone_metrics::{ErrorCause, ErrorGroup, Outcome, Role, SeriesKind};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::constant;
use crate::synthetic::{self, MS, Slice, counter, gauge, open, plan};

/// 20 requests per second of 5 ms, `failed` of which fail at once in each second, and a process that may open 50 descriptors.
fn accepting(open: impl Fn(u64) -> f64, failed: impl Fn(u32) -> u64) -> Run {
    let mut run = constant(40, 20, |second| (5 * MS, failed(second)));
    gauge("shop", "descriptors").role(Role::ProcessDescriptors).each_second(&mut run, open);
    gauge("shop", "descriptors_limit").role(Role::ProcessDescriptorsMax).each_second(&mut run, |_| 50.0);
    run
}

#[test]
fn exhausted_descriptors_while_requests_fail_are_the_cause() {
    let open = |second: u64| if second < 20 { 30.0 } else { 50.0 };
    let found = findings(&accepting(open, |second| if second < 20 { 0 } else { 6 }));
    assert!(found[0].rule == "descriptors" && found[0].claim.contains("all of its 50 file descriptors"), "{}", shown(&found));
    assert!(found[0].evidence[0].text.contains("while 30.0 % of the requests failed"), "{}", shown(&found));
    // The limit is lowered during the run.
    let mut run = accepting(open, |second| if second < 20 { 0 } else { 6 });
    let limit = gauge("shop", "descriptors_limit").role(Role::ProcessDescriptorsMax);
    limit.each_second(&mut run, |second| if second < 20 { 20_000.0 } else { 50.0 });
    let found = findings(&run);
    assert!(found[0].rule == "descriptors" && found[0].claim.contains("all of its 50 file descriptors"), "{}", shown(&found));
    // The same number failed before, or none fails now: they are not the cause.
    for failed in [(|_| 6) as fn(u32) -> u64, |_| 0] {
        let found = findings(&accepting(open, failed));
        assert!(found.iter().all(|finding| finding.rule != "descriptors"), "{}", shown(&found));
    }
}

/// The kernel refuses the next connection at once, so a few seconds at the limit are enough if as many fail in them.
#[test]
fn descriptors_exhausted_only_at_the_end_are_the_cause_of_the_failures_there() {
    let open = |second: u64| if second < 37 { 30.0 + second as f64 / 2.0 } else { 50.0 };
    let found = findings(&accepting(open, |second| if second < 37 { 0 } else { 12 }));
    assert!(found[0].rule == "descriptors" && found[0].claim.contains("all of its 50 file descriptors"), "{}", shown(&found));
    // A single reading may be momentary.
    let found = findings(&accepting(|second| if second == 38 { 50.0 } else { 40.0 }, |second| if second == 38 { 12 } else { 0 }));
    assert!(found.iter().all(|finding| finding.rule != "descriptors"), "{}", shown(&found));
}

/// A service opens a connection for each call. Those that it closed hold their ports, until none is left for its database.
#[test]
fn exhausted_local_ports_while_requests_fail_are_the_cause() {
    let with = |used: &dyn Fn(u64) -> f64, failed: u64| {
        let mut run = constant(40, 20, |second| (5 * MS, if second < 20 { 0 } else { failed }));
        let peer = |metric: &str| gauge("shop", metric).part("10.0.0.2:5432").label("peer", "10.0.0.2:5432");
        peer("ports").role(Role::PortsInUse).each_second(&mut run, used);
        peer("ports_limit").role(Role::PortsMax).each_second(&mut run, |_| 28_232.0);
        findings(&run)
    };
    let found = with(&|second| f64::min(1_400.0 * (second + 1) as f64, 28_231.0), 12);
    let claim = "All 28,232 local ports for connections to 10.0.0.2:5432 are in use: \"shop\" cannot open another connection to it";
    assert!(found[0].rule == "ports" && found[0].claim == claim && found[0].confidence == Confidence::High, "{}", shown(&found));
    // Some are left, or no request fails.
    for found in [with(&|second| 700.0 * (second + 1) as f64 / 2.0, 12), with(&|_| 28_231.0, 0)] {
        assert!(found.iter().all(|finding| finding.rule != "ports"), "{}", shown(&found));
    }
}

/// Requests fail at once from 0:20 on, while a runtime does little except garbage collection; its heap by second.
fn out_of_memory(heap: impl Fn(u64) -> f64) -> Run {
    let mut run = constant(40, 20, |second| (5 * MS, if second < 20 { 0 } else { 20 }));
    let pause = counter("app", "jvm_gc_pause_seconds_sum").role(Role::GarbageCollection);
    pause.each_second(&mut run, |second| if second < 20 { 0.05 } else { 0.85 });
    gauge("app", "jvm_memory_max_bytes").role(Role::HeapMax).each_second(&mut run, |_| 400e6);
    gauge("app", "jvm_memory_used_bytes").role(Role::HeapUsed).each_second(&mut run, heap);
    run
}

#[test]
fn a_heap_that_fills_up_until_requests_fail_is_the_cause_and_may_be_a_leak() {
    let found = findings(&out_of_memory(|second| f64::min(20e6 * (second + 1) as f64, 399e6)));
    assert!(found[0].rule == "heap" && found[0].claim.contains("spends 85.0 % of its time collecting garbage"), "{}", shown(&found));
    assert!(
        found[0].claim.contains("its memory grew from 20.0 MB to 399 MB") && found[0].claim.contains("a leak, or"),
        "{}",
        shown(&found)
    );
    // An observer of metrics is no process.
    let mut run = out_of_memory(|second| f64::min(20e6 * (second + 1) as f64, 399e6));
    for series in &mut run.signals {
        series.signal.name = series.signal.name.replace("app/", "prometheus/");
        series.signal.observer = "prometheus".to_owned();
    }
    let claim = |run: &Run| findings(run)[0].claim.clone();
    assert!(claim(&run).starts_with("The process whose metrics \"prometheus\" reads spends 85.0 % of its time"), "{}", claim(&run));
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.9);
    assert!(claim(&run).starts_with("\"process:8080\" spends 85.0 % of its time"), "{}", claim(&run));
    // Memory that is released again is no leak.
    let found = findings(&out_of_memory(|second| if second % 3 == 0 { 100e6 } else { 390e6 }));
    assert!(found[0].rule == "heap" && found[0].claim.ends_with("its heap is too small"), "{}", shown(&found));
}

/// 30 calls per second, `refused` of which end with this status from the tenth second on.
fn called(refused: u64, status: &str, cause: Option<ErrorCause>) -> Run {
    let slice = |second: u32| {
        let refused = if second < 10 { 0 } else { refused };
        let mut slice = Slice::new(second).arrivals(30);
        for index in 0..30 {
            slice = slice.request("Pay", 0, 5 * MS, if index < refused { Outcome::Status } else { Outcome::Passed });
        }
        let mut snapshot = slice.done();
        if refused > 0 {
            let key = synthetic::key(SeriesKind::Request, "Pay");
            let error = ErrorGroup::new(key, Outcome::Status, &format!("status {status}"), snapshot.start);
            snapshot.errors = vec![ErrorGroup { count: refused, cause, ..error }];
        }
        snapshot
    };
    synthetic::run_of(plan(open(30.0, 40)), (0..40).map(slice).collect())
}

#[test]
fn a_grpc_call_refused_with_resource_exhausted_reached_a_limit() {
    for status in ["RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED, expected OK"] {
        let found = conclude(&called(10, status, Some(ErrorCause::ResourceExhausted))).verdict.findings.findings;
        let claim = "\"Pay\" is limited to about 20/s: 25.0 % of its requests were rejected with RESOURCE_EXHAUSTED";
        assert_eq!(found[0].claim, claim, "{}", shown(&found));
        // The status may have other causes.
        assert_eq!(found[0].confidence, Confidence::Medium);
        assert!(found.iter().all(|finding| finding.rule != "failures"), "{}", shown(&found));
    }
    let found = findings(&called(10, "UNAVAILABLE", None));
    assert!(found[0].rule == "failures" && found.iter().all(|finding| finding.rule != "rate-limit"), "{}", shown(&found));
}
