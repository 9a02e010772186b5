//! Did the tool have spare CPU capacity?

use super::super::check::{CheckInfo, CheckInput};
use crate::ValidityCheck;

/// Share of the machine that is notable.
const MACHINE_SHARE_MAX: f64 = 0.85;
/// Mean share of one core by the busiest thread that is notable.
const THREAD_SHARE_MAX: f64 = 0.85;

const INFO: CheckInfo = CheckInfo {
    id: "tool-cpu",
    title: "CPU of the tool",
    limits: "explains the time that the tool may have added; notable when it used more than 85 % of the machine in its busiest 10 s, or its busiest thread \
     more than 85 % of a core during the run",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some(worker) = input.tally.workers().first().filter(|worker| worker.busy_ns > 0) else {
        return INFO.nothing("the CPU time of the tool was not measured: name its process with --pid");
    };
    let cores = f64::from(input.host.cores.max(1));
    let busiest = worker.busiest_share / cores;
    let thread = input.tally.record().map_or(0, |record| record.thread_busy_ns) as f64 / worker.wall_ns.max(1) as f64;
    let evidence = format!(
        "{} used {} of {} cores in its busiest 10 s, and its busiest thread {} of a core during the run",
        super::tool(input),
        loadstone_units::number(worker.busiest_share),
        loadstone_units::number(cores),
        loadstone_units::share(thread)
    );
    let advice = "A busy tool reads responses late, and its own delay counts as the target's. Give it more cores or another machine, or lower the load.";
    INFO.evidence(busiest > MACHINE_SHARE_MAX || thread > THREAD_SHARE_MAX, evidence, advice)
}
