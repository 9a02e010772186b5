//! Did responses wait in the kernel until the generator read them?

use loadstone_metrics::Histogram;

use super::check::{CheckInfo, CheckInput};
use super::lateness;
use crate::ValidityCheck;

const INFO: CheckInfo = CheckInfo {
    id: "read-lag",
    title: "Read lag",
    limits: "explains what the generator may have added; worth a look when the p99 of the time that responses lay unread exceeds 5 % of the \
     reported p99 and 200 µs; with too few for a p99, the highest percentile that both have",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let mut lags = Histogram::new();
    input.tally.workers().iter().for_each(|worker| lags.merge(&worker.read_lag));
    if lags.is_empty() {
        return INFO.nothing("the kernel stamped none of the responses");
    }
    let Some(quantile) = lateness::compared(input.response.count.min(lags.count())) else {
        return INFO.nothing("too few stamped responses to compare percentiles");
    };
    let Some((late, reported)) = lags.quantile(quantile).zip(input.response.at(quantile)) else {
        return INFO.nothing("no request ended");
    };
    let late = late as f64 / 1e9;
    let evidence = lateness::evidence("time that responses lay unread", quantile, late, reported);
    INFO.evidence(lateness::is_late(late, reported), evidence, ADVICE)
}

const ADVICE: &str = "Responses had arrived and the generator had not read them yet; that time is part of the response times. Give it \
 more cores (--workers), move heavy work out of the scripts, move it off the target's machine, or ask for less.";
