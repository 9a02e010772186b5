//! Thresholds, and the metrics that they need: k6's own by k6's definitions, and those of the script.

use std::collections::BTreeMap;

use loadstone_plan::{Aggregate, Bound, Comparison, DeclaredMetric, Metric, MetricKind, Selector, Threshold};
use serde_json::{Map, Value};

use super::{OptionError, duration, wrong};

/// A metric of the plan, and the tags by which its values are kept apart.
#[derive(Debug, Clone)]
pub(crate) struct PlannedMetric {
    pub(crate) declared: DeclaredMetric,
    pub(crate) tags: Vec<String>,
}

/// The part of a metric that a key such as `http_req_duration{name:Orders}` selects.
#[derive(Debug, Clone)]
pub(crate) struct SubMetric {
    pub(crate) key: String,
    pub(crate) metric: String,
    pub(crate) tags: BTreeMap<String, String>,
}

/// Thresholds and metrics.
#[derive(Debug, Clone, Default)]
pub(crate) struct Planned {
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) metrics: Vec<PlannedMetric>,
    pub(crate) sub_metrics: Vec<SubMetric>,
}

/// k6's own metrics that Loadstone records.
const OWN: [(&str, MetricKind, &str); 26] = [
    ("http_reqs", MetricKind::Counter, ""),
    ("http_req_duration", MetricKind::Trend, "ms"),
    ("http_req_blocked", MetricKind::Trend, "ms"),
    ("http_req_connecting", MetricKind::Trend, "ms"),
    ("http_req_tls_handshaking", MetricKind::Trend, "ms"),
    ("http_req_sending", MetricKind::Trend, "ms"),
    ("http_req_waiting", MetricKind::Trend, "ms"),
    ("http_req_receiving", MetricKind::Trend, "ms"),
    ("http_req_failed", MetricKind::Rate, ""),
    ("checks", MetricKind::Rate, ""),
    ("iterations", MetricKind::Counter, ""),
    ("iteration_duration", MetricKind::Trend, "ms"),
    ("group_duration", MetricKind::Trend, "ms"),
    ("data_sent", MetricKind::Counter, "B"),
    ("data_received", MetricKind::Counter, "B"),
    ("dropped_iterations", MetricKind::Counter, ""),
    ("grpc_req_duration", MetricKind::Trend, "ms"),
    ("grpc_streams", MetricKind::Counter, ""),
    ("grpc_streams_msgs_sent", MetricKind::Counter, ""),
    ("grpc_streams_msgs_received", MetricKind::Counter, ""),
    ("ws_connecting", MetricKind::Trend, "ms"),
    ("ws_sessions", MetricKind::Counter, ""),
    ("ws_session_duration", MetricKind::Trend, "ms"),
    ("ws_msgs_sent", MetricKind::Counter, ""),
    ("ws_msgs_received", MetricKind::Counter, ""),
    ("ws_ping", MetricKind::Trend, "ms"),
];
/// Seconds after which k6 first evaluates thresholds.
const FIRST_EVALUATION_SECONDS: u32 = 2;

/// `declared`: the script's metrics, as name, kind and unit.
pub(crate) fn thresholds(options: &Map<String, Value>, declared: &[DeclaredMetric]) -> Result<Planned, OptionError> {
    let metrics = declared.iter().map(|declared| PlannedMetric { declared: declared.clone(), tags: Vec::new() }).collect();
    let mut planned = Planned { metrics, ..Planned::default() };
    if options.get("noThresholds").and_then(Value::as_bool) == Some(true) {
        return Ok(planned);
    }
    let Some(written) = options.get("thresholds") else { return Ok(planned) };
    let help = "write thresholds: { http_req_duration: [\"p(95)<500\"] }";
    let written = written.as_object().ok_or_else(|| wrong("thresholds", "`thresholds` is not an object", help))?;
    for (key, list) in written {
        let (name, tags) = key_of(key)?;
        let metric = planned.metric(name, key)?;
        if !tags.is_empty() {
            planned.select(metric, key, &tags);
        }
        let one = std::slice::from_ref(list);
        for expression in list.as_array().map_or(one, Vec::as_slice) {
            let threshold = threshold(key, &planned.metrics[metric].declared, &tags, expression)?;
            planned.thresholds.push(threshold);
        }
    }
    Ok(planned)
}

