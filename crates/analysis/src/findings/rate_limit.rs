//! A rate limit rejects requests or calls, or delays them to an even pace although work waits.
//!
//! The rule reports the first of these cases:
//!
//! - **The target rejects.** It returned 429, or RESOURCE_EXHAUSTED in gRPC, to at least {REJECTED_SHARE_MIN:%} of a request, and at least {REJECTIONS_MIN}
//!   times. Several requests are reported together, since one quota may count them all. The confidence for RESOURCE_EXHAUSTED is at most medium, because a
//!   message that is too large has the same status.
//!   If the rejected responses state the limit (`RateLimit-Policy`, `RateLimit-Limit` and similar headers, or `limit` in the body), the finding has that
//!   number. A number without its window counts per second if about as many requests were accepted.
//! - **The target rejects with another status** at once, such as 403, 503 or UNAVAILABLE (of 5xx, 503 and 509 only), while requests pass at an even rate. Their
//!   number per second must vary less than if a random share was rejected, and must not follow the number that is sent. If one or more pass at a time, it must
//!   also vary less than that of places that are all in use. Otherwise the finding on [failures](failures.md) states the rate, and what else explains it.
//! - **A stub rejects** at least {REJECTED_SHARE_MIN:%} of its calls.
//! - **Calls leave at an even pace** while work waits, and nothing else explains it. The variance over the mean of the calls per second, or per up to
//!   {pace::TURN_SECONDS_MAX} seconds, is below {pace::EVEN_DISPERSION_MAX}; independent calls have 1. At least {PACE_SECONDS_MIN} seconds are needed.
//!
//! [`delaying-limit`](delaying-limit.md) describes limits that only the times of requests show.
//!
//! An even pace comes from a limiter, or from a single worker that takes a constant time. Its confidence is low, and medium if the observed processes were
//! idle and the calls at once varied.

use loadstone_metrics::{ErrorCause, ErrorGroup, SeriesKind, SeriesSlice};

use crate::Evidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::evidence::stated_limit::{self, StatedLimit};
use crate::facts::called::CalledEndpoint;
use crate::facts::exhausted::{Exhausted, ExhaustedResource};
use crate::facts::pace::Evenness;
use crate::facts::readings::most_frequent;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::instant::named;
use crate::statistics::mean_of_batches;
use crate::{Confidence, SeriesTally};

/// Share of a request's responses that must be 429, and of a stub's calls that must be rejected.
const REJECTED_SHARE_MIN: f64 = 0.01;
/// Minimum number of rejections. A single one is no limit whose rate could be named.
const REJECTIONS_MIN: u64 = 5;
/// Range of accepted requests per second over a stated number, in which the number counts per second. Limiters that count in windows accept fewer.
const STATED_OVER_ACCEPTED_RANGE: (f64, f64) = (0.7, 1.1);
/// Fewer accepted requests per second would be shown as none.
const ACCEPTED_MIN: f64 = 0.05;
/// Seconds that are needed to detect an even pace.
const PACE_SECONDS_MIN: usize = 15;
/// Share of the seconds with the same maximum of calls at once, from which busy workers are not ruled out.
const SAME_MAXIMUM_SHARE_MIN: f64 = 0.8;

pub(super) const RULE: Rule = Rule {
    ids: &["rate-limit"],
    page: "rate-limit",
    title: "A rate limit applies",
    says: "a rate limit rejects or delays requests or calls",
    example: Example {
        run: "examples/rate-limit",
        claim: "\"List\" and \"Buy\" are limited to about 40/s together: 16.7 % of their requests were rejected with 429",
    },
    needs: &[],
    settings: &["rate", "limit", "quota"],
    precedence: 220,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    rejected_by_target(facts).or_else(|| rejected_at_once(facts)).or_else(|| rejected_by_stub(facts)).or_else(|| even_pace(facts))
}

/// How a target rejects requests beyond its limit.
#[derive(Clone, Copy)]
enum Refusal {
    /// HTTP 429.
    TooManyRequests,
    /// The same in gRPC, which also uses it for a message that is too large.
    ResourceExhausted,
}

impl Refusal {
    fn name(self) -> &'static str {
        match self {
            Refusal::TooManyRequests => "429",
            Refusal::ResourceExhausted => "RESOURCE_EXHAUSTED",
        }
    }

    /// Rejected requests of a series, in one second or in the whole run.
    fn count(self, series: &SeriesSlice, errors: &[ErrorGroup]) -> u64 {
        match self {
            Refusal::TooManyRequests => series.statuses.iter().find(|(status, _)| *status == 429).map_or(0, |(_, count)| *count),
            Refusal::ResourceExhausted => {
                let is_refused = |error: &&ErrorGroup| error.key == series.key && error.cause == Some(ErrorCause::ResourceExhausted);
                errors.iter().filter(is_refused).map(|error| error.count).sum()
            }
        }
    }
}

