//! Statements that look slow to a service since it waits for a connection: evidence that several rules give.

use crate::facts::{Facts, acquiring};
use crate::finding::ranked::RankedFinding;

/// Share of what a service sees from which the wait for a connection is worth telling.
const SHARE_MIN: f64 = 0.5;

/// Adds it to the evidence where most of what a statement takes at the service is that wait.
pub(crate) fn told(facts: &Facts<'_>, found: RankedFinding, span: (f64, f64)) -> RankedFinding {
    let Some(acquiring) = acquiring::between(&facts.signals, span) else { return found };
    let seen = acquiring.waited_s + acquiring.took_s;
    if acquiring.waited_s < SHARE_MIN * seen {
        return found;
    }
    let text = format!(
        "statements look slow to the service since it waits for a connection: a `{}` that has to get one first from \"{}\" takes {}, of which {} ({}) are \
         that wait; the database itself takes {}",
        acquiring.statement,
        acquiring.pool,
        loadstone_units::seconds(seen),
        loadstone_units::seconds(acquiring.waited_s),
        loadstone_units::share(acquiring.waited_s / seen),
        loadstone_units::seconds(acquiring.took_s)
    );
    found.rests_on(text, acquiring.series, span)
}
