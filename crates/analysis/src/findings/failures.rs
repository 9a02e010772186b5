//! Requests that fail: which ones, how, since when, and what share.
//!
//! The rule reports a request with {FAILED_MIN} failures or {SHARE_MIN:%} of failed samples. It ignores requests that the generator could not send, and
//! requests that a [rate limit](rate-limit.md) rejected. If the others pass at an even rate that something else may explain as well, the evidence states the
//! rate. Requests that begin to fail within {SAME_INSTANT_MAX_S} s of each other are one finding.
//!
//! | part of the finding | meaning |
//! |---|---|
//! | since when | the likeliest stretch (scan statistic, Kulldorff 1997), with {failures::STRETCH_SHARE_FACTOR_MIN} times the share elsewhere |
//! | "above 50/s" | the load was never as high outside of that stretch |
//! | "throughout the run" | there is no stretch, and the failures are spread over the run |
//! | "all of them between" | there is no stretch, and the failures are not spread over the run |
//! | "rejects them on purpose" | all recorded responses of that kind have `Retry-After`, or a `RateLimit` header without a request left |
//! | first response | the longest string in its JSON body, plain text, or `grpc-message`: up to {failure_message::MESSAGE_CHARS_MAX} characters |
//! | a service or its calls | the deepest span that fails as often (within {failed_spans::DIFFERENCE_PART_MAX:%}), in the same seconds |
//! | a dependency | it left one to {failed_calls::CALLS_PER_FAILURE_MAX} more calls unanswered for each failed request |
//! | times | of one length: a time limit. At most {REJECTED_FACTOR_MAX:%} of the other requests' median: rejected early |
//!
//! A service needs [traces](../traces.md). Without them, a dependency needs a stub or a proxy, and failures that form a stretch. Its unanswered calls
//! must exceed those of other seconds by {failed_calls::DEVIATIONS_MIN} standard deviations. If several dependencies have as many, the one with the most
//! ranks first.
//!
//! The evidence lists times and signals that changed at the same instant.
//!
//! Failures rank after what explains them, and first otherwise. These explain them:
//!
//! - a load that the system could not carry, or work that was waiting when they began
//! - a resource, a pool, a lock or workers that were used up when they began, or from {SAME_INSTANT_MAX_S} s later at most
//! - [connections that a database refuses](refused-connections.md)
//! - pauses behind a lock, if {failed_in_pauses::FACTOR_MIN} times as many requests fail in them, by chance in {failed_in_pauses::P_VALUE_MAX:%} of cases
//!
//! If {ranked::ACCOUNTED_FAILURES_MIN:%} or more of the requests fail to the end of the run, without an observed cause and without waiting for longer than the
//! others, the failures rank before any cause of low confidence.
//!
//! They rank as a cause, before a full resource, if the target answers {NEARLY_ALWAYS_SHARE_MIN:%} or more of one request's samples with an error
//! throughout the run, and these are {MANY_OF_ALL_MIN:%} of all requests or more.
//!
//! Without a failed request, iterations that the script declared failed (`user.fail`) are reported, and those in which it threw an exception. Only the latter
//! are errors of the script.
//!
//! If `onStart` fails for every user of a scenario, no iteration begins, and a finding names the most frequent error of `onStart`.
//!
//! `lost-journeys` reports journeys that did not finish within the time limit of their flow.

use loadstone_metrics::{ErrorGroup, Outcome, Role, SeriesKind, Snapshot};
use loadstone_plan::TestLanguage;

