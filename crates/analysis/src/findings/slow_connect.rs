//! Requests wait for a connection before they are sent, so no work of the application explains their time.
//!
//! The rule reports this if work waited, and connecting accounts for at least {slow_connects::CONNECTING_PART_MIN:%} of the added time of the requests. The
//! confidence is medium. It is high if connections of a second or more take {SLOW_PART_MIN:%} of the connecting time, and the load generator's machine sent
//! SYNs again. A lost SYN is repeated after 1 s, then 2 s and 4 s later (RFC 6298).
//!
//! The load generator may notice a connection late. The rule rules that out if responses were read late by at most a tenth of the added connecting time.
//!
//! The rule cannot distinguish a listen queue that overflows from a network that drops packets. If only a few requests wait for a connection,
//! [`two-kinds`](two-kinds.md) reports them.

use crate::Confidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};

/// Part of the connecting time in connections of a second or more, from which lost SYNs explain it.
const SLOW_PART_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["slow-connect"],
    page: "slow-connect",
    title: "Requests wait for a connection",
    says: "connecting takes most of the added time",
    example: Example {
        run: "corpus/node.accept-backlog.gross.ramp.nothing.1",
        claim: "Requests wait for a connection: connecting took 628 ms on average instead of 224 ms, and SYNs were lost or rejected and sent \
                again: the target's listen queue overflows, or the network drops packets",
    },
    needs: &[],
    settings: &["backlog", "connection"],
    precedence: 70,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let connects = facts.slow_connects.as_ref()?;
    let span = (connects.from, connects.to);
    let resent = facts.tally.syn_retransmits();
    let is_resent = resent > 0 && connects.part_of_slow >= SLOW_PART_MIN;
    let why = if is_resent {
        ", and SYNs were lost or rejected and sent again: the target's listen queue overflows, or the network drops packets"
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
        .with(Quantity::seconds("connecting", after))
        .rests_on(
            format!(
                "a request took {} on average instead of {}; connecting accounts for {} of the added time",
                loadstone_units::seconds(whole.1),
                loadstone_units::seconds(whole.0),
                loadstone_units::share((after - before) / (whole.1 - whole.0))
            ),
            vec!["phases/connect".to_owned(), "response/p50".to_owned()],
            span,
        )
        .at_level("phases/connect", "connecting", after);
    let found = if is_resent {
        let text = format!(
            "{} requests waited a second or more for one of {} connections, and the machine sent {} again: a lost SYN costs 1 s, then 2 s and 4 s \
             more (RFC 6298)",
            loadstone_units::count(connects.slow),
            loadstone_units::count(connects.opened),
            loadstone_units::counted(resent, "SYN")
        );
        found.rests_on(text, vec!["phases/connect".to_owned()], span)
    } else {
        found
    };
    let late = facts.generator.lateness(span).read;
    const OURS: &str = "The load generator, which may notice the connection late";
    let lateness = format!("responses were read {} late on average", loadstone_units::seconds(late));
    let ours =
        if late <= (after - before) / 10.0 { Alternative::ruled_out(OURS, lateness) } else { Alternative::not_ruled_out(OURS, lateness) };
    // A busy processor explains why connections are accepted late. It does not contradict that requests wait for them, so it is no alternative.
    let cpu = examined::cpu(facts, span.0, span.1);
    let found = if cpu.ruled_out { found.weigh(ours).weigh(cpu) } else { found.weigh(ours) };
    Some(found.try_next(
        "Check the listener's backlog (its `backlog`, `net.core.somaxconn`), what keeps it from accepting (such as a processor at its limit), and what drops \
         packets in the network. Keep connections open, so that fewer are opened.",
    ))
}
