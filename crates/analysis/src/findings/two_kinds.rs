//! Two kinds of the same request: a few of them repeatedly take a multiple of what all others take.
//!
//! A long tail is one thing, a second hump another: between the two, almost nothing ends. Pauses of a process (collections, flushes) make a hump,
//! too, but only in a few seconds of the run; slow requests of a kind come throughout, as often as chance has it.
//!
//! Groups tell which they are: where a test groups a request by what it is about (a product, a tenant), the slow ones may be those of some groups.
//!
//! *1 % of "Tap response" take 604 ms, the others 1.2 ms: those of "OneYear".*
//!
//! Made if 0.1 % to 20 % of a request's samples, 8 or more (20 for high confidence), form a hump of their own: at least four medians away from the rest,
//! narrow (its p90 within 1.5 times its p10), and with a valley before it (between half of its fastest time and its fastest time, at most a tenth as
//! many).
//!
//! *Alternatives:* pauses of a process, which hit only a few seconds of a run; slow requests must appear in 70 % of the seconds where chance would put
//! one. Requests abandoned at a time limit, which all took exactly that long, those that failed at one inside the system, and those that took as long as
//! a limit at which others were given up (within 5 %): connections that are starved get a place then. A queue that is not served in order: none is told
//! where 90 % of the slow ones ended while work [waited](../findings.md#when-work-waits). Slow ones that spent their time connecting are told as
//! `slow-connect`: a lost SYN is sent again after a second.
//!
//! `slow-connect` also speaks where most requests wait: made if work waited, and connecting holds 60 % of what requests took longer. With high confidence
//! where half of that time is in connections of a second or more and this machine sent SYNs again: they were lost or turned away, as by a listen queue
//! that overflows. Such requests had not been sent yet, so no pool or limit is told from them.
//!
//! **To learn which ones are slow**, make the request in a group named after what it concerns, `user.group(product, () => …)`. Groups that are 90 % slow,
//! and hold 90 % of the slow requests, are named.

use std::collections::BTreeMap;

use loadstone_metrics::{Histogram, Outcome, SeriesKind};

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::failures::Failing;
use crate::facts::humps::{Hump, VALLEY_BEGIN_PART, between, hump};
use crate::instant::clock;
use crate::summary::outcome;
use crate::{Confidence, SeriesTally};

/// How many slow ones make it sure, and what part of all they may be.
const SURE: u64 = 20;
const SHARE_MAX: f64 = 0.2;
/// Part of the seconds that chance would give at least one slow request, in which there must be one.
const SPREAD_MIN: f64 = 0.7;
/// Part of the slow ones that groups must hold to be named, and part of those groups' requests that must be slow; part that timeouts must be.
const NAMED_MIN: f64 = 0.9;
/// Seconds before the end of the load up to which work must have waited to be worked off after it.
const WORKED_OFF_S: f64 = 2.0;
/// How near a time is to a limit to be at it.
const AT_LIMIT: f64 = 0.05;
/// Part of a slow request's time that connecting must have taken.
const CONNECTING: f64 = 0.8;
/// Groups that are named one by one.
const NAMES_MAX: usize = 5;

/// One request of a scenario, in whichever groups it is made.
struct RequestTimes<'a> {
    name: &'a str,
    times: Histogram,
    groups: Vec<&'a SeriesTally>,
}