use crate::Evidence;
use crate::evidence::{failed_calls, failed_place};
use crate::facts::Facts;
use crate::facts::changes::Change;
use crate::facts::failed_calls::FailedCalls;
use crate::facts::failed_spans::FailedPlace;
use crate::facts::failure_message::FailureMessage;
use crate::facts::failures::{FailedWhen, Failing};
use crate::facts::rejections::Rejections;
use crate::facts::stated_rejection::StatedRejection;
use crate::finding::Alternative;
use crate::finding::ranked::{Account, GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// Findings that are reported, and requests that each of them lists.
const FINDINGS_MAX: usize = 3;
const LISTED_MAX: usize = 5;
/// Failures, or share of failures, from which a request is reported.
const FAILED_MIN: u64 = 3;
const SHARE_MIN: f64 = 0.01;
/// Share of the requests of one name from which nearly all of them fail, and these failures as a part of the run's requests.
const NEARLY_ALWAYS_SHARE_MIN: f64 = 0.9;
const MANY_OF_ALL_MIN: f64 = 0.3;
/// Share from which failures are a symptom, not only a fault.
const SYMPTOM_SHARE_MIN: f64 = 0.05;
/// Seconds between instants that count as the same.
const SAME_INSTANT_MAX_S: f64 = 3.0;
/// 90th over 10th percentile of failed requests, up to which all took the same time.
const EQUAL_TIMES_FACTOR_MAX: f64 = 1.05;
/// Median of failed requests over that of the others, up to which the system rejects them early.
const REJECTED_FACTOR_MAX: f64 = 0.5;
/// Failed requests of one length, with no longer request, that show a time limit. Fewer may be chance.
const LONGEST_FAILED_MIN: u64 = 5;

const FIX_SCRIPT: &str = "The test's own script threw an exception: fix it first.";

pub(super) const RULE: Rule = Rule {
    ids: &["failures", "lost-journeys"],
    page: "failures",
    title: "Requests fail",
    says: "which request failed, how, and since when or above which load",
    example: Example {
        run: "corpus/python.errors-later.gross.ramp.nothing.1",
        claim: "100 % of \"Buy\" failed above 23.4/s, from 0:13 on (status 500); \"Item\", \"Login\", \"Report\" and 1 more with it",
    },
    needs: &[],
    settings: &["timeout", "limit"],
    precedence: 10,
    find: FindingSearch::Each(find),
};

fn find(facts: &Facts<'_>) -> Vec<RankedFinding> {
    let is_pattern = |failing: &&Failing<'_>| {
        let share = failing.failed as f64 / failing.count.max(1) as f64;
        failing.failed >= FAILED_MIN || share >= SHARE_MIN
    };
    // Another rule reports a rate limit that rejects requests.
    let by_rate = facts.rejections.as_ref().filter(|rejections| rejections.are_by_rate());
    let is_limited = |failing: &&Failing<'_>| failing.is_rate_limited() || by_rate.is_some_and(|rejections| rejections.has(failing.key));
    let mut left: Vec<&Failing<'_>> = facts.failing.iter().filter(is_pattern).filter(|failing| !is_limited(failing)).collect();
    let mut found = Vec::new();
    while found.len() < FINDINGS_MAX && !left.is_empty() {
        let lead = left.remove(0);
        let (with, others): (Vec<&Failing<'_>>, Vec<&Failing<'_>>) = left.into_iter().partition(|other| are_together(lead, other));
        left = others;
        found.push(finding(facts, lead, &with));
    }
    found.extend(lost_journeys(facts));
    found.extend(facts.tally.failed_starts().into_iter().map(|(error, count)| no_user_started(facts, error, count)));
    found
}

/// Nothing else can be found about a scenario that never ran.
fn no_user_started(facts: &Facts<'_>, error: &ErrorGroup, count: u64) -> RankedFinding {
    let name = &*error.key.name;
    let claim = format!("No user of \"{name}\" began: onStart failed for all of them ({})", error.message);
    let whole = (0.0, facts.tally.duration_seconds());
    RankedFinding::new(Standing::Cause, "failures", Subject::Scenario { name: name.to_owned() }, Confidence::High, claim)
        .with(Quantity::count("failed", count as f64))
        .rests_on(
            format!("onStart of \"{name}\" failed {} times, and no iteration began", loadstone_units::count(count)),
            vec!["rate/failures".to_owned()],
            whole,
        )
        .try_next("Fix what onStart needs, such as the login. `loadstone try` shows its requests and responses.")
}

fn are_together(a: &Failing<'_>, b: &Failing<'_>) -> bool {
    let at = |failing: &Failing<'_>| match failing.when {
        FailedWhen::Within(first, _) => Some(first),
        when => when.onset(),
    };
    let is_at_once = |a: f64, b: f64| (a - b).abs() <= SAME_INSTANT_MAX_S;
    if let (Some(a), Some(b)) = (sent_at(a), sent_at(b)) {
        return is_at_once(a, b);
    }
    match (at(a), at(b)) {
        (Some(a), Some(b)) => is_at_once(a, b),
        (None, None) => a.when == b.when && a.kinds.first().map(|kind| &kind.text) == b.kinds.first().map(|kind| &kind.text),
        _ => false,
    }
}

