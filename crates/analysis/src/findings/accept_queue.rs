//! Connections wait until a process accepts them: all of its workers, or its only thread, are busy.
//!
//! The kernel queues connections until the process accepts them. `observe.process` reads the length of that queue (`accept_queue`). All of these must hold
//! in the last third of the load:
//!
//! - The queue has at least {accept_queue::QUEUED_MIN} connections on average.
//! - It is not empty in {accept_queue::FILLED_SHARE_MIN:%} of the readings, or is {accept_queue::GROWN_FACTOR_MIN} times as long as in the first third, or all
//!   descriptors of the process are open in {accept_queue::DESCRIPTORS_SHARE_MIN:%} of the readings in which it is not empty.
//! - The process is not short of CPU.
//! - No other finding says why the workers are busy: a resource that is used up, a pool, a lock, waits of sessions or threads, or a limit of calls.
//!
//! A server with a process or thread per connection (prefork, gunicorn, Puma, uWSGI) then needs more of them, or less time in each. A server with keep-alive
//! holds a worker for each idle connection, too: requests on accepted connections are then fast, and all others wait.
//!
//! A process whose descriptors are all open cannot accept a connection, however idle it is. The claim then names their limit.
//!
//! The claim names the number of requests that are served at a time where throughput × service time shows it.

use crate::Confidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::facts::accept_queue::AcceptQueue;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;

pub(super) const RULE: Rule = Rule {
    ids: &["accept-queue"],
    page: "accept-queue",
    title: "Connections wait to be accepted",
    says: "all workers of a process are busy, so that connections wait in the accept queue of its socket",
    example: Example {
        run: "examples/accept-queue",
        claim: "Connections wait until \"process:80\" accepts them, from 0:06 on and up to 63 at once: all its workers are busy",
    },
    needs: &["process"],
    settings: &["worker", "thread", "process", "children", "keepalive", "backlog"],
    precedence: 310,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let queue = facts.accept_queue.as_ref()?;
    let is_explained = facts.explain_waiting((queue.from, queue.to)) || facts.constant_connections.is_some();
    let cpu = examined::cpu(facts, queue.from, queue.to);
    (!is_explained && cpu.ruled_out).then(|| finding(facts, queue, cpu))
}

fn finding(facts: &Facts<'_>, queue: &AcceptQueue<'_>, cpu: Alternative) -> RankedFinding {
    let span = (queue.from, queue.to);
    let most = loadstone_units::number(queue.most);
    let reason = match &queue.descriptors {
        Some((limit, _)) => format!("all its {} are open", loadstone_units::counted(*limit as u64, "descriptor")),
        None => format!("all its workers are busy{}", at_a_time(facts)),
    };
    let claim = format!(
        "Connections wait until \"{}\" accepts them, from {} on and up to {most} at once: {reason}",
        queue.process,
        clock(queue.from)
    );
    let mut found = RankedFinding::new(Standing::Cause, "accept-queue", Subject::observed(queue.process), Confidence::High, claim)
        .with(Quantity::count("queued", queue.most))
        .with(Quantity::seconds("from", queue.from))
        .rests_on(
            format!(
                "{} rose from {} to {} on average, and to {most} at most",
                queue.series,
                loadstone_units::number(queue.first),
                loadstone_units::number(queue.last)
            ),
            vec![queue.series.clone(), "in_flight/requests".to_owned()],
            span,
        )
        .at_level(&queue.series, "most", queue.most);
    if let Some((limit, series)) = &queue.descriptors {
        let text = format!("{series} reached the limit of {}", loadstone_units::number(*limit));
        found =
            found.with(Quantity::count("descriptors", *limit)).rests_on(text, vec![series.clone()], span).at_level(series, "limit", *limit);
        return RankedFinding { uncertainty: GeneratorUncertainty::None, ..found }.weigh(cpu).try_next(format!(
            "Raise the limit of open files of \"{}\" (`ulimit -n`, `LimitNOFILE`), or find out which connections and files stay open: `ls -l /proc/PID/fd`.",
            queue.process
        ));
    }
    if let Some(threads) = queue.threads {
        found = found.with(Quantity::count("threads", threads)).rests_on(
            format!("its {} (with those of its child processes) did not become more", loadstone_units::counted(threads as u64, "thread")),
            vec![queue.series.clone()],
            span,
        );
    }
    let found = RankedFinding { uncertainty: GeneratorUncertainty::None, ..found };
    found.weigh(cpu).try_next(format!(
        "Look up the number of workers or threads of \"{}\" and raise it, or find out what they wait for: observe its runtime and its dependencies. If it \
         keeps idle connections open, let it close them sooner.",
        queue.process
    ))
}

/// How many requests are served at a time, where that is known.
fn at_a_time(facts: &Facts<'_>) -> String {
    let places = facts.plateaus.concurrency();
    let number = places.whole().filter(|_| places.is_known() && !facts.plateaus.limited.is_empty());
    match number {
        Some((low, high)) if low < high => format!(", {low:.0} to {high:.0} requests at a time"),
        Some((one, _)) if one < 1.5 => ", one request at a time".to_owned(),
        Some((number, _)) => format!(", {number:.0} requests at a time"),
        None => String::new(),
    }
}
