//! Whether requests take longer because the path to a database or cache does: the network, or a proxy.
//!
//! By Little's law, requests that take ΔR longer at X per second are X·ΔR more in the system. If as many more sessions of a database wait for the service with
//! an open transaction, or as many more connections of a pool are in use, while the database is no busier, then the time is spent between the two. The round
//! trip of the observer's own connection shows it directly if it takes the same path. If it did not grow, the path of the service differs: a proxy, a pooler.
//!
//! Calls that an endpoint has not answered, and threads in such calls, show the same from the service's side. There, the endpoint may be the slow part: if it
//! is not observed, both are possible.

use std::ops::RangeInclusive;

use loadstone_metrics::{PoolMembers, Role};
use serde_json::Value;

use super::called::CalledEndpoint;
use super::changes::{Change, Changes, LoadMeanwhile, Shape};
use super::outward_waits::{self, AwaitedCalls, OutwardThreads, Sides};
use super::path::{Path, PathResource};
use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;
use super::timeline::TimelineOf;
use crate::ResourceKind;
use crate::statistics::quantile;

/// Seconds around the change that are left out.
const EDGE_S: f64 = 1.0;
/// Readings on either side.
const READINGS_MIN: usize = 5;
/// Factor from which a round trip takes longer.
const ROUND_TRIP_FACTOR_MIN: f64 = 2.0;
/// And by how much. Seconds.
const ROUND_TRIP_MORE_MIN_S: f64 = 0.002;
/// Requests that must be added to the system.
const ADDED_MIN: f64 = 0.3;
/// Added sessions or connections for each added request, within which they explain them.
const SESSIONS_PER_ADDED_REQUEST: RangeInclusive<f64> = 0.6..=1.5;
/// Factor from which their number has risen.
const RISEN_FACTOR_MIN: f64 = 1.5;
/// Added busy sessions, as a part of the added requests, up to which the database is no busier.
const BUSIER_PART_MAX: f64 = 0.25;
/// Added sessions idle in a transaction, as a part of the added requests, from which these wait between statements. Some of the round trips of a transaction,
/// such as the one that ends it, are outside of it.
const BETWEEN_PART_MIN: f64 = 0.25;
/// The same for open connections. A pool opens as many as it needs at the same time, which is more than their mean.
const OPENED_PER_ADDED_REQUEST: RangeInclusive<f64> = 0.5..=10.0;
/// And the least number of them.
const OPENED_MIN: f64 = 1.0;
/// Factor up to which statements take as long as before, and are as many per second.
const STATEMENT_FACTOR_MAX: f64 = 1.5;
/// Added calls without an answer for each added request, within which they explain them. Of calls that follow each other at once, some are not seen.
const AWAITED_PER_ADDED_REQUEST: RangeInclusive<f64> = 0.25..=2.0;
/// The same for threads in calls.
const THREADS_PER_ADDED_REQUEST: RangeInclusive<f64> = 0.5..=1.5;
/// Rise of the only thread of an event loop, or of the only busy session, and its level after, from which the other added requests wait for it.
const ONE_THREAD_RISE_MIN: f64 = 0.3;
const ONE_THREAD_LEVEL_MIN: f64 = 0.5;
/// The level of a session that is the only one. Readings may overlap.
const ONE_SESSION_LEVEL_MAX: f64 = 1.1;

/// A path that takes longer from an instant on.
pub(crate) struct SlowerPath<'a> {
    /// The database or cache at its end.
    pub(crate) dependency: &'a str,
    /// The change of the requests.
    pub(crate) change: Change,
    /// Requests added to the system, mean.
    pub(crate) added: f64,
    pub(crate) shown_by: PathEvidence<'a>,
    /// Before and after. Seconds for a round trip, otherwise a number.
    pub(crate) levels: (f64, f64),
    /// The first has these levels.
    pub(crate) series: Vec<String>,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Added cores in use by the observed processes, and added calls in progress at the called endpoints; `None`: none was observed.
    pub(crate) cores: Option<f64>,
    pub(crate) calls: Option<f64>,
    /// Added busy sessions of the database; `None`: they were not observed.
    pub(crate) sessions: Option<f64>,
    /// The round trip of the observer's own connection to it, before and after, and its series. Seconds.
    pub(crate) round_trip: Option<((f64, f64), String)>,
    /// Threads of the service in the calls that take longer.
    pub(crate) threads: Option<OutwardThreads<'a>>,
}

/// Whether one session, as that of a writer of a log, is in transactions for much of the time from then on. Requests then wait for their turn.
fn is_only_one((before, after): (f64, f64)) -> bool {
    after - before >= ONE_THREAD_RISE_MIN && (ONE_THREAD_LEVEL_MIN..=ONE_SESSION_LEVEL_MAX).contains(&after)
}

