//! A rate limit: one that says so (429), or one that lets calls out at an even pace however much work waits.
//!
//! Made if one of these holds:
//!
//! - the target returned 429, or in gRPC RESOURCE_EXHAUSTED, to 1 % of a request or more, and at least five times. Several requests are reported together,
//!   since one quota may count them all. RESOURCE_EXHAUSTED has at most medium confidence, because it also means that a message is too large;
//! - a stub rejected 1 % of its calls;
//! - throughput of a request stopped as under [`effective-concurrency`](effective-concurrency.md) while others kept their times, at no whole number of
//!   slots: a limiter that delays or, from one slot on, a lock or pool that is held for a part of the request; k places that are held for a share *s* of
//!   it let k/s through at a time (medium; low where no control group was observed, since a CPU quota looks the same). Not where others wait as well and
//!   cannot be counted, unless all leave at an even pace: then what stopped is only a part of what passes;
//! - all requests stopped together at an even pace, though their service times differ at least twofold (a limiter, or what each holds for the same part
//!   of its time), or where it was not seen how long they take alone (a limiter, or places that each holds for the same time: their number is throughput
//!   × the time of the fastest, where that is within 0.125 of a whole number);
//! - with low confidence: calls left at an even pace while work waited (variance over mean of the calls in one second, or in up to five, below 0.1, where
//!   independent calls have 1: callers that take turns of 0.4 s make 2 or 3 calls in a second, and always 5 in two), and nothing else explains it. That
//!   is a limiter, or a single worker with a fixed time. Medium where the observed processes were idle and the calls at once varied. A machine that is
//!   full of programs which are not observed makes no calls even, so it does not speak against it.

use loadstone_metrics::{ErrorGroup, SeriesKind, SeriesSlice};

use crate::finding::Alternative;
use crate::evidence::examined;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::called::CalledEndpoint;
use crate::facts::exhausted::{Exhausted, ExhaustedResource};
use crate::facts::failures::{RESOURCE_EXHAUSTED, is_exhausted};
use crate::facts::pace::Evenness;
use crate::facts::readings::most_frequent;
use crate::instant::named;
use crate::statistics::mean_of_batches;
use crate::{Confidence, SeriesTally};

/// Share of a request's responses that must be 429, and of a stub's calls that must be rejected.
const REJECTED_MIN: f64 = 0.01;
/// Rejections that there must be. A single one is no limit whose rate could be named.
const REJECTIONS_MIN: u64 = 5;
/// Fewer accepted requests per second would be shown as none.
const ACCEPTED_MIN: f64 = 0.05;
/// Seconds that are needed to tell an even pace.
const SECONDS_MIN: usize = 15;
/// Share of the seconds with the same most calls at once, from which busy workers are not ruled out.
const SAME_SHARE: f64 = 0.8;

pub(super) const RULE: Rule = Rule {
    ids: &["rate-limit"],
    title: "A rate limit applies",
    says: "a rate limit rejects or delays requests or calls",
    needs: &[],
    settings: &["rate", "limit", "quota"],
    precedence: 220,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    told_by_the_target(facts).or_else(|| told_by_a_stub(facts)).or_else(|| even_pace(facts))
}

/// How a target says that it was asked for more than it allows.
#[derive(Clone, Copy)]
enum Refusal {
    /// HTTP 429.
    TooManyRequests,
    /// The same in gRPC, which says it of a message that is too large, too.
    ResourceExhausted,
}

impl Refusal {
    fn name(self) -> &'static str {
        match self {
            Refusal::TooManyRequests => "429",
            Refusal::ResourceExhausted => RESOURCE_EXHAUSTED,
        }
    }

    /// So many of a request in a second, or in all.
    fn count(self, series: &SeriesSlice, errors: &[ErrorGroup]) -> u64 {
        match self {
            Refusal::TooManyRequests => series.statuses.iter().find(|(status, _)| *status == 429).map_or(0, |(_, count)| *count),
            Refusal::ResourceExhausted => {
                let is_refused = |error: &&ErrorGroup| error.key == series.key && is_exhausted(&error.message);
                errors.iter().filter(is_refused).map(|error| error.count).sum()
            }
        }
    }
}

/// The target itself refuses requests.
fn told_by_the_target(facts: &Facts<'_>) -> Option<RankedFinding> {
    [Refusal::TooManyRequests, Refusal::ResourceExhausted].into_iter().find_map(|refusal| refused(facts, refusal))
}

