//! Did the tool have spare CPU capacity?

use super::super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

/// Share of the machine that is notable.
const MACHINE_SHARE_MAX: f64 = 0.85;
/// Mean share of one core by the busiest thread that is notable.
const THREAD_SHARE_MAX: f64 = 0.85;
/// Share of the machine, or of a core for a tool with one busy thread, at which the tool is at its limit.
const LIMIT_SHARE_MIN: f64 = 0.95;
/// Factor between the CPU time of all threads and of the busiest one, up to which a tool has one busy thread.
const ONE_THREAD_FACTOR_MAX: f64 = 1.3;

pub(in super::super) const ADVICE: &str =
    "A busy tool reads responses late, and its own delay counts as the target's. Give it more cores or another machine, or lower the load.";

const INFO: CheckInfo = CheckInfo {
    id: "tool-cpu",
    title: "CPU of the tool",
    limits: "suspect when the tool used more than 95 % of the machine in its busiest 10 s, or its only busy thread more than 95 % of a core during the run; \
     notable above 85 %",
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
    let has_one_thread = (worker.busy_ns as f64) < ONE_THREAD_FACTOR_MAX * thread * worker.wall_ns as f64;
    if busiest > LIMIT_SHARE_MIN || (has_one_thread && thread > LIMIT_SHARE_MIN) {
        return INFO.graded(Grade::Suspect, format!("{evidence}: it was at its limit"), ADVICE);
    }
    INFO.evidence(busiest > MACHINE_SHARE_MAX || thread > THREAD_SHARE_MAX, evidence, ADVICE)
}
