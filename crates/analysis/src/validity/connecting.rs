//! Did requests for connections get lost?

use super::{Ground, Sheet};
use crate::{Grade, ValidityCheck};

const SHEET: Sheet = Sheet {
    id: "connecting",
    title: "Requests for connections",
    limits: "suspect when this machine sent more than 1 % of its requests for connections (SYN) a second time",
};

pub(super) fn check(ground: &Ground<'_>) -> ValidityCheck {
    let (opened, again) = (ground.tally.connections_opened(), ground.tally.syn_retransmits());
    if opened + again == 0 {
        return SHEET.nothing("no connection was opened");
    }
    // The kernel counts for the whole machine; a few may be anyone's.
    let grade = if again > 3 && again * 100 > opened { Grade::Suspect } else { Grade::Valid };
    let evidence = format!("{} connections opened, {} requests for one sent again", units::count(opened), units::count(again));
    let advice = "Each lost request cost its user a second or more. The target's listen queue overflowed (its `backlog`, `net.core.somaxconn`), or the network between drops packets: connect times show that wait, not the application's.";
    SHEET.graded(grade, evidence, advice)
}
