//! What a service waits for outside of itself, before and after an instant: calls that other endpoints have not answered, and threads in calls.
//!
//! Both are numbers of requests at a place, so that Little's law compares them with the requests that were added to the system. A line that begins later was
//! zero before, if its observer was read.

use std::collections::BTreeMap;

use loadstone_metrics::Role;
use serde_json::Value;

use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};

/// Readings on either side.
const READINGS_MIN: usize = 5;
/// A place counts if it has risen by this part of the added requests. Of many places, some rise by chance.
const PLACE_PART_MIN: f64 = 0.1;
/// Threads that compute, or wait for others of the process, as a part of the added requests, up to which they do not account for these.
const INSIDE_PART_MAX: f64 = 0.25;
/// Threads at work in any reading, with the error of the samples, where there is one.
const ONE_THREAD_MAX: f64 = 1.05;
/// What threads do inside of the process.
const INSIDE: [Role; 4] = [Role::ThreadsOnCpu, Role::ThreadsWaitingForLock, Role::ThreadsWaitingForMember, Role::ThreadsWaitingForTimer];
/// A part of function and file names of clients of databases and caches. They are conventions of many languages: JDBC, DB-API, `database/sql`.
const CLIENT_NAMES: [&str; 14] = [
    "execute",
    "query",
    "fetch",
    "commit",
    "rollback",
    "cursor",
    "statement",
    "resultset",
    "sql",
    "jdbc",
    "postgres",
    "psycopg",
    "redis",
    "mongo",
];
/// Ports of databases and caches by the kind of their observer, where its address has none.
const PORTS: [(&str, u16); 3] = [("postgres", 5432), ("mysql", 3306), ("redis", 6379)];

/// The times before and after an instant. Seconds since the run began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides {
    pub(super) before: (f64, f64),
    pub(super) after: (f64, f64),
}

/// An endpoint that answers later.
#[derive(Debug, Clone)]
pub(crate) struct AwaitedCalls<'a> {
    /// Its address.
    pub(crate) peer: &'a str,
    /// The observer that reads the server at this address, by its port.
    pub(crate) server: Option<&'a str>,
    /// Whether the service has connections to any observed server, so that another address is none of these behind a proxy.
    pub(crate) reaches_servers: bool,
    /// Calls without an answer before and after, mean.
    pub(crate) levels: (f64, f64),
    pub(crate) series: String,
}

/// Calls to a database that it has not answered.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseCalls<'a> {
    /// Mean.
    pub(crate) calls: f64,
    pub(crate) series: String,
    /// Their address, if it is not known to be the database's.
    pub(crate) may_lead_there: Option<&'a str>,
}

/// Threads of a runtime in calls that leave the process.
#[derive(Debug, Clone)]
pub(crate) struct OutwardThreads<'a> {
    pub(crate) observer: &'a str,
    /// The call with the most of them, and the functions of the service above it.
    pub(crate) at: &'a str,
    pub(crate) under: Option<&'a str>,
    /// The runtime's word for threads.
    pub(crate) word: &'a str,
    /// Threads before and after, mean.
    pub(crate) levels: (f64, f64),
    pub(crate) series: Vec<String>,
    /// Whether the call is named like those of clients of databases and caches.
    pub(crate) is_of_client: bool,
    /// Whether there is one thread, as of an event loop, in which the other added requests wait for their turn.
    pub(crate) is_one: bool,
}

impl Sides {
    /// Means of a signal; `None` if its observer was not read often enough on either side.
    fn levels(self, signals: &ObservedSignals<'_>, readings: &SignalReadings<'_>) -> Option<(f64, f64)> {
        let mean = |(from, to): (f64, f64)| {
            let count = signals.readings_of(&readings.signal.observer, from, to);
            let sum = readings.between(from, to).map(|(_, value)| value).sum::<f64>();
            (count >= READINGS_MIN).then(|| sum / count as f64)
        };
        Some((mean(self.before)?, mean(self.after)?))
    }
}

