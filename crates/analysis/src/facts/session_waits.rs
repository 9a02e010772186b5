//! What most of a database's active sessions did while work was held up: they waited for one thing, or computed.

use std::ops::RangeInclusive;

use loadstone_metrics::Role;

use super::added_requests::AddedRequests;
use super::calls_at_once::CallCeiling;
use super::changes::Changes;
use super::commits::{self, Commits};
use super::pools::PoolShortage;
use super::readings::SignalReadings;
use super::search::{FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN, Search};
use super::sessions::{self, BlockedStatement};
use super::signals::{ObservedPart, ObservedSignals};
use super::unchanged_count;
use super::waiting::WaitingStretch;
use crate::ResourceKind;

/// Waits inside the database: not for the client, a timer, or work.
const WAITS: [Role; 5] = [
    Role::SessionsWaitingForLock,
    Role::SessionsWaitingForCommit,
    Role::SessionsWaitingForRead,
    Role::SessionsWaitingForOther,
    Role::SessionsOnCpu,
];
/// What a session does by turns while it executes a statement, apart from waits for others.
const EXECUTION: [Role; 3] = [Role::SessionsOnCpu, Role::SessionsWaitingForRead, Role::SessionsWaitingForOther];
/// Sessions that must wait for one thing for it to hold up work.
const WAITING_MIN: f64 = 1.0;
/// And their share of the active sessions.
const WAITING_SHARE_MIN: f64 = 0.4;
/// Added sessions in a wait for each added request, within which the wait explains the added requests.
pub(crate) const SESSIONS_PER_ADDED_REQUEST: RangeInclusive<f64> = 0.6..=1.7;
/// Readings at the top of the load that show it.
const TOP_READINGS_MIN: usize = 2;
/// Share of the active sessions that must compute for computing to be a limit.
const COMPUTING_SHARE_MIN: f64 = 0.6;
/// Active sessions for each member of a used-up pool, from which they use up the pool.
const SESSIONS_PER_MEMBER_MIN: f64 = 0.7;
/// Sessions for each request in the system, from which they are most of the system's work.
const SESSIONS_PER_REQUEST_MIN: f64 = 0.5;
/// The same for locks, which are no work of the database.
const LOCK_SESSIONS_PER_REQUEST_MIN: f64 = 0.25;
/// Part of the readings in which a session waits for the lock, from which it is no single event.
const LOCK_READINGS_PART_MIN: f64 = 0.25;
/// And at most: beyond it, some of the sessions belong to other clients.
const SESSIONS_PER_REQUEST_MAX: f64 = 1.0 / 0.7;
/// Commits of an iteration from which they are many.
const MANY_COMMITS_MIN: f64 = 3.0;
/// Share of the sessions at commit from which an event is named.
const EVENT_SHARE_MIN: f64 = 0.05;
/// Share of the active sessions from which a statement is named.
const STATEMENT_SHARE_MIN: f64 = 0.5;
/// The same for one of several statements, which together must reach the former.
const ONE_OF_STATEMENTS_SHARE_MIN: f64 = 0.15;
/// Statements that are named together.
const STATEMENTS_MAX: usize = 3;
/// Part of the growth of all statements' time from which the statement that grew most is named.
const STATEMENT_GROWTH_PART_MIN: f64 = 0.5;
/// Sessions that run it, as a part of the active ones: the database counts a statement's time when it ends, which may be later.
const STATEMENT_SESSIONS_PART_MIN: f64 = 0.3;
/// Factor from which a commit takes longer than before.
const SLOWER_COMMIT_FACTOR_MIN: f64 = 2.0;

