//! What limits the system? One rule per file: it reads facts, and reports a finding where they carry one.
//!
//! A rule knows no other rule. What two of them need to know is a fact (`crate::facts`); evidence that several render is in `crate::evidence`. To add a
//! rule, write its file, which ends in `RULE`, add its name to the list below, and add tests in `tests/it` with as many systems that it must not accuse as
//! systems that it must explain.

use crate::Findings;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::ranked::{self, RankedFinding, Standing};
use crate::finding::rule::Rule;
use crate::remark;

/// Declares the modules of the rules and lists their values.
macro_rules! rules {
    ($($name:ident,)+) => {
        $(mod $name;)+
        static RULES: &[Rule] = &[$($name::RULE),+];
    };
}

rules! {
    accept_queue,
    bandwidth,
    busy_threads,
    call_ceiling,
    change,
    commits,
    connection_pool,
    cpu_growth,
    database_waits,
    delayed_acknowledgement,
    delaying_limit,
    dependency_path,
    effective_concurrency,
    event_loop,
    failures,
    filling_up,
    generator,
    held_connections,
    interference,
    interpreter_lock,
    long_wait,
    many_transactions,
    memory_per_connection,
    new_connections,
    order,
    outage,
    queue_workers,
    rate_limit,
    refused_connections,
    repeated_calls,
    retries,
    runtime_work,
    saturation,
    slow_connect,
    slow_dependency,
    slow_part,
    slow_stage,
    span_growth,
    stale_address,
    stall,
    statements,
    thread_waits,
    throughput,
    throughput_limit,
    two_kinds,
    unanswered,
    unstable_queue,
}

/// Every rule, in alphabetical order of its file.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// Findings about the target mean little where the generator is certain to be the limit. After it, causes come before their consequences, and the most
/// certain come first. A cause in whose stretch far less time was added than in that of another finding follows the others.
/// [`Rule::precedence`] decides between findings of equal rank. Habits alone explain nothing: the remark states them.
pub(crate) fn find(facts: &Facts<'_>) -> Findings {
    let mut found: Vec<RankedFinding> = RULES.iter().flat_map(|rule| rule.find(facts)).collect();
    ranked::score(&mut found, facts);
    found.sort_by_key(RankedFinding::rank);
    let mut found = with_outline_as_evidence(found, !facts.plateaus.limited.is_empty());
    let has_only_habits = found.first().is_some_and(|first| first.standing == Standing::Habit);
    let habits = if has_only_habits { std::mem::take(&mut found) } else { Vec::new() };
    let remark = if found.is_empty() { remark::of(facts, &habits) } else { remark::in_addition(facts, &found) };
    Findings { findings: found.into_iter().map(|found| found.finding).collect(), remark }
}

/// A finding that only outlines the limit becomes evidence of the first cause, if there is one. A cause that states the throughput at which some requests stop
/// rests on it already. A second estimate from all requests together is near the limit of what can be estimated, so that one of two equal runs would have it.
fn with_outline_as_evidence(found: Vec<RankedFinding>, is_plateau_known: bool) -> Vec<RankedFinding> {
    let (mut outlines, mut found): (Vec<RankedFinding>, Vec<RankedFinding>) = found.into_iter().partition(|found| found.outline.is_some());
    match found.iter_mut().find(|found| found.standing == Standing::Cause && found.finding.subject != Subject::Generator) {
        Some(cause) => {
            let states_throughput = || cause.finding.quantities.iter().any(|quantity| quantity.name == "throughput");
            let is_stated = states_throughput();
            // The more specific outline states the throughput at which the plateau stops.
            outlines.sort_by_key(|found| found.precedence);
            let evidence = |(index, found): (usize, RankedFinding)| {
                let known = usize::from(is_plateau_known && (is_stated || index > 0));
                found.finding.evidence.into_iter().take(found.outline.unwrap_or(0)).skip(known)
            };
            cause.finding.evidence.extend(outlines.into_iter().enumerate().flat_map(evidence));
        }
        None => {
            found.extend(outlines);
            found.sort_by_key(RankedFinding::rank);
        }
    }
    found
}
