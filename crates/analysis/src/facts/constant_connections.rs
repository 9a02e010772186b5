//! Open connections to a database whose number was constant while far more requests waited: a pool that is not observed, or as many workers.
//!
//! A pool that opens connections on demand opens another one as soon as a request finds none free. With n connections in every reading while more than n
//! requests wait, no more are allowed.
//!
//! Under a constant number of users, the requests in the system do not rise. There the database's own counts must show that more connections would have been
//! opened if they were allowed. C statements per second, of which each occupies a connection for h seconds at least, are C · h at a time. With enough
//! connections, that number has the Poisson distribution (M/G/∞; Takács, "Introduction to the Theory of Queues", 1962). A statement that begins while all n
//! connections are in use opens another one.

use loadstone_metrics::Role;
use serde_json::Value;

use super::accept_queue::AcceptQueue;
use super::constant_load::ConstantLoad;
use super::hardly_answered::HardlyAnswered;
use super::outward_waits::{self, DatabaseCalls};
use super::plateau::Plateaus;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;
use super::waiting::WaitingStretch;
use crate::statistics::poisson_at_least;

/// Readings that must show the same number.
const READINGS_MIN: usize = 10;
/// Requests in the system for each connection.
const REQUESTS_PER_CONNECTION_MIN: f64 = 2.0;
/// Factor by which the number of requests in the system rose meanwhile.
const RISEN_FACTOR_MIN: f64 = 1.5;
/// More connections are a pool that was filled at its start, which shows nothing.
const CONNECTIONS_MAX: f64 = 100.0;

/// Part of constant users whose requests must be in the system.
const USERS_IN_SYSTEM_PART_MIN: f64 = 0.5;
/// Statements that must have begun while all connections were in use. By chance it is none in 1 of 20,000 cases.
const OPENING_STATEMENTS_MIN: f64 = 10.0;

/// Part of the connections with a statement, an open transaction or a call without an answer, from which they are in use.
pub(crate) const IN_USE_PART_MIN: f64 = 0.7;

/// What shows that requests wait for a connection.
pub(crate) enum ConnectionNeed {
    /// The requests in the system rose.
    Rise,
    /// So many statements would have opened another connection.
    Openings { statements: f64, calls: f64, seconds_each: f64 },
}

/// A constant number of connections while requests wait.
pub(crate) struct ConstantConnections<'a> {
    pub(crate) database: &'a str,
    pub(crate) number: f64,
    pub(crate) readings: usize,
    pub(crate) series: String,
    /// Requests in the system in the first third of the stretch and in the last.
    pub(crate) in_system: (f64, f64),
    pub(crate) need: ConnectionNeed,
    /// Sessions with a statement or an open transaction, mean.
    pub(crate) in_use: Option<f64>,
    /// Calls on them without an answer. More of them than sessions are on their way.
    awaited: Option<DatabaseCalls<'a>>,
    /// Whether throughput × service time shows the same number of places.
    pub(crate) are_places: bool,
    /// Whether so many places explain that throughput stops.
    pub(crate) explains_plateau: bool,
    /// Whether so many, held for a part of each request, explain the rate at which throughput stops.
    pub(crate) explains_rate: bool,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl<'a> ConstantConnections<'a> {
    /// Whether nearly all of them are in use.
    pub(crate) fn are_in_use(&self) -> bool {
        self.in_use.is_some_and(|used| self.is_most(used)) || self.awaited().is_some()
    }

    /// Calls without an answer on nearly all of them.
    pub(crate) fn awaited(&self) -> Option<&DatabaseCalls<'a>> {
        self.awaited.as_ref().filter(|awaited| self.is_most(awaited.calls))
    }

    fn is_most(&self, used: f64) -> bool {
        used >= IN_USE_PART_MIN * self.number
    }
}