/// The target itself rejects requests.
fn rejected_by_target(facts: &Facts<'_>) -> Option<RankedFinding> {
    [Refusal::TooManyRequests, Refusal::ResourceExhausted].into_iter().find_map(|refusal| refused(facts, refusal))
}

#[expect(clippy::too_many_lines, reason = "one finding, its evidence and its advice in the order in which they are read")]
fn refused(facts: &Facts<'_>, refusal: Refusal) -> Option<RankedFinding> {
    let of = |series: &SeriesTally| refusal.count(&series.merged, facts.tally.errors());
    let is_refused = |series: &&SeriesTally| {
        let count = of(series);
        count > 0 && count as f64 >= REJECTED_SHARE_MIN * series.merged.count as f64
    };
    let mut refused: Vec<&SeriesTally> = facts.tally.of_kind(SeriesKind::Request).filter(is_refused).collect();
    refused.sort_by_key(|series| std::cmp::Reverse(of(series)));
    let mut names: Vec<&str> = Vec::new();
    for series in &refused {
        if !names.contains(&&*series.merged.key.name) {
            names.push(&series.merged.key.name);
        }
    }
    let count: u64 = refused.iter().map(|series| of(series)).sum();
    if count < REJECTIONS_MIN {
        return None;
    }
    let all: u64 = refused.iter().map(|series| series.merged.count).sum();
    let how = refusal.name();
    // One quota may count all of them, so the limit is what was accepted of all together.
    let seconds = facts.run.slices.iter().filter_map(|slice| {
        let is_one = |series: &&SeriesSlice| series.key.kind == SeriesKind::Request && names.contains(&&*series.key.name);
        let (ended, rejected) = slice
            .series
            .iter()
            .filter(is_one)
            .fold((0, 0), |(ended, rejected), series| (ended + series.count, rejected + refusal.count(series, &slice.errors)));
        (rejected > 0)
            .then(|| (slice.start as f64 / 1e9, slice.end as f64 / 1e9, ended.saturating_sub(rejected) as f64 / f64::from(slice.seconds())))
    });
    let seconds: Vec<(f64, f64, f64)> = seconds.collect();
    let accepted: Vec<f64> = seconds.iter().map(|(.., accepted)| *accepted).collect();
    let (mean, half) = mean_of_batches(&accepted);
    let (from, to) = (seconds.first()?.0, seconds.last()?.1);
    // Where nothing was accepted, no limit is known.
    let rejects_all = mean < ACCEPTED_MIN;
    let of_refused = facts.tally.errors().iter().filter(|error| names.contains(&&*error.key.name));
    let stated = stated_limit::find(of_refused.filter(|error| error.samples.iter().any(|sample| sample.status == 429)));
    // A number without its window is one per second, if about as many were accepted.
    let per_second = |stated: &StatedLimit| {
        let is_near = mean <= STATED_OVER_ACCEPTED_RANGE.1 * stated.requests && mean >= STATED_OVER_ACCEPTED_RANGE.0 * stated.requests;
        stated.rate().or(is_near.then_some(stated.requests))
    };
    let rate = stated.as_ref().and_then(per_second);
    let (is_limited, its) = match names.len() {
        count if rate.is_some() => {
            let rate = loadstone_units::rate(rate.unwrap_or_default());
            let (are, its) = if count == 1 { ("is", "its requests") } else { ("are together", "their requests") };
            (format!("{are} limited to {rate}, as the target states"), its)
        }
        1 if rejects_all => ("is limited, to an unknown rate".to_owned(), "its requests"),
        _ if rejects_all => ("are limited, to an unknown rate".to_owned(), "their requests"),
        1 => (format!("is limited to about {}", loadstone_units::rate(mean)), "its requests"),
        _ => (format!("are limited to about {} together", loadstone_units::rate(mean)), "their requests"),
    };
    let claim = format!(
        "{} {is_limited}: {} of {its} were rejected with {how}",
        named(&names),
        loadstone_units::share(count as f64 / all.max(1) as f64)
    );
    let interval = match half.is_finite() {
        true => format!(" (95 % interval {}–{})", loadstone_units::number((mean - half).max(0.0)), loadstone_units::number(mean + half)),
        false => String::new(),
    };
    let confidence = if rejects_all && rate.is_none() { Confidence::Medium } else { Confidence::High };
    let limit = match rate {
        Some(rate) => Quantity::rate("limit", rate),
        None => Quantity::rate("limit", mean).within((mean - half).max(0.0), mean + half),
    };
    let found = RankedFinding::new(Standing::Cause, "rate-limit", Subject::requests(names.iter().copied()), confidence, claim)
        .with(Quantity::share("rejected_share", count as f64 / all.max(1) as f64));
    let found = if rejects_all && rate.is_none() { found } else { found.with(limit) };
    let text = format!(
        "{} responses with {how}; in those seconds, {} other requests per second were accepted{interval}",
        loadstone_units::count(count),
        loadstone_units::number(mean)
    );
    let series = ["failures/status", "rate/requests", "rate/passed"].map(str::to_owned).to_vec();
    let evidence = Evidence::new(text, series, (from, to)).of_requests(names.iter().copied());
    let found = found
        .rests_on_drawn(evidence.level("rate/passed", "accepted", mean, (from, to)))
        .try_next("If the limit is intended, stay below it or spread the load over more clients; if not, raise it.");
    let found = match &stated {
        Some(stated) => {
            let text = format!("its responses state a limit of {} ({})", loadstone_units::number(stated.requests), stated.at);
            found.rests_on(text, vec!["failures/status".to_owned()], (from, to))
        }
        None => found,
    };
    Some(match refusal {
        Refusal::TooManyRequests => found,
        Refusal::ResourceExhausted => found.weigh(Alternative::not_ruled_out(
            "A message that is too large, or a resource of the server other than its quota",
            "all three have the same status; the message in the report's errors distinguishes them",
        )),
    })
}

