//! A request has two kinds: a few of its samples take many times as long as the others, throughout the run.
//!
//! The rule looks for a second hump in the distribution of each request's service time. A hump has {humps::SLOW_SHARE_MIN:%} to {SLOW_SHARE_MAX:%} of the
//! samples, at least {humps::SLOW_MIN} of them ({SLOW_HIGH_CONFIDENCE_MIN} for high confidence), and these properties:
//!
//! - its fastest sample takes at least {humps::SLOWER_FACTOR_MIN} times the median of the others
//! - its p90 is at most {humps::WIDTH_FACTOR_MAX} times its p10
//! - between {humps::VALLEY_BEGIN_PART:%} of its fastest time and its fastest time lie at most {humps::VALLEY_SHARE_MAX:%} as many samples
//!
//! The rule rules out other causes:
//!
//! - **pauses of a process:** slow samples must occur in {SPREAD_PART_MIN:%} of the seconds in which chance would put one
//! - **time limits:** {EXPLAINED_PART_MIN:%} of the slow samples failed, or took as long as a limit at which others were abandoned (within
//!   {AT_LIMIT_DISTANCE_MAX:%})
//! - **a queue out of order:** {EXPLAINED_PART_MIN:%} of the slow samples ended while work [waited](../findings.md#when-work-waits)
//!
//! If {EXPLAINED_PART_MIN:%} of the slow samples spent their time on connecting, the rule reports [`slow-connect`](slow-connect.md) instead.
//!
//! **To learn which ones are slow**, send the request in a group named after what you suspect: `user.group(product, () => …)`. The finding names groups that
//! are {EXPLAINED_PART_MIN:%} slow and have {EXPLAINED_PART_MIN:%} of the slow samples.

use std::collections::BTreeMap;

use loadstone_metrics::{Histogram, Outcome, SeriesKind};

use crate::Evidence;
use crate::facts::Facts;
use crate::facts::changes::{Change, Shape};
use crate::facts::failures::Failing;
use crate::facts::humps::{Hump, VALLEY_BEGIN_PART, between, hump};
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;
use crate::summary::outcome;
use crate::{Confidence, SeriesTally};

/// Slow samples from which the confidence is high, and their maximum share.
const SLOW_HIGH_CONFIDENCE_MIN: u64 = 20;
const SLOW_SHARE_MAX: f64 = 0.2;
/// Minimum of seconds with a slow sample, as a part of the seconds that chance would give one.
const SPREAD_PART_MIN: f64 = 0.7;
/// Part of the slow samples that groups must have to be named, part of these groups' samples that must be slow, and part that another cause must explain.
const EXPLAINED_PART_MIN: f64 = 0.9;
/// Work that waited until this many seconds before the end of the load is worked off after it.
const WORKED_OFF_S: f64 = 2.0;
/// Maximum relative distance between a time and a time limit that explains it.
const AT_LIMIT_DISTANCE_MAX: f64 = 0.05;
/// Part of a slow request's time that connecting must have taken.
const CONNECTING_PART_MIN: f64 = 0.8;
/// Maximum number of groups that are named.
const NAMES_MAX: usize = 5;

/// One request of a scenario, from all groups that send it.
struct RequestTimes<'a> {
    name: &'a str,
    times: Histogram,
    groups: Vec<&'a SeriesTally>,
}

pub(super) const RULE: Rule = Rule {
    ids: &["two-kinds", "slow-connect"],
    page: "two-kinds",
    title: "A few requests are much slower",
    says: "which few requests take many times as long as the rest",
    example: Example {
        run: "examples/two-kinds",
        claim: "1.00 % of \"Tap\" take 605 ms, the others 2.01 ms: the slow ones are those of \"yearly\"",
    },
    needs: &[],
    settings: &[],
    precedence: 190,
    find: FindingSearch::One(find),
};

