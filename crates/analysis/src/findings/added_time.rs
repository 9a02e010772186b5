//! Where the time went that requests took longer from an instant on: the sessions of a database that were then in one wait.
//!
//! By Little's law requests that take ΔR longer at X per second are X·ΔR more in the system. Where as many more sessions wait for one thing, the added time is
//! spent there.

use metrics::Role;

use crate::facts::Facts;
use crate::facts::changes::Change;

/// Part of the added requests that the added sessions must be, and how many times as many they may be.
const EXPLAINS: (f64, f64) = (0.6, 1.7);
/// Added sessions, on average, that sampling can tell from none.
const SESSIONS_MIN: f64 = 0.05;
/// Seconds around the instant that are left out.
const EDGE_S: f64 = 1.0;

const WAITS: [Role; 5] = [
    Role::SessionsWaitingForLock,
    Role::SessionsWaitingForCommit,
    Role::SessionsWaitingForRead,
    Role::SessionsWaitingForOther,
    Role::SessionsOnCpu,
];

/// A wait that holds the added time.
pub(super) struct AddedTime {
    /// `its database's sessions wait for IO:WALSync`.
    pub(super) claim: String,
    pub(super) evidence: String,
    pub(super) series: String,
}

/// Of changes that came together. `None`: no wait of an observed database grew by as much.
pub(super) fn told(facts: &Facts<'_>, changes: &[&Change]) -> Option<AddedTime> {
    let first = changes.first()?;
    let end = first.until.unwrap_or(first.to);
    let in_system =
        |change: &&&Change| (change.after.mean - change.before.mean) * change.after.count as f64 / (change.to - change.at).max(1.0);
    let added: f64 = changes.iter().map(|change| in_system(&change)).sum();
    let waits = facts.signals.parts_with(Role::SessionsActive).flat_map(|part| {
        WAITS.into_iter().flat_map(move |role| facts.signals.read_each(part, role).into_iter().map(move |readings| (role, readings)))
    });
    let grown = waits.filter_map(|(role, readings)| {
        let after = readings.mean(first.at + EDGE_S, end)?;
        // A wait that nobody was in before was not listed then.
        let before = readings.mean(first.from, first.at - EDGE_S).unwrap_or(0.0);
        Some((role, readings, before, after))
    });
    let (role, readings, before, after) = grown.max_by(|a, b| (a.3 - a.2).total_cmp(&(b.3 - b.2)))?;
    let more = after - before;
    if more < SESSIONS_MIN || more < EXPLAINS.0 * added || more > EXPLAINS.1 * added {
        return None;
    }
    let event = readings.label("wait").unwrap_or(&readings.signal.name);
    let claim = match role {
        Role::SessionsOnCpu => "the sessions of its database compute for as long".to_owned(),
        Role::SessionsWaitingForCommit => format!("the sessions of its database wait for that long at commit ({event})"),
        _ => format!("the sessions of its database wait for that long ({event})"),
    };
    let evidence = format!(
        "{after:.2} sessions were in {event} on average, {before:.2} before; the requests in the system became {added:.2} more (Little's law)"
    );
    Some(AddedTime { claim, evidence, series: readings.name() })
}