/// The target lets requests through at an even rate, and rejects the others with a status that names no limit.
fn rejected_at_once(facts: &Facts<'_>) -> Option<RankedFinding> {
    let found = facts.rejections.as_ref().filter(|rejections| rejections.are_by_rate())?;
    let mut names: Vec<&str> = found.keys.iter().map(|key| &*key.name).collect();
    names.sort_unstable();
    names.dedup();
    let (rate, share, number) = (loadstone_units::rate, loadstone_units::share, loadstone_units::number);
    let rejected = found.rejected as f64 / found.all.max(1) as f64;
    let (is_limited, its) = match names.len() {
        1 => (format!("is limited to about {}", rate(found.passed)), "its requests"),
        _ => (format!("are limited to about {} together", rate(found.passed)), "their requests"),
    };
    let claim = format!("{} {is_limited}: {} of {its} were rejected at once ({})", named(&names), share(rejected), found.how);
    let (low, high) = ((found.passed - found.half).max(0.0), found.passed + found.half);
    let span = (found.from, found.to);
    let interval = if found.half.is_finite() { format!(" (95 % interval {} to {})", rate(low), rate(high)) } else { String::new() };
    let sent = format!("between {} and {} were sent per second", number(found.sent.0), number(found.sent.1));
    let text = format!("{} passed{interval}, with a standard deviation of {:.1} per second, while {sent}", rate(found.passed), found.deviation);
    let series = ["failures/status", "rate/requests", "rate/passed"].map(str::to_owned).to_vec();
    let evidence = Evidence::new(text, series, span).of_requests(names.iter().copied()).level("rate/passed", "passed", found.passed, span);
    const PLACES: &str = "Places that are all in use (a pool, workers, connections), beyond which the target rejects";
    let at_a_time = if found.at_a_time < 1.0 {
        format!("{} requests passed at a time: less than one place", number(found.at_a_time))
    } else {
        "their rate would vary with the time of each request".to_owned()
    };
    Some(
        RankedFinding::new(Standing::Cause, "rate-limit", Subject::requests(names.iter().copied()), Confidence::High, claim)
            .with(Quantity::share("rejected_share", rejected))
            .with(Quantity::rate("limit", found.passed).within(low, high))
            .rests_on_drawn(evidence)
            .weigh(Alternative::ruled_out(PLACES, at_a_time))
            .weigh(Alternative::ruled_out(
                "A part of the system that rejects a share of all requests, such as one instance of several",
                "the number that passes would vary with the number that is sent",
            ))
            .try_next("If the limit is intended, stay below it or spread the load over more clients; if not, raise it (in a gateway, a proxy or the service)."),
    )
}

