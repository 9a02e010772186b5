//! All request threads or workers of a service are busy, and further requests wait for one.
//!
//! The rule reads the stack samples of [runtimes](../observers.md#runtimes) whose threads have names. A server with n request threads serves n requests at a
//! time. All of these must hold while throughput stops or requests wait:
//!
//! - At least {busy_threads::BUSY_PART_MIN:%} of a group's threads are at work. Their number is the most that were ever at work.
//! - At most {busy_threads::LOW_LOAD_PART_MAX:%} are at work under low load, or at the begin of the load.
//! - At least {busy_threads::REQUESTS_PER_THREAD_MIN} requests are in the system for each thread.
//! - At most {busy_threads::COMPUTING_PART_MAX:%} of the threads compute. Otherwise, cores may be the limit.
//! - No other finding explains it: a resource that is used up, a pool with metrics, waits of sessions or threads for others, or a limit of calls.
//!
//! The claim names the call in which most of the threads are. More threads help as long as what they call can do more, so the confidence is medium.
//!
//! The finding ranks before [`effective-concurrency`](effective-concurrency.md), which becomes its evidence.

use crate::Confidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::facts::busy_threads::BusyThreads;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

pub(super) const RULE: Rule = Rule {
    ids: &["busy-threads"],
    page: "busy-threads",
    title: "All request threads are busy",
    says: "requests wait because all request threads of a service are in calls",
    example: Example {
        run: "examples/busy-threads",
        claim: "All 4 threads `exec` of \"jvm:80\" are busy while requests wait: 4 of them are in `get api.py` below `verify auth.py`",
    },
    needs: &["python", "jvm"],
    settings: &["thread", "worker"],
    precedence: 312,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let busy = facts.busy_threads.as_ref()?;
    (!facts.explain_waiting((busy.from, busy.to)) && facts.slow_connects.is_none()).then(|| finding(facts, busy))
}

fn finding(facts: &Facts<'_>, busy: &BusyThreads<'_>) -> RankedFinding {
    let (number, span, word) = (loadstone_units::number, (busy.from, busy.to), busy.word);
    let at = busy.place.label("at").unwrap_or_default();
    let below = busy.place.label("under").map_or(String::new(), |under| format!(" below `{under}`"));
    let all = if busy.number < 1.5 { "The only thread".to_owned() } else { format!("All {:.0} {word}", busy.number) };
    let is_are = if busy.number < 1.5 { "is" } else { "are" };
    let claim = format!(
        "{all} `{}` of \"{}\" {is_are} busy while requests wait: {} of them {} in `{at}`{below}",
        busy.name,
        busy.observer,
        number(busy.in_place),
        if busy.in_place < 1.05 { "is" } else { "are" }
    );
    let text = format!(
        "{} {word} were at work on average, {} of them in this call, while {} requests were in the system",
        number(busy.at_work),
        number(busy.in_place),
        number(busy.in_system)
    );
    let found = RankedFinding::new(Standing::Cause, "busy-threads", Subject::part(busy.observer, at), Confidence::Medium, claim)
        .with(Quantity::count("threads", busy.number))
        .with(Quantity::count("in_call", busy.in_place))
        .with(Quantity::count("in_system", busy.in_system))
        .rests_on(text, busy.series.clone(), span);
    // The threads of several stacks are drawn apart, and the number is their sum.
    let found = match &busy.series[..] {
        [one] => found.at_level(one, "on average", busy.in_place),
        _ => found,
    };
    found.weigh(examined::cpu(facts, busy.from, busy.to)).beyond_the_generator(facts, span).try_next(format!(
        "Make `{at}` faster, or call it less often. If what it calls can do more, allow more than {:.0} {word} (`threads`, `workers`, `maxThreads`), and run \
         again: throughput should rise.",
        busy.number
    ))
}
