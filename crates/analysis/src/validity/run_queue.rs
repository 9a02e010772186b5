//! Did the generator get a core when it needed one?

use super::check::{CheckInfo, CheckInput};
use crate::ValidityCheck;

const INFO: CheckInfo = CheckInfo {
    id: "run-queue",
    title: "Waiting for a core",
    limits: "explains the time that the generator may have added; notable when a worker waited for a core, or the hypervisor took cores \
     away, for more than 5 % of the time",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if input.lacks_kernel_counters() {
        return INFO.not_examined("how long threads wait for a core");
    }
    let workers = input.tally.workers();
    let waited = workers.iter().filter(|worker| worker.wall_ns > 0).map(|worker| worker.run_queue_ns as f64 / worker.wall_ns as f64);
    let Some(waited) = waited.reduce(f64::max) else { return INFO.nothing("the generator did not measure itself") };
    let wall_ns = workers.iter().map(|worker| worker.wall_ns).max().unwrap_or(0);
    let machine_ns = wall_ns as f64 * f64::from(input.host.cores.max(1));
    let stolen = workers.iter().map(|worker| worker.steal_ns).sum::<u64>() as f64 / machine_ns.max(1.0);
    let evidence = format!(
        "workers waited for a core for up to {} of the time; the hypervisor took {} of the machine's CPU time (steal)",
        loadstone_units::share(waited),
        loadstone_units::share(stolen)
    );
    let advice = "Other processes or virtual machines used the cores. Stop them, pin the target to other cores, use fewer workers \
     (--workers), or use a machine that is not shared.";
    INFO.evidence(waited.max(stolen) > 0.05, evidence, advice).at_level("generator/run_queue", "waited for a core", waited)
}
