//! Were attempts to connect lost in the network?

use super::check::{CheckInfo, CheckInput};
use crate::facts::slow_connects::{SYN_RETRY_NS, beyond};
use crate::{Grade, ValidityCheck};
use loadstone_metrics::SeriesKind;

const INFO: CheckInfo = CheckInfo {
    id: "connecting",
    title: "Connection attempts",
    limits: "suspect when more than 1 % of the connections took a second or more to open, and this machine retransmitted SYNs",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (opened, again) = (input.tally.connections_opened(), input.tally.syn_retransmits());
    if opened + again == 0 {
        return INFO.nothing("no connection was opened");
    }
    // The kernel counts retransmissions for the whole machine. A lost SYN of this run's own connections delays the connection by a second.
    let slow: u64 = input.tally.of_kind(SeriesKind::Request).map(|series| beyond(&series.merged.phases.connect, SYN_RETRY_NS)).sum();
    let grade = if again > 0 && slow * 100 > opened { Grade::Suspect } else { Grade::Valid };
    let evidence = format!(
        "{} connections were opened, {} of them took a second or more; the whole machine retransmitted {} SYNs",
        loadstone_units::count(opened),
        loadstone_units::count(slow),
        loadstone_units::count(again)
    );
    let advice = "Each lost SYN delayed a user by a second or more. The target's listen queue overflowed (see its `backlog` and \
     `net.core.somaxconn`), or the network drops packets. Connect times include this wait, which the application did not cause.";
    INFO.graded(grade, evidence, advice)
}
