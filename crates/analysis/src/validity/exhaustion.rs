//! Did the generator run out of ports or descriptors?

use super::check::{CheckInfo, CheckInput};
use crate::summary::outcome;
use crate::{Grade, ValidityCheck};
use loadstone_metrics::{Outcome, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "exhaustion",
    title: "Ports and descriptors",
    limits: "invalid when any request failed for lack of a local port or a file descriptor",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let count = |wanted| input.tally.of_kind(SeriesKind::Request).map(|series| outcome(&series.merged, wanted)).sum::<u64>();
    let (ports, descriptors) = (count(Outcome::PortsExhausted), count(Outcome::DescriptorsExhausted));
    if input.requests() == 0 {
        return INFO.nothing("no request ended");
    }
    if ports + descriptors == 0 {
        return INFO.graded(Grade::Valid, "neither ran out", "");
    }
    let evidence = format!(
        "{} requests found no local port, {} no file descriptor",
        loadstone_units::count(ports),
        loadstone_units::count(descriptors)
    );
    let advice = if descriptors > ports {
        "Raise the limit on open files (`ulimit -n`), or run with more workers (`--workers`): each has room for that many connections."
    } else {
        "Keep connections alive between iterations, widen net.ipv4.ip_local_port_range, or spread the target over several addresses."
    };
    INFO.graded(Grade::Invalid, evidence, advice)
}
