//! Did the generator run out of local ports or file descriptors?

use super::check::{CheckInfo, CheckInput};
use crate::summary::outcome;
use crate::{Grade, ValidityCheck};
use loadstone_metrics::{Outcome, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "exhaustion",
    title: "Ports and descriptors",
    limits: "invalid when any request failed because the generator had no local port or file descriptor left",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let count = |wanted| input.tally.of_kind(SeriesKind::Request).map(|series| outcome(&series.merged, wanted)).sum::<u64>();
    let (ports, descriptors) = (count(Outcome::PortsExhausted), count(Outcome::DescriptorsExhausted));
    if input.requests() == 0 {
        return INFO.nothing("no request ended");
    }
    if ports + descriptors == 0 {
        return INFO.graded(Grade::Valid, "the generator had enough local ports and file descriptors", "");
    }
    let evidence = format!(
        "{} requests failed for lack of a local port, {} for lack of a file descriptor",
        loadstone_units::count(ports),
        loadstone_units::count(descriptors)
    );
    let advice = if descriptors > ports {
        "Raise the limit on open files (`ulimit -n`), or run with more workers (`--workers`): the limit applies to each worker."
    } else {
        "Keep connections alive between iterations, widen net.ipv4.ip_local_port_range, or spread the target over several addresses."
    };
    INFO.graded(Grade::Invalid, evidence, advice)
}
