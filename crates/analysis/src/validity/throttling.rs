//! Did the container's CPU limit throttle the generator?

use super::check::{CheckInfo, CheckInput};
use crate::ValidityCheck;

const INFO: CheckInfo = CheckInfo {
    id: "throttling",
    title: "CPU limit",
    limits: "explains the time that the generator may have added; notable when the cgroup was throttled for more than 0.1 % of the time (a \
     tenth of the share beyond p99)",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let workers = input.tally.workers();
    let wall_ns = workers.iter().map(|worker| worker.wall_ns).max().unwrap_or(0);
    if wall_ns == 0 {
        return INFO.nothing("the generator did not measure itself");
    }
    if input.lacks_kernel_counters() {
        return INFO.nothing("not examined: macOS has no CPU limits of containers");
    }
    let throttled_ns: u64 = workers.iter().map(|worker| worker.throttled_ns).sum();
    let share = throttled_ns as f64 / wall_ns as f64;
    let evidence = format!(
        "the generator was throttled for {} in total ({} of the time)",
        loadstone_units::seconds(throttled_ns as f64 / 1e9),
        loadstone_units::share(share)
    );
    let advice = "The container's CPU limit throttled the generator. Raise or remove the limit, or use fewer workers (--workers).";
    INFO.evidence(share > 0.001, evidence, advice)
}
