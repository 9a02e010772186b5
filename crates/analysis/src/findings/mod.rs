//! What limits the system? One rule per file: it reads facts, and makes a finding where they carry one.
//!
//! A rule knows no other rule. What two of them need to know is a fact (`crate::facts`). To add one: its file, its line in [`RULES`], its section in
//! docs/findings.md, and tests in `tests/it` with as many systems that it must not accuse as systems that it must explain.

mod acquiring;
mod added_time;
mod alternative;
mod bandwidth;
mod call_ceiling;
mod change;
mod commits;
mod connection_pool;
mod cpu_growth;
mod database_waits;
mod delayed_acknowledgement;
mod delaying_limit;
mod effective_concurrency;
mod event_loop;
mod failures;
mod filling_up;
mod generator;
mod growing_level;
mod load_shape;
mod load_target;
mod looked_at;
mod many_transactions;
mod memory_per_connection;
mod new_connections;
mod next_limit;
mod order;
mod outage;
mod ranked;
mod rate_limit;
mod remark;
mod repeated_calls;
mod retries;
mod runtime_work;
mod saturation;
mod slow_connect;
mod slow_dependency;
mod slow_part;
mod slow_stage;
mod span_growth;
mod stale_address;
mod stall;
mod statements;
mod thread_waits;
mod throughput;
mod transactions;
mod two_kinds;
mod unanswered;
mod unstable_queue;
mod users_time;

use crate::Findings;
use crate::facts::Facts;
use ranked::RankedFinding;

type FindingRule = fn(&Facts<'_>) -> Option<RankedFinding>;

/// Their order decides between findings of equal rank.
const RULES: &[FindingRule] = &[
    outage::find,
    unanswered::find,
    bandwidth::find,
    slow_connect::find,
    event_loop::find,
    filling_up::find,
    runtime_work::find,
    thread_waits::find,
    call_ceiling::find,
    connection_pool::find,
    order::find,
    retries::find,
    memory_per_connection::find,
    delayed_acknowledgement::find,
    slow_part::find,
    two_kinds::find,
    throughput::find,
    stall::find,
    rate_limit::find,
    delaying_limit::find,
    many_transactions::find,
    statements::find,
    new_connections::find,
    commits::find,
    database_waits::find,
    saturation::find,
    slow_dependency::find,
    repeated_calls::find,
    effective_concurrency::find,
    cpu_growth::find,
    generator::find,
    slow_stage::find,
    unstable_queue::find,
    stale_address::find,
];

/// Rules that make one finding for each thing that failed or changed.
const RULES_OF_EACH: &[fn(&Facts<'_>) -> Vec<RankedFinding>] = &[failures::find, change::find, span_growth::find];

/// What is said about the target means little while the generator is certain to be the limit. Then causes come before what follows from them, and the
/// surest first.
pub(crate) fn find(facts: &Facts<'_>) -> Findings {
    let of_each = RULES_OF_EACH.iter().flat_map(|rule| rule(facts));
    let mut found: Vec<RankedFinding> = of_each.chain(RULES.iter().filter_map(|rule| rule(facts))).collect();
    found.sort_by_key(RankedFinding::rank);
    let remark = if found.is_empty() { remark::of(facts) } else { remark::beside(facts, &found) };
    Findings { findings: found.into_iter().map(|found| found.finding).collect(), remark }
}
