//! Conditions of `--fail-if`: `p99 worse by 5%`.

use loadstone_analysis::{ComparedMetric, ComparisonGate};

use crate::exit::UsageError;

/// Parses one condition: METRIC [of NAME] worse [by SHARE].
///
/// # Errors
/// A sentence that lists the valid forms.
pub(crate) fn parse(text: &str) -> Result<ComparisonGate, UsageError> {
    let wrong = |why: String| {
        UsageError(format!(
            "--fail-if: {why}\nwrite a metric (mean, p50, p90, p95, p99, p99.9, rate, failures, CPU, memory, anything), `of NAME` for one request, and \
             how much worse: 'p99 worse by 5%', 'p95 of Buy worse by 10%', 'anything worse'"
        ))
    };
    let (what, by) = match text.rsplit_once(" worse") {
        Some((what, "")) => (what, 0.0),
        Some((what, by)) => {
            let share = by.trim().strip_prefix("by ").ok_or_else(|| wrong(format!("\"{text}\" does not state by how much")))?;
            (what, loadstone_units::share::parse(share).map_err(|problem| wrong(problem.to_string()))?)
        }
        None => return Err(wrong(format!("\"{text}\" does not say \"worse\""))),
    };
    let (metric, name) = match what.split_once(" of ") {
        Some((metric, name)) => (metric.trim(), Some(name.trim().trim_matches('"').to_owned())),
        None => (what.trim(), None),
    };
    let metric = match metric.to_lowercase().as_str() {
        "anything" => None,
        "rate" => Some(ComparedMetric::Rate),
        "failures" => Some(ComparedMetric::Failures),
        "mean" => Some(ComparedMetric::Mean),
        "p50" | "median" => Some(ComparedMetric::P50),
        "p90" => Some(ComparedMetric::P90),
        "p95" => Some(ComparedMetric::P95),
        "p99" => Some(ComparedMetric::P99),
        "p99.9" => Some(ComparedMetric::P999),
        "cpu" => Some(ComparedMetric::CpuPerRequest),
        "memory" => Some(ComparedMetric::Memory),
        other => return Err(wrong(format!("\"{other}\" is not a metric that is compared"))),
    };
    Ok(ComparisonGate { label: text.to_owned(), metric, name, by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_conditions() {
        let p99 = parse("p99 worse by 5%").unwrap();
        assert_eq!((p99.metric, p99.name, p99.by), (Some(ComparedMetric::P99), None, 0.05));
        let named = parse("p95 of \"Proof of work\" worse by 10 %").unwrap();
        assert_eq!((named.metric, named.name.as_deref()), (Some(ComparedMetric::P95), Some("Proof of work")));
        assert_eq!(parse("anything worse").unwrap().metric, None);
        assert_eq!(parse("CPU worse").unwrap().by, 0.0);
        for wrong in ["p99", "p99 worse 5%", "speed worse by 5%", "p99 worse by much", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
