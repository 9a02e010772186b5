//! What the metrics of pools mean, by their names, since no exporter states it: a role, the pool, and whether it hands out connections or threads.
//!
//! Read [`with_meaning`] first. Well-known clients and exporters have rows in `families`. Any other name is read by its words: those for a pool,
//! connections, threads or workers, and those for waiting, idle, in use or the maximum. All metrics of one pool have the same part: the label that names the
//! pool, or the name up to the first of the latter words.

mod families;

use loadstone_metrics::{PoolMembers, Role, Signal, SignalKind, unit};

use families::FAMILIES;

/// What a metric describes of which pool.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PoolMeaning {
    role: Role,
    /// The pool.
    part: String,
    members: PoolMembers,
}

/// A signal with its role, its pool and what that hands out, where its name is that of a pool's metric.
pub(crate) fn with_meaning(signal: Signal) -> Signal {
    let labels: Vec<(&str, &str)> = signal.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let found = meaning(signal.metric(), &labels, signal.kind, &signal.unit);
    described(signal, found)
}

/// The same for a field of a server's status. Its metric has the name that exporters give it.
pub(crate) fn with_meaning_of_status(signal: Signal, status: StatusDocument, field: &str) -> Signal {
    let metric = format!("{}{}", status.prefix, field.replace(' ', "_"));
    let found = meaning(&metric, &[], signal.kind, &signal.unit);
    described(signal, found)
}

fn described(signal: Signal, found: Option<PoolMeaning>) -> Signal {
    match found {
        Some(PoolMeaning { role, part, members }) => signal.role(role).part(&part).members(members),
        None => signal,
    }
}

/// A JSON object by which a server reports its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusDocument {
    /// Fields that together occur in no other server's status.
    fields: &'static [&'static str],
    /// That of the metrics that exporters make of it.
    prefix: &'static str,
}

/// PHP-FPM's status (`?json`), and that of Puma's control server for one process.
const STATUS_DOCUMENTS: [StatusDocument; 2] = [
    StatusDocument { fields: &["process manager", "accepted conn", "active processes"], prefix: "phpfpm_" },
    StatusDocument { fields: &["backlog", "running", "pool_capacity", "max_threads"], prefix: "puma_" },
];

/// The server whose status an object with these fields is.
pub(crate) fn status_document(has_field: impl Fn(&str) -> bool) -> Option<StatusDocument> {
    STATUS_DOCUMENTS.into_iter().find(|status| status.fields.iter().all(|field| has_field(field)))
}

/// Prefixes of metrics whose words are a pool's, though they describe none. nginx's waiting connections are open and idle. The threads of a runtime mostly wait
/// for work by design.
const NO_POOLS: [&str; 5] = ["nginx_", "jvm_threads_", "process_", "go_threads", "go_sched_"];

/// What a metric of a pool means; `None` for any other metric.
fn meaning(name: &str, labels: &[(&str, &str)], kind: SignalKind, unit: &str) -> Option<PoolMeaning> {
    let lower = name.to_ascii_lowercase();
    for family in FAMILIES {
        let Some(prefix) = family.prefixes.iter().find(|prefix| lower.starts_with(**prefix)) else { continue };
        let (_, role) = family.metrics.iter().find(|(metric, _)| *metric == &lower[prefix.len()..])?;
        let named: Vec<&str> = family.labels.iter().filter_map(|label| value_of(labels, label)).collect();
        let part = if named.is_empty() { prefix.trim_end_matches('_').to_owned() } else { named.join("/") };
        return Some(PoolMeaning { role: *role, part, members: family.members });
    }
    if NO_POOLS.iter().any(|prefix| lower.starts_with(prefix)) {
        return None;
    }
    by_words(name, labels, kind, unit)
}

fn value_of<'a>(labels: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    labels.iter().find(|(label, _)| label.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

/// Labels that name a pool in general.
const POOL_LABELS: [&str; 5] = ["pool", "pool_name", "db_client_connection_pool_name", "datasource", "data_source"];
/// Labels for the state of the counted connections. The longest is that of OpenTelemetry's semantic conventions.
const STATE_LABELS: [&str; 3] = ["state", "status", "db_client_connection_state"];

