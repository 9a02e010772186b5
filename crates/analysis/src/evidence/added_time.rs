//! The database wait that accounts for the added time of requests from an instant on, or the cores of a process.
//!
//! By Little's law requests that take ΔR longer at X per second are X·ΔR more in the system. Where as many more sessions wait for the same
//! reason, the added time is spent there.

use loadstone_metrics::Role;

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::changes::Change;
use crate::facts::process_cpu;
use crate::facts::readings::SignalReadings;
use crate::facts::session_waits::SESSIONS_PER_ADDED_REQUEST;
use crate::instant::clock;

/// Part of the added sessions that must be in one statement for it to be named.
const STATEMENT_PART_MIN: f64 = 0.7;
/// Added sessions, on average, that sampling can distinguish from none.
const ADDED_SESSIONS_MIN: f64 = 0.05;
/// Part of the added sessions from which an event is named.
const NAMED_PART_MIN: f64 = 0.1;
/// Cores, and threads that wait for one, that are more than background work.
const CORES_MIN: f64 = 0.1;
/// Part of these that must wait for the wait to be named.
const NAMED_CORES_PART_MIN: f64 = 0.6;
/// Readings of a process before and after the instant: one may be high by chance.
const READINGS_MIN: usize = 3;
/// Seconds around the instant that are left out.
const EDGE_S: f64 = 1.0;

const WAITS: [Role; 5] = [
    Role::SessionsWaitingForLock,
    Role::SessionsWaitingForCommit,
    Role::SessionsWaitingForRead,
    Role::SessionsWaitingForOther,
    Role::SessionsOnCpu,
];

/// A wait that accounts for the added time.
pub(crate) struct AddedTime {
    /// `its database's sessions wait for IO:WALSync`.
    pub(crate) claim: String,
    pub(crate) evidence: String,
    pub(crate) series: Vec<String>,
    pub(crate) next: Option<String>,
}

/// For changes that came together. `None`: neither a wait of an observed database nor the cores of a process grew by as much.
pub(crate) fn find(facts: &Facts<'_>, changes: &[&Change]) -> Option<AddedTime> {
    let first = changes.first()?;
    let end = first.until.unwrap_or(first.to);
    let in_system =
        |change: &&&Change| (change.after.mean - change.before.mean) * change.after.count as f64 / (change.to - change.at).max(1.0);
    let added: f64 = changes.iter().map(|change| in_system(&change)).sum();
    in_database(facts, first, end, added).or_else(|| at_cores(facts, first, end, added))
}

/// Cores that a process uses more, and threads of it that wait for one: together as many as requests were added.
fn at_cores(facts: &Facts<'_>, first: &Change, end: f64, added: f64) -> Option<AddedTime> {
    let grown = facts.path.of_kind(ResourceKind::Process).filter_map(|process| {
        let (used, waiting) = (growth(process.used.as_ref(), first, end), growth(process.waiting.as_ref(), first, end));
        let more = |of: &Option<EventGrowth<'_>>| of.as_ref().map_or(0.0, EventGrowth::more);
        let is_it = SESSIONS_PER_ADDED_REQUEST.contains(&((more(&used) + more(&waiting)) / added));
        (is_it && more(&used) + more(&waiting) >= CORES_MIN).then_some((process.part, used, waiting))
    });
    let more = |of: &Option<EventGrowth<'_>>| of.as_ref().map_or(0.0, EventGrowth::more);
    let (part, used, waiting) = grown.max_by(|a, b| (more(&a.1) + more(&a.2)).total_cmp(&(more(&b.1) + more(&b.2))))?;
    let waits = more(&waiting) >= NAMED_CORES_PART_MIN * (more(&used) + more(&waiting));
    let process = part.observer;
    let is_held_back = waits && process_cpu::is_held_back(&facts.signals, part, (first.at + first.at_error, end));
    let claim = if is_held_back {
        format!("the CPU limit of its control group holds the threads of \"{process}\" back for that long")
    } else if waits {
        format!("the threads of \"{process}\" wait for a core for that long, since other work uses it")
    } else {
        format!("\"{process}\" computes for that long")
    };
    let level = |of: &Option<EventGrowth<'_>>, what: &str| {
        of.as_ref().map(|of| format!("{} {what} instead of {}", loadstone_units::number(of.after), loadstone_units::number(of.before)))
    };
    let levels: Vec<String> = level(&used, "cores in use").into_iter().chain(level(&waiting, "threads that wait for one")).collect();
    let evidence = format!("{}; {} more requests were in the system (Little's law)", levels.join(", "), loadstone_units::number(added));
    let raise = || format!("Raise the CPU limit of the control group of \"{process}\", or make its work cheaper.");
    let next = is_held_back.then(raise).or_else(|| {
        waits.then(|| {
            format!(
                "Find out what else began to use the cores at {} ({}), and reserve cores for the service.",
                clock(first.at),
                facts.terms().named(&["host"])
            )
        })
    });
    let series = used.iter().chain(&waiting).map(|of| of.readings.name()).collect();
    Some(AddedTime { claim, evidence, next, series })
}

fn growth<'a>(readings: Option<&SignalReadings<'a>>, change: &Change, end: f64) -> Option<EventGrowth<'a>> {
    let count = |from: f64, to: f64| readings.map_or(0, |readings| readings.count(from, to));
    let is_read = count(change.from, change.at - EDGE_S).min(count(change.at + EDGE_S, end)) >= READINGS_MIN;
    EventGrowth::of(readings?.clone(), change, end).filter(|_| is_read)
}