/// The endpoint with the most added calls.
pub(super) fn calls<'a>(signals: &ObservedSignals<'a>, observers: &'a [Value], sides: Sides) -> Option<AwaitedCalls<'a>> {
    let reaches_servers = signals.parts_with(Role::CallsAwaited).any(|part| server_at(part.part, observers).is_some());
    let found = signals.parts_with(Role::CallsAwaited).filter_map(|part| {
        let readings = signals.read(part, Role::CallsAwaited)?;
        let levels = sides.levels(signals, &readings)?;
        let server = server_at(part.part, observers);
        Some(AwaitedCalls { peer: part.part, server, reaches_servers, levels, series: readings.name() })
    });
    found.max_by(|a, b| (a.levels.1 - a.levels.0).total_cmp(&(b.levels.1 - b.levels.0)))
}

/// The calls to a database that wait for its answer: those to the address of its observer. Without a connection to any observed server, they are those to the
/// only other address, which may be a proxy in front of it.
pub(crate) fn calls_to<'a>(
    signals: &ObservedSignals<'a>,
    observers: &'a [Value],
    database: &str,
    (from, to): (f64, f64),
) -> Option<DatabaseCalls<'a>> {
    let parts: Vec<ObservedPart<'a>> = signals.parts_with(Role::CallsAwaited).collect();
    let to_servers: Vec<(ObservedPart<'a>, &str)> =
        parts.iter().filter_map(|part| Some((*part, server_at(part.part, observers)?))).collect();
    let part = if to_servers.is_empty() {
        let [only] = parts[..] else { return None };
        (signals.parts_with(Role::SessionsActive).count() == 1).then_some(only)
    } else {
        to_servers.iter().find(|(_, server)| *server == database).map(|(part, _)| *part)
    }?;
    let readings = signals.read(part, Role::CallsAwaited)?;
    let may_lead_there = to_servers.is_empty().then_some(part.part);
    Some(DatabaseCalls { calls: readings.mean(from, to)?, series: readings.name(), may_lead_there })
}

/// The name of the only observer of a server at this port. Its host may have another name there.
pub(super) fn server_at<'a>(peer: &str, observers: &'a [Value]) -> Option<&'a str> {
    let port: u16 = peer.rsplit_once(':')?.1.parse().ok()?;
    let mut named = observers.iter().filter_map(|observer| {
        let name = observer.get("name").or(observer.get("kind")).and_then(Value::as_str)?;
        (server_port(observer)? == port).then_some(name)
    });
    let first = named.next()?;
    named.next().is_none().then_some(first)
}

/// The port of the database or cache that an observer reads; `None`: it reads something else.
fn server_port(observer: &Value) -> Option<u16> {
    let text = |name: &str| observer.get(name).and_then(Value::as_str);
    let kind = text("kind")?;
    let usual = PORTS.iter().find(|(known, _)| *known == kind)?.1;
    Some(port_of(text("url")?).unwrap_or(usual))
}

/// Whether a database or cache is observed without its process, so that its CPU time is not known.
pub(crate) fn has_server_without_process(observers: &[Value]) -> bool {
    let is_process_at = |port: u16| {
        let is_at = |observer: &Value| {
            observer.get("kind").and_then(Value::as_str) == Some("process")
                && observer.get("port").and_then(Value::as_u64) == Some(u64::from(port))
        };
        observers.iter().any(is_at)
    };
    observers.iter().filter_map(server_port).any(|port| !is_process_at(port))
}

/// `postgres://user:password@host:port/name`
fn port_of(url: &str) -> Option<u16> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    host.rsplit_once(':')?.1.parse().ok()
}

/// Threads in calls that leave the process, if the added ones account for the added requests and no others do.
pub(super) fn threads<'a>(signals: &ObservedSignals<'a>, sides: Sides, (added, in_system): (f64, f64)) -> Option<OutwardThreads<'a>> {
    let mut observers: Vec<&str> = [Role::ThreadsWaitingForIo, Role::ThreadsWaitingForOther]
        .iter()
        .flat_map(|role| signals.parts_with(*role))
        .map(|part| part.observer)
        .collect();
    observers.sort_unstable();
    observers.dedup();
    let found = observers.into_iter().filter_map(|observer| threads_of(signals, observer, sides, (added, in_system)));
    found.max_by(|a, b| (a.levels.1 - a.levels.0).total_cmp(&(b.levels.1 - b.levels.0)))
}

