//! What a runtime's threads wait for, and where: [`ThreadWait`] in words.
//!
//! The page of [event-loop](event-loop.md) describes this rule, too.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::readings::SignalReadings;
use crate::facts::thread_wait::ThreadWait;

/// Other places that are told of.
const OTHERS_MAX: usize = 2;
/// Threads from which another place is told of.
const OTHER_MIN: f64 = 0.3;

pub(super) const RULE: Rule = Rule {
    ids: &["thread-waits"],
    title: "Threads wait in one place",
    says: "where the threads at work wait, and for what",
    needs: &["jvm"],
    settings: &["lock", "pool", "thread", "connection"],
    precedence: 110,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    facts.thread_wait.as_ref().map(|wait| told(facts, wait))
}

fn told(facts: &Facts<'_>, wait: &ThreadWait<'_>) -> RankedFinding {
    let (place, stretch) = (wait.place(), (wait.from, wait.to));
    let (waiting, total) = (wait.waiting, wait.total);
    let most = most(&place.each, stretch);
    let word = most.map_or("threads", |readings| readings.signal.unit.as_str());
    let whose = most.and_then(|readings| readings.label("threads")).map_or(String::new(), |name| format!(" `{name}`"));
    let below = most.and_then(|readings| readings.label("under")).map_or(String::new(), |under| format!(" below `{under}`"));
    let what = match place.role {
        Role::ThreadsWaitingForLock => "wait for a lock in",
        Role::ThreadsWaitingForMember => "wait for a free one of a pool in",
        _ => "wait in",
    };
    let claim = format!(
        "Of {} {word}{whose} at work in \"{}\", {} {what} `{}`{below}",
        loadstone_units::number(total),
        wait.observer,
        loadstone_units::number(waiting),
        place.at
    );
    let behind = behind(facts, place.role);
    let (standing, confidence) = match (&behind, wait.is_sure()) {
        (Some(_), _) => (Standing::Consequence, Confidence::Low),
        (None, true) => (Standing::Cause, Confidence::High),
        (None, false) => (Standing::Cause, Confidence::Medium),
    };
    let in_system = facts.strain.in_system(stretch.0, stretch.1).unwrap_or(0.0);
    let text = format!(
        "{} of {} {word} waited there, while {} requests were in the system",
        loadstone_units::number(waiting),
        loadstone_units::number(total),
        loadstone_units::number(in_system)
    );
    let series = place.each.iter().map(SignalReadings::name).take(4).collect();
    let mut found = RankedFinding::new(standing, "thread-waits", Subject::part(wait.observer, place.at), confidence, claim)
        .with(Quantity::count("threads_waiting", waiting))
        .with(Quantity::count("threads", total)).rests_on(text, series, stretch);
    for (other, count) in others(wait) {
        let at = other.label("at").unwrap_or_default();
        let below = other.label("under").map_or(String::new(), |under| format!(" below `{under}`"));
        let text = format!("meanwhile {} {} in `{at}`{below}", loadstone_units::number(count), does(other));
        found = found.rests_on(text, vec![other.name()], stretch);
    }
    let found = match behind {
        Some(why) => found.weigh(Alternative::not_ruled_out("What is behind them", why)),
        None => found,
    };
    found.beyond_the_generator(facts, stretch).try_next(advice(place.role))
}

/// What keeps members of a pool in use, where something else was seen to hold work up.
fn behind(facts: &Facts<'_>, role: Role) -> Option<String> {
    if role == Role::ThreadsWaitingForLock {
        return None;
    }
    let database = facts.session_wait.as_ref().filter(|wait| wait.holds_up);
    database.map(|wait| format!("{} sessions of the database were in {}", loadstone_units::number(wait.sessions), wait.event))
}

fn most<'s, 'a>(each: &'s [SignalReadings<'a>], (from, to): (f64, f64)) -> Option<&'s SignalReadings<'a>> {
    let mean = |readings: &SignalReadings<'_>| readings.mean(from, to).unwrap_or(0.0);
    each.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))
}

/// What the rest does; the most first.
fn others<'w, 'a>(wait: &'w ThreadWait<'a>) -> Vec<(&'w SignalReadings<'a>, f64)> {
    let rest = wait.others().flat_map(|place| &place.each);
    let counted = rest.filter_map(|readings| Some((readings, readings.mean(wait.from, wait.to)?)));
    let mut counted: Vec<_> = counted.filter(|(_, count)| *count >= OTHER_MIN).collect();
    counted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.signal.name.cmp(&b.0.signal.name)));
    counted.truncate(OTHERS_MAX);
    counted
}

fn does(readings: &SignalReadings<'_>) -> &'static str {
    match readings.signal.role {
        Some(Role::ThreadsOnCpu) => "computed",
        Some(Role::ThreadsWaitingForLock) => "waited for a lock",
        Some(Role::ThreadsWaitingForMember) => "waited for a free one of a pool",
        Some(Role::ThreadsWaitingForIo) => "waited for the network, a disk or another process",
        Some(Role::ThreadsWaitingForTimer) => "slept",
        _ => "waited",
    }
}

fn advice(role: Role) -> &'static str {
    match role {
        Role::ThreadsWaitingForLock => {
            "Do less while the lock is held: no calls, no sleeping, no input or output; or have a lock for each part of what it guards."
        }
        Role::ThreadsWaitingForMember => {
            "See what those do that have one, and shorten it or do it before they take one; a larger pool helps only where what is behind it can take more."
        }
        _ => {
            "Look at who ends this wait (who sends to the channel, completes the future, signals the condition), and what keeps it from doing so."
        }
    }
}
