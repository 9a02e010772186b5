//! Did responses wait in the kernel before the generator read them?

use loadstone_metrics::Histogram;

use super::check::{CheckInfo, CheckInput};
use super::lateness;
use crate::ValidityCheck;

const INFO: CheckInfo = CheckInfo {
    id: "read-lag",
    title: "Read lag",
    limits: "explains the time that the generator may have added; notable when the p99 of the time that responses waited to be read \
     exceeds 5 % of the reported p99 and 200 µs; with too few samples for a p99, the highest percentile that both have",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let mut lags = Histogram::new();
    input.tally.workers().iter().for_each(|worker| lags.merge(&worker.read_lag));
    if lags.is_empty() {
        let why = if input.lacks_kernel_counters() {
            "not examined: macOS timestamps no TCP data"
        } else {
            "the kernel did not timestamp any response"
        };
        return INFO.nothing(why);
    }
    let Some(quantile) = lateness::compared_quantile(input.response.count.min(lags.count())) else {
        return INFO.nothing("too few timestamped responses to compare percentiles");
    };
    let Some((late, reported)) = lags.quantile(quantile).zip(input.response.at(quantile)) else {
        return INFO.nothing("no request ended");
    };
    let late = late as f64 / 1e9;
    let evidence = lateness::evidence("time that responses waited to be read", quantile, late, reported);
    INFO.evidence(lateness::is_late(late, reported), evidence, ADVICE).at_level("generator_lag/read_max", "waited to be read", late)
}

const ADVICE: &str = "Responses had arrived before the generator read them, and the response times include this delay. Give the generator \
 more cores (--workers), move heavy work out of the scripts, move the generator off the target's machine, or lower the load.";