/// A limit of a simulated endpoint rejects the system's calls.
fn rejected_by_stub(facts: &Facts<'_>) -> Option<RankedFinding> {
    let end = facts.tally.duration_seconds();
    facts.called.iter().find_map(|endpoint| {
        let (all, rejected) = (endpoint.calls.as_ref()?, endpoint.rejected.as_ref()?);
        let (calls, rejected_calls) = (all.mean(0.0, end)?, rejected.mean(0.0, end)?);
        if rejected_calls < REJECTED_SHARE_MIN * calls || rejected_calls == 0.0 {
            return None;
        }
        let at: Vec<f64> = rejected.between(0.0, end).filter(|(_, value)| *value > 0.0).map(|(at, _)| at).collect();
        let answered = endpoint.answered.as_ref()?;
        let accepted: Vec<f64> = at.iter().filter_map(|at| answered.mean(at - 0.4, at + 0.4)).collect();
        let (mean, _) = mean_of_batches(&accepted);
        let name = endpoint.name;
        let claim = format!(
            "\"{name}\" rejects {} of the calls: the system exceeds its limit of about {}",
            loadstone_units::share(rejected_calls / calls),
            loadstone_units::rate(mean)
        );
        Some(
            RankedFinding::new(Standing::Cause, "rate-limit", Subject::endpoint(name), Confidence::High, claim)
                .with(Quantity::rate("limit", mean))
                .with(Quantity::share("rejected_share", rejected_calls / calls))
                .rests_on_drawn(
                    Evidence::new(
                        format!(
                            "{} calls per second arrived on average, and {} per second were rejected",
                            loadstone_units::number(calls),
                            loadstone_units::number(rejected_calls)
                        ),
                        vec![rejected.name(), all.name(), answered.name()],
                        (*at.first()?, *at.last()?),
                    )
                    .level(&answered.name(), "limit", mean, (*at.first()?, *at.last()?))
                    .level(&rejected.name(), "rejected", rejected_calls, (0.0, end)),
                )
                .try_next("Keep the callers below the limit, and honour Retry-After: each rejected call has to be repeated."),
        )
    })
}

/// Calls leave at an even pace while work waits.
fn even_pace(facts: &Facts<'_>) -> Option<RankedFinding> {
    let is_limit =
        |exhausted: &Exhausted<'_>| !matches!(&exhausted.resource, ExhaustedResource::MachineCpu(machine) if machine.is_filled_by_others());
    if facts.call_ceiling.is_some() || facts.used_up().any(is_limit) || facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up()) {
        return None;
    }
    let waiting = facts.waiting.iter().find(|waiting| waiting.is_unstable())?;
    let (from, to) = (waiting.from + 2.0, waiting.to - 2.0);
    facts.called.iter().find_map(|endpoint| {
        let readings = endpoint.calls.as_ref()?;
        let calls: Vec<f64> = readings.between(from, to).map(|(_, value)| value).collect();
        let (Evenness { mean, deviation, .. }, seconds) = Evenness::over_turns(&calls, PACE_SECONDS_MIN)?;
        let mean = mean / seconds as f64;
        let name = endpoint.name;
        let claim = format!(
            "Calls to \"{name}\" leave at an even {} although work waits: a limiter delays them, or a single worker takes {} per call",
            loadstone_units::rate(mean),
            loadstone_units::seconds(1.0 / mean)
        );
        let (cpu, workers) = (examined::cpu(facts, from, to), busy_workers(endpoint, (from, to)));
        let confidence = if cpu.ruled_out && workers.ruled_out { Confidence::Medium } else { Confidence::Low };
        Some(
            RankedFinding::new(Standing::Cause, "rate-limit", Subject::endpoint(name), confidence, claim)
                .with(Quantity::rate("limit", mean))
                .rests_on(
                    format!("{}, while {} waited", how_even(mean, deviation, seconds), waiting.what()),
                    vec![readings.name()],
                    (from, to),
                )
                .weigh(cpu)
                .weigh(workers)
                .try_next(
                    "Observe the processes that send the calls: one that keeps a core busy is that worker. Otherwise find the limiter in \
                     the system itself, and set it to what the endpoint allows.",
                ),
        )
    })
}

fn how_even(mean: f64, deviation: f64, seconds: usize) -> String {
    match seconds {
        1 => format!("{mean:.1} calls per second with a standard deviation of {deviation:.1}"),
        _ => format!("{mean:.1} calls per second; the number in each {seconds} s has a standard deviation of {deviation:.1}"),
    }
}

/// Workers that are all busy with calls would reach the same maximum of calls at once in every second.
fn busy_workers(endpoint: &CalledEndpoint<'_>, (from, to): (f64, f64)) -> Alternative {
    const OTHER: &str = "Workers that are all busy with calls";
    let Some(most) = &endpoint.in_flight_max else {
        return Alternative::not_ruled_out(OTHER, "the calls at once were not counted");
    };
    let counts: Vec<f64> = most.between(from, to).map(|(_, count)| count.round()).collect();
    let usual = most_frequent(&counts);
    let share = counts.iter().filter(|count| **count == usual).count() as f64 / counts.len().max(1) as f64;
    let seen = format!("the maximum of calls at once was {usual:.0} in {} of the seconds", loadstone_units::share(share));
    if share < SAME_MAXIMUM_SHARE_MIN { Alternative::ruled_out(OTHER, seen) } else { Alternative::not_ruled_out(OTHER, seen) }
}
