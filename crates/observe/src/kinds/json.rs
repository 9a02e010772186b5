//! Metrics as JSON over HTTP: every number of a document, by its path. Designed for Dropwizard, which groups metrics by type, and usable for any other.

use loadstone_metrics::{Signal, SignalKind, unit};
use serde_json::Value;

use super::prometheus::matches;
use crate::collector::{MetricSpec, SignalCollector, label};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::http::{Address, FetchError, get};
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ADDRESS, ObserverOption, OptionValue};
use crate::pools;
use crate::reader::{PendingRead, SignalReader};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "json",
    watches: "a service with metrics as JSON",
    example: "observe.json(\"http://127.0.0.1:8081/metrics\", { only: [\"*.hibernate.*\"] })",
    alternatives: "",
    reports: "its numbers by their paths: `json/pool.waiting`",
    options: &[
        ADDRESS,
        ObserverOption {
            name: "only",
            takes: OptionValue::Texts,
            help: "paths of the numbers to read; `*` matches any text; if empty, all",
        },
        ObserverOption { name: "totals", takes: OptionValue::Texts, help: "paths of numbers that only grow; shown as growth per second" },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Json::from_description(description)?)),
};

#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::{Json, SignalCollector, Value};
    use crate::http::Address;

    pub(in crate::kinds) fn document(input: &[u8], out: &mut SignalCollector) {
        let (Ok(document), Ok(address)) = (serde_json::from_slice::<Value>(input), Address::parse("http://127.0.0.1/")) else { return };
        Json { address, only: Vec::new(), totals: vec!["*a*b*".to_owned()] }.put(&document, out);
    }
}

/// Levels of a document that are read.
const DEPTH_MAX: usize = 12;
/// Dropwizard's names for its types, each an object of metrics by name.
const TYPES: [&str; 5] = ["gauges", "counters", "histograms", "meters", "timers"];

#[derive(Debug, thiserror::Error)]
enum JsonMetricsError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the response is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the response contains no number that matches `only`")]
    NoNumber,
}

#[derive(Debug)]
struct Json {
    address: Address,
    only: Vec<String>,
    totals: Vec<String>,
}

impl SignalReader for Json {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }
}

