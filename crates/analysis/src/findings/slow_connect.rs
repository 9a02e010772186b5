//! Requests that wait to be connected while the load goes on: they have not been sent yet, whatever the application takes for them.

use crate::finding::Alternative;
use crate::evidence::examined;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};

/// Part of the time spent connecting that connections of a second or more hold, from which lost SYNs are what took it.
const MOSTLY: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["slow-connect"],
    title: "Requests wait for a connection",
    says: "connecting takes most of the added time",
    needs: &[],
    settings: &["backlog", "connection"],
    precedence: 70,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let connects = facts.slow_connects.as_ref()?;
    let span = (connects.from, connects.to);
    let resent = facts.tally.syn_retransmits();
    let is_resent = resent > 0 && connects.part_of_slow >= MOSTLY;
    let why = if is_resent {
        ", and SYNs were lost or turned away and sent again: the target's listen queue overflows, or the network drops packets"
    } else {
        ""
    };
    let (before, after) = connects.connect;
    let claim = format!(
        "Requests wait for a connection: connecting took {} on average instead of {}{why}",
        loadstone_units::seconds(after),
        loadstone_units::seconds(before)
    );
    let confidence = if is_resent { Confidence::High } else { Confidence::Medium };
    let whole = connects.whole;
    let found = RankedFinding::new(Standing::Cause, "slow-connect", Subject::Whole, confidence, claim)
        .with(Quantity::seconds("connecting_before", before))
        .with(Quantity::seconds("connecting", after)).rests_on(
        format!(
            "a request took {} on average instead of {}; connecting is {} of what was added",
            loadstone_units::seconds(whole.1),
            loadstone_units::seconds(whole.0),
            loadstone_units::share((after - before) / (whole.1 - whole.0))
        ),
        vec!["phases/connect".to_owned(), "response/p50".to_owned()],
        span,
    );
    let found = if is_resent {
        let text = format!(
            "{} of {} connections took a second or more, and the machine sent {} again: one that is lost costs 1 s, then 2 s and 4 s more (RFC 6298)",
            loadstone_units::count(connects.slow),
            loadstone_units::count(connects.opened),
            loadstone_units::counted(resent, "SYN")
        );
        found.rests_on(text, vec!["phases/connect".to_owned()], span)
    } else {
        found
    };
    let late = facts.generator.lateness(span).read;
    const OURS: &str = "The load generator, which reads too late that it is connected";
    let told = format!("responses were read {} late on average", loadstone_units::seconds(late));
    let ours = if late <= (after - before) / 10.0 { Alternative::ruled_out(OURS, told) } else { Alternative::not_ruled_out(OURS, told) };
    // Why connections are not accepted in time is another question: a busy processor answers that one, and takes nothing from what requests wait for.
    let cpu = examined::cpu(facts, span.0, span.1);
    let found = if cpu.ruled_out { found.weigh(ours).weigh(cpu) } else { found.weigh(ours) };
    Some(found.try_next(
        "Look at the listener's backlog (its `backlog`, `net.core.somaxconn`) and at what keeps it from accepting, such as a processor at its limit, and at \
         what drops packets on the way. Keep connections open, so that fewer are made.",
    ))
}
