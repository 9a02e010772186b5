//! Objectives on the command line: `p99<50ms`, `p95 of Buy < 200ms`, `failures<1%`, `rate>=500/s`.

use loadstone_plan::{Aggregate, Comparison, Metric, Selector, Threshold};

use crate::exit::FlagError;

/// Parses one objective from a flag.
///
/// # Errors
/// A sentence that lists the valid forms.
pub(crate) fn parse(flag: &'static str, text: &str) -> Result<Threshold, FlagError> {
    let wrong = |why: String| {
        let why = format!(
            "{why}\nwrite a metric (mean, max, min, p50 … p99.9, rate, count, failures), `of NAME` for one request, one of < <= > >= =, and a \
             bound: 'p99<50ms', 'p95 of Buy<200ms', 'failures<1%', 'rate>=500/s'"
        );
        FlagError::new(flag, why)
    };
    let at = text.find(['<', '>', '=']).ok_or_else(|| wrong(format!("\"{text}\" has no bound")))?;
    let (what, rest) = (text[..at].trim(), &text[at..]);
    let (name, request) = match what.split_once(" of ") {
        Some((name, request)) => (name.trim(), Some(request.trim().trim_matches('"').to_owned())),
        None => (what, None),
    };
    let (comparison, bound) = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equals),
        ("<", Comparison::Below),
        (">", Comparison::Above),
        ("=", Comparison::Equals),
    ]
    .into_iter()
    .find_map(|(sign, comparison)| rest.strip_prefix(sign).map(|bound| (comparison, bound.trim())))
    .ok_or_else(|| wrong(format!("\"{text}\" has no bound")))?;
    let seconds = |bound: &str| loadstone_units::duration::parse(bound).map(|ns| ns as f64 / 1e9).map_err(|error| error.to_string());
    let number = |bound: &str| bound.parse::<f64>().map_err(|_| format!("\"{bound}\" is not a number"));
    let (metric, aggregate, value) = match name {
        "mean" | "avg" => (Metric::ResponseTime, Aggregate::Mean, seconds(bound)),
        "max" => (Metric::ResponseTime, Aggregate::Max, seconds(bound)),
        "min" => (Metric::ResponseTime, Aggregate::Min, seconds(bound)),
        "median" => (Metric::ResponseTime, Aggregate::Quantile(0.5), seconds(bound)),
        "rate" => (Metric::Requests, Aggregate::Rate, loadstone_units::rate::parse(bound).map_err(|error| error.to_string())),
        "count" => (Metric::Requests, Aggregate::Count, number(bound)),
        "failures" => (Metric::Failures, Aggregate::Rate, loadstone_units::share::parse(bound).map_err(|error| error.to_string())),
        _ => match name.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok()) {
            Some(percent) if percent > 0.0 && percent < 100.0 => {
                (Metric::ResponseTime, Aggregate::Quantile(percent / 100.0), seconds(bound))
            }
            _ => return Err(wrong(format!("\"{name}\" is not a metric"))),
        },
    };
    let value = value.map_err(wrong)?;
    let selector = Selector { name: request, ..Selector::default() };
    Ok(Threshold { selector, ..Threshold::new(text, metric, aggregate, comparison, value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_objectives() {
        let p99 = parse("threshold", "p99 < 50ms").unwrap();
        assert_eq!((p99.aggregate, p99.bound.comparison, p99.bound.value), (Aggregate::Quantile(0.99), Comparison::Below, 0.05));
        let failures = parse("threshold", "failures<=1%").unwrap();
        assert_eq!((failures.metric, failures.bound.comparison, failures.bound.value), (Metric::Failures, Comparison::AtMost, 0.01));
        assert_eq!(parse("threshold", "rate>=90/m").unwrap().bound.value, 1.5);
        let named = parse("threshold", "p95 of \"Check out\" < 200ms").unwrap();
        assert_eq!((named.selector.name.as_deref(), named.aggregate), (Some("Check out"), Aggregate::Quantile(0.95)));
        assert_eq!(parse("threshold", "p99.9<1s").unwrap().aggregate, Aggregate::Quantile(99.9 / 100.0));
        for wrong in ["p99", "p101<1s", "speed<1s", "p99<fast", "failures<x%", ""] {
            assert!(parse("threshold", wrong).is_err(), "{wrong}");
        }
    }
}
