//! What most of a database's active sessions waited for while work waited.

use metrics::Role;
use run_directory::Run;

use super::calls_at_once::CallCeiling;
use super::commits::{self, Commits};
use super::readings::SignalReadings;
use super::sessions::{self, BlockedStatement};
use super::signals::{ObservedPart, ObservedSignals};
use super::waiting::WaitingStretch;

/// Waits that are the database's own: not for the client, for a timer, for work.
const WAITS: [Role; 4] =
    [Role::SessionsWaitingForLock, Role::SessionsWaitingForCommit, Role::SessionsWaitingForRead, Role::SessionsWaitingForOther];
/// Mean sessions that must wait for one thing, and their share of the active ones, for it to be what holds work up.
const WAITING_MIN: f64 = 1.0;
const WAITING_SHARE_MIN: f64 = 0.4;

/// One wait of one database.
pub(crate) struct SessionWait<'a> {
    /// The stretch in which work waited.
    pub(crate) waiting: WaitingStretch,
    /// What is waited for, and what the database calls it.
    pub(crate) role: Role,
    pub(crate) event: &'a str,
    /// Sessions that waited for it and sessions that were active, on average.
    pub(crate) sessions: f64,
    pub(crate) active: f64,
    pub(crate) readings: SignalReadings<'a>,
    pub(crate) blocked: Option<BlockedStatement<'a>>,
    /// While load was made.
    pub(crate) commits: Option<Commits>,
}

/// Not looked for where the calls to an endpoint take nearly all of the callers' time.
pub(super) fn find<'a>(
    run: &Run,
    signals: &ObservedSignals<'a>,
    waiting: &[WaitingStretch],
    call_ceiling: Option<&CallCeiling<'_>>,
) -> Option<SessionWait<'a>> {
    if call_ceiling.is_some_and(CallCeiling::explains_all) {
        return None;
    }
    let waiting = waiting.first()?;
    let of_database = |part: ObservedPart<'a>| {
        let active = signals.mean(part, Role::SessionsActive, waiting.from, waiting.to)?;
        let (sessions, role, readings) = longest_wait(signals, part, waiting)?;
        let is_holding_up = sessions >= WAITING_MIN && sessions >= WAITING_SHARE_MIN * active;
        is_holding_up.then_some((part, role, sessions, active, readings))
    };
    let found = signals.parts_with(Role::SessionsActive).filter_map(of_database);
    let (part, role, sessions, active, readings) = found.max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(SessionWait {
        role,
        event: readings.label("wait").unwrap_or(&readings.signal.name),
        sessions,
        active,
        readings,
        blocked: sessions::most_blocked(signals, part, waiting.from, waiting.to),
        commits: commits::between(run, signals, part, (waiting.from, waiting.load_to)),
        waiting: waiting.clone(),
    })
}

/// The wait with the most sessions on average.
fn longest_wait<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    waiting: &WaitingStretch,
) -> Option<(f64, Role, SignalReadings<'a>)> {
    let of_role = |role| signals.read_each(part, role).into_iter().map(move |readings| (role, readings));
    let waits = WAITS.into_iter().flat_map(of_role);
    let means = waits.filter_map(|(role, readings)| Some((readings.mean(waiting.from, waiting.to)?, role, readings)));
    // Where as many wait for two things, the last by name.
    means.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.2.signal.name.cmp(&b.2.signal.name)))
}
