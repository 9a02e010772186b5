//! All parts of a report use the same facts about a resource: the next limit, ruled-out alternatives, the remark, and the table next to
//! them.

use loadstone_analysis::{Confidence, ResourceKind, conclude};
use loadstone_metrics::Role;
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::synthetic::{self, MS, Slice, counter, gauge, open, plan};

/// Three places of 40 ms for "Register".
const POOL: System = System { capacity: 75.0, base: 0.04, is_shared: false };

fn process(run: &mut Run, name: &str, cores: f64, thread: Option<f64>) {
    counter(name, "cpu").role(Role::ProcessCpu).each_second(run, |second| cores + 0.01 * (second % 3) as f64);
    if let Some(thread) = thread {
        gauge(name, "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(run, |_| thread);
    }
}

fn machine(run: &mut Run, cores: f64) {
    gauge("host", "cores").role(Role::MachineCores).each_second(run, |_| cores);
}

/// The alternative about the CPU if all requests wait for a pool of three.
fn cpu_alternative(observe: impl Fn(&mut Run)) -> String {
    let mut run = System { is_shared: true, ..POOL }.under(Load::Ramp(4.0, 120.0, 60)).run;
    observe(&mut run);
    let found = findings(&run);
    assert_eq!(found[0].rule, "effective-concurrency", "{}", shown(&found));
    let cpu = found[0].alternatives.iter().find(|other| other.text.starts_with("A process or thread")).unwrap();
    assert!(cpu.text.contains(". Ruled out: ") || found[0].confidence < Confidence::High, "{}", shown(&found));
    cpu.text.clone()
}

#[test]
fn a_process_is_compared_with_the_observed_machine_and_not_with_the_generator() {
    let on = |generator: u32, cores: f64, used: f64| {
        cpu_alternative(|run| {
            run.info.host.cores = generator;
            machine(run, cores);
            process(run, "app", used, Some(0.3));
        })
    };
    // 2.4 of 16 cores leave capacity, regardless of the generator's cores.
    assert!(on(2, 16.0, 2.4).contains("Ruled out: \"app\" used 2.4"), "{}", on(2, 16.0, 2.4));
    // 1.7 of two do not.
    assert!(on(64, 2.0, 1.7).contains("Not ruled out: \"app\" used 1.7"), "{}", on(64, 2.0, 1.7));
}

#[test]
fn the_process_closest_to_its_limit_represents_all() {
    let reported = cpu_alternative(|run| {
        machine(run, 8.0);
        process(run, "app", 0.85, None);
        gauge("app", "cores_allowed").role(Role::ProcessCpuMax).each_second(run, |_| 1.0);
        process(run, "database", 2.4, Some(0.3));
    });
    assert!(reported.contains("Not ruled out: \"app\" used 0.86"), "{reported}");
}

#[test]
fn a_quota_limits_the_cores_of_a_process() {
    let observe = |run: &mut Run| {
        machine(run, 8.0);
        process(run, "app", 1.3, Some(0.4));
        gauge("app", "cores_allowed").role(Role::ProcessCpuMax).each_second(run, |_| 8.0);
        gauge("app", "cpu_quota").role(Role::GroupCpuMax).each_second(run, |_| 1.5);
    };
    let reported = cpu_alternative(observe);
    assert!(reported.contains("Not ruled out: \"app\" used 1.3"), "{reported}");
    let mut run = POOL.under(Load::Ramp(4.0, 120.0, 60)).run;
    observe(&mut run);
    let row = conclude(&run).resources.into_iter().find(|row| row.kind == ResourceKind::Process).unwrap();
    assert_eq!(row.limit, Some(1.5));
    assert!((row.high.unwrap().utilisation.unwrap() - 0.87).abs() < 0.02, "{row:?}");
}

#[test]
fn metrics_that_are_no_pools_are_stated_where_pools_are_missing() {
    let unobserved = |observers: Vec<serde_json::Value>| {
        let slice = |second: u32| Slice::new(second).arrivals(20).requests("List", 20, 5 * MS).done();
        let mut run = synthetic::run_of(plan(open(20.0, 30)), (0..30).map(slice).collect());
        run.plan.observers = observers;
        conclude(&run).resources.into_iter().find(|row| row.kind == ResourceKind::Pool).unwrap().name
    };
    assert_eq!(unobserved(Vec::new()), "its pools");
    let metrics = serde_json::json!({ "kind": "json", "url": "http://127.0.0.1/status" });
    assert_eq!(unobserved(vec![metrics]), "its pools (no observed metric is known to be of one)");
}

/// Some pools only report the number of waiters.
#[test]
fn a_pool_with_only_the_number_of_waiters_counts_as_observed() {
    let fluid = POOL.under(Load::Ramp(4.0, 120.0, 60));
    let mut run = fluid.run.clone();
    let waiting = gauge("app", "db_pool_waiting").role(Role::PoolWaiting).part("db_pool");
    waiting.each_second(&mut run, |second| (fluid.open[second as usize] - 3.0).max(0.0));
    let rows = conclude(&run).resources;
    let pools: Vec<_> = rows.iter().filter(|row| row.kind == ResourceKind::Pool).collect();
    assert!(pools.len() == 1 && pools[0].name == "db_pool", "{pools:?}");
    assert!(pools[0].high.unwrap().waiting > Some(10.0) && pools[0].low.unwrap().waiting < Some(1.0), "{pools:?}");
}

/// Cores that wait for a disk are available.
#[test]
fn a_machine_that_waits_for_its_disk_has_free_cores() {
    let slice = |second: u32| Slice::new(second).arrivals(20).requests("List", 20, 5 * MS).done();
    let mut run = synthetic::run_of(plan(open(20.0, 30)), (0..30).map(slice).collect());
    machine(&mut run, 4.0);
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.1);
    let remark = |run: &Run| conclude(run).verdict.findings.remark.text;
    assert!(remark(&run).contains("all 4 cores of the machine were busy"), "{}", remark(&run));
    gauge("host", "iowait").role(Role::MachineIoWait).each_second(&mut run, |_| 3.0);
    assert!(!remark(&run).contains("cores of the machine were busy"), "{}", remark(&run));
}