fn refused(facts: &Facts<'_>, refusal: Refusal) -> Option<RankedFinding> {
    let of = |series: &SeriesTally| refusal.count(&series.merged, facts.tally.errors());
    let is_refused = |series: &&SeriesTally| {
        let count = of(series);
        count > 0 && count as f64 >= REJECTED_MIN * series.merged.count as f64
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
    // One quota may count all of them, so what was accepted of all is what it lets through.
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
    let (is_limited, its) = match names.len() {
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
    let interval =
        if half.is_finite() { format!(" (95 % interval {:.1}–{:.1})", (mean - half).max(0.0), mean + half) } else { String::new() };
    let confidence = if rejects_all { Confidence::Medium } else { Confidence::High };
    let found = RankedFinding::new(Standing::Cause, "rate-limit", Subject::requests(names.iter().copied()), confidence, claim);
    let limit = Quantity::rate("limit", mean).within((mean - half).max(0.0), mean + half);
    let found = if rejects_all { found } else { found.with(limit) };
    let found = found
        .rests_on(
            format!(
                "{} responses with {how}; in those seconds, {mean:.1} other requests per second were accepted{interval}",
                loadstone_units::count(count)
            ),
            vec!["failures/status".to_owned(), "rate/requests".to_owned()],
            (from, to),
        )
        .try_next("If the limit is intended, stay below it or spread the load over more clients; if not, raise it.");
    Some(match refusal {
        Refusal::TooManyRequests => found,
        Refusal::ResourceExhausted => found.weigh(Alternative::not_ruled_out(
            "A message that is larger than allowed, or a resource of the server other than its quota",
            "the status says the same of all three; its message in the errors of the report tells them apart",
        )),
    })
}

/// A limit of a simulated endpoint rejects calls of the system.
fn told_by_a_stub(facts: &Facts<'_>) -> Option<RankedFinding> {
    let end = facts.tally.duration_seconds();
    facts.called.iter().find_map(|endpoint| {
        let (all, rejected) = (endpoint.calls.as_ref()?, endpoint.rejected.as_ref()?);
        let (calls, rejected_calls) = (all.mean(0.0, end)?, rejected.mean(0.0, end)?);
        if rejected_calls < REJECTED_MIN * calls || rejected_calls == 0.0 {
            return None;
        }
        let at: Vec<f64> = rejected.between(0.0, end).filter(|(_, value)| *value > 0.0).map(|(at, _)| at).collect();
        let answered = endpoint.answered.as_ref()?;
        let accepted: Vec<f64> = at.iter().filter_map(|at| answered.mean(at - 0.4, at + 0.4)).collect();
        let (mean, _) = mean_of_batches(&accepted);
        let name = endpoint.name;
        let claim = format!(
            "\"{name}\" rejects {} of the calls: the system calls faster than its limit, which lets about {} through",
            loadstone_units::share(rejected_calls / calls),
            loadstone_units::rate(mean)
        );
        Some(
            RankedFinding::new(Standing::Cause, "rate-limit", Subject::endpoint(name), Confidence::High, claim)
                .rests_on(
                    format!(
                        "{} calls per second arrived on average, and {} of them were rejected",
                        loadstone_units::number(calls),
                        loadstone_units::number(rejected_calls)
                    ),
                    vec![rejected.name(), all.name()],
                    (*at.first()?, *at.last()?),
                )
                .try_next("Keep the callers below the limit, and honour Retry-After: a rejected call is work done twice."),
        )
    })
}

/// Calls leave at an even pace while work waits.
fn even_pace(facts: &Facts<'_>) -> Option<RankedFinding> {
    let is_limit =
        |exhausted: &Exhausted<'_>| !matches!(&exhausted.resource, ExhaustedResource::MachineCpu(machine) if machine.is_filled_by_others());
    if facts.call_ceiling.is_some() || facts.used_up().any(is_limit) || facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up) {
        return None;
    }
    let waiting = facts.waiting.iter().find(|waiting| waiting.is_unstable())?;
    let (from, to) = (waiting.from + 2.0, waiting.to - 2.0);
    facts.called.iter().find_map(|endpoint| {
        let readings = endpoint.calls.as_ref()?;
        let calls: Vec<f64> = readings.between(from, to).map(|(_, value)| value).collect();
        let (Evenness { mean, deviation, .. }, seconds) = Evenness::over_turns(&calls, SECONDS_MIN)?;
        let mean = mean / seconds as f64;
        let name = endpoint.name;
        let claim = format!(
            "Calls to \"{name}\" leave at an even {} however much work waits: a limiter at that rate is in their path, or a single \
             worker that takes {} for each",
            loadstone_units::rate(mean),
            loadstone_units::seconds(1.0 / mean)
        );
        let (cpu, workers) = (examined::cpu(facts, from, to), busy_workers(endpoint, (from, to)));
        let confidence = if cpu.ruled_out && workers.ruled_out { Confidence::Medium } else { Confidence::Low };
        Some(
            RankedFinding::new(Standing::Cause, "rate-limit", Subject::endpoint(name), confidence, claim)
                .rests_on(
                    format!("{}, while {} waited", how_even(mean, deviation, seconds), waiting.what()),
                    vec![readings.name()],
                    (from, to),
                )
                .weigh(cpu)
                .weigh(workers)
                .try_next(
                    "Observe the processes that make the calls: one that keeps a core busy is that worker. Otherwise look for a \
                 limiter in the system itself, and set it to what the endpoint really allows.",
                ),
        )
    })
}

fn how_even(mean: f64, deviation: f64, seconds: usize) -> String {
    match seconds {
        1 => format!("{mean:.1} calls per second with a standard deviation of {deviation:.1}"),
        _ => format!("{mean:.1} calls per second; their number in each {seconds} s has a standard deviation of {deviation:.1}"),
    }
}

/// Workers that are all busy in calls: these would reach the same number at a time, second after second.
fn busy_workers(endpoint: &CalledEndpoint<'_>, (from, to): (f64, f64)) -> Alternative {
    const OTHER: &str = "Workers that are all busy with calls";
    let Some(most) = &endpoint.in_flight_max else {
        return Alternative::not_ruled_out(OTHER, "it was not counted how many calls there were at once");
    };
    let counts: Vec<f64> = most.between(from, to).map(|(_, count)| count.round()).collect();
    let usual = most_frequent(&counts);
    let share = counts.iter().filter(|count| **count == usual).count() as f64 / counts.len().max(1) as f64;
    let told = format!("the most calls at once were {usual:.0} in {} of the seconds", loadstone_units::share(share));
    if share < SAME_SHARE { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
}