/// The service at fault, the request that failed and those that failed with it, or the scenario whose script threw.
fn subject(failing: &Failing<'_>, place: &FailuresPlace<'_, '_>, with: &[&str]) -> Subject {
    let name = &*failing.key.name;
    if let Some(subject) = place.subject() {
        return subject;
    }
    if failing.key.kind == SeriesKind::Iteration {
        return Subject::Scenario { name: name.to_owned() };
    }
    Subject::requests(std::iter::once(name).chain(with.iter().copied()))
}

fn finding(facts: &Facts<'_>, failing: &Failing<'_>, with: &[&Failing<'_>]) -> RankedFinding {
    let names: Vec<&str> = with.iter().map(|other| &*other.key.name).collect();
    let with_it = if names.is_empty() { String::new() } else { format!("; {} with it", named(&names)) };
    let place = FailuresPlace::of(facts, failing);
    let is_on_purpose = failing.stated_rejection.as_ref().map(|_| "the target rejects them on purpose".to_owned());
    let where_to = place.claim().or(is_on_purpose).map_or_else(String::new, |where_to| format!(": {where_to}"));
    let claim = format!("{}{where_to}{with_it}", claim(failing));
    let (standing, share) = (standing(facts, failing), failing.share());
    let span = span(facts, failing);
    let (low, high) = failing.interval;
    let mut found = RankedFinding::new(standing, "failures", subject(failing, &place, &names), Confidence::High, claim)
        .accounting_for(account(facts, failing, span))
        .with(Quantity::share("failed", share).within(low, high));
    if let Some(at) = failing.when.onset() {
        found = found.with(Quantity::seconds("from", at));
    }
    if let FailedWhen::AboveLoad { load, is_open, .. } = failing.when {
        found = found.with(if is_open { Quantity::rate("load", load) } else { Quantity::count("load", load) });
    }
    let text = format!(
        "{} of {} \"{}\" failed{}: {} (95 % interval {}–{})",
        loadstone_units::count(failing.while_failing.0),
        loadstone_units::count(failing.while_failing.1),
        failing.key.name,
        when(failing.when),
        loadstone_units::share(share),
        loadstone_units::share(low),
        loadstone_units::share(high)
    );
    found = found.rests_on_drawn(drawn(failing, text, span).level("failures/share", "failed", share, span));
    if failing.kinds.len() > 1 {
        let kinds: Vec<String> =
            failing.kinds.iter().take(LISTED_MAX).map(|kind| format!("{} × {}", loadstone_units::count(kind.count), kind.text)).collect();
        found = found.rests_on_drawn(drawn(failing, kinds.join(", "), span));
    }
    if let Some(message) = &failing.message {
        found = found.rests_on(format!("the first response: \"{}\"", message.first), Vec::new(), span);
    }
    if let Some(stated) = &failing.stated_rejection {
        found = found.rests_on(as_stated(stated), Vec::new(), span);
    }
    found = with_causes(facts, failing, &place, found, span);
    for other in with.iter().take(LISTED_MAX) {
        let evidence = drawn(other, claim_of_other(other), span);
        found = found.rests_on_drawn(evidence.level("failures/share", "failed", other.share(), span));
    }
    for change in changed_with(facts, failing).into_iter().take(LISTED_MAX) {
        let text = format!(
            "\"{}\" went from {} to {} with it",
            change.of.name(),
            loadstone_units::seconds(change.before.median),
            loadstone_units::seconds(change.after.median)
        );
        found = found.rests_on_drawn(changed(change, text, span));
    }
    found = signals(facts, failing, found, span);
    let failed = |name: &str| facts.failing.iter().any(|other| &*other.key.name == name);
    let requests = facts.tally.of_kind(SeriesKind::Request).map(|series| &*series.merged.key.name);
    let mut passed: Vec<&str> = requests.filter(|name| !failed(name)).collect();
    passed.dedup();
    if !passed.is_empty() {
        found = found.rests_on(format!("none of {} failed", named(&passed)), Vec::new(), span);
    }
    if let Some(share) = failing.as_much_load_outside {
        let because = format!("it was as high in {} of the other seconds", loadstone_units::share(share));
        found = found.weigh(Alternative::ruled_out("The load", because));
    }
    let uncertainty = if facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    let what_to_do = place.next(failing).unwrap_or_else(|| next(facts, failing));
    RankedFinding { uncertainty, ..found.try_next(what_to_do) }
}

/// How the responses show that the target rejects on purpose.
fn as_stated(stated: &StatedRejection) -> String {
    let responses = match stated.responses {
        1 => "the only recorded response asks".to_owned(),
        count => format!("all {count} recorded responses ask"),
    };
    format!("{responses} the client to retry later (`{}`)", stated.header)
}

/// With the place of the failures, an even rate of the other requests, refused connections, and times.
fn with_causes(
    facts: &Facts<'_>,
    failing: &Failing<'_>,
    place: &FailuresPlace<'_, '_>,
    found: RankedFinding,
    span: (f64, f64),
) -> RankedFinding {
    let found = place.as_evidence(found, failing);
    let rejections = facts.rejections.as_ref().filter(|rejections| rejections.has(failing.key));
    let found = rejections.into_iter().fold(found, |found, rejections| found.rests_on_drawn(even_rate(rejections)));
    let found = refused_connections(facts, found, span);
    times(failing)
        .into_iter()
        .fold(found, |found, text| found.rests_on_drawn(with_times(failing, Evidence::new(text, vec!["response/p50".to_owned()], span))))
}

/// Where the requests fail inside the system: by their spans, or by the calls that dependencies left unanswered.
enum FailuresPlace<'f, 'a> {
    Span(&'f FailedPlace<'a>),
    Calls(Vec<&'f FailedCalls<'a>>),
}

impl<'f, 'a> FailuresPlace<'f, 'a> {
    fn of(facts: &'f Facts<'a>, failing: &Failing<'_>) -> Self {
        let is_it = |index: usize| facts.failing.get(index).is_some_and(|other| other.key == failing.key);
        match facts.failed_places.iter().find(|place| is_it(place.failing)) {
            Some(place) => Self::Span(place),
            None => Self::Calls(facts.failed_calls.iter().filter(|calls| is_it(calls.failing)).collect()),
        }
    }

    fn subject(&self) -> Option<Subject> {
        match self {
            Self::Span(place) => Some(Subject::service(place.service())),
            Self::Calls(calls) => Some(Subject::endpoint(calls.first()?.endpoint)),
        }
    }

    fn claim(&self) -> Option<String> {
        match self {
            Self::Span(place) => Some(failed_place::claim(place)),
            Self::Calls(calls) => Some(failed_calls::claim(calls.first()?)),
        }
    }

    fn as_evidence(&self, found: RankedFinding, failing: &Failing<'_>) -> RankedFinding {
        match self {
            Self::Span(place) => found.rests_on(failed_place::evidence(place, &failing.key.name), Vec::new(), place.stretch),
            Self::Calls(calls) => failed_calls::with_calls(found, calls),
        }
    }

    fn next(&self, failing: &Failing<'_>) -> Option<String> {
        match self {
            Self::Span(place) => Some(failed_place::next(place, &since(failing))),
            Self::Calls(calls) => Some(failed_calls::next(calls.first()?, &since(failing))),
        }
    }
}

/// ` at 0:30`, if the failures began in mid-run.
fn since(failing: &Failing<'_>) -> String {
    failing.when.onset().map_or_else(String::new, |at| format!(" at {}", clock(at)))
}

/// Whether something observed explains the failures: refused connections, a lock in whose pauses they occur, or a shortage that began before them or with them.
fn has_observed_cause(facts: &Facts<'_>, failing: &Failing<'_>) -> bool {
    let is_refused = facts.connection_limit.as_ref().is_some_and(|limit| {
        facts.failing.get(limit.failing).is_some_and(|refused| refused.key == failing.key || are_together(refused, failing))
    });
    let is_of_lock =
        facts.failed_in_pauses.iter().any(|of| facts.failing.get(of.failing).is_some_and(|in_pauses| in_pauses.key == failing.key));
    is_refused || is_of_lock || failing.when.onset().is_some_and(|at| follows_a_shortage(facts, at))
}

/// Whether work waited for an observed shortage when failures began: a resource, a pool, sessions, workers or connections.
fn follows_a_shortage(facts: &Facts<'_>, at: f64) -> bool {
    let is_then = |from: f64, to: f64| from <= at + SAME_INSTANT_MAX_S && at <= to + SAME_INSTANT_MAX_S;
    facts.exhausted.first().is_some_and(|exhausted| exhausted.resource.is_wanted() && is_then(exhausted.from, exhausted.to))
        || facts.pools.first().is_some_and(|pool| is_then(pool.from, pool.to))
        || facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up() && is_then(wait.from, wait.to))
        || facts.accept_queue.as_ref().is_some_and(|queue| is_then(queue.from, queue.to))
        || facts.constant_connections.as_ref().is_some_and(|held| is_then(held.from, held.to))
}