/// The kernel takes the cores of programs with low priority away as soon as others want them. Observed processes of low priority use the cores themselves.
#[test]
fn programs_of_low_priority_leave_their_cores_to_others() {
    let slice = |second: u32| Slice::new(second).arrivals(20).requests("List", 20, 5 * MS).done();
    let of = |nice: f64, observed: f64| {
        let mut run = synthetic::run_of(plan(open(20.0, 30)), (0..30).map(slice).collect());
        machine(&mut run, 4.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.1);
        gauge("host", "cpu").label("mode", "nice").role(Role::MachineCpu).each_second(&mut run, |_| nice);
        counter("app", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| observed);
        conclude(&run).verdict.findings.remark.text
    };
    let busy = "all 4 cores of the machine were busy";
    assert!(!of(3.0, 0.5).contains(busy), "{}", of(3.0, 0.5));
    assert!(of(0.05, 0.5).contains(busy), "{}", of(0.05, 0.5));
    assert!(of(3.0, 2.8).contains(busy), "{}", of(3.0, 2.8));
}

/// One core of a process takes 40 ms per registration. The machine's eight cores take 60 ms per registration, and wait the same time for a
/// disk.
#[test]
fn the_next_limit_is_computed_from_work_and_not_from_waiting() {
    let fluid = System { capacity: 25.0, base: 0.04, is_shared: false }.under(Load::Ramp(2.0, 60.0, 60));
    let mut run = fluid.run.clone();
    let ended = |second: u64| fluid.ended[second as usize];
    machine(&mut run, 8.0);
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| 8.0 - 0.12 * ended(second));
    gauge("host", "iowait").role(Role::MachineIoWait).each_second(&mut run, |second| 0.06 * ended(second));
    counter("app", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.04 * ended(second));
    gauge("app", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| 0.04 * ended(second));
    let found = findings(&run);
    let evidence: String = found[0].evidence.iter().map(|evidence| format!("{}\n", evidence.text)).collect();
    // Both kinds of requests count: 8 cores over 30 ms each.
    assert!(evidence.contains("the 8 cores of the machine would be the next limit, at about 26"), "{evidence}");
}