/// One wait of one database.
pub(crate) struct SessionWait<'a> {
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The stretch of waiting work that overlaps most, if any.
    pub(crate) waiting: Option<WaitingStretch>,
    /// `None`: the wait held up work. Otherwise the requests in the system, mean, which spend much of their time in it under any load.
    pub(crate) takes_time_of: Option<f64>,
    /// The kind of wait.
    pub(crate) role: Role,
    /// Whether the sessions compute and wait for several things by turns, such as data from disk and their own parallel workers, in one statement.
    pub(crate) is_mixed: bool,
    /// The database's name for it.
    pub(crate) event: &'a str,
    /// Sessions in this wait, mean.
    pub(crate) sessions: f64,
    /// Active sessions, mean.
    pub(crate) active: f64,
    /// Sessions that computed, mean.
    pub(crate) computing: Option<f64>,
    /// Sessions that waited for data from disk, mean.
    pub(crate) reading: f64,
    /// If the wait is for a commit: its events with the sessions in each, the largest first.
    pub(crate) events: Vec<(&'a str, f64, String)>,
    pub(crate) readings: SignalReadings<'a>,
    pub(crate) blocked: Option<BlockedStatement<'a>>,
    /// The statement that most of the active sessions executed, how many did, and its readings.
    pub(crate) statement: Option<(&'a str, f64, SignalReadings<'a>)>,
    /// If there is none: the few that most of them executed together, the most frequent first.
    pub(crate) statements: Vec<(&'a str, f64, SignalReadings<'a>)>,
    /// Commits during the stretch.
    pub(crate) commits: Option<Commits>,
    /// If the wait is for a commit that began to take longer.
    pub(crate) slower_commit: Option<SlowerCommit>,
}

/// A commit that takes longer from an instant on, while requests commit as often as before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowerCommit {
    /// Seconds since the run began.
    pub(crate) at: f64,
    /// Seconds, by Little's law: sessions at commit over commits per second.
    pub(crate) before_s: f64,
    pub(crate) after_s: f64,
}

/// `None` where the calls to an endpoint take nearly all of the callers' time, among others.
pub(super) fn find<'a>(
    search: &Search<'_, 'a>,
    (waiting, changes): (&[WaitingStretch], &Changes),
    pools: &[PoolShortage<'a>],
    (call_ceiling, added): (Option<&CallCeiling<'_>>, &[AddedRequests]),
) -> Option<SessionWait<'a>> {
    if call_ceiling.is_some_and(CallCeiling::explains_all) {
        return None;
    }
    let of_database = |part: ObservedPart<'a>| {
        WAITS.into_iter().flat_map(move |role| waits_of(search.signals, part, role).into_iter().map(move |readings| (part, role, readings)))
    };
    let waits = search.signals.parts_with(Role::SessionsActive).flat_map(of_database);
    let waits: Vec<_> = waits.collect();
    let heaviest = |a: &SessionWait<'a>, b: &SessionWait<'a>| {
        a.weight().total_cmp(&b.weight()).then_with(|| a.readings.signal.name.cmp(&b.readings.signal.name))
    };
    let held = waits.iter().filter_map(|(part, role, readings)| held_up_by(search, pools, *part, *role, readings.clone())).max_by(heaviest);
    let grown = || {
        let each = waits.iter().filter_map(|(part, role, readings)| grown_with_load(search, added, (*part, *role), readings));
        each.max_by(heaviest)
    };
    let takes =
        || waits.iter().filter_map(|(part, role, readings)| takes_the_time(search, *part, *role, readings.clone())).max_by(heaviest);
    let mixed = || {
        let databases = search.signals.parts_with(Role::SessionsActive);
        databases.filter_map(|part| executes_one_statement(search, pools, part)).max_by(heaviest)
    };
    let found = held.or_else(grown).or_else(takes).or_else(mixed)?;
    let overlap = |stretch: &&WaitingStretch| stretch.to.min(found.to) - stretch.from.max(found.from);
    let stretch = waiting.iter().filter(|stretch| overlap(stretch) > 0.0).max_by(|a, b| overlap(a).total_cmp(&overlap(b)));
    let slower_commit = slower_commit(search, changes, &found);
    Some(SessionWait { waiting: stretch.cloned(), slower_commit, ..found })
}