impl Planned {
    /// Adds k6's own metrics, for the end-of-test summary. `expects`: requests have the tag `expected_response`.
    pub(crate) fn add_summary_metrics(&mut self, expects: bool) {
        for (name, kind, unit) in OWN {
            if !self.metrics.iter().any(|metric| metric.declared.name == name) {
                let declared = DeclaredMetric { name: name.to_owned(), kind, unit: unit.to_owned() };
                self.metrics.push(PlannedMetric { declared, tags: Vec::new() });
            }
        }
        let key = "http_req_duration{expected_response:true}";
        if let Some(durations) = self.metrics.iter().position(|metric| metric.declared.name == "http_req_duration")
            && expects
            && !self.sub_metrics.iter().any(|part| part.key == key)
        {
            self.select(durations, key, &[("expected_response".to_owned(), "true".to_owned())].into());
        }
    }

    /// Keeps the values of a metric apart by these tags.
    fn select(&mut self, metric: usize, key: &str, tags: &BTreeMap<String, String>) {
        let PlannedMetric { declared, tags: known } = &mut self.metrics[metric];
        known.extend(tags.keys().filter(|tag| !known.contains(tag)).cloned().collect::<Vec<_>>());
        self.sub_metrics.push(SubMetric { key: key.to_owned(), metric: declared.name.clone(), tags: tags.clone() });
    }

    /// The index of a metric, which is added if it is k6's own.
    fn metric(&mut self, name: &str, key: &str) -> Result<usize, OptionError> {
        if let Some(index) = self.metrics.iter().position(|metric| metric.declared.name == name) {
            return Ok(index);
        }
        if name.starts_with("browser_") || name == "vus" || name == "vus_max" {
            let help = "remove the threshold, or run this script with k6";
            return Err(wrong(key, format!("thresholds: the metric `{name}` is not recorded"), help));
        }
        let Some((_, kind, unit)) = OWN.iter().find(|(own, ..)| *own == name) else {
            let help = "declare it in the script (`new Trend(…)`), or correct the name";
            return Err(wrong(key, format!("thresholds: there is no metric `{name}`"), help));
        };
        let declared = DeclaredMetric { name: name.to_owned(), kind: *kind, unit: (*unit).to_owned() };
        self.metrics.push(PlannedMetric { declared, tags: Vec::new() });
        Ok(self.metrics.len() - 1)
    }
}

/// `http_req_duration{name:Orders,kind:api}`.
fn key_of(key: &str) -> Result<(&str, BTreeMap<String, String>), OptionError> {
    let Some((name, rest)) = key.split_once('{') else { return Ok((key.trim(), BTreeMap::new())) };
    let help = "write METRIC{TAG:VALUE}";
    let inner =
        rest.trim_end().strip_suffix('}').ok_or_else(|| wrong(key, format!("thresholds: \"{key}\" does not end with a brace"), help))?;
    let mut tags = BTreeMap::new();
    for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (tag, value) =
            part.split_once(':').ok_or_else(|| wrong(key, format!("thresholds: \"{part}\" in \"{key}\" is no tag"), help))?;
        let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        tags.insert(bare(tag), bare(value));
    }
    Ok((name.trim(), tags))
}

fn threshold(key: &str, metric: &DeclaredMetric, tags: &BTreeMap<String, String>, written: &Value) -> Result<Threshold, OptionError> {
    let (expression, abort, delay_ns) = match written {
        Value::String(expression) => (expression.as_str(), false, 0),
        Value::Object(object) => {
            let expression = object.get("threshold").and_then(Value::as_str).unwrap_or_default();
            let abort = object.get("abortOnFail").and_then(Value::as_bool).unwrap_or(false);
            let delay = object.get("delayAbortEval").filter(|delay| !delay.is_null() && delay.as_str() != Some(""));
            (expression, abort, delay.map_or(Ok(0), |delay| duration("delayAbortEval", delay))?)
        }
        other => return Err(wrong(key, format!("thresholds: {other} is no expression"), "write \"p(95)<500\"")),
    };
    let (aggregate, bound) = parse(key, metric.kind, expression)?;
    let delay_seconds = (delay_ns.div_ceil(1_000_000_000)).min(u64::from(u32::MAX)) as u32;
    let of = Metric::Own { name: metric.name.clone(), kind: metric.kind, unit: metric.unit.clone() };
    Ok(Threshold {
        selector: Selector { tags: tags.clone(), ..Selector::default() },
        abort,
        abort_while_failing_after: abort.then(|| delay_seconds.max(FIRST_EVALUATION_SECONDS)),
        passes_without_data: true,
        interpolates: true,
        ..Threshold::new(format!("{key}: {}", expression.trim()), of, aggregate, bound.comparison, bound.value)
    })
}

