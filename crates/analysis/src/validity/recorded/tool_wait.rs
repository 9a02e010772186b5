//! Did the tool get a core when it had to read a response?

use loadstone_metrics::Histogram;

use super::super::check::{CheckInfo, CheckInput};
use super::super::lateness;
use super::proxy;
use crate::ValidityCheck;

/// Share of the time that is notable.
const WAIT_SHARE_MAX: f64 = 0.05;

const INFO: CheckInfo = CheckInfo {
    id: "tool-wait",
    title: "The tool's wait for a core",
    limits: "explains the time that the tool may have added; notable when its thread with the most work waited for a core for more than 5 % of the time, or \
     when the p99 of its delay exceeds 5 % of the reported p99 and 200 µs",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some(worker) = input.tally.workers().first().filter(|worker| worker.busy_ns > 0) else {
        return INFO.nothing("not measured: name the tool's process with --pid");
    };
    if worker.lacks_kernel_counters {
        return INFO.not_examined("how long threads wait for a core");
    }
    let waited = worker.run_queue_ns as f64 / worker.wall_ns.max(1) as f64;
    let tool = super::tool(input);
    let evidence = format!("{tool}'s thread with the most work waited for a core for {} of the time", loadstone_units::share(waited));
    let lags = &worker.read_lag;
    let is_of_proxy = proxy::is_record(input);
    if lags.is_empty() || is_of_proxy {
        let whose = if is_of_proxy { "proxy" } else { "server" };
        return INFO.nothing(format!("{evidence}; the times of this record are those of the {whose}, and do not contain it"));
    }
    let mean = loadstone_units::seconds(lags.mean().unwrap_or(0.0) / 1e9);
    let of_mean = format!("{evidence}; the delay by which it read a response was up to {mean} on average");
    let compared = lateness::compared_quantile(input.response.count.min(lags.count()));
    let compared = compared.and_then(|quantile| Some((quantile, seconds_at(lags, quantile)?, input.response.at(quantile)?)));
    let Some((quantile, late, reported)) = compared else {
        return INFO.evidence(waited > WAIT_SHARE_MAX, of_mean, ADVICE);
    };
    let is_notable = waited > WAIT_SHARE_MAX || lateness::is_late(late, reported);
    INFO.evidence(is_notable, format!("{of_mean}; {}", lateness::evidence("delay", quantile, late, reported)), ADVICE)
}

fn seconds_at(lags: &Histogram, quantile: f64) -> Option<f64> {
    Some(lags.quantile(quantile)? as f64 / 1e9)
}

const ADVICE: &str = "Other programs, or the system under test, used the cores that the tool needed. Responses were read late, and the tool counts the delay \
                      as the system's. Run the tool on another machine or on its own cores (`taskset`), or lower the load.";