/// The rise of threads in one role.
fn risen<'a>(signals: &ObservedSignals<'a>, observer: &str, role: Role, sides: Sides) -> Vec<(SignalReadings<'a>, (f64, f64))> {
    let parts = signals.parts_with(role).filter(|part| part.observer == observer);
    let lines = parts.flat_map(|part| signals.read_each(part, role));
    lines.filter_map(|readings| Some((readings.clone(), sides.levels(signals, &readings)?))).collect()
}

fn threads_of<'a>(
    signals: &ObservedSignals<'a>,
    observer: &'a str,
    sides: Sides,
    (added, in_system): (f64, f64),
) -> Option<OutwardThreads<'a>> {
    let rise = |lines: &[(SignalReadings<'a>, (f64, f64))]| lines.iter().map(|(_, (before, after))| after - before).sum::<f64>();
    let inside = INSIDE.map(|role| risen(signals, observer, role, sides));
    if inside.iter().any(|lines| rise(lines) > INSIDE_PART_MAX * added) {
        return None;
    }
    let mut all: Vec<SignalReadings<'a>> = inside.iter().flatten().map(|(readings, _)| readings.clone()).collect();
    // Positions of one call are one place. What waits for something unknown counts only in a client of a database or cache.
    let mut places = BTreeMap::<&str, Vec<(SignalReadings<'a>, (f64, f64))>>::new();
    for role in [Role::ThreadsWaitingForIo, Role::ThreadsWaitingForOther] {
        for (readings, levels) in risen(signals, observer, role, sides) {
            let at = readings.label("at").unwrap_or_default();
            all.push(readings.clone());
            if role == Role::ThreadsWaitingForIo || is_of_client(at) {
                places.entry(at).or_default().push((readings, levels));
            }
        }
    }
    places.retain(|_, lines| rise(lines) >= PLACE_PART_MIN * added);
    let (&at, most) = places.iter().max_by(|a, b| rise(a.1).total_cmp(&rise(b.1)))?;
    let of_most = most.iter().max_by(|a, b| (a.1.1 - a.1.0).total_cmp(&(b.1.1 - b.1.0)))?;
    let levels = places.values().flatten().fold((0.0, 0.0), |sum, (_, each)| (sum.0 + each.0, sum.1 + each.1));
    let lines: Vec<SignalReadings<'a>> = places.values().flatten().map(|(readings, _)| readings.clone()).collect();
    let peak = SignalReadings::sum(&all)?.between(sides.after.0, sides.after.1).map(|(_, count)| count).fold(0.0, f64::max);
    Some(OutwardThreads {
        observer,
        at,
        under: of_most.0.label("under"),
        word: &of_most.0.signal.unit,
        levels,
        series: lines.iter().map(SignalReadings::name).take(4).collect(),
        is_of_client: is_of_client(at),
        is_one: peak <= ONE_THREAD_MAX && in_system > ONE_THREAD_MAX,
    })
}

fn is_of_client(at: &str) -> bool {
    let at = at.to_lowercase();
    CLIENT_NAMES.iter().any(|name| at.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_is_known_by_its_port_if_only_one_has_it() {
        let postgres = json!({ "kind": "postgres", "url": "postgres://app:secret:5@db.example/shop?sslmode=disable", "name": "main" });
        let mysql = json!({ "kind": "mysql", "url": "mysql://app@127.0.0.1:3307" });
        let process = json!({ "kind": "process", "port": 5432 });
        let observers = [postgres.clone(), mysql, process];
        assert_eq!(server_at("10.0.0.2:5432", &observers), Some("main"));
        assert_eq!(server_at("[::1]:3307", &observers), Some("mysql"));
        assert_eq!((server_at("10.0.0.2:3306", &observers), server_at("nowhere", &observers)), (None, None));
        assert_eq!(server_at("10.0.0.2:5432", &[postgres.clone(), postgres]), None);
    }

    #[test]
    fn clients_are_known_by_their_functions() {
        for at in ["_execute utils.py", "PgPreparedStatement.executeQuery", "database/sql.(*DB).QueryContext", "count query.py"] {
            assert!(is_of_client(at), "{at}");
        }
        assert!(!is_of_client("urlopen request.py") && !is_of_client("Future.get"));
    }
}