fn by_words(name: &str, labels: &[(&str, &str)], kind: SignalKind, unit: &str) -> Option<PoolMeaning> {
    let speaks_of = |wanted: &[&str], text: &str| wanted.iter().any(|word| text.to_ascii_lowercase().contains(word));
    let speaks_of_pools = |text: &str| speaks_of(&["pool", "connection"], text);
    let is_pool = speaks_of_pools(name) || labels.iter().any(|(label, value)| speaks_of_pools(label) || speaks_of_pools(value));
    if !is_pool {
        return threads_by_words(name, labels, kind, unit);
    }
    let of_text = |text: &str| match kind {
        SignalKind::Gauge if unit != unit::SECONDS && unit != unit::BYTES => waits(&words(text)).or_else(|| level(&words(text))),
        SignalKind::Counter if unit == unit::SECONDS => time(&words(text)),
        SignalKind::Counter if unit == unit::COUNT => waits(&words(text)),
        SignalKind::Gauge | SignalKind::Counter => None,
    };
    let state = STATE_LABELS.iter().find_map(|label| value_of(labels, label));
    let (role, stem) = match of_text(name) {
        Some((role, at)) => (role, without_members(&name[..at])),
        None => (of_text(state?)?.0, name),
    };
    let part = POOL_LABELS.iter().find_map(|label| value_of(labels, label)).map(str::to_owned);
    let part = part.unwrap_or_else(|| {
        let others = labels.iter().filter(|(label, _)| !STATE_LABELS.contains(&label.to_ascii_lowercase().as_str()));
        let others: Vec<String> = others.map(|(label, value)| format!("{label}={value}")).collect();
        let stem = stem.trim_end_matches(|c: char| !c.is_alphanumeric());
        if others.is_empty() { stem.to_owned() } else { format!("{stem} {}", others.join(",")) }
    });
    let members = PoolMembers::by_words(&format!("{part}{name}"));
    Some(PoolMeaning { role, part, members })
}

/// The name of a pool without the word for what it hands out, which some metrics of a pool have and others do not: `shop_db_open_connections` and
/// `shop_db_connections_in_use` are of the same pool.
fn without_members(stem: &str) -> &str {
    let trimmed = stem.trim_end_matches(|c: char| !c.is_alphanumeric());
    let lower = trimmed.to_ascii_lowercase();
    let word = ["connections", "connection"].into_iter().find(|word| lower.ends_with(word)).unwrap_or("");
    let rest = trimmed[..trimmed.len() - word.len()].trim_end_matches(|c: char| !c.is_alphanumeric());
    if rest.is_empty() { trimmed } else { rest }
}

/// Threads or workers that are busy, and their maximum. Waiting threads have no work, and show nothing.
fn threads_by_words(name: &str, labels: &[(&str, &str)], kind: SignalKind, unit: &str) -> Option<PoolMeaning> {
    let words = words(name);
    let is_threads = words.iter().any(|(word, _)| ["thread", "threads", "worker", "workers"].contains(&word.as_str()));
    if !is_threads || kind != SignalKind::Gauge || unit == unit::SECONDS || unit == unit::BYTES {
        return None;
    }
    let (role, at) = level(&words)?;
    if !matches!(role, Role::PoolInUse | Role::PoolIdle | Role::PoolSizeMax) {
        return None;
    }
    let others: Vec<String> = labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
    let stem = name[..at].trim_end_matches(|c: char| !c.is_alphanumeric());
    let stem = if stem.is_empty() { "threads" } else { stem };
    let part = if others.is_empty() { stem.to_owned() } else { format!("{stem} {}", others.join(",")) };
    Some(PoolMeaning { role, part, members: PoolMembers::Threads })
}

/// A word in lower case, and where it begins.
type Word = (String, usize);

/// Cut where letters and digits end, and where a capital follows a small letter.
fn words(name: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        let continues = before.is_alphanumeric() && !(before.is_lowercase() && c.is_uppercase());
        match words.last_mut() {
            Some((word, _)) if continues && c.is_alphanumeric() => word.extend(c.to_lowercase()),
            _ if c.is_alphanumeric() => words.push((c.to_lowercase().collect(), at)),
            _ => {}
        }
        before = c;
    }
    joined(words)
}

/// With `checked_out` and `checked_in` as one word each.
fn joined(words: Vec<Word>) -> Vec<Word> {
    let mut joined: Vec<Word> = Vec::new();
    for (word, at) in words {
        match joined.last_mut() {
            Some((before, _)) if before == "checked" && (word == "in" || word == "out") => before.push_str(&word),
            _ => joined.push((word, at)),
        }
    }
    joined
}

const WAITING: [&str; 2] = ["waiting", "pending"];
/// SQLAlchemy calls its connections checked out and checked in.
const IDLE: [&str; 2] = ["idle", "checkedin"];
const IN_USE: [&str; 6] = ["active", "use", "inuse", "used", "busy", "checkedout"];
const SIZE: [&str; 3] = ["size", "total", "open"];
const LIMIT: [&str; 3] = ["max", "maximum", "limit"];
/// The length of a queue is neither a pool's size nor its use.
const QUEUE: [&str; 3] = ["queue", "queued", "backlog"];
/// Words of other numbers: a time, a total of events, a minimum.
const OTHER: [&str; 26] = [
    "seconds",
    "millis",
    "milliseconds",
    "nanos",
    "ms",
    "time",
    "timeout",
    "timeouts",
    "duration",
    "rate",
    "min",
    "minimum",
    "lifetime",
    "age",
    "closed",
    "created",
    "destroyed",
    "opened",
    "removed",
    "reached",
    "rejected",
    "failed",
    "errors",
    "average",
    "percent",
    "ratio",
];

