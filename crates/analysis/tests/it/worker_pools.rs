//! Worker pools by the names and roles that their exporters give them: each is the first finding if its workers are all busy, and none if some are idle.

use loadstone_analysis::Finding;
use loadstone_metrics::{Outcome, PoolMembers, Role};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{FluidRun, Load, System, constant};
use crate::synthetic::{self, MS, Slice, gauge};

fn overloaded() -> FluidRun {
    System { capacity: 10.0, base: 0.2, is_shared: true }.under(Load::Ramp(2.0, 20.0, 60))
}

/// uwsgi_exporter: a gauge for each worker, their number, and the listen queue.
#[test]
fn busy_workers_of_uwsgi_rank_first() {
    let observed = |workers: u64| {
        let fluid = overloaded();
        let mut run = fluid.run.clone();
        let uwsgi = |metric| gauge("prometheus", metric).part("uwsgi").members(PoolMembers::Threads);
        for worker in 1..=workers {
            let busy = |second: u64| f64::from(fluid.open[second as usize] >= worker as f64 - 0.5);
            uwsgi("uwsgi_worker_busy").role(Role::PoolInUse).label("worker_id", &worker.to_string()).each_second(&mut run, busy);
        }
        uwsgi("uwsgi_workers").role(Role::PoolSize).each_second(&mut run, |_| workers as f64);
        let queue = |second: u64| (fluid.open[second as usize] - workers as f64).max(0.0).floor();
        uwsgi("uwsgi_listen_queue_length").role(Role::PoolWaiting).each_second(&mut run, queue);
        findings(&run)
    };
    let found = observed(2);
    assert!(found[0].rule == "workers" && found[0].claim.starts_with("All 2 workers of \"uwsgi\" are in use"), "{}", shown(&found));
    assert!(observed(400).iter().all(|finding| finding.rule != "workers"), "{}", shown(&observed(400)));
}

/// A pool with a gauge for each of its roles, and as many waiting requests as it has not enough workers for.
fn of_roles(part: &str, roles: [(Role, &str); 3], workers: f64) -> Vec<Finding> {
    let fluid = overloaded();
    let mut run = fluid.run.clone();
    let [size, used, waiting] = roles.map(|(role, metric)| gauge("prometheus", metric).role(role).part(part).members(PoolMembers::Threads));
    size.each_second(&mut run, |_| workers);
    used.each_second(&mut run, |second| fluid.open[second as usize].min(workers).round());
    waiting.each_second(&mut run, |second| (fluid.open[second as usize] - workers).max(0.0).floor());
    findings(&run)
}

/// prometheus_exporter: its counts by raindrops.
#[test]
fn busy_workers_of_unicorn_rank_first() {
    let roles = [
        (Role::PoolSize, "ruby_unicorn_workers"),
        (Role::PoolInUse, "ruby_unicorn_active_workers"),
        (Role::PoolWaiting, "ruby_unicorn_request_backlog"),
    ];
    let found = of_roles("ruby_unicorn", roles, 2.0);
    assert!(found[0].rule == "workers" && found[0].claim.starts_with("All 2 workers of \"ruby_unicorn\" are in use"), "{}", shown(&found));
    let found = of_roles("ruby_unicorn", roles, 400.0);
    assert!(found.iter().all(|finding| finding.rule != "workers"), "{}", shown(&found));
}

/// passenger-exporter counts its processes and what waits, but not how many processes are busy.
#[test]
fn busy_processes_of_passenger_rank_first() {
    let observed = |processes: f64| {
        let fluid = overloaded();
        let mut run = fluid.run.clone();
        let passenger = |metric, role| gauge("prometheus", metric).role(role).part("passenger").members(PoolMembers::Threads);
        passenger("passenger_current_processes", Role::PoolSize).each_second(&mut run, |_| processes);
        passenger("passenger_max_processes", Role::PoolSizeMax).each_second(&mut run, |_| processes);
        passenger("passenger_top_level_request_queue", Role::PoolWaiting).each_second(&mut run, |_| 0.0);
        let queue = passenger("passenger_app_request_queue", Role::PoolWaiting).label("name", "/srv/shop (production)");
        queue.each_second(&mut run, |second| (fluid.open[second as usize] - processes).max(0.0).floor());
        findings(&run)
    };
    let found = observed(2.0);
    assert!(found[0].rule == "workers" && found[0].claim.starts_with("All 2 workers of \"passenger\" are in use"), "{}", shown(&found));
    assert!(observed(400.0).iter().all(|finding| finding.rule != "workers"), "{}", shown(&observed(400.0)));
}

/// Jobs that wait, those in progress, and the workers where an exporter counts them.
fn queue(name: &str, taken_of: &str, busy: f64, workers: Option<f64>) -> Vec<Finding> {
    let mut run = constant(60, 20, |_| (5 * MS, 0));
    gauge("prometheus", "waiting").role(Role::QueueLength).part(name).each_second(&mut run, |second| 10.0 * second as f64);
    gauge("prometheus", "active").role(Role::QueueTaken).part(taken_of).each_second(&mut run, |_| busy);
    if let Some(workers) = workers {
        gauge("prometheus", "concurrency").role(Role::QueueWorkers).each_second(&mut run, |_| workers);
    }
    findings(&run)
}

/// `sidekiq_queue_backlog` of each queue; `sidekiq_process_busy` and `sidekiq_process_concurrency` of the whole process.
#[test]
fn busy_workers_of_sidekiq_rank_first() {
    let found = queue("default", "", 5.0, Some(5.0));
    let claim = "All 5 workers of the queue \"default\" are busy";
    assert!(found[0].rule == "queue-workers" && found[0].claim.starts_with(claim), "{}", shown(&found));
    let found = queue("default", "", 5.0, Some(10.0));
    assert!(found.iter().all(|finding| finding.rule != "queue-workers"), "{}", shown(&found));
}

/// `bullmq_job_count` by its state, of each queue; the workers are not counted.
#[test]
fn busy_workers_of_bullmq_rank_first() {
    let found = queue("mails", "mails", 3.0, None);
    let claim = "All workers of the queue \"mails\" are busy with the 3 jobs that they took";
    assert!(found[0].rule == "queue-workers" && found[0].claim.starts_with(claim), "{}", shown(&found));
}

/// Times go from 20 to 60 ms at 0:20. Before the step, or after it, a pause recurs every six seconds, or never.
fn stepped(pause: impl Fn(u32) -> bool) -> Run {
    let slice = |second: u32| {
        let usual = if second < 20 { 20 } else { 60 };
        let slice = (0..19)
            .fold(Slice::new(second).arrivals(20), |slice, number| slice.request("Order", 0, (usual + number % 5) * MS, Outcome::Passed));
        slice.request("Order", 0, if pause(second) { 900 * MS } else { (usual + 2) * MS }, Outcome::Passed).done()
    };
    synthetic::run_of(synthetic::plan(synthetic::open(20.0, 80)), (0..80).map(slice).collect())
}

#[test]
fn pauses_are_tested_against_what_is_left_after_a_step() {
    let stalls = |pause: fn(u32) -> bool| -> Vec<String> {
        let found = findings(&stepped(pause));
        assert!(found.iter().any(|finding| finding.rule == "change"), "{}", shown(&found));
        found.into_iter().filter(|finding| finding.rule.as_str().ends_with("stall")).map(|finding| finding.claim).collect()
    };
    assert_eq!(stalls(|_| false), Vec::<String>::new());
    let after = stalls(|second| second > 22 && second % 6 == 4);
    assert!(after.len() == 1 && after[0].contains("6.00 s"), "{after:?}");
}