/// The database with the fewest connections.
pub(super) fn find<'a>(
    (signals, observers): (&ObservedSignals<'a>, &'a [Value]),
    (strain, plateaus, constant): (&Strain, &Plateaus, Option<&ConstantLoad>),
    (waiting, hardly_answered): (&[WaitingStretch], Option<&HardlyAnswered>),
    accept_queue: Option<&AcceptQueue<'_>>,
) -> Option<ConstantConnections<'a>> {
    let (begin, end) = strain.loaded()?;
    let waits =
        plateaus.span().or_else(|| waiting.iter().find(|stretch| stretch.flow.is_none()).map(|stretch| (stretch.from, stretch.load_to)));
    let in_system = (in_third(strain, (begin, end), 0), in_third(strain, (begin, end), 2));
    let is_crowded =
        |users: &ConstantLoad| users.users.is_some_and(|users| in_system.0.min(in_system.1) >= USERS_IN_SYSTEM_PART_MIN * users);
    // A full accept queue shows that all workers are busy. Each of them may have a connection.
    let users = constant.filter(|load| accept_queue.is_none() && is_crowded(load));
    let users = users.map(|load| if load.was_constant { (begin, end) } else { (load.from, load.to) });
    let is_stuck = accept_queue.is_some() || hardly_answered.is_some();
    let (from, to) = waits.or_else(|| is_stuck.then_some((begin, end))).or(users)?;
    let found = signals.parts_with(Role::ConnectionsOpen).filter_map(|part| {
        let number = constant_number(signals, part, (begin, from, to))?;
        let are_many = |requests: f64| requests >= REQUESTS_PER_CONNECTION_MIN * number.1;
        let has_risen = are_many(in_system.1) && in_system.1 >= RISEN_FACTOR_MIN * in_system.0;
        let need = match users {
            _ if has_risen => Some(ConnectionNeed::Rise),
            Some(span) if are_many(in_system.0.min(in_system.1)) => openings(signals, part, number.1, span),
            _ => None,
        }?;
        let in_use =
            [Role::SessionsActive, Role::SessionsIdleInTransaction].into_iter().filter_map(|role| signals.mean(part, role, from, to));
        Some(ConstantConnections {
            database: part.observer,
            number: number.1,
            readings: number.0,
            series: number.2,
            in_system,
            need,
            in_use: in_use.reduce(|sum, one| sum + one),
            awaited: outward_waits::calls_to(signals, observers, part.observer, (from, to)),
            are_places: plateaus.are_places(number.1),
            explains_plateau: plateaus.are_explained_by(number.1),
            explains_rate: has_risen && plateaus.is_rate_of(number.1),
            from,
            to,
        })
    });
    found.min_by(|a, b| a.number.total_cmp(&b.number))
}

/// `None`: a pool that may open more connections might not have needed them.
fn openings(signals: &ObservedSignals<'_>, part: ObservedPart<'_>, number: f64, (from, to): (f64, f64)) -> Option<ConnectionNeed> {
    let sum = |role| signals.read_each(part, role).iter().filter_map(|readings| readings.mean(from, to)).sum::<f64>();
    let (calls, executing) = (sum(Role::StatementCalls), sum(Role::StatementTime));
    // Planning and sending the result occupy the connection, too.
    let in_progress = executing.max(signals.mean(part, Role::SessionsActive, from, to).unwrap_or(0.0));
    let statements = calls * (to - from) * poisson_at_least(number, in_progress);
    let seconds_each = in_progress / calls.max(1e-9);
    (statements >= OPENING_STATEMENTS_MIN).then_some(ConnectionNeed::Openings { statements, calls, seconds_each })
}

/// The number that all readings of a stretch have, and how many there are. It must not have been reached by a pool that fills up only then.
fn constant_number(
    signals: &ObservedSignals<'_>,
    part: ObservedPart<'_>,
    (begin, from, to): (f64, f64, f64),
) -> Option<(usize, f64, String)> {
    let open = signals.read(part, Role::ConnectionsOpen)?;
    let number = open.steady(from, to).filter(|number| (1.0..=CONNECTIONS_MAX).contains(number))?;
    let never_more = open.share(begin, to, |count| count <= number) == Some(1.0);
    let count = open.count(from, to);
    (never_more && count >= READINGS_MIN).then(|| (count, number, open.name()))
}

fn in_third(strain: &Strain, (from, to): (f64, f64), third: u32) -> f64 {
    let length = (to - from) / 3.0;
    let start = from + f64::from(third) * length;
    strain.in_system(start, start + length).unwrap_or(0.0)
}
