//! An observer as a value: what it reads, how often, and what its signals are called.

use serde_json::Value;

use crate::cgroup::Cgroup;
use crate::description::Description;
use crate::host::Host;
use crate::postgres::Postgres;
use crate::process::{Process, Which};
use crate::prometheus::Prometheus;
use crate::readings::Readings;
use crate::redis_info::Redis;
use crate::sql::Sql;
use crate::statsd::Statsd;

/// What is wrong with an observer's description. Found before any load starts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    #[error("an observer is described as {{\"kind\": …}}, and this is {found}; use the observe.… builders")]
    Shape { found: String },
    #[error("there is no observer \"{kind}\": use process, host, cgroup, postgres, redis, prometheus, statsd or sql")]
    Kind { kind: String },
    #[error("observe.{kind}: {problem}")]
    Observer { kind: String, problem: String },
    #[error("the thread for observers did not start: {0}")]
    Thread(String),
}

/// A source of signals. Make it with [`Observer::from_description`], run it with [`crate::Observation::start`].
#[derive(Debug)]
pub struct Observer {
    pub(crate) name: String,
    /// Time between batches. Nanoseconds.
    pub(crate) every_ns: u64,
    pub(crate) source: Source,
}

#[derive(Debug)]
pub(crate) enum Source {
    Process(Box<Process>),
    Host(Box<Host>),
    Cgroup(Cgroup),
    Prometheus(Prometheus),
    Postgres(Box<Postgres>),
    Redis(Redis),
    Statsd(Statsd),
    Sql(Box<Sql>),
}

const EVERY_NS: u64 = 1_000_000_000;

impl Observer {
    /// Reads a description as the script's builders make it.
    ///
    /// # Errors
    /// Names the option that is missing, unknown or wrong.
    pub fn from_description(value: &Value) -> Result<Self, ObserveError> {
        let mut description = Description::new(value)?;
        let every_ns = description.duration_ns("every", EVERY_NS)?;
        let mut name = description.text("name")?.map(str::to_owned);
        let source = match description.kind() {
            "process" => {
                let which = Which::from_description(&mut description, name.as_deref())?;
                name = Some(match (&which, name) {
                    (Which::Name(_), _) | (_, None) => format!("process:{which}"),
                    (_, Some(name)) => name,
                });
                Source::Process(Box::new(Process::new(which)))
            }
            "host" => Source::Host(Box::default()),
            "cgroup" => Source::Cgroup(Cgroup::from_description(&mut description)?),
            "prometheus" => Source::Prometheus(Prometheus::from_description(&mut description)?),
            "postgres" => Source::Postgres(Box::new(Postgres::from_description(&mut description, every_ns)?)),
            "redis" => Source::Redis(Redis::from_description(&mut description)?),
            "statsd" => Source::Statsd(Statsd::from_description(&mut description, every_ns)?),
            "sql" => Source::Sql(Box::new(Sql::from_description(&mut description)?)),
            kind => return Err(ObserveError::Kind { kind: kind.to_owned() }),
        };
        description.finish()?;
        let name = name.unwrap_or_else(|| description.kind().to_owned());
        if name.is_empty() || name.contains(['/', '{', '}']) {
            return Err(description.problem(format!("\"{name}\" cannot name it: signals are called observer/metric{{label}}")));
        }
        Ok(Self { name, every_ns, source })
    }

    /// What its signals' names begin with.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Source {
    /// How often it wants to look; a batch is due every `every_ns`. Nanoseconds.
    pub(crate) fn period_ns(&self, every_ns: u64) -> u64 {
        match self {
            Source::Postgres(postgres) => postgres.sample_ns().min(every_ns),
            Source::Statsd(_) => Statsd::DRAIN_NS.min(every_ns),
            _ => every_ns,
        }
    }

    /// Looks once. Sources that look more often than they report leave `readings` empty in between.
    ///
    /// # Errors
    /// A sentence about why there is nothing to read; the next call tries anew.
    pub(crate) async fn read(&mut self, readings: &mut Readings) -> Result<(), String> {
        match self {
            Source::Process(process) => process.read(readings),
            Source::Host(host) => host.read(readings),
            Source::Cgroup(cgroup) => cgroup.read(readings),
            Source::Prometheus(prometheus) => prometheus.read(readings).await,
            Source::Postgres(postgres) => postgres.read(readings).await,
            Source::Redis(redis) => redis.read(readings).await,
            Source::Statsd(statsd) => statsd.read(readings),
            Source::Sql(sql) => sql.read(readings).await,
        }
    }

    /// Forgets connections after a failure or a time-out.
    pub(crate) fn reset(&mut self) {
        match self {
            Source::Postgres(postgres) => postgres.reset(),
            Source::Redis(redis) => redis.reset(),
            Source::Sql(sql) => sql.reset(),
            Source::Process(_) | Source::Host(_) | Source::Cgroup(_) | Source::Prometheus(_) | Source::Statsd(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_follow_kind_and_address() {
        for (description, name) in [
            (json!({ "kind": "process", "port": 8080 }), "process:8080"),
            (json!({ "kind": "process", "pid": 1, "name": "app" }), "app"),
            (json!({ "kind": "process", "name": "nginx" }), "process:nginx"),
            (json!({ "kind": "host", "every": "500ms" }), "host"),
            (json!({ "kind": "postgres", "url": "postgres://app@127.0.0.1/shop" }), "postgres"),
            (json!({ "kind": "redis", "url": "redis://127.0.0.1/", "lists": ["jobs"], "name": "queue" }), "queue"),
            (json!({ "kind": "prometheus", "url": "http://127.0.0.1:9090/metrics", "only": ["http_*"] }), "prometheus"),
            (json!({ "kind": "sql", "url": "postgres://127.0.0.1/x", "query": "select 1 as one", "name": "depth" }), "depth"),
            (json!({ "kind": "cgroup", "path": "/sys/fs/cgroup" }), "cgroup"),
        ] {
            assert_eq!(Observer::from_description(&description).unwrap().name(), name);
        }
    }

    #[test]
    fn a_wrong_description_says_what_is_wrong() {
        for (description, part) in [
            (json!(7), "this is 7"),
            (json!({ "port": 1 }), "\"kind\""),
            (json!({ "kind": "oracle" }), "no observer \"oracle\""),
            (json!({ "kind": "process" }), "port, pid or name"),
            (json!({ "kind": "process", "port": 1, "pid": 2 }), "one of port"),
            (json!({ "kind": "process", "port": 70000 }), "1 to 65535"),
            (json!({ "kind": "process", "port": 1, "prot": 2 }), "no option \"prot\""),
            (json!({ "kind": "host", "every": "often" }), "\"often\" is not a duration"),
            (json!({ "kind": "host", "every": "1ms" }), "must be at least 10ms"),
            (json!({ "kind": "postgres" }), "url is missing"),
            (json!({ "kind": "postgres", "url": "mysql://x" }), "postgres://"),
            (json!({ "kind": "sql", "url": "mysql://x", "query": "select 1" }), "postgres://"),
            (json!({ "kind": "redis", "url": "nonsense" }), "nonsense"),
            (json!({ "kind": "prometheus", "url": "https://x/metrics" }), "https"),
            (json!({ "kind": "statsd", "listen": "everywhere" }), "everywhere"),
            (json!({ "kind": "host", "name": "a/b" }), "cannot name it"),
        ] {
            let problem = Observer::from_description(&description).unwrap_err().to_string();
            assert!(problem.contains(part), "{description}: {problem}");
        }
    }
}
