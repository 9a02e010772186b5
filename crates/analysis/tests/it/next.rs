//! The next limit, network links as limits, and closed load whose throughput falls.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Role, SeriesKind};
use loadstone_plan::{ClosedStage, LoadProfile};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{FluidRun, Load, System};
use crate::synthetic::{self, MS, SECOND, Slice, closed, counter, gauge, plan};

fn evidence(finding: &Finding) -> String {
    finding.evidence.iter().map(|evidence| format!("{}\n", evidence.text)).collect()
}

/// 25 registrations per second can pass, and as many other requests without a limit.
fn registering() -> FluidRun {
    System { capacity: 25.0, base: 0.04, is_shared: false }.under(Load::Ramp(2.0, 60.0, 60))
}

/// By the utilisation law: each request needs 12.9 ms of the database's four cores, so 310 per second can pass.
#[test]
fn the_next_limit_is_reported_with_its_number() {
    let fluid = registering();
    let observed = |each_s: f64, always: f64| {
        let mut run = fluid.run.clone();
        run.info.host.cores = 8;
        let cpu = |second: u64| fluid.ended[second as usize] * 0.04 + 0.005 * (second % 3) as f64;
        counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, cpu);
        gauge("process:8080", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, cpu);
        counter("process:8080", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 0.05);
        gauge("process:8080", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 9.0);
        let database = counter("postgres", "cpu").role(Role::ProcessCpu);
        database.each_second(&mut run, |second| always + 2.0 * fluid.ended[second as usize] * each_s);
        gauge("postgres", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 4.0);
        findings(&run)
    };
    let found = observed(0.0129, 0.0);
    assert_eq!(found[0].rule, "cpu", "{}", shown(&found));
    assert!(
        evidence(&found[0]).contains("the 4 cores of \"postgres\" would be the next limit, at about 310/s: "),
        "{}",
        evidence(&found[0])
    );
    // One core is constantly busy, which leaves three for requests: 233 per second.
    let found = observed(0.0129, 1.0);
    assert!(evidence(&found[0]).contains("the 4 cores of \"postgres\" would be the next limit, at about 23"), "{}", evidence(&found[0]));
    // A resource with hardly any use is no evidence about its limit.
    let found = observed(0.000_2, 0.0);
    assert!(!evidence(&found[0]).contains("\"postgres\""), "{}", evidence(&found[0]));
}

/// All of the time of a registration is spent on the bytes of its response.
fn by_bytes(fluid: &FluidRun) -> Run {
    let mut run = fluid.run.clone();
    let series = run.slices.iter_mut().flat_map(|slice| &mut slice.series);
    for series in series.filter(|series| series.key.kind == SeriesKind::Request && &*series.key.name == "Register") {
        std::mem::swap(&mut series.phases.wait, &mut series.phases.body);
        series.bytes_received = 400_000 * series.count;
    }
    run
}

#[test]
fn a_slow_transfer_of_bytes_is_no_pool() {
    let fluid = registering();
    let found = findings(&by_bytes(&fluid));
    assert!(
        found[0].rule == "bandwidth" && found[0].claim.starts_with("The response bytes of \"Register\" arrive at "),
        "{}",
        shown(&found)
    );
    assert!(found[0].confidence == Confidence::Medium, "{}", shown(&found));
    assert!(found.iter().all(|finding| !["effective-concurrency", "rate-limit"].contains(&finding.rule.as_str())), "{}", shown(&found));
    // Time before the first byte is no network limit.
    assert!(findings(&fluid.run).iter().all(|finding| finding.rule != "bandwidth"), "{}", shown(&findings(&fluid.run)));
    // A link with spare capacity is not saturated.
    let idle = System { capacity: 90.0, base: 0.04, is_shared: false }.under(Load::Ramp(2.0, 60.0, 60));
    assert!(findings(&by_bytes(&idle)).iter().all(|finding| finding.rule != "bandwidth"));
}

