//! Do the percentiles that the tool states follow from its own record?

use loadstone_metrics::{StatedPercentile, StatedTimes};

use super::super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

/// Difference from which a stated percentile is not that of the record.
const DIFFERENCE_MAX: f64 = 0.1;
/// Differences of this many resolutions of the record are rounding.
const RESOLUTIONS_MAX: f64 = 2.0;
/// Shortest difference that is notable. Seconds.
const DIFFERENCE_S_MIN: f64 = 0.001;

const INFO: CheckInfo = CheckInfo {
    id: "stated-percentiles",
    title: "Percentiles of the tool",
    limits: "suspect when a percentile that the tool states differs by more than 10 % from its own record; no grade when another tool wrote the record",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let tool = super::tool(input);
    let stated = input.tally.record().and_then(|record| record.stated.as_ref());
    let Some(StatedTimes { tool: other, metric, percentiles }) = stated else {
        return INFO.nothing(format!("{tool} stated no percentiles that Loadstone reads"));
    };
    let rounding_s = input.plan.recorded.as_ref().map_or(0, |recorded| recorded.resolution_ns) as f64 / 1e9 * RESOLUTIONS_MAX;
    let Some(worst) = percentiles.iter().max_by(|a, b| difference(a).total_cmp(&difference(b))) else {
        return INFO.nothing(format!("{tool} stated no percentiles that Loadstone reads"));
    };
    let shown = |percentile: &StatedPercentile| {
        format!(
            "{} {} for {metric}, and its record has {}",
            name(percentile),
            loadstone_units::seconds(percentile.stated_ns as f64 / 1e9),
            loadstone_units::seconds(percentile.recorded_ns as f64 / 1e9)
        )
    };
    if let Some(other) = other {
        let highest = highest(percentiles, input.response.count).unwrap_or(worst);
        let evidence = format!(
            "{other} states {} {} for {metric}; it is {} for the requests of the record: each measures from its own place",
            name(highest),
            loadstone_units::seconds(highest.stated_ns as f64 / 1e9),
            loadstone_units::seconds(highest.recorded_ns as f64 / 1e9)
        );
        let advice = "If the generator's percentile is much higher, requests wait before the record begins: in the generator, on the network or in \
                      the server's accept queue. If it is lower, the two count different requests.";
        return INFO.evidence(difference(highest) > DIFFERENCE_MAX, evidence, advice);
    }
    let apart_s = (worst.stated_ns as f64 - worst.recorded_ns as f64).abs() / 1e9;
    if difference(worst) > DIFFERENCE_MAX && apart_s > rounding_s.max(DIFFERENCE_S_MIN) {
        let advice = "The report uses the record. The tool rounds its times, leaves requests out, or cannot keep up with its own statistics: do not compare \
                      its percentiles with others.";
        return INFO.graded(Grade::Suspect, format!("{tool} states {}", shown(worst)), advice);
    }
    let shown_first = highest(percentiles, input.response.count).unwrap_or(worst);
    let evidence = match in_response(input, shown_first) {
        Some(with_all) => format!("{tool} states {}; with the waits that {metric} leaves out, it is {with_all}", shown(shown_first)),
        None => format!("{tool} states {}", shown(shown_first)),
    };
    INFO.graded(Grade::Valid, evidence, "")
}

/// The highest percentile that is not the maximum is what users compare. wrk2 states p99.999 of any number of requests, which is the maximum of a few: at
/// least one request lies beyond the one that is returned.
fn highest(percentiles: &[StatedPercentile], requests: u64) -> Option<&StatedPercentile> {
    let has_samples = |percentile: &&StatedPercentile| requests as f64 * (1.0 - percentile.quantile) >= 1.0;
    percentiles.iter().filter(has_samples).max_by(|a, b| a.quantile.total_cmp(&b.quantile))
}

fn name(percentile: &StatedPercentile) -> String {
    if percentile.quantile < 1.0 { loadstone_units::percentile(percentile.quantile) } else { "a maximum of".to_owned() }
}

fn difference(percentile: &StatedPercentile) -> f64 {
    let (stated, recorded) = (percentile.stated_ns as f64, percentile.recorded_ns as f64);
    (stated - recorded).abs() / stated.max(recorded).max(1.0)
}

/// The same percentile of the response times, if they are notably longer: the tool's own times begin later, such as after connecting.
fn in_response(input: &CheckInput<'_>, percentile: &StatedPercentile) -> Option<String> {
    let same = input.response.percentiles.iter().find(|other| (other.quantile - percentile.quantile).abs() < 1e-9)?;
    let seconds = same.value?;
    (seconds > percentile.recorded_ns as f64 / 1e9 * (1.0 + DIFFERENCE_MAX)).then(|| loadstone_units::seconds(seconds))
}