/// A level's meaning, and where the first word of it begins.
fn level(words: &[Word]) -> Option<(Role, usize)> {
    let at = |wanted: &[&str]| words.iter().find(|(word, _)| wanted.contains(&word.as_str())).map(|(_, at)| *at);
    if at(&OTHER).is_some() {
        return None;
    }
    let waiting = words.iter().find(|(word, _)| WAITING.iter().any(|part| word.contains(part))).map(|(_, at)| *at);
    let (idle, in_use, size, limit) = (at(&IDLE), in_use(words), at(&SIZE), at(&LIMIT));
    if waiting.is_none() && at(&QUEUE).is_some() {
        return None;
    }
    let role = match limit {
        // How many may wait or be idle does not show how many do.
        Some(_) if waiting.is_some() || idle.is_some() => return None,
        Some(_) => Role::PoolSizeMax,
        None if waiting.is_some() => Role::PoolWaiting,
        None if idle.is_some() => Role::PoolIdle,
        None if in_use.is_some() => Role::PoolInUse,
        None => size.map(|_| Role::PoolSize)?,
    };
    Some((role, [waiting, idle, in_use, size, limit].into_iter().flatten().min()?))
}

/// `in_use` begins with its `in`.
fn in_use(words: &[Word]) -> Option<usize> {
    let place = words.iter().position(|(word, _)| IN_USE.contains(&word.as_str()))?;
    let first = if place > 0 && words[place].0 == "use" && words[place - 1].0 == "in" { place - 1 } else { place };
    Some(words[first].1)
}

/// How often a request had to wait, and where the first word of it begins: `wait_count`. Some exporters declare this total as a gauge.
fn waits(words: &[Word]) -> Option<(Role, usize)> {
    let is_other = words.iter().any(|(word, _)| OTHER.contains(&word.as_str()));
    let pair = words
        .windows(2)
        .find(|pair| ["wait", "waits"].contains(&pair[0].0.as_str()) && ["count", "total"].contains(&pair[1].0.as_str()))?;
    (!is_other).then_some((Role::PoolWaits, pair[0].1))
}

