//! All workers of a job queue are busy: jobs wait while a constant number is in progress.
//!
//! The rule reads how many jobs wait in a queue and how many its workers have taken and not finished. `observe.redis` reads them of Sidekiq, BullMQ, Celery and
//! streams, and `observe.prometheus` of RabbitMQ, celery-exporter, Flower, BullMQ and prometheus_exporter. A worker takes another job as soon as it is free.
//! While jobs wait, the number of taken jobs is therefore the number of workers, or a multiple of it if each takes several in advance (prefetch).
//!
//! | condition | limit |
//! |---|---|
//! | readings with waiting jobs, consecutive | {queue_workers::READINGS_MIN}, over {queue_workers::LENGTH_MIN_S} s |
//! | readings with the same number of taken jobs | {queue_workers::CONSTANT_SHARE_MIN:%} |
//! | waiting jobs in the last third, over those in the first | {queue_workers::GROWTH_FACTOR_MIN}, and {queue_workers::GROWTH_MIN} more |
//! | taken jobs over workers, where workers are counted | {queue_workers::BUSY_PART_MIN:%} |
//!
//! The claim names what the workers do if a stub or a database shows it. Where no exporter counts the workers, a stub may: the workers are as many as the calls
//! that it sees at a time, if the taken jobs are a multiple of them.
//!
//! If the broker counts the taken jobs of all queues together, one pool of workers serves them, and the claim names all queues with waiting jobs. The
//! confidence is high if the workers are counted, and medium otherwise: workers that hang look the same.

use crate::{Confidence, Evidence};
use crate::evidence::{examined, occupation};
use crate::facts::Facts;
use crate::facts::queue_workers::BusyQueueWorkers;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

/// Queues that a claim names.
const NAMES_MAX: usize = 3;

pub(super) const RULE: Rule = Rule {
    ids: &["queue-workers"],
    page: "queue-workers",
    title: "All workers of a queue are busy",
    says: "jobs wait in a queue while all its workers are busy",
    example: Example {
        run: "examples/queue-workers",
        claim: "All workers of the queue \"celery\" are busy with the 8 jobs that they took, while the jobs that wait for one rise from 158 to 742",
    },
    needs: &["redis", "prometheus"],
    settings: &["worker", "concurrency", "prefetch"],
    precedence: 125,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let busy = facts.queue_workers.as_ref()?;
    let span = (busy.from, busy.to);
    let doing = occupation::of(facts, busy.workers.unwrap_or(busy.taken), span);
    let does = doing.as_ref().map_or_else(String::new, |doing| format!(": {}", doing.claim));
    let (queues, number) = (names(busy), loadstone_units::number);
    let workers = match busy.workers {
        Some(workers) if workers < 1.5 => format!("The only worker of {queues} is busy"),
        Some(workers) => format!("All {} workers of {queues} are busy", number(workers)),
        None => format!("All workers of {queues} are busy with the {} jobs that they took", number(busy.taken)),
    };
    let (first, last) = (number(busy.waiting.0), number(busy.waiting.1));
    let claim = format!("{workers}, while the jobs that wait for one rise from {first} to {last}{does}");
    let standing = if facts.outages.iter().any(|outage| busy.is_during(outage.from, outage.to)) { Standing::Consequence } else { Standing::Cause };
    let confidence = if busy.are_counted { Confidence::High } else { Confidence::Medium };
    let mut found = RankedFinding::new(standing, "queue-workers", Subject::part(busy.observer, busy.queues[0]), confidence, claim)
        .with(Quantity::count("taken", busy.taken))
        .with(Quantity::count("waiting", busy.waiting.1))
        .rests_on_drawn(drawn(
            busy,
            format!(
                "{} jobs were in progress in nearly every reading; {first} jobs waited on average in the first third of the stretch, and {last} in the last",
                number(busy.taken)
            ),
        ));
    if let Some(each) = busy.workers.filter(|workers| busy.taken >= 1.5 * workers).map(|workers| busy.taken / workers) {
        let text = format!("each worker takes {} jobs in advance, so that the others wait although no worker is free", number(each));
        found = found.rests_on(text, busy.series.clone(), span);
    }
    if let Some(doing) = &doing {
        found = found.rests_on(doing.evidence.clone(), doing.series.clone(), span);
    }
    let found = if doing.is_some() { found } else { found.weigh(examined::cpu(facts, busy.from, busy.to)) };
    let advice = doing.map_or_else(|| "Find out what a job waits for, or".to_owned(), |doing| doing.advice);
    Some(found.try_next(format!("{advice} start more workers. Run again: fewer jobs should wait.")))
}

/// The jobs in progress and, of a single queue, the waiting ones in the first and the last third. The waiting jobs of several queues have no common series.
fn drawn(busy: &BusyQueueWorkers<'_>, text: String) -> Evidence {
    let (from, to) = (busy.from, busy.to);
    let third = (to - from) / 3.0;
    let evidence = Evidence::new(text, busy.series.clone(), (from, to));
    match busy.series.as_slice() {
        [length, taken] => evidence
            .level(length, "first third", busy.waiting.0, (from, from + third))
            .level(length, "last third", busy.waiting.1, (to - third, to))
            .level(taken, "in progress", busy.taken, (from, to)),
        [.., taken] => evidence.level(taken, "in progress", busy.taken, (from, to)),
        [] => evidence,
    }
}

/// The queues of a claim.
fn names(busy: &BusyQueueWorkers<'_>) -> String {
    let named: Vec<String> = busy.queues.iter().take(NAMES_MAX).map(|queue| format!("\"{queue}\"")).collect();
    match busy.queues.len() {
        0 | 1 => format!("the queue {}", named.concat()),
        all if all > NAMES_MAX => format!("the queues {} and {} more", named.join(", "), all - NAMES_MAX),
        _ => format!("the queues {}", named.join(" and ")),
    }
}
