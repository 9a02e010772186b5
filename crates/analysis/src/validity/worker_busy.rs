//! Did the generator's workers have spare CPU capacity?

use super::check::{CheckInfo, CheckInput};
use crate::ValidityCheck;

const INFO: CheckInfo = CheckInfo {
    id: "worker-busy",
    title: "Generator CPU",
    limits: "explains the time that the generator may have added; notable when a worker was busy for more than 85 % of its busiest 10 s",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let busiest =
        input.tally.workers().iter().filter(|worker| worker.wall_ns > 0).max_by(|a, b| a.busiest_share.total_cmp(&b.busiest_share));
    let Some(worker) = busiest else { return INFO.nothing("the generator did not measure itself") };
    let evidence = format!(
        "{} was busy for {} of its busiest 10 s (and {} of the run)",
        input.worker(worker.worker),
        loadstone_units::share(worker.busiest_share),
        loadstone_units::share(worker.busy_ns as f64 / worker.wall_ns as f64)
    );
    let advice = "A busy worker adds its own queueing to the response times. Use more workers (--workers) or machines, do less per \
     request in the script, or lower the load.";
    let series = format!("generator/busy/{}", worker.worker);
    INFO.evidence(worker.busiest_share > 0.85, evidence, advice).at_level(&series, "busiest 10 s", worker.busiest_share)
}