pub(super) const RULE: Rule = Rule {
    ids: &["two-kinds", "slow-connect"],
    title: "A few requests are much slower",
    says: "a few requests take many times as long as the rest, and which",
    needs: &[],
    settings: &[],
    precedence: 190,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    if facts.slow_part.is_some() {
        return None;
    }
    let humps = requests(facts).into_iter().filter_map(|request| hump(&request.times, SHARE_MAX).map(|hump| (request, hump)));
    let is_kind = |request: &RequestTimes<'_>, hump: &Hump| {
        !is_of_timeouts(request, hump)
            && !is_of_failures(facts, request, hump)
            && is_spread(facts, request, hump)
            && !is_of_queue(facts, request, hump)
            && !is_of_limit(facts, hump)
    };
    let humps = humps.filter(|(request, hump)| is_kind(request, hump));
    let (request, hump) = humps.max_by_key(|(_, hump)| hump.count)?;
    let (name, all) = (request.name, request.times.count());
    let length = |ns: u64| loadstone_units::seconds(ns as f64 / 1e9);
    let share = loadstone_units::share(hump.count as f64 / all as f64);
    let slow = length(hump.median_ns);
    let others = length(hump.others_ns);
    if let Some(connecting) = connecting(facts, &request, &hump) {
        return facts.slow_connects.is_none().then_some(connecting);
    }
    let known = slow_groups(&request, &hump);
    let claim = match &known {
        Some((groups, _)) => format!("{share} of \"{name}\" take {slow}, the others {others}: those of {groups}"),
        None => format!("{share} of \"{name}\" take {slow}, the others {others}: two kinds of one request"),
    };
    let valley = between(&request.times, (hump.from_ns as f64 * VALLEY_BEGIN_PART) as u64, hump.from_ns);
    let seconds = seconds_with(facts, &request, &hump);
    let confidence = if hump.count >= SURE { Confidence::High } else { Confidence::Medium };
    let found = RankedFinding::new(Standing::Fault, "two-kinds", Subject::request(name), confidence, claim)
        .rests_on(
            format!(
                "{} of {} took {} or longer, and {} between half of that and that; they ended from {} to {}",
                loadstone_units::count(hump.count),
                loadstone_units::count(all),
                length(hump.from_ns),
                loadstone_units::count(valley),
                clock(seconds.first().map_or(0.0, |slice| slice.start as f64 / 1e9)),
                clock(seconds.last().map_or(0.0, |slice| slice.end as f64 / 1e9))
            ),
            vec!["response/p50".to_owned(), "response/max".to_owned()],
            (0.0, facts.tally.duration_seconds()),
        )
        .weigh(Alternative::ruled_out(
            "Pauses of the target or the network, which fall into a few seconds of a run",
            format!("slow ones ended in {} of its seconds", loadstone_units::count(seconds.len() as u64)),
        ));
    Some(match known {
        Some((groups, evidence)) => found
            .rests_on(evidence, Vec::new(), (0.0, facts.tally.duration_seconds()))
            .try_next(format!("Look for what the target does only for {groups}.")),
        None => found.try_next(
            "What the slowest have in common (an argument, a product, a user) is the second kind. Make the request in a group named after what you \
             suspect, `user.group(product, …)`, and run again: the slow group is then named.",
        ),
    })
}

/// What a connection of its own takes is no second kind of request: a lost SYN is sent again after 1 s, then 2 s and 4 s more (RFC 6298).
fn connecting(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> Option<RankedFinding> {
    let long = (hump.from_ns as f64 * CONNECTING) as u64;
    let slow: u64 = request.groups.iter().map(|series| between(&series.merged.phases.connect, long, u64::MAX)).sum();
    if (slow as f64) < NAMED_MIN * hump.count as f64 {
        return None;
    }
    let (took, others) = (loadstone_units::seconds(hump.median_ns as f64 / 1e9), loadstone_units::seconds(hump.others_ns as f64 / 1e9));
    let share = loadstone_units::share(hump.count as f64 / request.times.count() as f64);
    let claim = format!("{share} of \"{}\" take {took}, the others {others}: they wait for a connection", request.name);
    let resent = facts.tally.syn_retransmits();
    let whole = (0.0, facts.tally.duration_seconds());
    let found = RankedFinding::new(Standing::Fault, "slow-connect", Subject::request(request.name), Confidence::High, claim).rests_on(
        format!(
            "{} of the {} slow ones spent that time connecting",
            loadstone_units::count(slow.min(hump.count)),
            loadstone_units::count(hump.count)
        ),
        vec!["phases/connect".to_owned(), "response/max".to_owned()],
        whole,
    );
    let found = if resent > 0 {
        let text =
            format!("the machine sent {} again meanwhile: the first was lost or turned away", loadstone_units::counted(resent, "SYN"));
        found.rests_on(text, Vec::new(), whole)
    } else {
        found
    };
    let unsent = Alternative::ruled_out(
        "The target's own work",
        format!("{} of them had not been sent yet", loadstone_units::count(slow.min(hump.count))),
    );
    Some(found.weigh(unsent).try_next(
        "Look at the listener's backlog (somaxconn, the accept loop), and at what drops packets on the way; keep connections open.",
    ))
}

fn requests<'a>(facts: &'a Facts<'_>) -> Vec<RequestTimes<'a>> {
    let mut requests: BTreeMap<(&str, &str), RequestTimes<'a>> = BTreeMap::new();
    for series in facts.tally.of_kind(SeriesKind::Request) {
        let key = &series.merged.key;
        let request = requests.entry((&key.scenario, &key.name)).or_insert_with(|| RequestTimes {
            name: &key.name,
            times: Histogram::default(),
            groups: Vec::new(),
        });
        request.times.merge(&series.merged.service);
        request.groups.push(series);
    }
    requests.into_values().collect()
}

/// Requests that got no response within a limit all took that limit: it says nothing about how long they would have taken.
fn is_of_timeouts(request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let timeouts: u64 = request.groups.iter().map(|series| outcome(&series.merged, Outcome::Timeout)).sum();
    timeouts as f64 >= NAMED_MIN * hump.count as f64
}

/// Whether the slow ones are those that failed, as at a time limit inside the system: what failed and how says more.
fn is_of_failures(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let is_it = |failing: &&Failing<'_>| *failing.key.name == *request.name;
    facts.failing.iter().filter(is_it).any(|failing| {
        let are_slow = failing.times.is_some_and(|times| times.low * 1e9 >= VALLEY_BEGIN_PART * hump.from_ns as f64);
        are_slow && failing.failed as f64 >= NAMED_MIN * hump.count as f64
    })
}

/// Whether the slow ones took as long as others may, which were given up then: what these held came free, or the wait of both is the same.
fn is_of_limit(facts: &Facts<'_>, hump: &Hump) -> bool {
    let is_at = |failing: &Failing<'_>| {
        let timed_out: u64 = failing.kinds.iter().filter(|kind| kind.outcome == Outcome::Timeout).map(|kind| kind.count).sum();
        let limit = failing.times.map_or(0.0, |times| times.high * 1e9);
        2 * timed_out > failing.failed && (hump.median_ns as f64 / limit.max(1.0) - 1.0).abs() <= AT_LIMIT
    };
    facts.failing.iter().any(is_at)
}