/// Whether the slow kind exists only since an instant, which its own finding reports.
fn is_of_change(facts: &Facts<'_>, request: &RequestTimes<'_>) -> bool {
    let is_of_part = |change: &Change| matches!(change.shape, Shape::Part { .. }) && change.of.kind() == Some(SeriesKind::Request);
    facts.changes.found.iter().any(|change| change.is_slower() && is_of_part(change) && change.of.name() == request.name)
}

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    if facts.slow_part.is_some() {
        return None;
    }
    let humps = requests(facts).into_iter().filter_map(|request| hump(&request.times, SLOW_SHARE_MAX).map(|hump| (request, hump)));
    let is_kind = |request: &RequestTimes<'_>, hump: &Hump| {
        !is_of_timeouts(request, hump)
            && !is_of_failures(facts, request, hump)
            && is_spread(facts, request, hump)
            && !is_of_queue(facts, request, hump)
            && !is_of_limit(facts, hump)
            && !is_of_change(facts, request)
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
        Some((groups, _)) => format!("{share} of \"{name}\" take {slow}, the others {others}: the slow ones are those of {groups}"),
        None => format!("{share} of \"{name}\" take {slow}, the others {others}: there are two kinds of this request"),
    };
    let valley = between(&request.times, (hump.from_ns as f64 * VALLEY_BEGIN_PART) as u64, hump.from_ns);
    let seconds = seconds_with(facts, &request, &hump);
    let confidence = if hump.count >= SLOW_HIGH_CONFIDENCE_MIN { Confidence::High } else { Confidence::Medium };
    let found = RankedFinding::new(Standing::Fault, "two-kinds", Subject::request(name), confidence, claim)
        .with(Quantity::share("slow_share", hump.count as f64 / all as f64))
        .with(Quantity::seconds("slow", hump.median_ns as f64 / 1e9))
        .with(Quantity::seconds("others", hump.others_ns as f64 / 1e9))
        .rests_on_drawn(two_humps(
            &request,
            &hump,
            format!(
                "{} of {} took {} or longer, and {} took between half of that and that; the slow ones ended from {} to {}",
                loadstone_units::count(hump.count),
                loadstone_units::count(all),
                length(hump.from_ns),
                loadstone_units::count(valley),
                clock(seconds.first().map_or(0.0, |slice| slice.start as f64 / 1e9)),
                clock(seconds.last().map_or(0.0, |slice| slice.end as f64 / 1e9))
            ),
            (0.0, facts.tally.duration_seconds()),
        ))
        .weigh(Alternative::ruled_out(
            "Pauses of the target or the network, which affect only a few seconds of a run",
            format!("slow requests ended in {} seconds", loadstone_units::count(seconds.len() as u64)),
        ));
    Some(match known {
        Some((groups, evidence)) => found
            .rests_on(evidence, Vec::new(), (0.0, facts.tally.duration_seconds()))
            .try_next(format!("Find what the target does only for {groups}.")),
        None => found.try_next(
            "Find what the slow ones have in common (an argument, a product, a user). Send the request in a group named after it, \
             `user.group(product, …)`, and run again: the finding then names the slow group.",
        ),
    })
}

/// The two humps in the distribution of the request's times.
fn two_humps(request: &RequestTimes<'_>, hump: &Hump, text: String, whole: (f64, f64)) -> Evidence {
    Evidence::new(text, vec!["response/p50".to_owned(), "response/max".to_owned()], whole)
        .of_requests([request.name])
        .time("the others", hump.others_ns as f64 / 1e9)
        .time("slow ones", hump.median_ns as f64 / 1e9)
}