/// Users who were delayed together pause together, so the link is idle for a while and throughput follows their number.
#[test]
fn a_transfer_that_slows_down_is_reported_before_throughput_levels_off() {
    let visiting = |bytes: u64, is_body: bool| {
        let slices = (0..40u32).map(|second| {
            let users = u64::from(second) + 1;
            // Every second request is sent, and each waits for those before it.
            let mut slice = Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active) = (users, users));
            slice = slice.requests("List", users / 2, users * 20 * MS).requests("Item", users / 2, 2 * MS);
            let mut slice = slice.done();
            for series in slice.series.iter_mut().filter(|series| &*series.key.name == "List") {
                series.bytes_received = bytes * series.count;
                if is_body {
                    std::mem::swap(&mut series.phases.wait, &mut series.phases.body);
                }
            }
            slice
        });
        let stages = vec![ClosedStage { from: 1, to: 40, duration_ns: 40 * SECOND }];
        synthetic::run_of(plan(LoadProfile::Closed { stages }), slices.collect())
    };
    let found = findings(&visiting(100_000, true));
    let reported = "The response of \"List\" arrives more slowly under load: its 100 kB take ";
    assert!(found[0].rule == "bandwidth" && found[0].claim.starts_with(reported), "{}", shown(&found));
    assert!(found[0].confidence < Confidence::High, "{}", shown(&found));
    // A response that fits into one round trip, and a response with a late first byte, wait for something else.
    for run in [visiting(2_000, true), visiting(100_000, false)] {
        assert!(findings(&run).iter().all(|finding| finding.rule != "bandwidth"), "{}", shown(&findings(&run)));
    }
}

#[test]
fn a_saturated_link_is_named_with_its_speed() {
    let fluid = registering();
    let with_link = |speed: f64| {
        let mut run = fluid.run.clone();
        let sent = counter("host", "network_sent_bytes").label("device", "eth0").part("eth0").role(Role::NetworkSent);
        sent.each_second(&mut run, |second| 480e3 * fluid.ended[second as usize]);
        gauge("host", "network_speed_bytes").label("device", "eth0").part("eth0").role(Role::NetworkSpeed).each_second(&mut run, |_| speed);
        findings(&run)
    };
    let found = with_link(12.5e6);
    assert!(
        found[0].rule == "bandwidth" && found[0].claim.starts_with("The network link eth0 is saturated: it sends "),
        "{}",
        shown(&found)
    );
    let found = with_link(125e6);
    assert!(found.iter().all(|finding| finding.rule != "bandwidth"), "{}", shown(&found));
}

/// Twenty users complete 200 requests per second, and two per second for six seconds.
fn standing_still(in_requests: f64) -> Run {
    let slices = (0..60u32).map(|second| {
        let stands = (25..31).contains(&second);
        let slice = Slice::new(second).requests("Pay", if stands { 2 } else { 200 }, 100 * MS);
        let mut snapshot = slice.leaf(|leaf| (leaf.users_asked, leaf.users_active) = (20, 20)).done();
        snapshot.generator[0].in_flight_ns = ((if stands { in_requests } else { 20.0 }) * SECOND as f64) as u64;
        snapshot
    });
    synthetic::run_of(plan(closed(20, 60)), slices.collect())
}

#[test]
fn for_closed_load_with_falling_throughput_the_wait_of_the_users_is_reported() {
    let found = findings(&standing_still(20.0));
    let claim = "Requests ended at 2/s instead of 200/s from 0:25 to 0:31, while 20 users waited for them as before";
    assert!(found.iter().any(|finding| finding.rule == "throughput" && finding.claim == claim), "{}", shown(&found));
    // Users without a request meanwhile pause by themselves.
    let found = findings(&standing_still(0.2));
    assert!(found.iter().all(|finding| finding.rule != "throughput"), "{}", shown(&found));
}