/// The change of requests that a slower commit explains: as many commits per request as before, each of which takes longer.
fn slower_commit(search: &Search<'_, '_>, changes: &Changes, wait: &SessionWait<'_>) -> Option<SlowerCommit> {
    let commits = wait.commits.as_ref().filter(|_| wait.role == Role::SessionsWaitingForCommit)?;
    let at = unchanged_count::across_a_change(search.run, search.strain, changes, &commits.series)?.at;
    let rate = SignalReadings::of(search.run.signals.iter().find(|series| series.signal.name == commits.series)?);
    let each = |from: f64, to: f64| Some(wait.readings.mean(from, to).unwrap_or(0.0) / rate.mean(from, to).filter(|rate| *rate > 0.0)?);
    let (before_s, after_s) = (each(0.0, at - 1.0)?, each(at + 1.0, wait.to)?);
    (after_s >= SLOWER_COMMIT_FACTOR_MIN * before_s).then_some(SlowerCommit { at, before_s, after_s })
}

/// A commit waits for several things in turn, such as the redo log, the binary log and its place in the order. Together they are one wait.
fn waits_of<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>, role: Role) -> Vec<SignalReadings<'a>> {
    let each = signals.read_each(part, role);
    if role == Role::SessionsWaitingForCommit { SignalReadings::sum(&each).into_iter().collect() } else { each }
}

/// A wait of most active sessions while work was held up.
fn held_up_by<'a>(
    search: &Search<'_, 'a>,
    pools: &[PoolShortage<'a>],
    part: ObservedPart<'a>,
    role: Role,
    readings: SignalReadings<'a>,
) -> Option<SessionWait<'a>> {
    let signals = search.signals;
    let active = signals.read(part, Role::SessionsActive)?;
    let least = if role == Role::SessionsOnCpu { COMPUTING_SHARE_MIN } else { WAITING_SHARE_MIN };
    let active_at = |at: f64| active.mean(at - 0.01, at + 0.01).unwrap_or(0.0);
    let is_held = |at: f64, sessions: f64| sessions >= WAITING_MIN && sessions >= least * active_at(at);
    let span = readings.longest_where(READINGS_MIN, LENGTH_MIN_S - 1.0, is_held)?;
    let (from, to) = search.strain.held_part_of(&readings, span)?;
    let (sessions, active) = (readings.mean(from, to)?, active.mean(from, to)?);
    if role == Role::SessionsOnCpu && !computes_too_much(search, pools, (sessions, active), (from, to)) {
        return None;
    }
    Some(described(search, (part, role, readings), (sessions, active), (from, to), None))
}

/// Most active sessions execute one statement while work is held up, though no single wait is most of it.
fn executes_one_statement<'a>(search: &Search<'_, 'a>, pools: &[PoolShortage<'a>], part: ObservedPart<'a>) -> Option<SessionWait<'a>> {
    let each: Vec<SignalReadings<'a>> = EXECUTION.into_iter().flat_map(|role| search.signals.read_each(part, role)).collect();
    let found = held_up_by(search, pools, part, Role::SessionsOnCpu, SignalReadings::sum(&each)?)?;
    found.statement.is_some().then_some(SessionWait { is_mixed: true, ..found })
}

/// A wait that explains why requests take longer at high load, even if too few readings show it for a separate stretch. The added sessions in it are about as
/// many as the added requests in the system. Sessions that follow from more throughput do not count.
fn grown_with_load<'a>(
    search: &Search<'_, 'a>,
    added: &[AddedRequests],
    (part, role): (ObservedPart<'a>, Role),
    readings: &SignalReadings<'a>,
) -> Option<SessionWait<'a>> {
    let (low, _) = search.strain.low_and_high();
    let (below, low_rate) = (readings.mean_inside(&low).unwrap_or(0.0), search.strain.throughput_inside(&low)?);
    let least = if role == Role::SessionsOnCpu { COMPUTING_SHARE_MIN } else { WAITING_SHARE_MIN };
    let of_span = |added: &AddedRequests| {
        let span = (added.from, added.to);
        let (sessions, active) = (readings.mean(span.0, span.1)?, search.signals.mean(part, Role::SessionsActive, span.0, span.1)?);
        let more = sessions - below * search.strain.throughput(span.0, span.1) / low_rate;
        let explains = SESSIONS_PER_ADDED_REQUEST.contains(&(more / added.count));
        let is_seen = readings.count(span.0, span.1) >= TOP_READINGS_MIN && more >= WAITING_MIN && sessions >= least * active;
        (explains && is_seen).then(|| described(search, (part, role, readings.clone()), (sessions, active), span, None))
    };
    added.iter().find_map(of_span)
}

