//! `thresholds`: `http_req_duration: ["p(95)<500"]` is `responseTime().p95.below("500ms")`.

use std::collections::HashMap;

use super::values::Value;
use crate::text::{key, milliseconds, number, quoted};

/// A threshold in Loadstone's words, or why there is none.
pub(super) type Translation = Result<String, String>;

/// Metrics of the script: what they are declared as and the names that hold them.
pub(super) type OwnMetrics = HashMap<String, (&'static str, String)>;

/// All thresholds of a script, each with the words of k6.
pub(super) fn thresholds(
    declared: &Value,
    own: &OwnMetrics,
    only_grpc: bool,
    local: &dyn Fn(&'static str) -> String,
    uses: &mut Vec<&'static str>,
) -> Vec<(String, Translation)> {
    let Value::Object(entries) = declared else {
        return vec![("thresholds".into(), Err("the script computes them at run time".into()))];
    };
    let mut all = Vec::new();
    for (metric, bounds) in entries {
        let bounds = match bounds {
            Value::List(list) => list.clone(),
            one => vec![one.clone()],
        };
        for bound in bounds {
            let (expression, abort) = match &bound {
                Value::Text(text) => (text.clone(), false),
                bound => match bound.get("threshold").and_then(Value::text) {
                    Some(text) => (text.to_owned(), bound.get("abortOnFail").is_some_and(Value::is_true)),
                    None => {
                        all.push((metric.clone(), Err("the script computes its bound at run time".into())));
                        continue;
                    }
                },
            };
            let mut used = Vec::new();
            let metric_here = match metric.strip_prefix("grpc_req_duration") {
                // All requests of such a script are calls.
                Some(tags) if only_grpc => format!("http_req_duration{tags}"),
                _ => metric.clone(),
            };
            let translated = threshold(&metric_here, &expression, own, local, &mut used);
            if translated.is_ok() {
                uses.extend(used);
            }
            let translated = translated.map(|text| if abort { format!("{text}.abortEarly()") } else { text });
            all.push((format!("{metric}: {expression}"), translated));
        }
    }
    all
}

/// What the values of a metric are.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Time,
    Plain,
}

fn threshold(
    metric: &str,
    expression: &str,
    own: &OwnMetrics,
    local: &dyn Fn(&'static str) -> String,
    uses: &mut Vec<&'static str>,
) -> Translation {
    let (name, tags) = match metric.split_once('{') {
        Some((name, tags)) => (name.trim(), tags_of(tags.trim_end_matches('}'))?),
        None => (metric.trim(), Vec::new()),
    };
    let (aggregate, bound, value) = parts(expression)?;
    let mut selected = |function: &'static str, tags: &[(String, String)]| -> Translation {
        uses.push(function);
        Ok(format!("{}({})", local(function), selection(tags)?))
    };
    let (base, unit) = match name {
        "http_req_duration" => (format!("{}.{}", selected("responseTime", &tags)?, of_values(&aggregate)?), Unit::Time),
        "http_req_failed" if aggregate == "rate" => (format!("{}.rate", selected("failures", &tags)?), Unit::Plain),
        "http_reqs" => (format!("{}.{}", selected("requests", &tags)?, of_counts(&aggregate)?), Unit::Plain),
        "iterations" => (format!("{}.{}", selected("iterations", &only_scenario(&tags)?)?, of_counts(&aggregate)?), Unit::Plain),
        "iteration_duration" => {
            (format!("{}.{}", selected("iterationDuration", &only_scenario(&tags)?)?, of_values(&aggregate)?), Unit::Time)
        }
        "checks" => {
            let passed = if aggregate == "rate" { "passed.rate" } else { return Err(format!("checks have no `{aggregate}`")) };
            (format!("{}.{passed}", selected("checks", &tags)?), Unit::Plain)
        }
        "group_duration" => {
            let [(tag, group)] = &tags[..] else { return Err("the time of a group needs its tag `group`".into()) };
            if tag != "group" {
                return Err(format!("groups have no tag `{tag}`"));
            }
            uses.push("groupTime");
            let name = group.rsplit("::").next().unwrap_or(group);
            (format!("{}({}).{}", local("groupTime"), quoted(name), of_values(&aggregate)?), Unit::Time)
        }
        "grpc_req_duration" => return Err("select gRPC calls by name: `responseTime(\"Service/Method\")`".into()),
        "dropped_iterations" => {
            return Err("no arrival is ever dropped: late arrivals wait, and their response time includes the wait".into());
        }
        _ => return own_metric(name, &tags, &aggregate, bound, value, own),
    };
    let value = if unit == Unit::Time { quoted(&milliseconds(value)) } else { number(value) };
    Ok(format!("{base}.{bound}({value})"))
}

fn own_metric(name: &str, tags: &[(String, String)], aggregate: &str, bound: &str, value: f64, own: &OwnMetrics) -> Translation {
    let Some((kind, constant)) = own.get(name) else { return Err(format!("`{name}` has no counterpart")) };
    let taken = match (*kind, aggregate) {
        ("trend", aggregate) => of_values(aggregate)?,
        ("counter", "count") => "sum".into(),
        ("counter" | "rate", "rate") => "rate".into(),
        ("gauge", "value") => "last".into(),
        _ => return Err(format!("a {kind} has no `{aggregate}`")),
    };
    let part = if tags.is_empty() { String::new() } else { format!(".where({{ tags: {{ {} }} }})", entries(tags)) };
    Ok(format!("{constant}{part}.{taken}.{bound}({})", number(value)))
}

/// `p(95)<500`: what is taken, Loadstone's word for the sign, and the bound.
fn parts(expression: &str) -> Result<(String, &'static str, f64), String> {
    let expression = expression.trim();
    let at = expression.find(['<', '>', '=', '!']).ok_or("it has no comparison operator")?;
    let (aggregate, rest) = expression.split_at(at);
    let signs = rest.len() - rest.trim_start_matches(['<', '>', '=', '!']).len();
    let (sign, value) = rest.split_at(signs);
    let bound = match sign {
        "<" => "below",
        "<=" => "atMost",
        ">" => "above",
        ">=" => "atLeast",
        "==" | "===" => "equals",
        _ => return Err(format!("the operator `{sign}` is not supported")),
    };
    let value = value.trim().parse().map_err(|_| format!("{:?} is no number", value.trim()))?;
    Ok((aggregate.trim().replace(' ', ""), bound, value))
}

fn of_values(aggregate: &str) -> Result<String, String> {
    Ok(match aggregate {
        "avg" => "mean".into(),
        "min" | "max" => aggregate.into(),
        "med" => "p50".into(),
        "count" => "count".into(),
        _ => {
            let percent = aggregate.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
            let percent: f64 = percent.and_then(|percent| percent.parse().ok()).ok_or(format!("there is no `{aggregate}` of values"))?;
            match number(percent).as_str() {
                known @ ("50" | "75" | "90" | "95" | "99") => format!("p{known}"),
                "99.9" => "p999".into(),
                other => format!("percentile({other})"),
            }
        }
    })
}

fn of_counts(aggregate: &str) -> Translation {
    match aggregate {
        "count" | "rate" => Ok(aggregate.to_owned()),
        _ => Err(format!("there is no `{aggregate}` of counts")),
    }
}

fn tags_of(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |pair: &str| {
        let (tag, value) = pair.split_once(':').ok_or("its tags could not be read")?;
        Ok((tag.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()))
    };
    text.split(',').filter(|pair| !pair.trim().is_empty()).map(pair).collect()
}

fn only_scenario(tags: &[(String, String)]) -> Result<Vec<(String, String)>, String> {
    match tags.iter().find(|(tag, _)| tag != "scenario") {
        Some((tag, _)) => Err(format!("iterations have no tag `{tag}`")),
        None => Ok(tags.to_vec()),
    }
}

/// The tags of k6 that Loadstone has other words for, and the script's own.
fn selection(tags: &[(String, String)]) -> Translation {
    let (mut known, mut own) = (Vec::new(), Vec::new());
    for (tag, value) in tags {
        match tag.as_str() {
            "name" | "check" | "url" => known.push(format!("name: {}", quoted(value))),
            "scenario" => known.push(format!("scenario: {}", quoted(value))),
            "group" => known.push(format!("group: {}", quoted(value.rsplit("::").next().unwrap_or(value)))),
            "status" | "method" | "expected_response" | "error" | "error_code" | "proto" | "tls_version" | "subproto" | "service"
            | "rpc_type" => {
                return Err(format!("Loadstone does not distinguish requests by `{tag}`"));
            }
            _ => own.push((tag.clone(), value.clone())),
        }
    }
    if !own.is_empty() {
        known.push(format!("tags: {{ {} }}", entries(&own)));
    }
    Ok(if known.is_empty() { String::new() } else { format!("{{ {} }}", known.join(", ")) })
}

fn entries(tags: &[(String, String)]) -> String {
    tags.iter().map(|(tag, value)| format!("{}: {}", key(tag), quoted(value))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(metric: &str, expression: &str) -> Translation {
        let own =
            OwnMetrics::from([("orders".to_owned(), ("trend", "orders".to_owned())), ("seen".to_owned(), ("gauge", "seen".to_owned()))]);
        threshold(metric, expression, &own, &|name| name.to_owned(), &mut Vec::new())
    }

    #[test]
    fn each_metric_has_its_words() {
        for (metric, expression, expected) in [
            ("http_req_duration", "p(95)<500", "responseTime().p95.below(\"500ms\")"),
            (
                "http_req_duration{name:Search,type:API}",
                "p(99.9) <= 1000",
                "responseTime({ name: \"Search\", tags: { type: \"API\" } }).p999.atMost(\"1s\")",
            ),
            ("http_req_duration{scenario:buy}", "med<200", "responseTime({ scenario: \"buy\" }).p50.below(\"200ms\")"),
            ("http_req_failed", "rate<0.01", "failures().rate.below(0.01)"),
            ("http_reqs", "rate>=20", "requests().rate.atLeast(20)"),
            ("checks{check:has items}", "rate == 1", "checks({ name: \"has items\" }).passed.rate.equals(1)"),
            ("group_duration{group:::shop::cart}", "avg<800", "groupTime(\"cart\").mean.below(\"800ms\")"),
            ("iteration_duration{scenario:buy}", "max<3000", "iterationDuration({ scenario: \"buy\" }).max.below(\"3s\")"),
            ("orders", "p(97)>2.5", "orders.percentile(97).above(2.5)"),
            ("orders{country:DE}", "count>10", "orders.where({ tags: { country: \"DE\" } }).count.above(10)"),
            ("seen", "value<5", "seen.last.below(5)"),
        ] {
            assert_eq!(one(metric, expression), Ok(expected.to_owned()), "{metric} {expression}");
        }
    }

    #[test]
    fn what_has_no_counterpart_says_so() {
        for (metric, expression) in [
            ("http_req_waiting", "p(95)<500"),
            ("http_req_duration{status:200}", "p(95)<500"),
            ("http_req_duration", "p(95)!=500"),
            ("http_req_duration", "rate<1"),
            ("dropped_iterations", "count<1"),
            ("nobody", "avg<1"),
        ] {
            assert!(one(metric, expression).is_err(), "{metric} {expression}");
        }
    }
}