/// The wait of the database's sessions that grew by as much.
fn in_database(facts: &Facts<'_>, first: &Change, end: f64, added: f64) -> Option<AddedTime> {
    let waits = facts.signals.parts_with(Role::SessionsActive).flat_map(|part| {
        WAITS.into_iter().flat_map(move |role| {
            let events = facts.signals.read_each(part, role).into_iter().filter_map(|readings| EventGrowth::of(readings, first, end));
            // During one flush, sessions wait for different events: for the disk, and for the session that writes. Other events have no common cause.
            let apart = role == Role::SessionsWaitingForOther;
            Growth::together(role, events.collect(), apart)
        })
    });
    let grown = waits.max_by(|a, b| a.more().total_cmp(&b.more()))?;
    let more = grown.more();
    if more < ADDED_SESSIONS_MIN || !SESSIONS_PER_ADDED_REQUEST.contains(&(more / added)) {
        return None;
    }
    let (before, after, event) = (grown.before(), grown.after(), grown.names());
    let statement = if grown.role == Role::SessionsOnCpu { statement(facts, first, end, more) } else { None };
    let is_commit = statement.as_deref().is_some_and(is_commit);
    let claim = match grown.role {
        Role::SessionsOnCpu if is_commit => "the sessions of its database take that long for COMMIT, without another wait".to_owned(),
        Role::SessionsOnCpu => match &statement {
            Some(statement) => format!("the sessions of its database compute for that long, in \"{statement}\""),
            None => "the sessions of its database compute for that long".to_owned(),
        },
        Role::SessionsWaitingForCommit => format!("the sessions of its database wait for that long at commit ({event})"),
        _ => format!("the sessions of its database wait for that long ({event})"),
    };
    let evidence = format!(
        "{after:.2} sessions were in {event} on average, {before:.2} before; {added:.2} more requests were in the system (Little's law)"
    );
    let when = clock(first.at);
    let next = match grown.role {
        Role::SessionsOnCpu if is_commit => Some(format!(
            "Find what made commits slow at {when}: settings of the database (`commit_delay`, synchronous replicas), triggers that run at commit, or its \
             disk. Or commit less often: put related statements into one transaction."
        )),
        Role::SessionsWaitingForCommit => Some(format!(
            "Find what made flushes of the database's log slow at {when}: its disk ({} reads its utilisation and latency), \
             another program that writes to it, a checkpoint or a backup. Put the log on a separate disk, or commit less often: put related \
             statements into one transaction, or use group commit.",
            facts.terms().named(&["host"])
        )),
        Role::SessionsWaitingForLock => Some(format!(
            "Find what took the lock at {when}: a migration, a job, a transaction that was left open. Shorten the time for which it holds the lock, or limit \
             the wait (`lock_timeout`)."
        )),
        _ => None,
    };
    Some(AddedTime { claim, evidence, next, series: grown.events.iter().map(|event| event.readings.name()).collect() })
}

/// A commit computes little: a session without a wait event that commits is delayed by something else, such as `commit_delay` of PostgreSQL.
pub(crate) fn is_commit(statement: &str) -> bool {
    statement.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("COMMIT"))
}

/// The statement in which most of the added sessions are; `None` where they are in several.
fn statement(facts: &Facts<'_>, change: &Change, end: f64, more: f64) -> Option<String> {
    let parts = facts.signals.parts_with(Role::SessionsByStatement);
    let statements = parts.flat_map(|part| facts.signals.read_each(part, Role::SessionsByStatement));
    let grown = statements.filter_map(|readings| EventGrowth::of(readings, change, end));
    let most = grown.max_by(|a, b| a.more().total_cmp(&b.more())).filter(|most| most.more() >= STATEMENT_PART_MIN * more)?;
    most.readings.label("statement").map(str::to_owned)
}

/// Average number of sessions in one wait event, before and after.
struct EventGrowth<'a> {
    readings: SignalReadings<'a>,
    before: f64,
    after: f64,
}

/// Events of one kind, in descending order of growth.
struct Growth<'a> {
    role: Role,
    events: Vec<EventGrowth<'a>>,
}

impl<'a> EventGrowth<'a> {
    fn of(readings: SignalReadings<'a>, change: &Change, end: f64) -> Option<Self> {
        let after = readings.mean(change.at + EDGE_S, end)?;
        // Observers do not list a wait without sessions.
        let before = readings.mean(change.from, change.at - EDGE_S).unwrap_or(0.0);
        (after > before).then_some(Self { readings, before, after })
    }

    fn more(&self) -> f64 {
        self.after - self.before
    }
}

impl<'a> Growth<'a> {
    fn together(role: Role, mut events: Vec<EventGrowth<'a>>, apart: bool) -> Vec<Self> {
        events.sort_by(|a, b| b.more().total_cmp(&a.more()));
        if apart {
            return events.into_iter().map(|event| Self { role, events: vec![event] }).collect();
        }
        if events.is_empty() { Vec::new() } else { vec![Self { role, events }] }
    }

    fn more(&self) -> f64 {
        self.events.iter().map(EventGrowth::more).sum()
    }

    fn before(&self) -> f64 {
        self.events.iter().map(|event| event.before).sum()
    }

    fn after(&self) -> f64 {
        self.events.iter().map(|event| event.after).sum()
    }

    /// Events with at least a tenth of the growth: `IO:WALSync and LWLock:WALWrite`.
    fn names(&self) -> String {
        let large = self.events.iter().filter(|event| event.more() >= NAMED_PART_MIN * self.more());
        let names: Vec<&str> = large.map(|event| event.readings.label("wait").unwrap_or(&event.readings.signal.name)).collect();
        names.join(" and ")
    }
}
