//! An observer as a value: its source, its period, and its name.

use std::fmt;

use serde_json::Value;

use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::kinds::KINDS;
use crate::reader::{HostPermission, SignalReader};

/// A source of signals. Create it with [`Observer::from_description`], run it with [`crate::Observation::start`].
pub struct Observer {
    pub(crate) name: String,
    /// Time between batches. Nanoseconds.
    pub(crate) every_ns: u64,
    pub(crate) reader: Box<dyn SignalReader>,
}

/// Without the reader, which may contain a password.
impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("name", &self.name).field("every_ns", &self.every_ns).finish_non_exhaustive()
    }
}

impl Observer {
    /// Checks that a description names an existing kind and options of the right shape. The observed system is not contacted.
    ///
    /// # Errors
    /// Names the kind that is not known, or the option that is missing, unknown or of the wrong shape.
    pub fn check(value: &Value) -> Result<(), ObserveError> {
        described(value).map(drop)
    }

    /// Creates an observer from a description of the script's builders.
    ///
    /// # Errors
    /// As [`Observer::check`], and invalid values such as a malformed URL, and kinds that this system refuses.
    pub fn from_description(value: &Value) -> Result<Self, ObserveError> {
        let (kind, description) = described(value)?;
        if let Some(why) = refusal(kind, cfg!(target_os = "macos")) {
            return Err(description.problem(why));
        }
        let reader = (kind.make)(&description)?;
        let given = description.text("name");
        let name = reader.default_name(given).unwrap_or_else(|| given.unwrap_or(description.kind()).to_owned());
        if name.is_empty() || name.contains(['/', '{', '}']) {
            return Err(description.problem(format!("\"{name}\" is not a valid name: signals are called observer/metric{{label}}")));
        }
        Ok(Self { name, every_ns: description.duration_ns("every"), reader })
    }

    /// Identifies the run's traces: their ids begin with these 32 bits.
    pub fn joins_traces(&mut self, run: u32) {
        self.reader.joins_traces(run);
    }

    /// Permits connections to hosts that the observed system names and the description does not. Without this call, none is permitted.
    pub fn permits_hosts(&mut self, hosts: &HostPermission) {
        self.reader.permits_hosts(hosts);
    }