/// What shows a slower path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PathEvidence<'a> {
    /// The round trip of the observer's connection.
    RoundTrip,
    /// Sessions that wait for the service with an open transaction.
    IdleInTransaction,
    /// Connections of this pool that are in use.
    Connections(&'a str),
    /// More sessions wait for the service with an open transaction, though fewer than requests were added, and the service is no busier.
    BetweenStatements,
    /// More connections are open, and the service is no busier.
    OpenConnections,
    /// More calls to an observed server at this address have no answer.
    Calls(&'a str),
    /// The same for an address that no observer reads, next to this database, if one is observed.
    CallsElsewhere(Option<&'a str>),
    /// More threads are in calls to it, and the service is no busier.
    Threads,
    /// The same for a call whose other end is not known.
    ThreadsElsewhere,
}

struct PathSearch<'f, 'a> {
    signals: &'f ObservedSignals<'a>,
    observers: &'a [Value],
    before: (f64, f64),
    after: (f64, f64),
    /// Requests added to the system, and those in it after.
    added: f64,
    in_system: f64,
}

/// For the largest change of a request.
pub(super) fn find<'a>(
    (signals, path, observers): (&ObservedSignals<'a>, &Path<'a>, &'a [Value]),
    strain: &Strain,
    changes: &Changes,
    called: &[CalledEndpoint<'a>],
) -> Option<SlowerPath<'a>> {
    let is_of_request = |change: &&Change| matches!(change.of, TimelineOf::Series(_));
    let is_step =
        |change: &&Change| change.is_slower() && change.shape == Shape::Step && !matches!(change.load, LoadMeanwhile::Reached { .. });
    let change = changes.found.iter().filter(is_of_request).find(is_step)?;
    let before = (change.from, change.at - change.at_error - EDGE_S);
    let after = (change.at + change.at_error + EDGE_S, change.until.unwrap_or(change.to));
    let in_system = strain.in_system(after.0, after.1)?;
    let added = in_system - strain.in_system(before.0, before.1)?;
    let search = PathSearch { signals, observers, before, after, added, in_system };
    let threads = (added >= ADDED_MIN).then(|| search.threads()).flatten();
    let (dependency, shown_by, levels, series) =
        search.round_trip().or_else(|| if added >= ADDED_MIN { search.by_added(threads.as_ref(), path) } else { None })?;
    let processes = path.of_kind(ResourceKind::Process).filter_map(|process| search.more(process.used.as_ref()?));
    let calls = called.iter().filter_map(|endpoint| search.more(endpoint.in_flight.as_ref()?));
    let (cores, calls) = (processes.reduce(|sum, one| sum + one), calls.reduce(|sum, one| sum + one));
    // The calls account for the added requests.
    if calls.is_some_and(|calls| calls >= SESSIONS_PER_ADDED_REQUEST.start() * added) {
        return None;
    }
    let sessions = signals.parts_with(Role::SessionsActive).filter(|part| part.observer == dependency);
    let sessions = sessions.filter_map(|part| search.more(&signals.read(part, Role::SessionsActive)?)).next();
    let round_trip = signals.parts_with(Role::RoundTrip).find(|part| part.observer == dependency);
    let round_trip = round_trip.and_then(|part| signals.read(part, Role::RoundTrip));
    let round_trip = round_trip.and_then(|readings| Some((search.shortest(&readings)?, readings.name())));
    let (change, (from, to)) = (change.clone(), after);
    Some(SlowerPath { dependency, change, added, shown_by, levels, series, from, to, cores, calls, sessions, round_trip, threads })
}

type FoundPath<'a> = (&'a str, PathEvidence<'a>, (f64, f64), Vec<String>);

impl<'a> PathSearch<'_, 'a> {
    /// Means before and after.
    fn levels(&self, readings: &SignalReadings<'_>) -> Option<(f64, f64)> {
        let is_enough = [self.before, self.after].iter().all(|(from, to)| readings.count(*from, *to) >= READINGS_MIN);
        let mean = |(from, to): (f64, f64)| readings.mean(from, to);
        if is_enough { Some((mean(self.before)?, mean(self.after)?)) } else { None }
    }

    /// A tenth of the readings before and after are shorter. A busy server delays some answers, a longer path all of them.
    fn shortest(&self, readings: &SignalReadings<'_>) -> Option<(f64, f64)> {
        self.levels(readings)?;
        let tenth = |(from, to): (f64, f64)| quantile(&readings.between(from, to).map(|(_, value)| value).collect::<Vec<_>>(), 0.1);
        Some((tenth(self.before), tenth(self.after)))
    }

    fn more(&self, readings: &SignalReadings<'_>) -> Option<f64> {
        self.levels(readings).map(|(before, after)| after - before)
    }

    fn round_trip(&self) -> Option<FoundPath<'a>> {
        let found = self.signals.parts_with(Role::RoundTrip).filter_map(|part| {
            let readings = self.signals.read(part, Role::RoundTrip)?;
            let levels = self.shortest(&readings)?;
            let is_longer = levels.1 >= ROUND_TRIP_FACTOR_MIN * levels.0 && levels.1 - levels.0 >= ROUND_TRIP_MORE_MIN_S;
            is_longer.then(|| (part.observer, PathEvidence::RoundTrip, levels, vec![readings.name()]))
        });
        found.max_by(|a, b| (a.2.1 - a.2.0).total_cmp(&(b.2.1 - b.2.0)))
    }

    fn idle_in_transaction(&self) -> Option<FoundPath<'a>> {
        self.signals.parts_with(Role::SessionsIdleInTransaction).find_map(|part| {
            let idle = self.signals.read(part, Role::SessionsIdleInTransaction)?;
            let levels = self.levels(&idle).filter(|levels| self.explains(*levels))?;
            let active = self.no_busier(part)?;
            Some((part.observer, PathEvidence::IdleInTransaction, levels, vec![idle.name(), active]))
        })
    }

    /// A pool of the service to the only observed database. If requests wait for a connection, the pool limits them, and whatever holds its connections
    /// need not be the path.
    fn connections(&self, path: &Path<'a>) -> Option<FoundPath<'a>> {
        let databases: Vec<ObservedPart<'a>> = self.signals.parts_with(Role::SessionsActive).collect();
        let [database] = databases[..] else { return None };
        let active = self.no_busier(database)?;
        path.of_kind(ResourceKind::Pool).find_map(|pool| {
            let used = pool.used.as_ref().filter(|used| used.signal.members != Some(PoolMembers::Threads))?;
            let levels = self.levels(used).filter(|levels| self.explains(*levels))?;
            if pool.waiting.as_ref().and_then(|waiting| self.more(waiting)).is_some_and(|more| more >= ADDED_MIN) {
                return None;
            }
            Some((database.observer, PathEvidence::Connections(pool.part.name()), levels, vec![used.name(), active.clone()]))
        })
    }

    /// By what accounts for the added requests. The address of calls that are not answered is exact, unless it may be a proxy in front of a database.
    fn by_added(&self, threads: Option<&OutwardThreads<'a>>, path: &Path<'a>) -> Option<FoundPath<'a>> {
        let calls = self.calls();
        let (exact, other) =
            calls.map_or((None, None), |(found, is_exact)| if is_exact { (Some(found), None) } else { (None, Some(found)) });
        exact
            .or_else(|| self.idle_in_transaction())
            .or_else(|| self.connections(path))
            .or(other)
            .or_else(|| self.in_threads(threads?, path))
            .or_else(|| self.idle_service(path))
    }

    /// Calls to an endpoint that it has not answered, and whether it is known what is there. If a database is observed, neither it nor any other is busier.
    fn calls(&self) -> Option<(FoundPath<'a>, bool)> {
        let AwaitedCalls { peer, server, reaches_servers, levels, series } =
            outward_waits::calls(self.signals, self.observers, self.sides())?;
        let part = (levels.1 - levels.0) / self.added;
        if !AWAITED_PER_ADDED_REQUEST.contains(&part) || levels.1 < RISEN_FACTOR_MIN * levels.0 {
            return None;
        }
        let (only, active) = self.databases_no_busier()?;
        let series = std::iter::once(series).chain(active).collect();
        Some(match server {
            Some(server) => ((server, PathEvidence::Calls(peer), levels, series), true),
            None => ((peer, PathEvidence::CallsElsewhere(only), levels, series), reaches_servers),
        })
    }

    fn threads(&self) -> Option<OutwardThreads<'a>> {
        let threads = outward_waits::threads(self.signals, self.sides(), (self.added, self.in_system))?;
        let (before, after) = threads.levels;
        let is_turn = threads.is_one && after - before >= ONE_THREAD_RISE_MIN && after >= ONE_THREAD_LEVEL_MIN;
        let is_all = THREADS_PER_ADDED_REQUEST.contains(&((after - before) / self.added));
        ((is_turn || is_all) && after >= RISEN_FACTOR_MIN * before).then_some(threads)
    }

    /// Threads in calls that leave the process.
    fn in_threads(&self, threads: &OutwardThreads<'a>, path: &Path<'a>) -> Option<FoundPath<'a>> {
        if self.is_service_idle(path) == Some(false) {
            return None;
        }
        let (only, active) = self.databases_no_busier()?;
        let series = threads.series.iter().cloned().chain(active).collect();
        Some(match only.filter(|_| threads.is_of_client) {
            Some(database) => (database, PathEvidence::Threads, threads.levels, series),
            None => (threads.observer, PathEvidence::ThreadsElsewhere, threads.levels, series),
        })
    }

    fn sides(&self) -> Sides {
        Sides { before: self.before, after: self.after }
    }

    /// The only observed database, and the signals which show that none is busier. `None` if one is.
    fn databases_no_busier(&self) -> Option<(Option<&'a str>, Vec<String>)> {
        let databases: Vec<ObservedPart<'a>> = self.signals.parts_with(Role::SessionsActive).collect();
        let active: Option<Vec<String>> = databases.iter().map(|part| self.no_busier(*part)).collect();
        Some((if let [only] = databases[..] { Some(only.observer) } else { None }, active?))
    }

    /// Whether the observed processes use and wait for no more cores, and no request waits for a pool. `None`: no process was observed.
    fn is_service_idle(&self, path: &Path<'a>) -> Option<bool> {
        let processes = || path.of_kind(ResourceKind::Process);
        let sum = |of: &dyn Fn(&PathResource<'a>) -> Option<f64>| processes().filter_map(of).reduce(|sum, one| sum + one);
        let waits_for_pool =
            path.of_kind(ResourceKind::Pool).filter_map(|pool| self.more(pool.waiting.as_ref()?)).any(|more| more >= ADDED_MIN);
        if waits_for_pool {
            return Some(false);
        }
        let cores = sum(&|process| self.more(process.used.as_ref()?))?;
        let waiting = sum(&|process| self.more(process.waiting.as_ref()?)).unwrap_or(0.0);
        Some(cores.max(waiting) <= BUSIER_PART_MAX * self.added)
    }

    /// Weaker evidence, which needs an observed service that is no busier: sessions between statements, or connections that were opened.
    fn idle_service(&self, path: &Path<'a>) -> Option<FoundPath<'a>> {
        if self.is_service_idle(path) != Some(true) {
            return None;
        }
        let has_risen = |(before, after): (f64, f64)| after >= RISEN_FACTOR_MIN * before;
        self.signals.parts_with(Role::SessionsActive).find_map(|part| {
            let active = self.no_busier(part)?;
            let part_of = |(before, after): (f64, f64)| (after - before) / self.added;
            let idle = self.signals.read(part, Role::SessionsIdleInTransaction).and_then(|idle| Some((self.levels(&idle)?, idle.name())));
            let between = BETWEEN_PART_MIN..=*SESSIONS_PER_ADDED_REQUEST.end();
            let explains = |levels: (f64, f64)| between.contains(&part_of(levels)) || is_only_one(levels);
            if let Some((levels, series)) = idle.filter(|(levels, _)| has_risen(*levels) && explains(*levels)) {
                return Some((part.observer, PathEvidence::BetweenStatements, levels, vec![series, active]));
            }
            let open = self.signals.read(part, Role::ConnectionsOpen)?;
            let levels = self.levels(&open)?;
            let is_opened = levels.1 - levels.0 >= OPENED_MIN && OPENED_PER_ADDED_REQUEST.contains(&part_of(levels));
            (is_opened && has_risen(levels)).then(|| (part.observer, PathEvidence::OpenConnections, levels, vec![open.name(), active]))
        })
    }

    fn explains(&self, (before, after): (f64, f64)) -> bool {
        after >= RISEN_FACTOR_MIN * before && SESSIONS_PER_ADDED_REQUEST.contains(&((after - before) / self.added))
    }

    /// The signal that shows that a database has hardly more busy sessions, and that its statements take as long as before and are as many.
    fn no_busier(&self, part: ObservedPart<'a>) -> Option<String> {
        let active = self.signals.read(part, Role::SessionsActive)?;
        let is_as_busy = self.more(&active)? <= BUSIER_PART_MAX * self.added;
        let whole = |role: Role| SignalReadings::sum(&self.signals.read_each(part, role)).and_then(|readings| self.levels(&readings));
        // More statements of each request are more round trips on the same path.
        let asks_more = |role: Role| whole(role).is_some_and(|(before, after)| before > 0.0 && after > STATEMENT_FACTOR_MAX * before);
        if asks_more(Role::StatementCalls) || asks_more(Role::Statements) {
            return None;
        }
        let is_as_fast = match (whole(Role::StatementTime), whole(Role::StatementCalls)) {
            (Some(time), Some(calls)) if time.0 > 0.0 && calls.0 > 0.0 && calls.1 > 0.0 => {
                time.1 / calls.1 <= STATEMENT_FACTOR_MAX * time.0 / calls.0
            }
            _ => true,
        };
        (is_as_busy && is_as_fast).then(|| active.name())
    }
}