/// Whether the target answers nearly all of these requests, and many of the run's, with an error at any load. A resource that is full meanwhile then matters
/// less.
fn fails_nearly_always(facts: &Facts<'_>, failing: &Failing<'_>) -> bool {
    let all = facts.tally.together(SeriesKind::Request).map_or(0, |all| all.count);
    let is_answer = failing.kinds.first().is_some_and(|kind| matches!(kind.outcome, Outcome::Status | Outcome::Expect));
    is_answer && failing.share() >= NEARLY_ALWAYS_SHARE_MIN && failing.failed as f64 >= MANY_OF_ALL_MIN * all as f64
}

/// The failures as an account of what requests experience, if they go on to the end. Failures of an observed cause are its effect, and those of requests that
/// waited before they failed are the effect of the wait.
fn account(facts: &Facts<'_>, failing: &Failing<'_>, span: (f64, f64)) -> Option<Account> {
    let goes_on = matches!(failing.when, FailedWhen::AboveLoad { .. } | FailedWhen::Since(_)) && failing.key.kind == SeriesKind::Request;
    let waited = timed_out(failing) * 2 > failing.failed
        || failing.times.is_none_or(|times| times.passed.is_some_and(|passed| times.median > passed.median));
    (goes_on && !waited && !has_observed_cause(facts, failing)).then(|| Account::Failures(facts.strain.failed_share(span)))
}

