//! A name has a new address, but no client has looked it up since: clients still use the old address.
//!
//! The rule needs `stub.dns` ([decisions](../decisions.md)). It reports a name if all of these hold:
//!
//! - the name got another address during the load
//! - clients had looked it up before
//! - no client looked it up in the rest of the load, for at least {AFTER_MIN_S} s and {AFTER_TTLS_MIN} times the time to live of the answers
//!
//! A persistent connection needs no lookup and looks the same, so the confidence is medium.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::readings::SignalReadings;
use crate::instant::clock;

/// Minimum load after the change: in seconds, and in times to live of the answers.
const AFTER_MIN_S: f64 = 20.0;
const AFTER_TTLS_MIN: f64 = 2.0;

pub(super) const RULE: Rule = Rule {
    ids: &["stale-address"],
    page: "stale-address",
    title: "An old address is still used",
    says: "a name has a new address, but clients still use the old one",
    example: Example {
        run: "examples/stale-address",
        claim: "\"statsd.test\" got another address at 1:01, and no client has looked it up since: clients still use the old address",
    },
    needs: &["dns"],
    settings: &["ttl", "dns"],
    precedence: 370,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let parts = facts.signals.parts_with(Role::NameAddress).collect::<Vec<_>>();
    parts.into_iter().find_map(|part| {
        let lookups = facts.signals.read_each(part, Role::NameLookups);
        let believed = facts.signals.read_each(part, Role::NameBelieved);
        facts.signals.read_each(part, Role::NameAddress).iter().find_map(|address| {
            let of_name = |list: &'_ [SignalReadings<'_>]| list.iter().position(|other| other.label("name") == address.label("name"));
            let (lookups, believed) = (&lookups[of_name(&lookups)?], &believed[of_name(&believed)?]);
            stale(facts, address, lookups, believed)
        })
    })
}

fn stale(
    facts: &Facts<'_>,
    address: &SignalReadings<'_>,
    lookups: &SignalReadings<'_>,
    believed: &SignalReadings<'_>,
) -> Option<RankedFinding> {
    let (_, load_end) = facts.strain.loaded()?;
    let (moved, number) = address.points().windows(2).find(|pair| pair[1].1 > pair[0].1).map(|pair| pair[1])?;
    let believed_s = believed.points().first()?.1;
    // The old address may have been valid for most of the second of the change.
    let asked = |from: f64, to: f64| lookups.between(from, to).map(|(_, count)| count).sum::<f64>();
    let (before, after) = (asked(0.0, moved - 0.5), asked(moved + 0.5, f64::INFINITY));
    if before == 0.0 || after > 0.0 || load_end - moved < f64::max(AFTER_MIN_S, AFTER_TTLS_MIN * believed_s) {
        return None;
    }
    let name = address.label("name")?;
    let last = lookups.between(0.0, moved).filter(|(_, count)| *count > 0.0).last().map_or(0.0, |(at, _)| at);
    let claim = format!(
        "\"{name}\" got another address at {}, and no client has looked it up since: clients still use the old address",
        clock(moved)
    );
    Some(
        RankedFinding::new(Standing::Fault, "stale-address", Subject::endpoint(name), Confidence::High, claim)
            .with(Quantity::seconds("changed_at", moved))
            .with(Quantity::seconds("time_to_live", believed_s))
            .rests_on(
                format!(
                    "clients looked it up {} before, last at {}, and not in the {} of load after the change; its answers have a time to live of {}",
                    loadstone_units::counted(before as u64, "time"),
                    clock(last),
                    loadstone_units::seconds(load_end - moved),
                    loadstone_units::seconds(believed_s)
                ),
                vec![lookups.name(), address.name()],
                (moved, load_end),
            )
            .at_level(&lookups.name(), "after the change", after)
            .at_level(&address.name(), "new address", number)
            .weigh(Alternative::not_ruled_out(
                "A persistent connection, which needs no lookup while it is open",
                "the clients' connections were not observed",
            ))
            .try_next("Look the name up again after its time to live: use a cache that honours the record's time to live."),
    )
}
