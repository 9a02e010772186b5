//! What fails: which request, how, since when, what share, and whether failures sit at a limit.
//!
//! *100 % of "Ingredients" failed from 0:20 on (status 500).*
//!
//! Made for each request with three failures or more, or 1 % of its samples; not for those that the generator failed at by itself (no ports, no
//! descriptors), nor for a request whose failures are all 429, or RESOURCE_EXHAUSTED in gRPC, which is a [rate limit](rate-limit.md). Requests that begin
//! to fail within three seconds of each other are one finding, with the times that changed at the same instant and the signals that moved.
//!
//! **Since when** is found by the scan statistic (Kulldorff 1997): of all stretches of the run, the one whose failed share makes the counts likeliest. It
//! is named if the share there is three times the share elsewhere and the stretch is ten thousand times as likely as one share throughout. If the load
//! was never as high outside of it, the finding says "above 50/s" instead. Requests that each fail too seldom for a stretch are looked at together if
//! they fail in the same way. Where failures are too few even so, it says between when they lie; "throughout the run" if at most a fifth of it passed
//! before the first and after the last, and so many failing seconds would lie as close together by chance in one of twenty runs. The share has its Wilson
//! interval.
//!
//! **What the first was answered** is quoted: the `detail`, `message`, `error` or `title` of its JSON body, or a plain text of up to 200 characters.
//!
//! **How long failed ones took** tells more: all of one length are a time limit; half of the others' median or less, they were turned away. Those that
//! the load's own time limit ended were made as long before they failed, and the finding says from when on.
//!
//! Failures above a load that the system could not carry, or that begin while work has been waiting, come after what limits it; all others come first.
//! Journeys that ran into the time limit of their flow are `lost-journeys`.

use loadstone_metrics::{Outcome, SeriesKind};

use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::changes::Change;
use crate::facts::failures::{FailedWhen, Failing, is_exhausted};
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// Findings that are made, and requests that each lists by themselves.
const FINDINGS_MAX: usize = 3;
const LISTED_MAX: usize = 5;
/// Failures that are a pattern; with fewer, the share that makes them one.
const FAILED_MIN: u64 = 3;
const SHARE_MIN: f64 = 0.01;
/// Share from which failing is what the system mostly does wrong.
const LARGE: f64 = 0.05;
/// Seconds between instants that are taken for the same.
const TOGETHER_S: f64 = 3.0;
/// Failed ones sit at a limit where their tenth and their ninetieth percentile lie this close together.
const AT_LIMIT: f64 = 1.05;
/// How much shorter than others failed ones are when they were turned away, and how much longer when they waited in vain.
const SHORTER: f64 = 0.5;
const LONGER: f64 = 3.0;
/// Failed ones of one length, than which no other took longer, that are a limit: fewer may be by chance.
const LONGEST_MIN: u64 = 5;

pub(super) const RULE: Rule = Rule {
    ids: &["failures", "lost-journeys"],
    title: "Requests fail",
    says: "which request failed, how, and since when or above which load",
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
    // Another rule says what a limit of requests rejects.
    let is_limited = |failing: &&Failing<'_>| failing.is_all(|text| is_too_many(text) || is_exhausted(text));
    let mut left: Vec<&Failing<'_>> = facts.failing.iter().filter(is_pattern).filter(|failing| !is_limited(failing)).collect();
    let mut found = Vec::new();
    while found.len() < FINDINGS_MAX && !left.is_empty() {
        let lead = left.remove(0);
        let (with, others): (Vec<&Failing<'_>>, Vec<&Failing<'_>>) = left.into_iter().partition(|other| are_together(lead, other));
        left = others;
        found.push(told(facts, lead, &with));
    }
    found.extend(lost_journeys(facts));
    found
}

/// `status 429`, whether or not the test says which status it expected.
fn is_too_many(text: &str) -> bool {
    text.strip_prefix("status 429").is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
}

