//! Were attempts to connect lost on the way?

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "connecting",
    title: "Connection attempts",
    limits: "suspect when SYN retransmissions on this machine exceed 1 % of the connections opened",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (opened, again) = (input.tally.connections_opened(), input.tally.syn_retransmits());
    if opened + again == 0 {
        return INFO.nothing("no connection was opened");
    }
    // The kernel counts for the whole machine; a few may be anyone's.
    let grade = if again > 3 && again * 100 > opened { Grade::Suspect } else { Grade::Valid };
    let evidence = format!("{} connections opened, {} SYN retransmissions", units::count(opened), units::count(again));
    let advice = "Each lost SYN cost its user a second or more. The target's listen queue overflowed (its `backlog`, \
     `net.core.somaxconn`), or the network drops packets: connect times show that wait, not the application's.";
    INFO.graded(grade, evidence, advice)
}
