//! A database's sessions over a stretch of time: open transactions, waits for locks, and the sessions that hold the locks.

use loadstone_metrics::Role;

use super::changes::{Change, Shape};
use super::readings::{SignalReadings, most_frequent};
use super::signals::{ObservedPart, ObservedSignals};

/// The sessions of one database.
pub(crate) struct DatabaseSessions<'a> {
    /// Open transactions without a running statement, mean.
    pub(crate) in_transaction: f64,
    /// Their most frequent number.
    pub(crate) in_transaction_mostly: f64,
    pub(crate) transactions: SignalReadings<'a>,
    /// Sessions that waited for a lock, mean.
    pub(crate) waiting_for_locks: f64,
    /// Share of the readings in which any session did.
    pub(crate) locked_share: f64,
    pub(crate) locks: Vec<SignalReadings<'a>>,
    pub(crate) blocked: Option<BlockedStatement<'a>>,
}

/// The statement that waits most for a lock, and the session that holds it.
pub(crate) struct BlockedStatement<'a> {
    waits: &'a str,
    by: Option<LockHolder<'a>>,
    /// The session at the head of the chain, which waits for no other; `None`: it is `by`.
    head: Option<LockHolder<'a>>,
    pub(crate) readings: SignalReadings<'a>,
}

/// Seconds before a change that are left out: the first of the waits may have made it.
const BEFORE_EDGE_S: f64 = 3.0;
/// Sessions that waited before a change, as a part of those after it, up to which their waits began with it.
pub(crate) const BEFORE_PART_MAX: f64 = 0.1;

/// The mean of sessions that wait for locks after a change at which requests became slower; `None` if more than a small part of them waited before it, or if
/// the database was not observed then. A wait has readings from its first sample on.
pub(crate) fn waiting_since(signals: &ObservedSignals<'_>, waiting: &SignalReadings<'_>, change: &Change) -> Option<f64> {
    let before = (change.from, change.at - change.at_error - BEFORE_EDGE_S);
    let is_observed = |part: &ObservedPart<'_>| part.observer == waiting.signal.observer.as_str();
    let active = signals.parts_with(Role::SessionsActive).find(is_observed).and_then(|part| signals.read(part, Role::SessionsActive))?;
    let after = waiting.mean(change.at + change.at_error, change.until.unwrap_or(change.to)).filter(|after| *after > 0.0)?;
    let is_slower_at_once = change.is_slower() && change.shape != Shape::Drift;
    let is_read_before = active.count(before.0, before.1) > 0;
    (is_slower_at_once && is_read_before && waiting.mean(before.0, before.1).unwrap_or(0.0) <= BEFORE_PART_MAX * after).then_some(after)
}

/// A session that holds a lock for which others wait.
#[derive(Clone, Copy)]
struct LockHolder<'a> {
    /// Its last statement, which need not be the one that acquired the lock.
    statement: &'a str,
    /// Its application, or its user; `None` in records that lack it.
    name: Option<&'a str>,
}

/// For the database with the most open transactions and waiting sessions; `None` where none was observed.
pub(super) fn between<'a>(signals: &ObservedSignals<'a>, from: f64, to: f64) -> Option<DatabaseSessions<'a>> {
    let found = signals.parts_with(Role::SessionsIdleInTransaction).filter_map(|part| of_database(signals, part, from, to));
    let size = |sessions: &DatabaseSessions<'_>| sessions.in_transaction + sessions.waiting_for_locks;
    found.max_by(|a, b| size(a).total_cmp(&size(b)))
}

fn of_database<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>, from: f64, to: f64) -> Option<DatabaseSessions<'a>> {
    let transactions = signals.read(part, Role::SessionsIdleInTransaction)?;
    let locks = signals.read_each(part, Role::SessionsWaitingForLock);
    let at: Vec<f64> = transactions.between(from, to).map(|(at, _)| at).collect();
    let waiting = |from: f64, to: f64| locks.iter().filter_map(|readings| readings.mean(from, to)).fold(0.0, |sum, mean| sum + mean);
    // A reading represents half a second on either side.
    let locked = at.iter().filter(|at| waiting(*at - 0.5, *at + 0.5) >= 0.5).count();
    let counts: Vec<f64> = transactions.between(from, to).map(|(_, count)| count.round()).collect();
    Some(DatabaseSessions {
        in_transaction: transactions.mean(from, to)?,
        in_transaction_mostly: most_frequent(&counts),
        waiting_for_locks: waiting(from, to),
        locked_share: locked as f64 / at.len().max(1) as f64,
        blocked: most_blocked(signals, part, &[(from, to)]),
        transactions,
        locks,
    })
}