/// A wait in which requests spend much of their time at high load, though they take no longer than before.
fn takes_the_time<'a>(
    search: &Search<'_, 'a>,
    part: ObservedPart<'a>,
    role: Role,
    readings: SignalReadings<'a>,
) -> Option<SessionWait<'a>> {
    let (from, to) = search.strain.top_span();
    let (sessions, active) = (readings.mean(from, to)?, search.signals.mean(part, Role::SessionsActive, from, to)?);
    let in_system = search.strain.in_system(from, to)?;
    let is_most = sessions >= WAITING_MIN && sessions >= COMPUTING_SHARE_MIN * active && sessions >= SESSIONS_PER_REQUEST_MIN * in_system;
    let is_part = role == Role::SessionsWaitingForLock
        && readings.count(from, to) >= READINGS_MIN
        && sessions >= LOCK_SESSIONS_PER_REQUEST_MIN * in_system
        && readings.share(from, to, |waiting| waiting > 0.0)? >= LOCK_READINGS_PART_MIN;
    // With more sessions than requests, some sessions belong to other clients.
    let is_much = (is_most || is_part) && sessions <= SESSIONS_PER_REQUEST_MAX * in_system;
    (role != Role::SessionsOnCpu && is_much)
        .then(|| described(search, (part, role, readings), (sessions, active), (from, to), Some(in_system)))
}

fn described<'a>(
    search: &Search<'_, 'a>,
    (part, role, readings): (ObservedPart<'a>, Role, SignalReadings<'a>),
    (sessions, active): (f64, f64),
    (from, to): (f64, f64),
    takes_time_of: Option<f64>,
) -> SessionWait<'a> {
    let signals = search.signals;
    let load_end = search.tally.load_end().map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    let events = if role == Role::SessionsWaitingForCommit { events(signals, part, role, (from, to)) } else { Vec::new() };
    let statement = most_run(signals, part, active, (from, to)).or_else(|| most_grown(search, part, active, (from, to)));
    let statements = if statement.is_none() { most_run_together(signals, part, active, (from, to)) } else { Vec::new() };
    SessionWait {
        from,
        to,
        waiting: None,
        takes_time_of,
        role,
        is_mixed: false,
        event: if events.len() > 1 { "their commit" } else { readings.label("wait").unwrap_or(&readings.signal.name) },
        sessions,
        active,
        computing: signals.mean(part, Role::SessionsOnCpu, from, to),
        reading: signals
            .read_each(part, Role::SessionsWaitingForRead)
            .iter()
            .fold(0.0, |sum, readings| sum + readings.mean(from, to).unwrap_or(0.0)),
        events,
        blocked: sessions::most_blocked(signals, part, &[(from, to)]),
        statement,
        statements,
        commits: commits::between(search.run, signals, part, (from, to.min(load_end))),
        slower_commit: None,
        readings,
    }
}

/// Whether computing sessions are at a limit: they use all cores (average active sessions compared with CPUs), fill a used-up pool, or are most of the requests
/// in the system.
fn computes_too_much(search: &Search<'_, '_>, pools: &[PoolShortage<'_>], (computing, active): (f64, f64), (from, to): (f64, f64)) -> bool {
    let machine = search.path.of_kind(ResourceKind::Machine).next();
    let fills_cores = machine.and_then(|machine| machine.places(from, to)).is_some_and(|cores| computing >= FULL_PART_MIN * cores);
    let fills_pool = pools.iter().any(|pool| !pool.is_threads && pool.is_during(from, to) && active >= SESSIONS_PER_MEMBER_MIN * pool.size);
    let is_most = search.strain.in_system(from, to).is_some_and(|count| active >= SESSIONS_PER_REQUEST_MIN * count);
    fills_cores || fills_pool || is_most
}

/// The events of a wait, with the sessions in each and their signals; the largest first.
fn events<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>, role: Role, (from, to): (f64, f64)) -> Vec<(&'a str, f64, String)> {
    let each = signals.read_each(part, role).into_iter();
    let means = each.filter_map(|readings| Some((readings.label("wait")?, readings.mean(from, to)?, readings.name())));
    let mut found: Vec<(&str, f64, String)> = means.collect();
    let all: f64 = found.iter().map(|(_, sessions, _)| sessions).sum();
    found.retain(|(_, sessions, _)| *sessions >= EVENT_SHARE_MIN * all);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// The statement that most of the active sessions executed in a stretch, how many did, and its readings.
pub(crate) fn most_run<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    active: f64,
    (from, to): (f64, f64),
) -> Option<(&'a str, f64, SignalReadings<'a>)> {
    let most = by_statement(signals, part, (from, to)).into_iter().next();
    most.filter(|(_, sessions, _)| *sessions >= STATEMENT_SHARE_MIN * active)
}