/// Failures are a consequence of a limit if they occur above a load, or if work had been waiting before.
fn standing(facts: &Facts<'_>, failing: &Failing<'_>) -> Standing {
    let is_limited = !facts.waiting.is_empty() || !facts.plateaus.limited.is_empty();
    let waited_before =
        |at: f64| facts.waiting.iter().any(|waiting| waiting.from + SAME_INSTANT_MAX_S < at && at < waiting.to + SAME_INSTANT_MAX_S);
    match failing.when {
        _ if has_observed_cause(facts, failing) => Standing::Consequence,
        _ if first_failure(facts, failing).is_some_and(|at| facts.began_with_retry_storm(at)) => Standing::Consequence,
        FailedWhen::AboveLoad { .. } if is_limited => Standing::Consequence,
        FailedWhen::Since(at) | FailedWhen::Between(at, _) if waited_before(at) => Standing::Consequence,
        FailedWhen::Since(_) | FailedWhen::AboveLoad { .. } => Standing::Symptom,
        FailedWhen::Throughout if fails_nearly_always(facts, failing) => Standing::Cause,
        FailedWhen::Throughout | FailedWhen::Within(..) if failing.share() >= SYMPTOM_SHARE_MIN => Standing::Symptom,
        FailedWhen::Throughout | FailedWhen::Within(..) => Standing::Fault,
        FailedWhen::Between(..) | FailedWhen::Until(_) => Standing::Passing,
    }
}

/// The begin of the first second with a failure. Seconds since the run began.
fn first_failure(facts: &Facts<'_>, failing: &Failing<'_>) -> Option<f64> {
    let has_failed = |slice: &&Snapshot| slice.series.iter().any(|series| series.failed > 0 && series.key == *failing.key);
    facts.run.slices.iter().find(has_failed).map(|slice| slice.start as f64 / 1e9)
}

fn claim(failing: &Failing<'_>) -> String {
    let message = failing.message.as_ref().and_then(FailureMessage::in_claim);
    let message = message.map_or_else(String::new, |message| format!(": \"{message}\""));
    let how = failing.kinds.first().map_or_else(String::new, |kind| {
        let most = if failing.kinds.len() > 1 { "mostly " } else { "" };
        format!(" ({most}{}{message})", kind.text)
    });
    let share = loadstone_units::share(failing.share());
    let of = if failing.key.kind == SeriesKind::Iteration { "the iterations of " } else { "" };
    format!("{share} of {of}\"{}\" failed{}{how}", failing.key.name, when(failing.when))
}

