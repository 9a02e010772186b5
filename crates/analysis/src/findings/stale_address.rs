//! A name whose address changed, and nobody asked for it again: what uses the name goes on to where nobody is.
//!
//! Made if a name of [`stub.dns`](../decisions.md) got another address, had been looked up before, and was not again in the rest of the load: at least 20
//! s, and twice as long as an answer may be believed. A connection that is kept open needs no name and looks the same, so the confidence is medium.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::readings::SignalReadings;
use crate::instant::clock;

/// Seconds of load after the change, and how many times as long as the answers may be believed.
const AFTER_MIN_S: f64 = 20.0;
const TIMES_BELIEVED: f64 = 2.0;

pub(super) const RULE: Rule = Rule {
    ids: &["stale-address"],
    title: "An old address is still used",
    says: "a name points elsewhere, and its users still use the old address",
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
    let moved = address.points().windows(2).find(|pair| pair[1].1 > pair[0].1).map(|pair| pair[1].0)?;
    let believed_s = believed.points().first()?.1;
    // The second of the change may have had the old address for most of it.
    let asked = |from: f64, to: f64| lookups.between(from, to).map(|(_, count)| count).sum::<f64>();
    let (before, after) = (asked(0.0, moved - 0.5), asked(moved + 0.5, f64::INFINITY));
    if before == 0.0 || after > 0.0 || load_end - moved < f64::max(AFTER_MIN_S, TIMES_BELIEVED * believed_s) {
        return None;
    }
    let name = address.label("name")?;
    let last = lookups.between(0.0, moved).filter(|(_, count)| *count > 0.0).last().map_or(0.0, |(at, _)| at);
    let claim = format!(
        "\"{name}\" got another address at {}, and nobody has asked for it since: what is sent to it goes to the old one",
        clock(moved)
    );
    Some(
        RankedFinding::new(Standing::Fault, "stale-address", Subject::endpoint(name), Confidence::High, claim)
            .rests_on(
                format!(
                    "it was looked up {} before, last at {}, and not at all in the {} of load after the change; an answer may be believed for {}",
                    loadstone_units::counted(before as u64, "time"),
                    clock(last),
                    loadstone_units::seconds(load_end - moved),
                    loadstone_units::seconds(believed_s)
                ),
                vec![lookups.name(), address.name()],
                (moved, load_end),
            )
            .weigh(Alternative::not_ruled_out(
                "A connection that is kept open, and needs no name as long as it holds",
                "it was not seen when those who use the name connect",
            ))
            .try_next("Look the name up again when its answer may no longer be believed: a cache with the record's time to live, not one for ever."),
    )
}
