//! Values of metrics over a run, as k6 computes them.

use std::collections::BTreeMap;

use loadstone_metrics::{MetricSlice, MetricValue, Tags, ValueHistogram};
use loadstone_plan::{DeclaredMetric, MetricKind};
use serde_json::{Map, Value, json};

use crate::ended_run::EndedRun;
use crate::options::percentile;
use crate::test::K6Test;

/// The part of the summary for each metric with values, and each with a threshold.
pub(super) fn values(test: &K6Test, run: &EndedRun<'_>) -> Map<String, Value> {
    let seconds = (run.duration_ns as f64 / 1e9).max(1e-9);
    let mut thresholds: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (label, passed) in &run.thresholds {
        if let Some((key, expression)) = label.rsplit_once(": ") {
            thresholds.entry(key).or_default().insert(expression.to_owned(), json!({ "ok": passed }));
        }
    }
    let mut all = Map::new();
    for metric in &test.metrics {
        let declared = &metric.declared;
        let whole = merged(run, &declared.name, &Tags::default());
        let parts = test.sub_metrics.iter().filter(|part| part.metric == declared.name);
        let expects = whole.is_some() || parts.clone().any(|part| thresholds.contains_key(part.key.as_str()));
        if expects || thresholds.contains_key(declared.name.as_str()) {
            let listed = thresholds.remove(declared.name.as_str());
            all.insert(declared.name.clone(), entry(test, declared, whole, seconds, listed));
        }
        for part in parts {
            let tags = Tags::new(part.tags.iter().map(|(name, value)| (name.as_str(), value.clone())));
            let value = merged(run, &declared.name, &tags);
            let listed = thresholds.remove(part.key.as_str());
            if value.is_some() || listed.is_some() {
                all.insert(part.key.clone(), entry(test, declared, value, seconds, listed));
            }
        }
    }
    if run.slices.iter().flat_map(|slice| &slice.leaves).any(|leaf| leaf.started > 0) {
        for name in ["data_sent", "data_received"] {
            let nothing = || json!({ "type": "counter", "contains": "data", "values": { "count": 0, "rate": 0 } });
            all.entry(name).or_insert_with(nothing);
        }
    }
    all.extend(users(test, run));
    all
}

/// All values of a metric whose tags include these.
fn merged(run: &EndedRun<'_>, name: &str, tags: &Tags) -> Option<MetricValue> {
    let includes = |slice: &&MetricSlice| match tags.is_empty() {
        true => slice.tags.is_empty(),
        false => tags.iter().all(|(name, value)| slice.tags.get(name) == Some(value)),
    };
    let mut sum: Option<MetricValue> = None;
    for slice in run.slices.iter().flat_map(|slice| &slice.metrics).filter(|slice| *slice.name == *name).filter(includes) {
        match &mut sum {
            Some(sum) => sum.merge(&slice.value),
            None => sum = Some(slice.value.clone()),
        }
    }
    sum.filter(|value| value.count() > 0)
}

fn entry(
    test: &K6Test,
    declared: &DeclaredMetric,
    value: Option<MetricValue>,
    seconds: f64,
    thresholds: Option<Map<String, Value>>,
) -> Value {
    let (kind, values) = match declared.kind {
        MetricKind::Trend => {
            let histogram = match &value {
                Some(MetricValue::Trend(histogram)) => Some(histogram),
                _ => None,
            };
            let values = test.settings.trend_stats.iter().map(|stat| (stat.clone(), trend(histogram, stat)));
            ("trend", Value::Object(values.collect()))
        }
        MetricKind::Counter => {
            let sum = match value {
                Some(MetricValue::Counter { sum, .. }) => sum,
                _ => 0.0,
            };
            ("counter", json!({ "count": number(sum), "rate": number(sum / seconds) }))
        }
        MetricKind::Gauge => {
            let (last, min, max) = match value {
                Some(MetricValue::Gauge(gauge)) => (gauge.last, gauge.min, gauge.max),
                _ => (0.0, 0.0, 0.0),
            };
            ("gauge", json!({ "value": number(last), "min": number(min), "max": number(max) }))
        }
        MetricKind::Rate => {
            let (hits, count) = match value {
                Some(MetricValue::Rate { hits, count }) => (hits, count),
                _ => (0, 0),
            };
            let share = if count == 0 { 0.0 } else { hits as f64 / count as f64 };
            ("rate", json!({ "rate": number(share), "passes": hits, "fails": count - hits }))
        }
    };
    let contains = match declared.unit.as_str() {
        "ms" => "time",
        "B" => "data",
        _ => "default",
    };
    let mut entry = json!({ "type": kind, "contains": contains, "values": values });
    if let Some(thresholds) = thresholds {
        entry["thresholds"] = Value::Object(thresholds);
    }
    entry
}

/// A statistic of `summaryTrendStats`.
fn trend(values: Option<&ValueHistogram>, stat: &str) -> Value {
    let Some(values) = values else { return json!(0) };
    let value = match stat {
        "avg" => values.mean(),
        "min" => values.min(),
        "max" => values.max(),
        "med" => values.interpolated_quantile(0.5),
        "count" => return json!(values.count()),
        _ => percentile(stat).and_then(|share| values.interpolated_quantile(share)),
    };
    number(value.unwrap_or(0.0))
}

/// Whole numbers without a fraction, as JavaScript writes them.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// `vus` and `vus_max`.
fn users(test: &K6Test, run: &EndedRun<'_>) -> Map<String, Value> {
    let is_load = |leaf: u32| test.plan.leaves().get(leaf as usize).is_some_and(|run| run.role == loadstone_plan::RunRole::Load);
    let active: Vec<u64> = run
        .slices
        .iter()
        .map(|slice| slice.leaves.iter().filter(|leaf| is_load(leaf.leaf)).map(|leaf| leaf.users_peak.max(leaf.users_active)).sum())
        .collect();
    let Some(most) = active.iter().max().copied() else { return Map::new() };
    let gauge = |value: u64, min: u64, max: u64| json!({ "type": "gauge", "contains": "default", "values": { "value": value, "min": min, "max": max } });
    let (prepared, initialised) = (test.planned_vus.planned.max(most), test.instance().vus_initialized.max(most));
    let (last, least) = (active.last().copied().unwrap_or(0), active.iter().min().copied().unwrap_or(0));
    [("vus".to_owned(), gauge(last, least, most)), ("vus_max".to_owned(), gauge(initialised, prepared, initialised))].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_interpolated_as_in_k6() {
        let mut values = ValueHistogram::default();
        [1.0, 2.0, 3.0, 10.0].into_iter().for_each(|value| values.record(value));
        // k6's TrendSink for these values: med 2.5, p(90) 7.9, p(95) 8.95.
        for (stat, expected) in
            [("med", 2.5), ("p(90)", 7.9), ("p(95)", 8.95), ("avg", 4.0), ("max", 10.0), ("p(0)", 1.0), ("p(100)", 10.0)]
        {
            let found = trend(Some(&values), stat).as_f64().unwrap();
            assert!((found - expected).abs() < expected * 0.01, "{stat}: {found}");
        }
        assert_eq!(trend(Some(&values), "count"), json!(4));
        assert_eq!(trend(None, "p(95)"), json!(0));
    }
}
