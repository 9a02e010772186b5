//! An event loop without time left, and the function that takes it.
//!
//! One loop does one thing at a time: as a single server its utilisation is the share of the time in which it has work, and work waits without bound as that
//! nears one (utilisation law). The profiler's samples say where that time goes.
//!
//! Made from [runtimes](../observers.md#runtimes).
//!
//! `event-loop`: for 5 readings or more the loop had work for 93 % of the time, while work was held up. As a single server it has no time left
//! (utilisation law). The function with most of the loop's time is named if it has a quarter of it. If the process got less CPU time than 85 % of that,
//! the loop may have waited for a core, and confidence is medium.
//!
//! `runtime-work`: 1.5 times as much of one type of work was under way as the runtime has threads for (Node looks up two names at a time), and a third of
//! what was in the system; with high confidence from a half on, or where as many requests are served at a time as there are threads
//! ([`effective-concurrency`](effective-concurrency.md) then says nothing more).
//!
//! `thread-waits`: stacks are sampled like a database's sessions, and by Little's law the mean number of threads in a place is what passes there times
//! how long it takes.
//!
//! - **threads that wait in one place, for a lock, a member of a pool, or something else of the process**: 1.5, a fifth of the most that ever did, and 40
//!   % of those at work, for 5 readings or more while work was held up
//! - **of what is in the system**: between 30 and 150 %: more belong to something else
//! - **under low load**: at most half as many
//! - **high confidence**: for locks and pools, from 60 % of those at work on
//!
//! It names the call and the service's own function below which most wait, and what the others do meanwhile: who has a member of the pool, and for what.
//! Where a database's sessions are seen to hold the work up, that comes first.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::busiest_function::BusiestFunction;
use crate::facts::readings::longest_run;
use crate::facts::search::{FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN};
use crate::facts::signals::ObservedPart;

/// Share of the loop's time from which one place of the code is named.
const NAMED_MIN: f64 = 0.25;
/// Share of the time that it had work in which it must have had a core, for it not to have waited for one.
const COMPUTED_MIN: f64 = 0.85;

pub(super) const RULE: Rule = Rule {
    ids: &["event-loop"],
    title: "The event loop has no time left",
    says: "an event loop is busy all the time, and in which function",
    needs: &["node"],
    settings: &["worker", "thread"],
    precedence: 80,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    facts.signals.parts_with(Role::EventLoopBusy).find_map(|part| full(facts, part))
}

fn full(facts: &Facts<'_>, part: ObservedPart<'_>) -> Option<RankedFinding> {
    let busy = facts.signals.read(part, Role::EventLoopBusy)?;
    let span = longest_run(busy.points(), READINGS_MIN, LENGTH_MIN_S - 1.0, |share| share >= FULL_PART_MIN)?;
    let stretch = facts.strain.held_part(span, 1.0)?;
    let share = busy.mean(stretch.0, stretch.1)?;
    let name = part.observer;
    let top = BusiestFunction::of(&facts.signals, part, stretch).filter(|top| top.cores >= NAMED_MIN * share);
    let told = format!("The event loop of \"{name}\" has no time left: it has work {} of the time", loadstone_units::share(share));
    let claim = match &top {
        Some(top) => {
            format!("{told}, and spends {} of it in {}", loadstone_units::share_to((top.cores / share).min(1.0), top.digits), top.place())
        }
        None => told,
    };
    let text = format!(
        "{} was {} on average, and never below {}",
        busy.name(),
        loadstone_units::share(share),
        loadstone_units::share(least(&busy, stretch))
    );
    let mut found = RankedFinding::new(Standing::Cause, "event-loop", Subject::observed(name), Confidence::High, claim)
        .with(Quantity::share("busy", share)).rests_on(text, vec![busy.name()], stretch);
    if let Some(top) = &top {
        let text = format!("samples of the stack: {} of a core in {}", loadstone_units::share_to(top.cores, top.digits), top.place());
        found = found.rests_on(text, vec![top.series.clone()], stretch);
    }
    if let Some(late) = facts.signals.read(part, Role::EventLoopDelay)
        && let Some(mean) = late.mean(stretch.0, stretch.1)
    {
        let text = format!("what becomes due is begun {} late on average", loadstone_units::seconds(mean));
        found = found.rests_on(text, vec![late.name()], stretch);
    }
    let next = match &top {
        Some(top) if top.owner.contains("garbage") => {
            "Find out what allocates so much (a heap profile), or give the process more heap.".to_owned()
        }
        Some(top) => format!(
            "Make {} cheaper, call it less often, or take it off the loop (a worker thread, a process of its own); only then run more processes.",
            top.place()
        ),
        None => "Take a CPU profile of this stretch, or run more processes.".to_owned(),
    };
    Some(found.weigh(waits_for_a_core(facts, part, share, stretch)).beyond_the_generator(facts, stretch).try_next(next))
}

fn least(busy: &crate::facts::readings::SignalReadings<'_>, (from, to): (f64, f64)) -> f64 {
    busy.between(from, to).map(|(_, share)| share).fold(1.0, f64::min)
}

/// A loop that has work and no core has no time left either.
fn waits_for_a_core(facts: &Facts<'_>, part: ObservedPart<'_>, share: f64, (from, to): (f64, f64)) -> Alternative {
    const OTHER: &str = "A core that others use, or a limit on its CPU: the loop has work and does not get to it";
    match facts.signals.mean(part, Role::EventLoopCpu, from, to) {
        Some(cores) if cores >= COMPUTED_MIN * share => {
            Alternative::ruled_out(OTHER, format!("its process used {} cores meanwhile", loadstone_units::number(cores)))
        }
        Some(cores) => Alternative::not_ruled_out(OTHER, format!("its process used {} cores meanwhile", loadstone_units::number(cores))),
        None => Alternative::not_ruled_out(OTHER, "the CPU time of its process was not read"),
    }
}