fn parse(key: &str, kind: MetricKind, expression: &str) -> Result<(Aggregate, Bound), OptionError> {
    let help = "write an aggregate, a comparison and a number, such as p(95)<500, rate<0.01 or count>=10";
    let refuse = |why: &str| Err(wrong(key, format!("thresholds: \"{expression}\" of {key}: {why}"), help));
    let text: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let Some(at) = text.find(['<', '>', '=', '!']) else { return refuse("it has no comparison") };
    let (left, right) = text.split_at(at);
    let signs = ["===", "!==", "<=", ">=", "==", "!=", "<", ">"];
    let Some(sign) = signs.iter().find(|sign| right.starts_with(**sign)) else { return refuse("its comparison is unknown") };
    let Ok(value) = right[sign.len()..].parse::<f64>() else { return refuse("its bound is not a number") };
    let comparison = match *sign {
        "<" => Comparison::Below,
        "<=" => Comparison::AtMost,
        ">" => Comparison::Above,
        ">=" => Comparison::AtLeast,
        "==" | "===" => Comparison::Equals,
        _ => return refuse("the comparison != is not supported"),
    };
    let percentile = left.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')')).and_then(|number| number.parse::<f64>().ok());
    let aggregate = match (kind, left, percentile) {
        (MetricKind::Counter, "count", _) => Aggregate::Count,
        (MetricKind::Counter | MetricKind::Rate, "rate", _) => Aggregate::Rate,
        (MetricKind::Gauge, "value", _) => Aggregate::Last,
        (MetricKind::Trend, "avg", _) => Aggregate::Mean,
        (MetricKind::Trend, "med", _) => Aggregate::Quantile(0.5),
        (MetricKind::Trend, "min", _) => Aggregate::Min,
        (MetricKind::Trend, "max", _) => Aggregate::Max,
        (MetricKind::Trend, _, Some(p)) if p >= 100.0 => Aggregate::Max,
        (MetricKind::Trend, _, Some(p)) if p <= 0.0 => Aggregate::Min,
        (MetricKind::Trend, _, Some(p)) => Aggregate::Quantile(p / 100.0),
        _ => return refuse(&format!("a metric of this type has no \"{left}\"")),
    };
    Ok((aggregate, Bound { comparison, value }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(written: Value) -> Result<Planned, OptionError> {
        let declared = [DeclaredMetric { name: "waiting".to_owned(), kind: MetricKind::Trend, unit: String::new() }];
        thresholds(json!({ "thresholds": written }).as_object().unwrap(), &declared)
    }

    #[test]
    fn expressions_become_thresholds_on_k6s_metrics() {
        let planned =
            read(json!({ "http_req_duration{name:http://h/a,kind:api}": ["p(95)<500", "avg <= 3.5"], "http_req_failed": "rate<0.01" }))
                .unwrap();
        let [p95, mean, failed] = &planned.thresholds[..] else { panic!("{planned:?}") };
        assert_eq!((p95.aggregate, p95.bound), (Aggregate::Quantile(0.95), Bound { comparison: Comparison::Below, value: 500.0 }));
        assert_eq!((mean.aggregate, mean.bound), (Aggregate::Mean, Bound { comparison: Comparison::AtMost, value: 3.5 }));
        assert_eq!(p95.selector.tags["name"], "http://h/a");
        assert_eq!((failed.aggregate, failed.abort, failed.label.as_str()), (Aggregate::Rate, false, "http_req_failed: rate<0.01"));
        let tags: Vec<_> = planned.metrics.iter().map(|metric| (metric.declared.name.as_str(), metric.tags.len())).collect();
        assert_eq!(tags, [("waiting", 0), ("http_req_duration", 2), ("http_req_failed", 0)]);
    }

    #[test]
    fn an_abort_is_due_from_its_delay_on() {
        let planned = read(json!({ "waiting": [
            { "threshold": "max<5", "abortOnFail": true },
            { "threshold": "max<5", "abortOnFail": true, "delayAbortEval": "10s" },
            { "threshold": "max<5", "abortOnFail": false },
        ] }))
        .unwrap();
        let delays: Vec<_> = planned.thresholds.iter().map(|threshold| threshold.abort_while_failing_after).collect();
        assert_eq!(delays, [Some(2), Some(10), None]);
    }

    #[test]
    fn a_threshold_without_a_meaning_is_refused() {
        for (written, word) in [
            (json!({ "http_req_durations": ["p(95)<5"] }), "there is no metric"),
            (json!({ "vus_max": ["value<5"] }), "not recorded"),
            (json!({ "http_req_failed": ["p(95)<5"] }), "has no \"p(95)\""),
            (json!({ "waiting": ["p(95)"] }), "no comparison"),
            (json!({ "waiting": ["p(95)<fast"] }), "not a number"),
            (json!({ "waiting": ["p(95)!=1"] }), "!="),
            (json!({ "waiting": [5] }), "no expression"),
            (json!({ "waiting{a": ["max<1"] }), "brace"),
        ] {
            let error = read(written.clone()).unwrap_err();
            assert!(error.message.contains(word), "{written}: {}", error.message);
        }
    }
}
