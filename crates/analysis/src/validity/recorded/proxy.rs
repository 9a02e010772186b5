//! How much Loadstone's proxy added to the times that it recorded.

use loadstone_metrics::Histogram;

use super::super::check::{CheckInfo, CheckInput};
use super::super::lateness;
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "proxy-delay",
    title: "Delay of the proxy",
    limits: "explains the time that Loadstone's proxy may have added; notable when its p99 exceeds 5 % of the reported p99 and 200 µs; suspect when the \
     proxy recorded connections only",
};

pub(in super::super) const ADVICE: &str = "The times contain this delay: the proxy waited for a core, or one core was too little for it. \
     Free a core for it, lower the load, or use the record of the tool or an access log in its place.";

/// Whether the requests passed through Loadstone's proxy.
pub(in super::super) fn is_record(input: &CheckInput<'_>) -> bool {
    input.plan.recorded.as_ref().is_some_and(|recorded| recorded.format == "proxy")
}

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if !is_record(input) {
        return INFO.nothing("the requests did not pass through Loadstone's proxy");
    }
    let Some(delays) = input.tally.record().and_then(|record| record.proxy.as_deref()) else {
        let has_connections = input.requests() > 0
            && input.tally.of_kind(loadstone_metrics::SeriesKind::Request).all(|series| &*series.merged.key.name == "connection");
        if has_connections {
            let advice = "The run shows no requests. Use http:// or https:// for the target, and --proxy-ca if the tool sends TLS.";
            return INFO.graded(Grade::Suspect, "the proxy recorded connections, whose times are the time that they were open", advice);
        }
        return INFO.nothing("no request passed through the proxy to its end");
    };
    let of = |times: &Histogram, quantile: f64| loadstone_units::seconds(times.quantile(quantile).unwrap_or(0) as f64 / 1e9);
    let evidence = format!(
        "it held a request for {} (p50) and {} (p99), and a response for {} and {}",
        of(&delays.of_requests, 0.5),
        of(&delays.of_requests, 0.99),
        of(&delays.of_responses, 0.5),
        of(&delays.of_responses, 0.99)
    );
    let compared = lateness::compared_quantile(input.response.count.min(delays.of_both.count()));
    let compared = compared.and_then(|quantile| Some((quantile, delays.of_both.quantile(quantile)?, input.response.at(quantile)?)));
    let Some((quantile, late, reported)) = compared else { return INFO.nothing(evidence) };
    let late = late as f64 / 1e9;
    let evidence = format!("{evidence}; {}", lateness::evidence("sum of both", quantile, late, reported));
    INFO.evidence(lateness::is_late(late, reported), evidence, ADVICE).at_level("generator_lag/p99", "held by the proxy", late)
}
