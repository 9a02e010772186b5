//! Conclusions from constructed runs, compared with independently known truths.

#![expect(clippy::unwrap_used, reason = "a test whose run lacks the constructed data has failed")]

mod accept_queue;
mod causes;
mod changes;
mod changing_load;
mod commits;
mod comparison;
mod concluded;
mod constant_arrivals;
mod contradictions;
mod core_queue;
mod corpus;
mod coverage;
mod deciding;
mod dependency_path;
#[path = "../../src/statistics/draws.rs"]
mod draws;
mod examples;
mod failed_calls;
mod failed_objective;
mod few_requests;
mod filling;
mod findings;
mod flows;
mod fluid;
mod habits;
mod held;
mod held_back;
mod held_connections;
mod held_out;
mod held_sessions;
mod in_service;
mod instances;
mod interference;
mod interpreter_lock;
mod layers;
mod limits;
mod live;
mod lock_waits;
mod metrics;
mod mixes;
mod networks;
mod next;
mod observed_contradictions;
mod one_core;
mod onsets;
mod paced;
mod parallel_loads;
mod path;
mod pipeline;
mod pools;
mod queue_workers;
mod ranking;
mod recorded;
mod refusals;
mod refused_connections;
mod rejections;
mod request_threads;
mod retry_storms;
mod runtimes;
mod services;
mod simulation;
mod span_services;
mod spans;
mod stated;
mod statement_time;
mod summary;
mod synthetic;
mod thresholds;
mod time_places;
mod uncertainty;
mod validity;
mod verdict_shares;
mod waits;
mod weighed;
mod worker_pools;

/// How many seeds a test draws: few in the check, many in `cargo xtask nightly`.
fn seeds(few: u64, many: u64) -> u64 {
    if std::env::var_os("LOADSTONE_LONG_TESTS").is_some() { many } else { few }
}
