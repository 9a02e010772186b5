//! Job queues whose workers are all busy, as brokers and exporters count them, and queues whose workers are not.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::Role;
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::constant;
use crate::synthetic::{MS, gauge};

/// One minute in which requests take 5 ms and each puts a job into a queue.
fn published() -> Run {
    constant(60, 20, |_| (5 * MS, 0))
}

fn waiting(run: &mut Run, queue: &str, jobs: impl Fn(u64) -> f64) {
    gauge("redis", "celery_waiting").role(Role::QueueLength).part(queue).label("queue", queue).each_second(run, jobs);
}

fn taken(run: &mut Run, jobs: impl Fn(u64) -> f64) {
    gauge("redis", "celery_unacknowledged").role(Role::QueueTaken).each_second(run, jobs);
}

fn named(run: &Run) -> Option<Finding> {
    findings(run).into_iter().find(|finding| finding.rule == "queue-workers")
}

/// Two workers of Celery, each with four jobs taken in advance. A call of the workers is in progress at nearly every time.
#[test]
fn busy_workers_of_a_queue_are_named_with_what_they_do() {
    let mut run = published();
    waiting(&mut run, "celery", |second| 15.0 * second as f64);
    taken(&mut run, |_| 8.0);
    let found = findings(&run);
    let first = &found[0];
    assert!(first.rule == "queue-workers" && first.confidence == Confidence::Medium, "{}", shown(&found));
    assert!(first.claim.starts_with("All workers of the queue \"celery\" are busy with the 8 jobs that they took"), "{}", shown(&found));
    gauge("stub:mailer", "in_flight_max")
        .role(Role::CallsInFlightMax)
        .each_second(&mut run, |second| if second % 4 == 0 { 1.0 } else { 2.0 });
    gauge("stub:mailer", "in_flight").role(Role::CallsInFlight).each_second(&mut run, |_| 1.8);
    let found = findings(&run);
    let first = &found[0];
    assert!(first.claim.starts_with("All 2 workers of the queue \"celery\" are busy"), "{}", shown(&found));
    assert!(first.claim.ends_with("1.80 of them are in a call to \"mailer\" on average"), "{}", shown(&found));
    assert!(first.evidence[1].text.starts_with("each worker takes 4 jobs in advance"), "{}", shown(&found));
    assert!(found.iter().all(|finding| finding.rule != "growing-backlog"), "{}", shown(&found));
}

/// An exporter counts the workers, too: busy ones are certain, and idle ones are no limit.
#[test]
fn counted_workers_are_certain() {
    let mut run = published();
    waiting(&mut run, "default", |second| 10.0 * second as f64);
    taken(&mut run, |_| 5.0);
    gauge("redis", "sidekiq_workers").role(Role::QueueWorkers).each_second(&mut run, |_| 5.0);
    gauge("process", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.05);
    let found = named(&run).unwrap();
    assert!(
        found.confidence == Confidence::High && found.claim.starts_with("All 5 workers of the queue \"default\" are busy"),
        "{}",
        found.claim
    );
    gauge("redis", "sidekiq_workers").role(Role::QueueWorkers).each_second(&mut run, |_| 10.0);
    assert!(named(&run).is_none());
}

/// Three stages of a pipeline share the workers of one queue system: no stage is the slowest.
#[test]
fn queues_that_share_their_workers_are_named_together() {
    let mut run = published();
    for (queue, each) in [("match", 5.0), ("generate", 5.4), ("send", 4.7)] {
        waiting(&mut run, queue, |second| each * second as f64);
    }
    taken(&mut run, |_| 8.0);
    let found = findings(&run);
    let queues = "the queues \"generate\" and \"match\" and \"send\"";
    assert!(found[0].rule == "queue-workers" && found[0].claim.contains(queues), "{}", shown(&found));
}

#[test]
fn queues_that_do_not_grow_or_whose_workers_are_not_all_busy_are_no_finding() {
    let quiet = |name: &str, jobs: &dyn Fn(u64) -> f64, in_progress: &dyn Fn(u64) -> f64| {
        let mut run = published();
        waiting(&mut run, "celery", jobs);
        taken(&mut run, in_progress);
        assert!(named(&run).is_none(), "{name}: {}", named(&run).unwrap().claim);
    };
    quiet("no queue", &|_| 0.0, &|_| 8.0);
    quiet("level", &|second| 50.0 + (second % 3) as f64, &|_| 8.0);
    quiet("works off", &|second| 1_000.0 - 15.0 * second as f64, &|_| 8.0);
    quiet("varies", &|second| 15.0 * second as f64, &|second| (second % 9) as f64);
    quiet("nothing taken", &|second| 15.0 * second as f64, &|_| 0.0);
    quiet("bursts", &|second| if second % 20 < 6 { 60.0 } else { 0.0 }, &|_| 8.0);
}