fn claim_of_other(failing: &Failing<'_>) -> String {
    format!(
        "{}: {} of {}",
        claim(failing),
        loadstone_units::count(failing.while_failing.0),
        loadstone_units::count(failing.while_failing.1)
    )
}

fn when(when: FailedWhen) -> String {
    match when {
        FailedWhen::Throughout => " throughout the run".to_owned(),
        FailedWhen::Since(at) => format!(" from {} on", clock(at)),
        FailedWhen::Within(first, last) => format!(", all of them between {} and {}", clock(first), clock(last)),
        FailedWhen::Until(to) => format!(" until {}", clock(to)),
        FailedWhen::Between(from, to) => format!(" from {} to {}", clock(from), clock(to)),
        FailedWhen::AboveLoad { load, is_open, of_several, at } => {
            let reached = if is_open { loadstone_units::rate(load) } else { loadstone_units::counted(load.round() as u64, "user") };
            let in_all = if of_several { " in all" } else { "" };
            format!(" above {reached}{in_all}, from {} on", clock(at))
        }
    }
}

fn span(facts: &Facts<'_>, failing: &Failing<'_>) -> (f64, f64) {
    failing.when.span(facts.tally.duration_seconds())
}

/// The request's own failures. The charts have no series of a scenario.
fn drawn(failing: &Failing<'_>, text: String, span: (f64, f64)) -> Evidence {
    if failing.key.kind != SeriesKind::Request {
        return Evidence::new(text, vec!["rate/failures".to_owned()], span);
    }
    let outcome = failing.kinds.first().map(|kind| kind.outcome);
    // The names of outcomes are those of the record.
    let name = outcome.map(|outcome| format!("{outcome:?}").to_lowercase());
    let kind = name.map(|name| format!("failures/{name}"));
    let series = kind.into_iter().chain(["rate/failures".to_owned(), "failures/share".to_owned()]);
    Evidence::new(text, series.collect(), span).of_requests([&*failing.key.name])
}

/// The times of failed requests and of the others, in the distribution of all.
fn with_times(failing: &Failing<'_>, evidence: Evidence) -> Evidence {
    let Some(times) = failing.times.filter(|_| failing.key.kind == SeriesKind::Request) else { return evidence };
    let evidence = evidence.of_requests([&*failing.key.name]).time("failed", times.median);
    times.passed.into_iter().fold(evidence, |evidence, passed| evidence.time("the others", passed.median))
}

/// A request whose times changed with the failures.
fn changed(change: &Change, text: String, span: (f64, f64)) -> Evidence {
    let requests = (change.of.kind() == Some(SeriesKind::Request)).then(|| change.of.name());
    let series = if requests.is_some() { vec!["service/p50".to_owned()] } else { Vec::new() };
    Evidence::new(text, series, span)
        .of_requests(requests)
        .level("service/p50", "before", change.before.median, (change.from, change.at))
        .level("service/p50", "after", change.after.median, span)
}

