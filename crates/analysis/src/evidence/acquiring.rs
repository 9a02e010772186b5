//! Evidence that several rules share: statements look slow to a service because it waits for a connection.

use crate::facts::{Facts, acquiring};
use crate::finding::ranked::RankedFinding;

/// Share of the time that a service measures for a statement, from which the wait for a connection is evidence.
const WAIT_SHARE_MIN: f64 = 0.5;

/// Adds it if most of a statement's time at the service is this wait.
pub(crate) fn add_evidence(facts: &Facts<'_>, found: RankedFinding, span: (f64, f64)) -> RankedFinding {
    let Some(acquiring) = acquiring::between(&facts.signals, span) else { return found };
    let seen = acquiring.waited_s + acquiring.took_s;
    if acquiring.waited_s < WAIT_SHARE_MIN * seen {
        return found;
    }
    let text = format!(
        "statements look slow to the service because it waits for a connection: a `{}` that first needs one from \"{}\" takes {}, of which {} ({}) are \
         this wait; the database takes {}",
        acquiring.statement,
        acquiring.pool,
        loadstone_units::seconds(seen),
        loadstone_units::seconds(acquiring.waited_s),
        loadstone_units::share(acquiring.waited_s / seen),
        loadstone_units::seconds(acquiring.took_s)
    );
    found.rests_on(text, acquiring.series, span)
}