fn are_together(a: &Failing<'_>, b: &Failing<'_>) -> bool {
    let at = |failing: &Failing<'_>| match failing.when {
        FailedWhen::Within(first, _) => Some(first),
        when => when.onset(),
    };
    let is_at_once = |a: f64, b: f64| (a - b).abs() <= TOGETHER_S;
    if let (Some(a), Some(b)) = (made_at(a), made_at(b)) {
        return is_at_once(a, b);
    }
    match (at(a), at(b)) {
        (Some(a), Some(b)) => is_at_once(a, b),
        (None, None) => a.when == b.when && a.kinds.first().map(|kind| &kind.text) == b.kinds.first().map(|kind| &kind.text),
        _ => false,
    }
}

/// The request that failed and those that failed with it, or the scenario whose script threw.
fn subject(failing: &Failing<'_>, with: &[&str]) -> Subject {
    let name = &*failing.key.name;
    if failing.key.kind == SeriesKind::Iteration {
        return Subject::Scenario { name: name.to_owned() };
    }
    Subject::requests(std::iter::once(name).chain(with.iter().copied()))
}

fn told(facts: &Facts<'_>, failing: &Failing<'_>, with: &[&Failing<'_>]) -> RankedFinding {
    let names: Vec<&str> = with.iter().map(|other| &*other.key.name).collect();
    let beside = if names.is_empty() { String::new() } else { format!("; {} with it", named(&names)) };
    let claim = format!("{}{beside}", claim(failing));
    let (standing, share) = (standing(facts, failing), failing.share());
    let span = span(facts, failing);
    let (low, high) = failing.interval;
    let mut found = RankedFinding::new(standing, "failures", subject(failing, &names), Confidence::High, claim)
        .with(Quantity::share("failed", share).within(low, high)).rests_on(
        format!(
            "{} of {} \"{}\" failed{}: {} (95 % interval {}–{})",
            loadstone_units::count(failing.while_failing.0),
            loadstone_units::count(failing.while_failing.1),
            failing.key.name,
            when(failing.when),
            loadstone_units::share(share),
            loadstone_units::share(low),
            loadstone_units::share(high)
        ),
        columns(failing),
        span,
    );
    if failing.kinds.len() > 1 {
        let kinds: Vec<String> =
            failing.kinds.iter().take(LISTED_MAX).map(|kind| format!("{} × {}", loadstone_units::count(kind.count), kind.text)).collect();
        found = found.rests_on(kinds.join(", "), columns(failing), span);
    }
    if let Some(said) = &failing.message {
        found = found.rests_on(format!("the first was answered: \"{said}\""), columns(failing), span);
    }
    if let Some(text) = times(failing) {
        found = found.rests_on(text, vec!["response/p50".to_owned()], span);
    }
    for other in with.iter().take(LISTED_MAX) {
        found = found.rests_on(claim_of_other(other), columns(other), span);
    }
    for change in changed_with(facts, failing).into_iter().take(LISTED_MAX) {
        let text = format!(
            "\"{}\" went from {} to {} with it",
            change.of.name(),
            loadstone_units::seconds(change.before.median),
            loadstone_units::seconds(change.after.median)
        );
        found = found.rests_on(text, vec!["response/p50".to_owned()], span);
    }
    found = signals(facts, failing, found, span);
    let failed = |name: &str| facts.failing.iter().any(|other| &*other.key.name == name);
    let requests = facts.tally.of_kind(SeriesKind::Request).map(|series| &*series.merged.key.name);
    let mut kept: Vec<&str> = requests.filter(|name| !failed(name)).collect();
    kept.dedup();
    if !kept.is_empty() {
        found = found.rests_on(format!("none of {} failed", named(&kept)), Vec::new(), span);
    }
    if let Some(share) = failing.as_much_load_outside {
        let told = format!("{} of the other seconds had as much of it", loadstone_units::share(share));
        found = found.weigh(Alternative::ruled_out("The load", told));
    }
    let uncertainty = if facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    RankedFinding { uncertainty, ..found.try_next(next(failing)) }
}

/// What fails since the system cannot carry the load follows from what limits it: it fails above a load, or work had been waiting before.
fn standing(facts: &Facts<'_>, failing: &Failing<'_>) -> Standing {
    let is_limited = !facts.waiting.is_empty() || !facts.plateaus.limited.is_empty();
    let waited_before = |at: f64| facts.waiting.iter().any(|waiting| waiting.from + TOGETHER_S < at && at < waiting.to + TOGETHER_S);
    match failing.when {
        FailedWhen::AboveLoad { .. } if is_limited => Standing::Consequence,
        FailedWhen::Since(at) | FailedWhen::Between(at, _) if waited_before(at) => Standing::Consequence,
        FailedWhen::Since(_) | FailedWhen::AboveLoad { .. } => Standing::Symptom,
        FailedWhen::Throughout | FailedWhen::Within(..) if failing.share() >= LARGE => Standing::Symptom,
        FailedWhen::Throughout | FailedWhen::Within(..) => Standing::Fault,
        FailedWhen::Between(..) | FailedWhen::Until(_) => Standing::Passing,
    }
}

fn claim(failing: &Failing<'_>) -> String {
    let how = failing.kinds.first().map_or_else(String::new, |kind| {
        let most = if failing.kinds.len() > 1 { "mostly " } else { "" };
        format!(" ({most}{})", kind.text)
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
    let end = facts.tally.duration_seconds();
    match failing.when {
        FailedWhen::Throughout => (0.0, end),
        FailedWhen::Since(at) | FailedWhen::AboveLoad { at, .. } => (at, end),
        FailedWhen::Until(to) => (0.0, to),
        FailedWhen::Between(from, to) | FailedWhen::Within(from, to) => (from, to),
    }
}

fn columns(failing: &Failing<'_>) -> Vec<String> {
    let outcome = failing.kinds.first().map(|kind| kind.outcome);
    // The names of outcomes are those of the record.
    let name = outcome.map(|outcome| format!("{outcome:?}").to_lowercase());
    name.map(|name| format!("failures/{name}")).into_iter().chain(std::iter::once("rate/failures".to_owned())).collect()
}

/// Whether failed ones sit at a time limit, were turned away at once, or waited in vain.
fn times(failing: &Failing<'_>) -> Option<String> {
    let times = failing.times?;
    let median = loadstone_units::seconds(times.median);
    let given_up = given_up(failing);
    if given_up * 2 > failing.failed && times.high <= AT_LIMIT * times.low {
        let made = made_at(failing).map_or_else(String::new, |at| format!("; they were made from about {} on", clock(at)));
        let how_many = if given_up == failing.failed { "all".to_owned() } else { loadstone_units::count(given_up) };
        return Some(format!("{how_many} were given up after {median}: they sit at the time limit, and would have taken longer{made}"));
    }
    let passed = times.passed?;
    let others = loadstone_units::seconds(passed.median);
    if times.median <= SHORTER * passed.median {
        return Some(format!("failed ones took {median}, the others {others}: they are turned away before the work is done"));
    }
    let is_one_length = times.high <= AT_LIMIT * times.low;
    let is_longest = passed.longest <= times.high && failing.failed >= LONGEST_MIN;
    if is_one_length && times.median >= LONGER * passed.median {
        return Some(format!("failed ones all took {median}, the others {others}: a time limit inside the system"));
    }
    if is_one_length && is_longest {
        return Some(format!(
            "failed ones all took {median}, and no other took longer: a time limit inside the system, shorter than their tail"
        ));
    }
    (times.median >= LONGER * passed.median).then(|| format!("failed ones took {median}, the others {others}: they waited in vain"))
}

fn changed_with<'a>(facts: &'a Facts<'_>, failing: &Failing<'_>) -> Vec<&'a Change> {
    let Some(at) = began(failing) else { return Vec::new() };
    let requests = facts.changes.found.iter().filter(|change| change.of.kind() == Some(SeriesKind::Request));
    requests.filter(|change| (change.at - at).abs() <= TOGETHER_S + change.at_error).collect()
}

fn signals(facts: &Facts<'_>, failing: &Failing<'_>, found: RankedFinding, (from, to): (f64, f64)) -> RankedFinding {
    const SIGNALS_MAX: usize = 3;
    let Some(at) = began(failing) else { return found };
    let moves = crate::facts::signal_moves::around(&facts.run.signals, at, 0.0, to);
    moves.iter().filter(|moved| moved.has_moved()).take(SIGNALS_MAX).fold(found, |found, moved| {
        found.rests_on(format!("{} at the same time", moved.phrase()), vec![moved.signal.name.clone()], (from, to))
    })
}

fn given_up(failing: &Failing<'_>) -> u64 {
    failing.kinds.iter().filter(|kind| kind.outcome == Outcome::Timeout).map(|kind| kind.count).sum()
}

/// When those were made that ran into a time limit, if most did: as long before the first was given up. Seconds since the run began.
fn made_at(failing: &Failing<'_>) -> Option<f64> {
    failing.when.onset().filter(|_| given_up(failing) * 2 > failing.failed)?;
    let times = failing.times?;
    Some((times.first_timed_out? - times.median).max(0.0))
}

/// When what made them fail began, as far as they tell. Seconds since the run began.
fn began(failing: &Failing<'_>) -> Option<f64> {
    made_at(failing).or_else(|| failing.when.onset())
}

fn next(failing: &Failing<'_>) -> String {
    let when = failing.when.onset().map_or_else(String::new, |at| format!(" at {}", clock(at)));
    match failing.kinds.first().map(|kind| kind.outcome) {
        Some(Outcome::Status | Outcome::Expect) => {
            format!("Read the system's log of the first of them{when}: the errors of the report say what it answered.")
        }
        Some(Outcome::Timeout) => {
            let from = made_at(failing).map_or_else(String::new, |at| format!(" from {} on", clock(at)));
            format!("Find what it waits for{from}: its sessions, its dependencies, its threads while it does.")
        }
        Some(Outcome::Refused | Outcome::Connect | Outcome::Dns | Outcome::Tls) => {
            format!("See whether it was up and listening{when}: no connection was made.")
        }
        Some(Outcome::Reset | Outcome::Closed) => {
            format!("See who closed the connection{when}: a process that ended, an idle limit shorter than the client's, a full backlog.")
        }
        Some(Outcome::Script) => "The test's own script threw: mend it first.".to_owned(),
        _ => "The errors of the report have the details.".to_owned(),
    }
}

/// Journeys that were given up.
fn lost_journeys(facts: &Facts<'_>) -> Option<RankedFinding> {
    let flow = facts.tally.flows().iter().filter(|flow| flow.merged.timed_out > 0).max_by_key(|flow| flow.merged.timed_out)?;
    let (lost, started) = (flow.merged.timed_out, flow.merged.started);
    let share = lost as f64 / started.max(1) as f64;
    if lost < FAILED_MIN && share < SHARE_MIN {
        return None;
    }
    let name = &flow.merged.name;
    let claim = format!(
        "{} of {} \"{name}\" were given up: their time limit passed without a finish",
        loadstone_units::count(lost),
        loadstone_units::count(started)
    );
    let standing = if facts.waiting.iter().any(|waiting| waiting.flow.as_deref() == Some(&**name)) {
        Standing::Consequence
    } else {
        Standing::Symptom
    };
    let late = flow.merged.late;
    let text = format!("{} of those that started; {} of them finished later", loadstone_units::share(share), loadstone_units::count(late));
    Some(
        RankedFinding::new(standing, "lost-journeys", Subject::flow(name), Confidence::High, claim)
            .rests_on(text, vec![format!("flow/{name}/rate/finished")], (0.0, facts.tally.duration_seconds()))
            .try_next("Follow one of them: its stages show where it was last seen."),
    )
}
