//! What to say when no rule finds anything: that nothing limits the target, where the evidence carries that, or what to observe next.

use plan::LoadProfile;
use run_directory::RunEnd;

use crate::Grade;
use crate::facts::Facts;
use crate::facts::load_response::LoadResponse;
use crate::validity::is_steady;

/// Failed share above which failures are the first thing to look at.
const FAILED_MAX: f64 = 0.001;
/// Growth of response times that "does not grow" allows.
const GROWTH_MAX: f64 = 1.25;
/// Part of the throughput asked for that must have been reached.
const REACHED_MIN: f64 = 0.95;
const REQUESTS_MIN: u64 = 100;

pub(super) fn of(facts: &Facts<'_>) -> String {
    let totals = crate::summary::totals(facts.tally);
    if totals.requests < REQUESTS_MIN {
        return cannot_tell("too few requests ended", "Run longer or at a higher rate.");
    }
    if totals.failure_share > FAILED_MAX {
        let failed = format!("{} of the requests failed", units::share(totals.failure_share));
        return cannot_tell(&failed, "Look at the errors first.");
    }
    if facts.run.end != Some(RunEnd::Completed) {
        return cannot_tell("the run did not complete", "Let it run to its end.");
    }
    if facts.validity.grade == Grade::Invalid {
        return cannot_tell("the measurement is not valid", "See the validity checks.");
    }
    let grown: Vec<&LoadResponse> = facts.responses.iter().filter(|response| response.has_grown_with_load()).collect();
    if let [first, ..] = grown[..] {
        return shared(&grown, first);
    }
    let followed: Vec<&LoadResponse> = facts.responses.iter().filter(|response| follows(response)).collect();
    if !followed.is_empty() && followed.len() == facts.responses.iter().filter(|response| response.count >= REQUESTS_MIN).count() {
        return format!(
            "Nothing limits it at this load: throughput followed the load up to {} requests per second, response times did not grow \
             with it, and nothing failed.",
            units::number(top_rate(facts))
        );
    }
    if is_steady(facts.validity) && is_open(facts) {
        return format!(
            "Nothing limits it at this load: every arrival was served, nothing failed and response times stayed steady at {} requests \
             per second. This run cannot tell where the limit is: raise the rate.",
            units::number(totals.request_rate)
        );
    }
    let varied = |response: &LoadResponse| matches!((response.low, response.high), (Some(low), Some(high)) if high.load >= 2.0 * low.load);
    if facts.responses.iter().any(varied) {
        return cannot_tell(
            "as the load rose, response times did not clearly hold, and throughput did not clearly stop",
            "Raise the load further and hold it there, and observe the target's process.",
        );
    }
    cannot_tell(
        "the load did not vary enough to see how the target responds to it",
        "Ramp the load from low to high, and observe the target's process.",
    )
}

fn shared(grown: &[&LoadResponse], first: &LoadResponse) -> String {
    let times = match (first.low, first.high) {
        (Some(low), Some(high)) => {
            format!(" (\"{}\" from {} to {})", first.name, units::seconds(low.service), units::seconds(high.service))
        }
        _ => String::new(),
    };
    if grown.len() > 1 {
        return cannot_tell(
            &format!("{} requests slow down together as the load rises{times}, which points to something they share", grown.len()),
            "Observe the target's process (CPU, threads) and its database.",
        );
    }
    cannot_tell(
        &format!("response times grow with the load{times}, but throughput still follows it"),
        "Raise the load until throughput stops, and observe the target's process.",
    )
}

fn cannot_tell(why: &str, next: &str) -> String {
    format!("Cannot tell what limits it: {why}. {next}")
}

/// Throughput grew with a load that at least doubled, and times did not.
fn follows(response: &LoadResponse) -> bool {
    let (Some(low), Some(high)) = (response.low, response.high) else { return false };
    let inflation = high.service / low.service;
    let asked = response.throughput_per_load().unwrap_or(0.0) * high.load;
    high.load >= 2.0 * low.load && high.throughput >= REACHED_MIN * asked - 2.0 * high.throughput_error && inflation <= GROWTH_MAX
}

/// Highest requests per second over five seconds.
fn top_rate(facts: &Facts<'_>) -> f64 {
    let windows = facts.tally.seconds().windows(5);
    windows.map(|window| window.iter().map(|second| second.requests).sum::<u64>() as f64 / 5.0).fold(0.0, f64::max)
}

fn is_open(facts: &Facts<'_>) -> bool {
    facts.run.plan.load.leaves().iter().all(|leaf| matches!(leaf.profile, LoadProfile::Open { .. }))
}