/// Statements that lock a table explicitly or change it. Such a session may wait for the requests' locks first, and hold them up afterwards.
const TABLE_STATEMENTS: [&str; 11] =
    ["lock ", "alter ", "create ", "drop ", "truncate ", "reindex ", "vacuum ", "cluster ", "refresh ", "optimize ", "flush "];

/// The statement with the most sessions that wait for a lock, in stretches of time. One of the requests counts before one that locks or changes a table: what
/// holds up the requests is what they wait for.
pub(crate) fn most_blocked<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    spans: &[(f64, f64)],
) -> Option<BlockedStatement<'a>> {
    let mean = |readings: &SignalReadings<'_>| {
        let inside = spans.iter().flat_map(|(from, to)| readings.between(*from, *to));
        let (count, sum) = inside.fold((0.0, 0.0), |(count, sum), (_, value)| (count + 1.0, sum + value));
        (count > 0.0).then_some(sum / count)
    };
    let pairs = signals.read_each(part, Role::SessionsBlockedBy).into_iter();
    let means: Vec<_> = pairs.filter_map(|readings| Some((mean(&readings)?, readings))).filter(|(mean, _)| *mean > 0.0).collect();
    let is_of_requests = |readings: &SignalReadings<'_>| {
        let statement = readings.label("statement").unwrap_or_default().to_lowercase();
        !TABLE_STATEMENTS.iter().any(|word| statement.starts_with(word))
    };
    let (_, readings) = means.iter().max_by(|a, b| is_of_requests(&a.1).cmp(&is_of_requests(&b.1)).then_with(|| a.0.total_cmp(&b.0)))?;
    let (waits, by) = (readings.label("statement")?, LockHolder::of(readings));
    let head = head_of_chain(&means, waits).filter(|head| by.is_some_and(|by| by.statement != head.statement));
    Some(BlockedStatement { waits, by, head, readings: readings.clone() })
}

/// The statement at the head of a chain of sessions that wait for each other: each step goes to the statement that blocks most sessions. `None`: no other
/// statement blocks it.
fn head_of_chain<'a>(means: &[(f64, SignalReadings<'a>)], waits: &'a str) -> Option<LockHolder<'a>> {
    let (mut chain, mut head) = (vec![waits], None);
    loop {
        let blocks_it = means.iter().filter(|(_, pair)| pair.label("statement") == chain.last().copied());
        let others = blocks_it.filter_map(|(mean, pair)| Some((mean, LockHolder::of(pair)?)));
        let unseen = others.filter(|(_, by)| !chain.contains(&by.statement));
        let Some((_, by)) = unseen.max_by(|a, b| a.0.total_cmp(b.0)) else { return head };
        chain.push(by.statement);
        head = Some(by);
    }
}

impl<'a> LockHolder<'a> {
    fn of(pair: &SignalReadings<'a>) -> Option<Self> {
        Some(Self { statement: pair.label("by")?, name: pair.label("holder") })
    }

    /// `a session of "nightly" whose last statement was …`, where `session` is the noun, with its article.
    fn phrase(&self, session: &str) -> String {
        let of = self.name.map(|name| format!(" of {name:?}")).unwrap_or_default();
        format!("{session}{of} whose last statement was `{}`", self.statement)
    }
}

impl<'a> BlockedStatement<'a> {
    /// The application or user of the session for which all others wait, unless it runs the same statement.
    pub(crate) fn holder(&self) -> Option<&'a str> {
        self.head.or(self.by).filter(|holder| holder.statement != self.waits)?.name
    }

    /// The statements as a phrase.
    pub(crate) fn phrase(&self) -> String {
        let waits = self.waits;
        match (self.by, self.head) {
            (Some(by), Some(head)) if waits == by.statement => {
                format!("`{waits}` behind others of the same, and these behind {}", head.phrase("a session"))
            }
            (Some(by), Some(head)) => {
                format!("`{waits}` behind a session in `{}`, which waits for {}", by.statement, head.phrase("one"))
            }
            (Some(by), None) if waits != by.statement => format!("`{waits}` behind {}", by.phrase("a session")),
            (Some(_), None) => format!("`{waits}` behind another of the same"),
            (None, _) => format!("`{waits}`"),
        }
    }
}
