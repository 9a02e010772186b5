//! The CPU time of a request, and large responses, which need much of it: for each finding about a process or an event loop that computes.

use loadstone_metrics::SeriesKind;

use crate::facts::Facts;
use crate::facts::demand::CpuDemand;
use crate::finding::ranked::RankedFinding;
use crate::finding::{Evidence, Quantity};

/// Mean bytes of a response from which it is large. It takes milliseconds to read so much from a database, and to serialise, compress and encrypt it.
const LARGE_BYTES_MIN: f64 = 100_000.0;
/// Part of all received bytes that the responses of one request need, to be named.
const LARGE_SHARE_MIN: f64 = 0.8;

/// As the end of a claim: `; each "Register" takes 39.8 ms of CPU time`.
pub(crate) fn each(demand: Option<&CpuDemand>) -> String {
    let most = demand.and_then(|demand| demand.most.as_ref());
    most.map_or_else(String::new, |(name, each)| format!("; each \"{name}\" takes {} of CPU time", loadstone_units::seconds(*each)))
}

/// Adds the CPU time per request of a stretch, in seconds since the run began.
pub(crate) fn add_to(found: RankedFinding, demand: &CpuDemand, span: (f64, f64)) -> RankedFinding {
    let most = demand
        .most
        .as_ref()
        .map_or_else(String::new, |(name, each)| format!("; \"{name}\" takes most of it, {} each", loadstone_units::seconds(*each)));
    let text = format!(
        "requests ended at {} in that time: {} of CPU time per request (utilisation over throughput){most}",
        loadstone_units::rate(demand.throughput),
        loadstone_units::seconds(demand.each_s)
    );
    let evidence = Evidence::new(text, vec!["rate/requests".to_owned()], span);
    found.with(Quantity::seconds("cpu_per_request", demand.each_s)).rests_on_drawn(evidence.level(
        "rate/requests",
        "on average",
        demand.throughput,
        span,
    ))
}

/// The request whose responses are large, and most of what is received.
pub(crate) struct LargeResponses {
    name: String,
    /// On average.
    bytes: u64,
    /// Of all received bytes.
    share: f64,
}

impl LargeResponses {
    /// `None`: no request has large responses, or another one takes most of the CPU time.
    pub(crate) fn of(facts: &Facts<'_>, demand: Option<&CpuDemand>) -> Option<Self> {
        let requests = || facts.tally.of_kind(SeriesKind::Request).map(|series| &series.merged);
        let all: u64 = requests().map(|request| request.bytes_received).sum();
        let most = requests().max_by_key(|request| request.bytes_received)?;
        let bytes = most.bytes_received as f64 / most.count.max(1) as f64;
        let share = most.bytes_received as f64 / all.max(1) as f64;
        let costs_most = demand.and_then(|demand| demand.most.as_ref()).is_none_or(|(name, _)| *name == *most.key.name);
        (bytes >= LARGE_BYTES_MIN && share >= LARGE_SHARE_MIN && costs_most).then(|| Self {
            name: most.key.name.to_string(),
            bytes: bytes as u64,
            share,
        })
    }

    pub(crate) fn add_to(&self, found: RankedFinding, span: (f64, f64)) -> RankedFinding {
        let text = format!(
            "the responses of \"{}\" have {} on average, and are {} of all bytes received",
            self.name,
            loadstone_units::bytes(self.bytes),
            loadstone_units::share(self.share)
        );
        found.rests_on(text, vec!["bytes/received".to_owned()], span)
    }

    /// Without a full stop.
    pub(crate) fn advice(&self) -> String {
        format!("Return less in \"{}\" (pages, fewer fields): its responses have {}", self.name, loadstone_units::bytes(self.bytes))
    }
}
