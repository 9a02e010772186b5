//! Did the clock that all times are measured with run at the right speed?

use super::check::{CheckInfo, CheckInput, grade_of};
use crate::ValidityCheck;

/// Shorter runs are not judged: the two clocks are read some hundred nanoseconds apart.
const SECONDS_MIN: f64 = 2.0;

const INFO: CheckInfo = CheckInfo {
    id: "clock-drift",
    title: "Clock drift",
    limits: "suspect when the clock ran more than 0.1 % faster or slower than the hardware clock (NTP corrects by at most 0.05 %), \
     invalid above 1 %",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if input.lacks_kernel_counters() {
        return INFO
            .nothing("not examined: on macOS, Loadstone measures with the hardware clock itself; compare a long run with another clock");
    }
    let measured = input.tally.workers().iter().find(|worker| worker.raw_ns as f64 >= SECONDS_MIN * 1e9);
    let Some(worker) = measured else { return INFO.nothing("the run was too short to compare two clocks") };
    let drift = (worker.wall_ns as f64 / worker.raw_ns as f64 - 1.0).abs();
    let evidence = format!(
        "the clock measured {} while the hardware clock measured {} (a difference of {})",
        loadstone_units::seconds(worker.wall_ns as f64 / 1e9),
        loadstone_units::seconds(worker.raw_ns as f64 / 1e9),
        loadstone_units::share(drift)
    );
    let advice = "Every time and rate is off by this share. Check the clock synchronisation of this machine (NTP, the hypervisor), or \
     measure from another machine.";
    INFO.graded(grade_of(drift, 0.001, 0.01), evidence, advice)
}
