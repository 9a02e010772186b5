//! Was a worker stalled, together with all its users?

use super::check::{CheckInfo, CheckInput};
use crate::{ValidityCheck, WorkerTally};

const INFO: CheckInfo = CheckInfo {
    id: "stalls",
    title: "Stalls of a worker",
    limits: "explains the time that the generator may have added; notable when stalls delayed a worker by more than a tenth of the p99, \
     for more than a quarter of the share of requests beyond the p99",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some((name, quantile, reported)) = input.tail(0.99) else { return INFO.nothing("no request ended") };
    if input.tally.workers().iter().all(|worker| worker.wall_ns == 0) {
        return INFO.nothing("the generator did not measure itself");
    }
    let delayed = input.tally.workers().iter().map(|worker| delayed_share(worker, reported / 10.0)).fold(0.0, f64::max);
    let stalls: u64 = input.tally.workers().iter().map(|worker| worker.stalls.count()).sum();
    let longest = |of: fn(&WorkerTally) -> u64| input.tally.workers().iter().map(of).max().unwrap_or(0) as f64 / 1e9;
    let evidence = format!(
        "{} stalls over 1 ms, the longest {}; the longest garbage collection took {}; for {} of the time, stalls could delay a request by \
         more than a tenth of the {name} of {}",
        loadstone_units::count(stalls),
        loadstone_units::seconds(longest(|worker| worker.stalls.max())),
        loadstone_units::seconds(longest(|worker| worker.collections.max())),
        loadstone_units::share(delayed),
        loadstone_units::seconds(reported)
    );
    INFO.evidence(delayed > 0.25 * (1.0 - quantile), evidence, ADVICE).at_level(
        "generator_lag/stall",
        "longest stall",
        longest(|worker| worker.stalls.max()),
    )
}

/// Neither the script nor the kernel shows which of these caused the stall: a core that the hypervisor takes away counts as computing.
const ADVICE: &str = "A worker was stalled by heavy work in a script (large JSON, hashing, loops), by a garbage collection, by very many \
 users due at once, or by a machine that took the core away. Move heavy work out of the iteration, use more workers (--workers), or use a \
 machine that is not shared.";

/// Share of the time in which a due event had to wait longer than `over` seconds: the part of each stall that precedes its end by more than
/// `over`.
fn delayed_share(worker: &WorkerTally, over: f64) -> f64 {
    if worker.wall_ns == 0 {
        return 0.0;
    }
    let over_ns = over * 1e9;
    let delayed: f64 =
        worker.stalls.bars().map(|(low, high, count)| ((low + (high - low) / 2) as f64 - over_ns).max(0.0) * count as f64).sum();
    delayed / worker.wall_ns as f64
}