/// That the others pass at an even rate, which several causes explain.
fn even_rate(rejections: &Rejections<'_>) -> Evidence {
    let (rate, span) = (loadstone_units::rate, (rejections.from, rejections.to));
    let places = format!("places that are all in use ({} requests pass at a time)", loadstone_units::number(rejections.at_a_time));
    let others = [
        rejections.may_be_places.then_some(places),
        rejections
            .may_be_fixed_share
            .then(|| "a part of the system that rejects a fixed share, which only a load that varies excludes".to_owned()),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    let interval = match rejections.half.is_finite() {
        true => {
            format!(
                " (95 % interval {} to {})",
                rate((rejections.passed - rejections.half).max(0.0)),
                rate(rejections.passed + rejections.half)
            )
        }
        false => String::new(),
    };
    let text = format!("the others passed at an even {}{interval}: a rate limit, or {}", rate(rejections.passed), others.join(", or "));
    Evidence::new(text, vec!["rate/passed".to_owned(), "rate/requests".to_owned()], span)
        .of_requests(rejections.keys.iter().map(|key| &*key.name))
        .level("rate/passed", "passed", rejections.passed, span)
}

/// Whether failed requests reached a time limit, were rejected early, or waited before they failed.
fn times(failing: &Failing<'_>) -> Option<String> {
    let times = failing.times?;
    let what = if failing.key.kind == SeriesKind::Iteration { "iterations" } else { "requests" };
    let median = loadstone_units::seconds(times.median);
    let timed_out = timed_out(failing);
    if timed_out * 2 > failing.failed && times.high <= EQUAL_TIMES_FACTOR_MAX * times.low {
        let sent = sent_at(failing).map_or_else(String::new, |at| format!("; they were sent from about {} on", clock(at)));
        let how_many = if timed_out == failing.failed { "all".to_owned() } else { loadstone_units::count(timed_out) };
        return Some(format!("{how_many} timed out after {median}: they reached the time limit and would have taken longer{sent}"));
    }
    let passed = times.passed?;
    let others = loadstone_units::seconds(passed.median);
    if times.median <= REJECTED_FACTOR_MAX * passed.median {
        return Some(format!("failed {what} took {median}, the others {others}: the system rejects them before it does the work"));
    }
    let is_one_length = times.high <= EQUAL_TIMES_FACTOR_MAX * times.low;
    let is_longest = passed.longest <= times.high && failing.failed >= LONGEST_FAILED_MIN;
    if is_one_length && times.have_waited() {
        return Some(format!("all failed {what} took {median}, the others {others}: a time limit inside the system"));
    }
    if is_one_length && is_longest {
        return Some(format!(
            "all failed {what} took {median}, and no other took longer: a time limit inside the system, shorter than their tail"
        ));
    }
    times.have_waited().then(|| format!("failed {what} took {median}, the others {others}: they waited before they failed"))
}

/// With the connections that a database refused meanwhile, because it had as many as it allows.
fn refused_connections(facts: &Facts<'_>, found: RankedFinding, (from, to): (f64, f64)) -> RankedFinding {
    facts.signals.parts_with(Role::ConnectionsRefused).fold(found, |found, part| {
        let Some(refused) = facts.signals.read(part, Role::ConnectionsRefused) else { return found };
        let count = refused.mean(from, to).unwrap_or(0.0) * (to - from);
        if count < 1.0 {
            return found;
        }
        let text = format!(
            "\"{}\" refused {} connections in that time: it had as many as it allows",
            part.observer,
            loadstone_units::count(count.round() as u64)
        );
        found.rests_on(text, vec![refused.name()], (from, to))
    })
}

fn changed_with<'a>(facts: &'a Facts<'_>, failing: &Failing<'_>) -> Vec<&'a Change> {
    let Some(at) = began(failing) else { return Vec::new() };
    let requests = facts.changes.found.iter().filter(|change| change.of.kind() == Some(SeriesKind::Request));
    requests.filter(|change| (change.at - at).abs() <= SAME_INSTANT_MAX_S + change.at_error).collect()
}

fn signals(facts: &Facts<'_>, failing: &Failing<'_>, found: RankedFinding, (from, to): (f64, f64)) -> RankedFinding {
    const SIGNALS_MAX: usize = 3;
    let Some(at) = began(failing) else { return found };
    let moves = crate::facts::signal_moves::around(&facts.run.signals, at, 0.0, to);
    moves.iter().filter(|moved| moved.has_moved()).take(SIGNALS_MAX).fold(found, |found, moved| {
        found.rests_on(format!("{} at the same time", moved.phrase()), vec![moved.signal.name.clone()], (from, to))
    })
}

fn timed_out(failing: &Failing<'_>) -> u64 {
    failing.kinds.iter().filter(|kind| kind.outcome == Outcome::Timeout).map(|kind| kind.count).sum()
}

/// When the requests that reached a time limit were sent, if most did: the first time-out minus the time limit. Seconds since the run began.
fn sent_at(failing: &Failing<'_>) -> Option<f64> {
    failing.when.onset().filter(|_| timed_out(failing) * 2 > failing.failed)?;
    let times = failing.times?;
    Some((times.first_timed_out? - times.median).max(0.0))
}

/// When the cause of the failures began, as far as they show. Seconds since the run began.
fn began(failing: &Failing<'_>) -> Option<f64> {
    sent_at(failing).or_else(|| failing.when.onset())
}

