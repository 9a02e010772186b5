//! Work that queues for the few threads that a runtime has for it.
//!
//! The rule reads [runtimes](../observers.md#runtimes). A runtime has separate threads for some types of work. Node, for example, looks up two names at a
//! time. The rule reports a type of work if both of these hold while work is held up, for {search::READINGS_MIN} readings or more:
//!
//! - {runtime_queues::WORK_PER_THREAD_MIN} times as many pieces of this work are in progress as there are threads for it
//! - they are {search::SYSTEM_PART_MIN:%} of the requests in the system
//!
//! The confidence is high from {runtime_queues::CERTAIN_SYSTEM_PART_MIN:%} of the requests in the system on, or if as many requests are served at a time as
//! there are threads.
//!
//! The work may also take longer than under low load. By the utilisation law, the threads that it needs are its threads per request under low load times the
//! throughput. The alternative is ruled out if these are {EXPLAINED_PART_MIN:%} of the threads or more.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::readings::SignalReadings;
use crate::facts::runtime_queues::RuntimeQueue;

/// Part of the threads that the work must need if each piece takes as long as under low load.
const EXPLAINED_PART_MIN: f64 = 0.75;

pub(super) const RULE: Rule = Rule {
    ids: &["runtime-work"],
    page: "runtime-work",
    title: "Work waits for the runtime's threads",
    says: "work queues for the few threads that a runtime has for it",
    example: Example {
        run: "examples/runtime-work",
        claim: "Work waits for the threads that the runtime of \"node:80\" has for look-ups of names: 28.4 are in progress, and 2 can run at a \
                time",
    },
    needs: &["node"],
    settings: &["thread", "worker", "pool"],
    precedence: 100,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let queue = facts.runtime_queue.as_ref()?;
    let RuntimeQueue { observer, kind, work, places, threads, count, in_system, from, to } = queue;
    let confidence = if queue.is_limit(&facts.plateaus) { Confidence::High } else { Confidence::Medium };
    let (count_text, threads_text) = (loadstone_units::number(*count), loadstone_units::number(*threads));
    let claim = format!(
        "Work waits for the threads that the runtime of \"{observer}\" has for {kind}: {count_text} are in progress, and {threads_text} can run at a time"
    );
    let text = format!(
        "{} was {count_text} on average, for {threads_text} threads, while {} requests were in the system",
        work.name(),
        loadstone_units::number(*in_system)
    );
    let found = RankedFinding::new(Standing::Cause, "runtime-work", Subject::part(observer, kind), confidence, claim)
        .with(Quantity::count("in_progress", *count))
        .with(Quantity::count("threads", *threads))
        .rests_on(text, vec![work.name(), places.name()], (*from, *to))
        .at_level(&work.name(), "on average", *count)
        .weigh(slower_each(facts, work, *threads, (*from, *to)))
        .beyond_the_generator(facts, (*from, *to))
        .try_next(format!(
            "Reduce this work per request (keep connections alive, cache lookups), make {kind} faster (a nearby resolver), or give the \
             runtime more threads (UV_THREADPOOL_SIZE in Node)."
        ));
    Some(found)
}

/// By the utilisation law, the threads that each request needed under low load times the throughput are those needed now, unless each piece of work has
/// become slower.
fn slower_each(facts: &Facts<'_>, work: &SignalReadings<'_>, threads: f64, (from, to): (f64, f64)) -> Alternative {
    const OTHER: &str = "Work that takes longer than under low load";
    let (low, _) = facts.strain.low_and_high();
    let means = low.iter().filter_map(|(from, to)| Some((work.mean(*from, *to)?, facts.strain.throughput(*from, *to), to - from)));
    let (count, ended, length) = means
        .fold((0.0, 0.0, 0.0), |(count, ended, all), (mean, rate, length)| (count + mean * length, ended + rate * length, all + length));
    if ended <= 0.0 || count > threads * length {
        return Alternative::not_ruled_out(OTHER, "no load was low enough to measure it without a queue");
    }
    let wanted = count / ended * facts.strain.throughput(from, to);
    let needed = format!(
        "at the work per request of low load, the requests would need {} of {} threads",
        loadstone_units::number(wanted),
        loadstone_units::number(threads)
    );
    if wanted >= EXPLAINED_PART_MIN * threads { Alternative::ruled_out(OTHER, needed) } else { Alternative::not_ruled_out(OTHER, needed) }
}
