//! The threads of an interpreter compute one at a time, because one of them always has its lock (Python's GIL).
//!
//! The rule reads [`observe.python`](../observers/runtimes.md#python). Only the thread that has the lock of the interpreter executes Python code, however many
//! threads and cores there are. As a single server, its utilisation is the share of the time in which a thread has it (utilisation law).
//!
//! | condition | limit |
//! |---|---|
//! | readings while work was held up | {search::READINGS_MIN} or more |
//! | share of the processes at work in which a thread has the lock | {interpreter_lock::SHARE_MIN:%} or more |
//! | threads that compute or want to, by their stacks | {interpreter_lock::COMPUTING_MIN} or more |
//! | cores of the process, as a part of that share, for high confidence | {COMPUTED_PART_MIN:%} or more |
//!
//! With less CPU time, the thread that has the lock may have waited for a core. A single thread that computes is a finding of [`cpu`](cpu.md). More threads do
//! not help, and more processes do.

use crate::Confidence;
use crate::evidence::cpu_demand;
use crate::facts::Facts;
use crate::facts::busiest_function::BusiestFunction;
use crate::facts::demand::CpuDemand;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

/// Cores of the process, as a part of the time in which a thread has the lock, from which that thread did not wait for a core.
const COMPUTED_PART_MIN: f64 = 0.85;
/// Share of the computing threads from which a function is named.
const FUNCTION_SHARE_MIN: f64 = 0.25;

pub(super) const RULE: Rule = Rule {
    ids: &["interpreter-lock"],
    page: "interpreter-lock",
    title: "The interpreter's lock is always held",
    says: "the threads of a Python process compute one at a time",
    example: Example {
        run: "examples/interpreter-lock",
        claim: "The threads of \"python:80\" compute one at a time: one of them has the interpreter's lock 98.0 % of the time while work waits; each \
                \"Register\" takes 37.2 ms of CPU time",
    },
    needs: &["python"],
    settings: &["worker", "process", "thread"],
    precedence: 82,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let full = facts.full_interpreter.as_ref()?;
    let (name, share, stretch) = (full.part.observer, full.share, full.stretch);
    let cores = full.process.as_ref().map(|(_, cores)| *cores);
    let demand = CpuDemand::of(&facts.strain, &facts.responses, cores.unwrap_or(share).min(share), stretch);
    let claim = format!(
        "The threads of \"{name}\" compute one at a time: one of them has the interpreter's lock {} of the time while work waits{}",
        loadstone_units::share(share),
        cpu_demand::each(demand.as_ref())
    );
    let is_sure = cores.is_some_and(|cores| cores >= COMPUTED_PART_MIN * share);
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let text = format!(
        "a thread had the lock {} of the time on average, while {} threads computed or waited for it",
        loadstone_units::share(share),
        loadstone_units::number(full.computing)
    );
    let mut found = RankedFinding::new(Standing::Cause, "interpreter-lock", Subject::observed(name), confidence, claim)
        .with(Quantity::share("held", share))
        .rests_on(text, vec![full.held.name()], stretch)
        .at_level(&full.held.name(), "on average", share);
    if let Some((used, cores)) = &full.process {
        let text = format!("\"{}\" used {} cores meanwhile", used.signal.observer, loadstone_units::number(*cores));
        found = found.rests_on(text, vec![used.name()], stretch).at_level(&used.name(), "on average", *cores);
    }
    let found = demand.iter().fold(found, |found, demand| cpu_demand::add_to(found, demand, stretch));
    let top = BusiestFunction::of(&facts.signals, full.part, stretch).filter(|top| top.cores >= FUNCTION_SHARE_MIN * full.computing);
    let cheaper = top.map_or_else(String::new, |top| format!(", or make {} cheaper", top.place()));
    let next = format!("Serve the requests with more processes: more threads of one process do not compute at the same time{cheaper}.");
    let others = "Other programs that use the cores, so that the thread with the lock waits for one";
    let other = match cores {
        Some(cores) if is_sure => Alternative::ruled_out(others, format!("its process used {} cores", loadstone_units::number(cores))),
        Some(cores) => Alternative::not_ruled_out(others, format!("its process used {} cores", loadstone_units::number(cores))),
        None => Alternative::not_ruled_out(others, "no observed process used about one core"),
    };
    Some(found.weigh(other).beyond_the_generator(facts, stretch).try_next(next))
}