/// Whether nearly all slow ones ended while work waited: who is served last in a queue that is not in order takes as long, whatever it asks for.
fn is_of_queue(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let is_asked = |slice: &&loadstone_metrics::Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let load_end = facts.run.slices.iter().rfind(is_asked).map_or(f64::INFINITY, |slice| slice.end as f64 / 1e9);
    let waits = |slice: &loadstone_metrics::Snapshot| {
        let (from, to) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
        // What waited at the end of the load is worked off after it.
        let lasts = |until: f64| until > from || until + WORKED_OFF_S >= load_end;
        facts.waiting.iter().any(|waiting| waiting.flow.is_none() && waiting.from < to && lasts(waiting.to))
    };
    let slow = |slice: &loadstone_metrics::Snapshot| {
        let of_it = slice.series.iter().filter(|second| request.groups.iter().any(|series| series.merged.key == second.key));
        of_it.map(|second| between(&second.service, hump.from_ns, u64::MAX)).sum::<u64>()
    };
    let inside = facts.run.slices.iter().filter(|slice| waits(slice)).map(slow).sum::<u64>();
    inside as f64 >= NAMED_MIN * facts.run.slices.iter().map(slow).sum::<u64>().max(1) as f64
}

/// The groups to which the slow ones belong, in words, and what shows it; `None` where groups do not tell them apart.
fn slow_groups(request: &RequestTimes<'_>, hump: &Hump) -> Option<(String, String)> {
    let slow_of = |series: &SeriesTally| between(&series.merged.service, hump.from_ns, u64::MAX);
    let is_slow = |series: &&SeriesTally| slow_of(series) as f64 >= NAMED_MIN * series.merged.service.count() as f64;
    let (slow, others): (Vec<&SeriesTally>, Vec<&SeriesTally>) = request.groups.iter().copied().partition(is_slow);
    let in_them: u64 = slow.iter().copied().map(slow_of).sum();
    if slow.is_empty() || others.is_empty() || (in_them as f64) < NAMED_MIN * hump.count as f64 {
        return None;
    }
    let names = named(&slow);
    let all = |series: &[&SeriesTally]| series.iter().map(|series| series.merged.service.count()).sum::<u64>();
    let evidence = format!(
        "{} of the {} in {} are slow, and {} of the {} elsewhere",
        loadstone_units::count(in_them),
        loadstone_units::count(all(&slow)),
        names,
        loadstone_units::count(hump.count - in_them),
        loadstone_units::count(all(&others))
    );
    Some((names, evidence))
}

/// The first groups by name.
fn named(groups: &[&SeriesTally]) -> String {
    let names: Vec<String> = groups.iter().take(NAMES_MAX).map(|series| format!("\"{}\"", series.merged.key.group)).collect();
    match groups.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Seconds in which one of them ended.
fn seconds_with<'f>(facts: &'f Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> Vec<&'f loadstone_metrics::Snapshot> {
    let is_mine = |second: &&loadstone_metrics::SeriesSlice| request.groups.iter().any(|series| series.merged.key == second.key);
    let has_slow =
        |slice: &&loadstone_metrics::Snapshot| slice.series.iter().filter(is_mine).any(|second| second.service.max() >= hump.from_ns);
    facts.run.slices.iter().filter(has_slow).collect()
}

/// Whether slow ones come throughout: a second with n requests has one with probability 1 − (1 − share)ⁿ.
fn is_spread(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let share = hump.count as f64 / request.times.count() as f64;
    let (mut expected, mut found) = (0.0, 0.0);
    for slice in &facts.run.slices {
        let of_it = slice.series.iter().filter(|second| request.groups.iter().any(|series| series.merged.key == second.key));
        let (count, longest) =
            of_it.fold((0, 0), |(count, longest), second| (count + second.service.count(), second.service.max().max(longest)));
        expected += 1.0 - (1.0 - share).powf(count as f64);
        found += f64::from(u8::from(longest >= hump.from_ns));
    }
    expected >= 5.0 && found >= SPREAD_MIN * expected
}