/// The time for a new connection is no second kind of request: a lost SYN is sent again after 1 s, then 2 s and 4 s later (RFC 6298).
fn connecting(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> Option<RankedFinding> {
    let long = (hump.from_ns as f64 * CONNECTING_PART_MIN) as u64;
    let slow: u64 = request.groups.iter().map(|series| between(&series.merged.phases.connect, long, u64::MAX)).sum();
    if (slow as f64) < EXPLAINED_PART_MIN * hump.count as f64 {
        return None;
    }
    let (took, others) = (loadstone_units::seconds(hump.median_ns as f64 / 1e9), loadstone_units::seconds(hump.others_ns as f64 / 1e9));
    let share = loadstone_units::share(hump.count as f64 / request.times.count() as f64);
    let claim = format!("{share} of \"{}\" take {took}, the others {others}: the slow ones wait for a connection", request.name);
    let resent = facts.tally.syn_retransmits();
    let whole = (0.0, facts.tally.duration_seconds());
    let found = RankedFinding::new(Standing::Fault, "slow-connect", Subject::request(request.name), Confidence::High, claim)
        .with(Quantity::share("slow_share", hump.count as f64 / request.times.count() as f64))
        .with(Quantity::seconds("slow", hump.median_ns as f64 / 1e9))
        .with(Quantity::seconds("others", hump.others_ns as f64 / 1e9))
        .rests_on_drawn(two_humps(
            request,
            hump,
            format!(
                "{} of the {} slow requests spent that time on connecting",
                loadstone_units::count(slow.min(hump.count)),
                loadstone_units::count(hump.count)
            ),
            whole,
        ));
    let found = if resent > 0 {
        let text =
            format!("the machine sent {} again in that time: the first one was lost or rejected", loadstone_units::counted(resent, "SYN"));
        found.rests_on(text, Vec::new(), whole)
    } else {
        found
    };
    let unsent = Alternative::ruled_out(
        "The target's own work",
        format!("{} of the slow requests had not been sent yet", loadstone_units::count(slow.min(hump.count))),
    );
    Some(found.weigh(unsent).try_next(
        "Check the listener's backlog (somaxconn, the accept loop), and what drops packets in the network. Keep connections open.",
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

/// Requests that got no response within a time limit all took that long. Their own time is unknown.
fn is_of_timeouts(request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let timeouts: u64 = request.groups.iter().map(|series| outcome(&series.merged, Outcome::Timeout)).sum();
    timeouts as f64 >= EXPLAINED_PART_MIN * hump.count as f64
}

/// Whether the slow ones are those that failed, as at a time limit inside the system, or the fast ones are. The failure is the more specific finding.
fn is_of_failures(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let is_it = |failing: &&Failing<'_>| *failing.key.name == *request.name;
    facts.failing.iter().filter(is_it).any(|failing| {
        // Those that are rejected at once make the others the slow ones.
        let fast = (request.times.count() - hump.count) as f64;
        let are_fast = failing.times.is_some_and(|times| times.high * 1e9 < hump.from_ns as f64);
        if are_fast && failing.failed as f64 >= EXPLAINED_PART_MIN * fast {
            return true;
        }
        let are_slow = failing.times.is_some_and(|times| times.low * 1e9 >= VALLEY_BEGIN_PART * hump.from_ns as f64);
        are_slow && failing.failed as f64 >= EXPLAINED_PART_MIN * hump.count as f64
    })
}

/// Whether the slow ones took as long as a time limit at which other requests were abandoned, whose resources then became free.
fn is_of_limit(facts: &Facts<'_>, hump: &Hump) -> bool {
    let is_at = |failing: &Failing<'_>| {
        let timed_out: u64 = failing.kinds.iter().filter(|kind| kind.outcome == Outcome::Timeout).map(|kind| kind.count).sum();
        let limit = failing.times.map_or(0.0, |times| times.high * 1e9);
        2 * timed_out > failing.failed && (hump.median_ns as f64 / limit.max(1.0) - 1.0).abs() <= AT_LIMIT_DISTANCE_MAX
    };
    facts.failing.iter().any(is_at)
}

/// Whether nearly all slow ones ended while work waited: in a queue out of order, the last served take as long, regardless of the request.
fn is_of_queue(facts: &Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> bool {
    let is_asked = |slice: &&loadstone_metrics::Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let load_end = facts.run.slices.iter().rfind(is_asked).map_or(f64::INFINITY, |slice| slice.end as f64 / 1e9);
    let waits = |slice: &loadstone_metrics::Snapshot| {
        let (from, to) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
        // Work that waited at the end of the load is worked off after it.
        let lasts = |until: f64| until > from || until + WORKED_OFF_S >= load_end;
        facts.waiting.iter().any(|waiting| waiting.flow.is_none() && waiting.from < to && lasts(waiting.to))
    };
    let slow = |slice: &loadstone_metrics::Snapshot| {
        let of_it = slice.series.iter().filter(|second| request.groups.iter().any(|series| series.merged.key == second.key));
        of_it.map(|second| between(&second.service, hump.from_ns, u64::MAX)).sum::<u64>()
    };
    let inside = facts.run.slices.iter().filter(|slice| waits(slice)).map(slow).sum::<u64>();
    inside as f64 >= EXPLAINED_PART_MIN * facts.run.slices.iter().map(slow).sum::<u64>().max(1) as f64
}

/// The names of the groups with the slow ones, and the evidence for them. `None`: groups do not distinguish slow from fast ones.
fn slow_groups(request: &RequestTimes<'_>, hump: &Hump) -> Option<(String, String)> {
    let slow_of = |series: &SeriesTally| between(&series.merged.service, hump.from_ns, u64::MAX);
    let is_slow = |series: &&SeriesTally| slow_of(series) as f64 >= EXPLAINED_PART_MIN * series.merged.service.count() as f64;
    let (slow, others): (Vec<&SeriesTally>, Vec<&SeriesTally>) = request.groups.iter().copied().partition(is_slow);
    let in_them: u64 = slow.iter().copied().map(slow_of).sum();
    if slow.is_empty() || others.is_empty() || (in_them as f64) < EXPLAINED_PART_MIN * hump.count as f64 {
        return None;
    }
    let names = named(&slow);
    let all = |series: &[&SeriesTally]| series.iter().map(|series| series.merged.service.count()).sum::<u64>();
    let evidence = format!(
        "{} of the {} in {} are slow, and {} of the {} in other groups",
        loadstone_units::count(in_them),
        loadstone_units::count(all(&slow)),
        names,
        loadstone_units::count(hump.count - in_them),
        loadstone_units::count(all(&others))
    );
    Some((names, evidence))
}

/// The names of the first groups.
fn named(groups: &[&SeriesTally]) -> String {
    let names: Vec<String> = groups.iter().take(NAMES_MAX).map(|series| format!("\"{}\"", series.merged.key.group)).collect();
    match groups.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Seconds in which a slow one ended.
fn seconds_with<'f>(facts: &'f Facts<'_>, request: &RequestTimes<'_>, hump: &Hump) -> Vec<&'f loadstone_metrics::Snapshot> {
    let is_mine = |second: &&loadstone_metrics::SeriesSlice| request.groups.iter().any(|series| series.merged.key == second.key);
    let has_slow =
        |slice: &&loadstone_metrics::Snapshot| slice.series.iter().filter(is_mine).any(|second| second.service.max() >= hump.from_ns);
    facts.run.slices.iter().filter(has_slow).collect()
}

/// Whether slow ones occur throughout the run: a second with n requests has one with probability 1 − (1 − share)ⁿ.
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
    expected >= 5.0 && found >= SPREAD_PART_MIN * expected
}