impl Json {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let address = Address::parse(description.required_text("url")).map_err(|problem| description.problem(problem.to_string()))?;
        Ok(Self { address, only: description.texts("only"), totals: description.texts("totals") })
    }

    /// # Errors
    /// When there is no response, or it contains no number.
    async fn look(&self, out: &mut SignalCollector) -> Result<(), JsonMetricsError> {
        let body = get(&self.address, "application/json").await?;
        let document: Value = serde_json::from_slice(&body)?;
        if self.put(&document, out) { Ok(()) } else { Err(JsonMetricsError::NoNumber) }
    }

    /// Returns whether there was any number.
    fn put(&self, document: &Value, out: &mut SignalCollector) -> bool {
        let mut any = false;
        let is_typed = document.as_object().is_some_and(|top| top.keys().filter(|name| TYPES.contains(&name.as_str())).count() >= 2);
        if let Some(top) = document.as_object().filter(|_| is_typed) {
            for (kind, metrics) in top.iter().filter(|(name, _)| TYPES.contains(&name.as_str())) {
                for (name, metric) in metrics.as_object().into_iter().flatten() {
                    for (field, value) in metric.as_object().into_iter().flatten() {
                        // The only number of a gauge or counter has the name of its metric.
                        let is_only = matches!((kind.as_str(), field.as_str()), ("gauges", "value") | ("counters", "count"));
                        let path = if is_only { name.clone() } else { format!("{name}.{field}") };
                        let grows = field == "count" && kind != "counters";
                        any |= self.number(&path, value, grows, out, pools::with_meaning);
                    }
                }
            }
        } else {
            self.walk("", document, DEPTH_MAX, &mut any, out);
        }
        any
    }

    fn walk(&self, path: &str, value: &Value, depth: usize, any: &mut bool, out: &mut SignalCollector) {
        let Value::Object(fields) = value else {
            *any |= self.number(path, value, false, out, pools::with_meaning);
            return;
        };
        let status = pools::status_document(|field| fields.contains_key(field));
        for (name, value) in fields.iter().filter(|_| depth > 0) {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match status {
                Some(status) if !value.is_object() => {
                    *any |= self.number(&path, value, false, out, |signal| pools::with_meaning_of_status(signal, status, name));
                }
                _ => self.walk(&path, value, depth - 1, any, out),
            }
        }
    }

    /// Returns whether the value was a selected number.
    fn number(&self, path: &str, value: &Value, grows: bool, out: &mut SignalCollector, describe: impl FnOnce(Signal) -> Signal) -> bool {
        let is_listed = |list: &[String]| list.iter().any(|pattern| matches(pattern, path));
        let Some(number) = value.as_f64().filter(|_| self.only.is_empty() || is_listed(&self.only)) else { return false };
        let kind = if grows || is_listed(&self.totals) { SignalKind::Counter } else { SignalKind::Gauge };
        let name = label(path);
        out.put_described(MetricSpec::new(kind, &name, unit::COUNT, ""), &[], number, describe);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_metrics::Role;

    fn read(text: &str, only: &[&str], totals: &[&str]) -> Vec<(String, SignalKind, Option<Role>, f64)> {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let json = Json { address: Address::parse("http://h/m").unwrap(), only: owned(only), totals: owned(totals) };
        let mut out = SignalCollector::new("app");
        json.put(&serde_json::from_str(text).unwrap(), &mut out);
        out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), signal.kind, signal.role, point.value)).collect()
    }

    #[test]
    fn dropwizard_sorts_its_metrics_by_type() {
        let text = r#"{"version": "4.0.0",
            "gauges": {"io.dropwizard.db.ManagedPooledDataSource.hibernate.waiting": {"value": 3}, "a.text": {"value": "x"}},
            "counters": {"open": {"count": 2}}, "histograms": {},
            "meters": {"sent": {"count": 40, "m1_rate": 1.5, "units": "events/second"}}, "timers": {}}"#;
        let pool = "app/io.dropwizard.db.ManagedPooledDataSource.hibernate.waiting".to_owned();
        let mut found = read(text, &[], &[]);
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(
            found,
            [
                (pool, SignalKind::Gauge, Some(Role::PoolWaiting), 3.0),
                ("app/open".to_owned(), SignalKind::Gauge, None, 2.0),
                ("app/sent.count".to_owned(), SignalKind::Counter, None, 40.0),
                ("app/sent.m1_rate".to_owned(), SignalKind::Gauge, None, 1.5),
            ]
        );
    }

    /// The first with the fields of PHP-FPM 8.2, the second with those of Puma 6.
    #[test]
    fn a_status_of_php_fpm_or_puma_describes_its_workers() {
        let roles = |text: &str| -> Vec<(String, Role)> {
            let mut found: Vec<_> = read(text, &[], &[]).into_iter().filter_map(|(name, _, role, _)| Some((name, role?))).collect();
            found.sort_by(|a, b| a.0.cmp(&b.0));
            found
        };
        let fpm = r#"{"pool":"www","process manager":"static","start time":1796044696,"start since":12,"accepted conn":97,"listen queue":2,
            "max listen queue":2,"listen queue len":4096,"idle processes":0,"active processes":8,"total processes":8,"max active processes":8,
            "max children reached":0,"slow requests":0}"#;
        let expected = [
            ("app/active processes", Role::PoolInUse),
            ("app/idle processes", Role::PoolIdle),
            ("app/listen queue", Role::PoolWaiting),
            ("app/total processes", Role::PoolSize),
        ];
        assert_eq!(roles(fpm), expected.map(|(name, role)| (name.to_owned(), role)));
        let puma = r#"{"started_at":"2026-11-30T12:00:00Z","backlog":1,"running":5,"pool_capacity":0,"busy_threads":5,"backlog_max":3,
            "max_threads":5,"requests_count":120,"versions":{"puma":"6.6.0"}}"#;
        let expected = [
            ("app/backlog", Role::PoolWaiting),
            ("app/busy_threads", Role::PoolInUse),
            ("app/max_threads", Role::PoolSizeMax),
            ("app/pool_capacity", Role::PoolIdle),
            ("app/running", Role::PoolSize),
        ];
        assert_eq!(roles(puma), expected.map(|(name, role)| (name.to_owned(), role)));
        // Other servers have a backlog, too.
        assert_eq!(roles(r#"{"backlog": 1, "running": 5}"#), []);
    }

    #[test]
    fn any_document_is_read_by_its_paths() {
        let text = r#"{"pool": {"size": 5, "waiting": 1}, "jobs": {"done": 7}, "list": [1, 2], "on": true}"#;
        let mut found = read(text, &["pool.*", "jobs.done"], &["*.done"]);
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let found: Vec<(&str, SignalKind, Option<Role>)> =
            found.iter().map(|(name, kind, role, _)| (name.as_str(), *kind, *role)).collect();
        assert_eq!(
            found,
            [
                ("app/jobs.done", SignalKind::Counter, None),
                ("app/pool.size", SignalKind::Gauge, Some(Role::PoolSize)),
                ("app/pool.waiting", SignalKind::Gauge, Some(Role::PoolWaiting)),
            ]
        );
        assert_eq!(read(text, &["nothing"], &[]), []);
    }
}