/// The few statements that most of the active sessions executed together; empty if there are many.
fn most_run_together<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    active: f64,
    stretch: (f64, f64),
) -> Vec<(&'a str, f64, SignalReadings<'a>)> {
    let mut most = by_statement(signals, part, stretch);
    most.retain(|(_, sessions, _)| *sessions >= ONE_OF_STATEMENTS_SHARE_MIN * active);
    most.truncate(STATEMENTS_MAX);
    let all: f64 = most.iter().map(|(_, sessions, _)| sessions).sum();
    if all >= STATEMENT_SHARE_MIN * active { most } else { Vec::new() }
}

/// Statements with the sessions that executed them in a stretch, mean; the most frequent first.
fn by_statement<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    (from, to): (f64, f64),
) -> Vec<(&'a str, f64, SignalReadings<'a>)> {
    let each = signals.read_each(part, Role::SessionsByStatement).into_iter();
    let mut means: Vec<_> = each.filter_map(|readings| Some((readings.label("statement")?, readings.mean(from, to)?, readings))).collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    means
}

/// The statement whose total time grew most, as the database counts it. Its seconds per second are the sessions that run it (Little's law), which samples of
/// short statements may miss. `None`: the time of no statement accounts for most of the growth.
fn most_grown<'a>(
    search: &Search<'_, 'a>,
    part: ObservedPart<'a>,
    active: f64,
    (from, to): (f64, f64),
) -> Option<(&'a str, f64, SignalReadings<'a>)> {
    let (low, _) = search.strain.low_and_high();
    let before = |readings: &SignalReadings<'_>| readings.mean_inside(&low).unwrap_or(0.0);
    let grown = search.signals.read_each(part, Role::StatementTime).into_iter().filter_map(|readings| {
        let running = readings.mean(from, to)?;
        Some((running - before(&readings), running, readings))
    });
    let grown: Vec<_> = grown.filter(|(more, ..)| *more > 0.0).collect();
    let all: f64 = grown.iter().map(|(more, ..)| more).sum();
    let (more, running, readings) = grown.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_it = more >= STATEMENT_GROWTH_PART_MIN * all && running >= STATEMENT_SESSIONS_PART_MIN * active;
    Some((readings.label("statement")?, running, readings)).filter(|_| is_it)
}

impl SessionWait<'_> {
    pub(crate) fn holds_up(&self) -> bool {
        self.takes_time_of.is_none()
    }

    /// Sessions in this wait as a part of the requests in the system, at most 1: by Little's law, the part of their time that requests spend in it. `None`
    /// where it held up work, since requests then wait for the sessions as well.
    pub(crate) fn part_of_requests(&self) -> Option<f64> {
        self.takes_time_of.map(|requests| (self.sessions / requests.max(1e-9)).min(1.0))
    }

    /// The commits of the load, if sessions wait for commits and each iteration makes many.
    pub(crate) fn many_commits(&self) -> Option<&Commits> {
        let commits = self.commits.as_ref().filter(|commits| commits.per_iteration >= MANY_COMMITS_MIN);
        // As many commits as before a change do not explain it.
        commits.filter(|_| self.role == Role::SessionsWaitingForCommit && self.slower_commit.is_none())
    }

    /// A wait is stronger evidence than sessions that compute meanwhile.
    fn weight(&self) -> f64 {
        if self.role == Role::SessionsOnCpu { self.sessions / 2.0 } else { self.sessions }
    }
}