/// The same of a counter of seconds.
fn time(words: &[Word]) -> Option<(Role, usize)> {
    let begins = |starts: &[&str]| words.iter().find(|(word, _)| starts.iter().any(|start| word.starts_with(start)));
    if let Some((_, at)) = begins(&["wait", "acqui"]) {
        return Some((Role::PoolWaitTime, *at));
    }
    let (_, at) = words.iter().find(|(word, _)| ["use", "used", "usage", "busy"].contains(&word.as_str()))?;
    Some((Role::PoolUseTime, *at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(name: &str) -> Option<(Role, String)> {
        meaning(name, &[], SignalKind::Gauge, unit::COUNT).map(|found| (found.role, found.part))
    }

    #[test]
    fn any_client_is_read_by_its_words() {
        for (name, role, part) in [
            ("db_pool_waiting", Role::PoolWaiting, "db_pool"),
            ("db_pool_size", Role::PoolSize, "db_pool"),
            ("db_pool_idle", Role::PoolIdle, "db_pool"),
            ("db_pool_in_use", Role::PoolInUse, "db_pool"),
            ("db_pool_max_size", Role::PoolSizeMax, "db_pool"),
            ("cl_waiting_connections", Role::PoolWaiting, "cl"),
            ("poolWaitingCount", Role::PoolWaiting, "pool"),
            ("HikariPool_1_pool_PendingConnections", Role::PoolWaiting, "HikariPool_1_pool"),
            ("HikariPool_1_pool_ActiveConnections", Role::PoolInUse, "HikariPool_1_pool"),
            ("HikariPool_1_pool_TotalConnections", Role::PoolSize, "HikariPool_1_pool"),
            ("shop.db.pool.waiting", Role::PoolWaiting, "shop.db.pool"),
            ("waiting_for_connection", Role::PoolWaiting, ""),
            ("shop_db_open_connections", Role::PoolSize, "shop_db"),
            ("shop_db_connections_in_use", Role::PoolInUse, "shop_db"),
            ("shop_db_connections_idle", Role::PoolIdle, "shop_db"),
            ("shop_db_max_open_connections", Role::PoolSizeMax, "shop_db"),
        ] {
            assert_eq!(gauge(name), Some((role, part.to_owned())), "{name}");
        }
        for name in [
            "db_pool",
            "queue_waiting",
            "pool_interactive",
            "db_pool_max_idle",
            "db_pool_min_size",
            "pool_wait_timeout_seconds",
            // Counts of what happened, which some exporters declare as gauges, and a queue.
            "shop_db_connections_max_lifetime_closed",
            "shop_db_connections_max_idle_closed",
            "pool_connections_created_total",
            "thread_pool_queue_size",
        ] {
            assert_eq!(gauge(name), None, "{name}");
        }
    }

    #[test]
    fn a_pool_is_known_by_its_words_in_any_spelling() {
        let stem = "io.dropwizard.db.ManagedPooledDataSource.hibernate";
        for (word, role) in
            [("waiting", Role::PoolWaiting), ("idle", Role::PoolIdle), ("active", Role::PoolInUse), ("size", Role::PoolSize)]
        {
            assert_eq!(gauge(&format!("{stem}.{word}")), Some((role, stem.to_owned())), "{word}");
            let spelt = format!("{stem}.{word}").replace('.', "_");
            assert_eq!(gauge(&spelt), Some((role, stem.replace('.', "_"))), "{spelt}");
        }
    }

    #[test]
    fn request_threads_are_a_pool_and_threads_of_a_runtime_are_none() {
        for (name, role, part) in [
            ("jetty_threads_busy", Role::PoolInUse, "jetty_threads"),
            ("jetty_threads_config_max", Role::PoolSizeMax, "jetty_threads"),
            ("http_worker_threads_busy", Role::PoolInUse, "http_worker_threads"),
            ("http_worker_threads_max", Role::PoolSizeMax, "http_worker_threads"),
            ("busy_workers", Role::PoolInUse, "threads"),
        ] {
            assert_eq!(gauge(name), Some((role, part.to_owned())), "{name}");
        }
        for name in [
            "jvm_threads_live_threads",
            "jvm_threads_peak_threads",
            "process_threads",
            "go_threads",
            "threads",
            "threads_waiting",
            "nginx_connections_waiting",
        ] {
            assert_eq!(gauge(name), None, "{name}");
        }
        let states = meaning("jvm_threads_states_threads", &[("state", "waiting")], SignalKind::Gauge, unit::COUNT);
        assert_eq!(states, None);
    }

    /// By the table for known exporters, whatever the words of a metric, and by words for others.
    #[test]
    fn a_pool_hands_out_what_its_exporter_or_its_words_say() {
        let members = |name: &str| meaning(name, &[], SignalKind::Gauge, unit::COUNT).map(|found| found.members);
        for (name, expected) in [
            ("hikaricp_pending_threads", PoolMembers::Connections),
            ("hikaricp_connections_pending", PoolMembers::Connections),
            ("pgbouncer_pools_cl_waiting", PoolMembers::Connections),
            ("tomcat_threads_busy_threads", PoolMembers::Threads),
            ("executor_queued_tasks", PoolMembers::Threads),
            ("db_pool_waiting", PoolMembers::Connections),
            ("http_worker_threads_busy", PoolMembers::Threads),
            ("busy_workers", PoolMembers::Threads),
            ("thread_pool_active", PoolMembers::Threads),
        ] {
            assert_eq!(members(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn times_are_counters_of_seconds() {
        let counter = |name, unit| meaning(name, &[], SignalKind::Counter, unit).map(|found| (found.role, found.part));
        assert_eq!(counter("db_pool_wait_seconds_total", unit::SECONDS), Some((Role::PoolWaitTime, "db_pool".to_owned())));
        assert_eq!(counter("db_pool_use_seconds_total", unit::SECONDS), Some((Role::PoolUseTime, "db_pool".to_owned())));
        assert_eq!(counter("db_pool_wait_seconds_count", unit::COUNT), None);
        assert_eq!(counter("db_pool_creation_seconds_total", unit::SECONDS), None);
    }

    #[test]
    fn a_label_names_the_pool_or_the_state() {
        let of = |labels: &[(&str, &str)]| meaning("db_connections", labels, SignalKind::Gauge, unit::COUNT);
        let found = |role, part: &str| Some(PoolMeaning { role, part: part.to_owned(), members: PoolMembers::Connections });
        assert_eq!(of(&[("state", "idle"), ("pool", "shop")]), found(Role::PoolIdle, "shop"));
        assert_eq!(of(&[("state", "waiting"), ("shard", "2")]), found(Role::PoolWaiting, "db_connections shard=2"));
        assert_eq!(of(&[("shard", "waiting")]), None);
    }
}