    /// Prefix of its signals' names.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Why this system cannot have an observer of the kind, and what to use instead.
fn refusal(kind: &ObserverKind, is_macos: bool) -> Option<String> {
    match kind.on_macos {
        MacSupport::Refused(why) if is_macos => Some(format!("not on macOS: {why}")),
        _ => None,
    }
}

fn described(value: &Value) -> Result<(&'static ObserverKind, ObserverDescription<'_>), ObserveError> {
    let shape = || ObserveError::Shape { found: value.to_string() };
    let fields = value.as_object().ok_or_else(shape)?;
    let name = fields.get("kind").and_then(Value::as_str).ok_or_else(shape)?;
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| ObserveError::Kind {
        kind: name.to_owned(),
        known: KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
    })?;
    Ok((kind, ObserverDescription::new(kind.name, kind.options, fields)?))
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
            (json!({ "kind": "mysql", "url": "mysql://app@127.0.0.1" }), "mysql"),
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
        let sql = |more: Value| {
            let mut description = json!({ "kind": "sql", "url": "postgres://x/y", "query": "select 1" });
            description.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            description
        };
        for (description, part) in [
            (json!(7), "got 7"),
            (json!({ "port": 1 }), "\"kind\""),
            (
                json!({ "kind": "oracle" }),
                "no observer `observe.oracle`; known are: process, host, cgroup, node, jvm, go, python, native, postgres, ",
            ),
            (json!({ "kind": "process" }), "port, pid or name"),
            (json!({ "kind": "process", "port": 1, "pid": 2 }), "one of port"),
            (json!({ "kind": "process", "port": 70000 }), "port: expected a whole number from 1 to 65535, got 70000"),
            (json!({ "kind": "process", "port": "80" }), "port: expected a whole number from 1 to 65535, got \"80\""),
            (
                json!({ "kind": "process", "port": 1, "prot": 2 }),
                "no option `prot` (did you mean `port`?); known are: port, pid, name, every",
            ),
            (json!({ "kind": "host", "every": "often" }), "every: expected a duration such as \"500ms\" or \"1s\", got \"often\""),
            (json!({ "kind": "host", "every": 5 }), "every: expected a duration such as \"500ms\" or \"1s\", got 5"),
            (json!({ "kind": "host", "every": "1ms" }), "every must be at least 10ms, got \"1ms\""),
            (json!({ "kind": "host", "name": 7 }), "name: expected a string, got 7"),
            (
                json!({ "kind": "traces", "link": "javascript:alert('{trace}')" }),
                "is not an address such as \"http://127.0.0.1:16686/trace/{trace}\"",
            ),
            (json!({ "kind": "traces", "link": "http://127.0.0.1:16686/" }), "link \"http://127.0.0.1:16686/\" is not an address"),
            (json!({ "kind": "postgres" }), "url is missing"),
            (json!({ "kind": "postgres", "url": "mysql://x" }), "postgres://"),
            (json!({ "kind": "mysql", "url": "postgres://x" }), "mysql://"),
            (json!({ "kind": "sql", "url": "mysql://x", "query": "select 1" }), "postgres://"),
            (json!({ "kind": "sql", "url": "postgres://x/y" }), "query is missing"),
            (sql(json!({ "start": { "flow": 1 }, "finish": { "flow": 1 } })), "give one of start, stage and finish"),
            (sql(json!({ "start": 5 })), "start: expected a flow, got 5"),
            (sql(json!({ "stage": { "flow": 1 } })), "stage: expected a list of a flow and the name of its stage"),
            (json!({ "kind": "redis", "url": "nonsense" }), "nonsense"),
            (json!({ "kind": "redis", "url": "redis://x/", "lists": ["a", 1] }), "lists: expected a list of strings, got [\"a\",1]"),
            (json!({ "kind": "kafka" }), "brokers is missing"),
            (json!({ "kind": "kafka", "brokers": "a:9092,b" }), "expected host:port, got \"b\""),
            (json!({ "kind": "prometheus", "url": "https://x/metrics" }), "https"),
            (json!({ "kind": "statsd", "listen": "everywhere" }), "everywhere"),
            (json!({ "kind": "host", "name": "a/b" }), "is not a valid name"),
        ] {
            let problem = Observer::from_description(&description).unwrap_err().to_string();
            assert!(problem.contains(part), "{description}: {problem}");
        }
    }

    #[test]
    fn what_macos_lacks_is_refused_there_with_a_remedy() {
        let refused: Vec<&str> = KINDS.iter().filter(|kind| refusal(kind, true).is_some()).map(|kind| kind.name).collect();
        assert_eq!(refused, ["cgroup", "jvm", "native"]);
        for kind in KINDS {
            assert_eq!(refusal(kind, false), None);
            assert!(
                refusal(kind, true).is_none_or(|why| why.starts_with("not on macOS: ") && why.contains("`observe.process`")),
                "{}",
                kind.name
            );
        }
    }

    /// Shapes are checked where a script describes an observer, values where a run begins.
    #[test]
    fn a_check_looks_at_kinds_and_options_only() {
        assert!(Observer::check(&json!({ "kind": "redis", "url": "nonsense", "lists": [] })).is_ok());
        assert!(Observer::check(&json!({ "kind": "process" })).is_ok());
        for wrong in [json!({ "kind": "oracle" }), json!({ "kind": "redis" }), json!({ "kind": "process", "prot": 1 })] {
            assert_eq!(Observer::check(&wrong).unwrap_err(), Observer::from_description(&wrong).unwrap_err());
        }
    }

    #[test]
    fn no_error_repeats_a_password() {
        for (kind, url) in [
            ("redis", "redis://app:hunter2@[/"),
            ("redis", "app:hunter2@host"),
            ("postgres", "postgres://app:hunter2@host:port/x"),
            ("mysql", "mysql://app:hunter2@host:port/x"),
            ("mysql", "mysql://app:hunter2@host/x?hunter=no"),
            ("prometheus", "https://app:hunter2@host/metrics"),
            ("prometheus", "http://app:hunter2@ho st/metrics"),
        ] {
            let problem = Observer::from_description(&json!({ "kind": kind, "url": url })).unwrap_err().to_string();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }
}
