//! Did requests for connections get lost?

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "connecting",
    title: "Requests for connections",
    limits: "suspect when this machine sent more than 1 % of its requests for connections (SYN) a second time",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (opened, again) = (input.tally.connections_opened(), input.tally.syn_retransmits());
    if opened + again == 0 {
        return INFO.nothing("no connection was opened");
    }
    // The kernel counts for the whole machine; a few may be anyone's.
    let grade = if again > 3 && again * 100 > opened { Grade::Suspect } else { Grade::Valid };
    let evidence = format!("{} connections opened, {} requests for one sent again", units::count(opened), units::count(again));
    let advice = "Each lost request cost its user a second or more. The target's listen queue overflowed (its `backlog`, `net.core.somaxconn`), or the network between drops packets: connect times show that wait, not the application's.";
    INFO.graded(grade, evidence, advice)
}