fn next(facts: &Facts<'_>, failing: &Failing<'_>) -> String {
    let when = since(failing);
    if failing.stated_rejection.is_some() {
        return "Find the limit that rejects them, in the service or in a gateway or proxy before it: a number of places, a quota or a lock. If it is \
                intended, stay below it; if not, raise it."
            .to_owned();
    }
    if failing.key.kind == SeriesKind::Iteration {
        return next_of_iterations(facts, failing, &when);
    }
    match failing.kinds.first().map(|kind| kind.outcome) {
        Some(Outcome::Status | Outcome::Expect) => {
            format!("Read the system's log for the first failure{when}. The errors in the report show the responses.")
        }
        Some(Outcome::Timeout) => {
            let from = sent_at(failing).map_or_else(String::new, |at| format!(" from {} on", clock(at)));
            format!("Find out what the requests wait for{from}: examine sessions, dependencies and threads in that stretch.")
        }
        Some(Outcome::Refused | Outcome::Connect | Outcome::Dns | Outcome::Tls) => {
            format!("Check whether the target was up and listening{when}: no connection was established.")
        }
        Some(Outcome::NotConnected) => {
            format!(
                "Examine why the connection was not open{when}: it was refused or lost, as its own errors show, or the script had closed it."
            )
        }
        Some(Outcome::Reset | Outcome::Closed) => {
            format!(
                "Find out what closed the connection{when}: a process that ended, an idle limit shorter than the client's, or a full backlog."
            )
        }
        Some(Outcome::Script) => FIX_SCRIPT.to_owned(),
        _ => "The errors in the report have the details.".to_owned(),
    }
}

/// Whether the script is at fault: `user.fail` is its verdict on the target.
fn next_of_iterations(facts: &Facts<'_>, failing: &Failing<'_>, when: &str) -> String {
    // The runtime of k6 scripts does not distinguish them.
    if facts.run.plan.language == TestLanguage::K6 {
        return "The script threw an exception, or called `fail`. Fix an exception first. The message of a call of `fail` shows what the script found wrong \
                with the target."
            .to_owned();
    }
    let declared = failing.failed.saturating_sub(failing.script_errors);
    if failing.script_errors >= declared {
        return FIX_SCRIPT.to_owned();
    }
    let exceptions = match failing.script_errors {
        0 => String::new(),
        errors => format!(" {} are exceptions of the script itself: fix those first.", loadstone_units::count(errors)),
    };
    format!(
        "The scenario declared these iterations failed (`user.fail`), because of what the target answered. Search the system's log for that answer{when}. \
         `loadstone try` shows the requests of one iteration.{exceptions}"
    )
}

/// Journeys that did not finish within their time limit.
fn lost_journeys(facts: &Facts<'_>) -> Option<RankedFinding> {
    let flow = facts.tally.flows().iter().filter(|flow| flow.merged.timed_out > 0).max_by_key(|flow| flow.merged.timed_out)?;
    let (lost, started) = (flow.merged.timed_out, flow.merged.started);
    let share = lost as f64 / started.max(1) as f64;
    if lost < FAILED_MIN && share < SHARE_MIN {
        return None;
    }
    let name = &flow.merged.name;
    let claim = format!(
        "{} of {} \"{name}\" did not finish within their time limit",
        loadstone_units::count(lost),
        loadstone_units::count(started)
    );
    let standing = if facts.waiting.iter().any(|waiting| waiting.flow.as_deref() == Some(&**name)) {
        Standing::Consequence
    } else {
        Standing::Symptom
    };
    let late = flow.merged.late;
    let next = if flow.merged.stages.is_empty() {
        "Follow one of them through the system's log. Stages in the script would show where it was last seen."
    } else {
        "Follow one of them: its stages show where it was last seen."
    };
    let text =
        format!("{} of the started journeys; {} of them finished later", loadstone_units::share(share), loadstone_units::count(late));
    Some(
        RankedFinding::new(standing, "lost-journeys", Subject::flow(name), Confidence::High, claim)
            .with(Quantity::count("lost", lost as f64))
            .with(Quantity::count("started", started as f64))
            .rests_on(text, vec![format!("flow/{name}/rate/finished")], (0.0, facts.tally.duration_seconds()))
            .try_next(next),
    )
}
