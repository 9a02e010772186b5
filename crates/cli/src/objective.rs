//! Objectives on the command line: `p99<50ms`, `failures<1%`, `rate>=500/s`.

use plan::{Aggregate, Bound, Comparison, Metric, Selector, Threshold, Window};

use crate::exit::UsageError;

/// A rate per second: `500`, `500/s`, `90/m`, `3600/h`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\" is not a rate: write 500, 500/s, 90/m or 3600/h");
    let (number, per) = match text.split_once('/') {
        Some((number, "s")) => (number, 1.0),
        Some((number, "m" | "min")) => (number, 60.0),
        Some((number, "h")) => (number, 3600.0),
        Some(_) => return Err(wrong()),
        None => (text, 1.0),
    };
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    if value.is_finite() && value >= 0.0 { Ok(value / per) } else { Err(wrong()) }
}

/// Reads one objective.
///
/// # Errors
/// A sentence with the forms that are understood.
pub(crate) fn parse(text: &str) -> Result<Threshold, UsageError> {
    let wrong = |why: String| {
        UsageError(format!(
            "--threshold: {why}\nwrite a metric (mean, max, min, p50 … p99.9, rate, count, failures), one of < <= > >= =, and a bound: \
             'p99<50ms', 'failures<1%', 'rate>=500/s'"
        ))
    };
    let at = text.find(['<', '>', '=']).ok_or_else(|| wrong(format!("\"{text}\" has no bound")))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
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
    let seconds = |bound: &str| units::duration::parse(bound).map(|ns| ns as f64 / 1e9);
    let number = |bound: &str| bound.parse::<f64>().map_err(|_| format!("\"{bound}\" is not a number"));
    let (metric, aggregate, value) = match name {
        "mean" | "avg" => (Metric::ResponseTime, Aggregate::Mean, seconds(bound)),
        "max" => (Metric::ResponseTime, Aggregate::Max, seconds(bound)),
        "min" => (Metric::ResponseTime, Aggregate::Min, seconds(bound)),
        "median" => (Metric::ResponseTime, Aggregate::Quantile(0.5), seconds(bound)),
        "rate" => (Metric::Requests, Aggregate::Rate, rate(bound)),
        "count" => (Metric::Requests, Aggregate::Count, number(bound)),
        "failures" => match bound.strip_suffix('%') {
            Some(percent) => (Metric::Failures, Aggregate::Rate, number(percent).map(|percent| percent / 100.0)),
            None => (Metric::Failures, Aggregate::Rate, number(bound)),
        },
        _ => match name.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok()) {
            Some(percent) if percent > 0.0 && percent < 100.0 => {
                (Metric::ResponseTime, Aggregate::Quantile(percent / 100.0), seconds(bound))
            }
            _ => return Err(wrong(format!("\"{name}\" is not a metric"))),
        },
    };
    let value = value.map_err(wrong)?;
    Ok(Threshold {
        metric,
        selector: Selector::default(),
        aggregate,
        bound: Bound { comparison, value },
        window: Window::WholeRun,
        after_seconds: 0,
        abort: false,
        label: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_objectives() {
        let p99 = parse("p99 < 50ms").unwrap();
        assert_eq!((p99.aggregate, p99.bound.comparison, p99.bound.value), (Aggregate::Quantile(0.99), Comparison::Below, 0.05));
        let failures = parse("failures<=1%").unwrap();
        assert_eq!((failures.metric, failures.bound.comparison, failures.bound.value), (Metric::Failures, Comparison::AtMost, 0.01));
        assert_eq!(parse("rate>=90/m").unwrap().bound.value, 1.5);
        assert_eq!(parse("p99.9<1s").unwrap().aggregate, Aggregate::Quantile(99.9 / 100.0));
        for wrong in ["p99", "p101<1s", "speed<1s", "p99<fast", "failures<x%", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn reads_rates() {
        for (text, per_second) in [("500", 500.0), ("0.5/s", 0.5), ("90/m", 1.5), ("3600/h", 1.0)] {
            assert_eq!(rate(text), Ok(per_second));
        }
        assert!(rate("5/day").is_err() && rate("-1").is_err() && rate("NaN").is_err());
    }
}
