//! What a runtime's threads wait for, and where, while work waits: their stacks say it by name.
//!
//! Threads are sampled like a database's sessions (active session history; Wood 2001 for Oracle): the mean number in a place over the rate of requests is the
//! time that each spends there (Little's law). What most of them wait in, and did not under low load, is what holds work up.

use std::collections::BTreeMap;

use metrics::Role;

use super::alternative::Alternative;
use super::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::facts::readings::{SignalReadings, longest_run};
use crate::facts::search::{LENGTH_MIN_S, READINGS_MIN};
use crate::facts::signals::ObservedPart;

/// What threads at work do.
const ALL: [Role; 6] = [
    Role::ThreadsOnCpu,
    Role::ThreadsWaitingForLock,
    Role::ThreadsWaitingForMember,
    Role::ThreadsWaitingForIo,
    Role::ThreadsWaitingForTimer,
    Role::ThreadsWaitingForOther,
];
/// Of these, what is held by others. What waits for the network says less: whoever is called is to be looked at.
const WAITS: [Role; 3] = [Role::ThreadsWaitingForMember, Role::ThreadsWaitingForLock, Role::ThreadsWaitingForOther];
/// Threads that must wait in one place, their share of those at work, and of what is in the system, for it to be what holds work up.
const WAITING_MIN: f64 = 1.5;
const SHARE_MIN: f64 = 0.4;
const OF_SYSTEM_MIN: f64 = 0.3;
/// Part of the most that ever waited there: on a ramp some wait long before work is held up.
const HEAVY: f64 = 0.2;
/// From which it is sure, where they are held by a lock or a pool.
const SHARE_SURE: f64 = 0.6;
/// More than are in the system belong to something else.
const OF_SYSTEM_MAX: f64 = 1.5;
/// Part of it that may be there under low load, where there was one.
const LOW_MAX: f64 = 0.5;
/// Other places that are told of.
const OTHERS_MAX: usize = 2;
/// Threads from which another place is told of.
const OTHER_MIN: f64 = 0.3;

/// Threads in one place.
struct Place<'a> {
    role: Role,
    at: &'a str,
    each: Vec<SignalReadings<'a>>,
    sum: SignalReadings<'a>,
}

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let parts: std::collections::BTreeSet<ObservedPart<'_>> = ALL.iter().flat_map(|role| facts.signals.parts_with(*role)).collect();
    let found = parts.into_iter().filter_map(|part| held_up(facts, part));
    found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
}

/// With the threads that wait.
fn held_up(facts: &Facts<'_>, part: ObservedPart<'_>) -> Option<(f64, RankedFinding)> {
    let places = places(facts, part);
    let every: Vec<SignalReadings<'_>> = places.iter().map(|place| place.sum.clone()).collect();
    let at_work = SignalReadings::sum(&every)?;
    let candidates = places.iter().filter(|place| WAITS.contains(&place.role));
    let weighed = candidates.filter_map(|place| {
        let stretch = stretch(facts, place, &at_work)?;
        Some((place.sum.mean(stretch.0, stretch.1)?, place, stretch))
    });
    let (waiting, place, stretch) = weighed.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let total = at_work.mean(stretch.0, stretch.1)?;
    Some((waiting, told(facts, part, &places, (waiting, total), place, stretch)))
}

fn places<'a>(facts: &Facts<'a>, part: ObservedPart<'a>) -> Vec<Place<'a>> {
    let mut places = BTreeMap::<(Role, &str), Vec<SignalReadings<'a>>>::new();
    for role in ALL {
        for readings in facts.signals.read_each(part, role) {
            let at = readings.label("at").unwrap_or_default();
            places.entry((role, at)).or_default().push(readings);
        }
    }
    places.into_iter().filter_map(|((role, at), each)| Some(Place { role, at, sum: SignalReadings::sum(&each)?, each })).collect()
}

/// When most of the threads waited there, while work was held up, unless they do so under low load, too.
fn stretch(facts: &Facts<'_>, place: &Place<'_>, at_work: &SignalReadings<'_>) -> Option<(f64, f64)> {
    let all_at = |at: f64| at_work.mean(at - 0.01, at + 0.01).unwrap_or(0.0);
    let heavy = HEAVY * place.sum.points().iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let is_most = |at: f64, count: f64| count >= heavy.max(WAITING_MIN) && count >= SHARE_MIN * all_at(at);
    let flags: Vec<(f64, f64)> = place.sum.points().iter().map(|(at, count)| (*at, f64::from(u8::from(is_most(*at, *count))))).collect();
    let span = longest_run(&flags, READINGS_MIN, LENGTH_MIN_S - 1.0, |most| most > 0.5)?;
    let (from, to) = facts.strain.held_part_of(&place.sum, span)?;
    let (waiting, in_system) = (place.sum.mean(from, to)?, facts.strain.in_system(from, to)?);
    let (low, _) = facts.strain.low_and_high();
    let before: Vec<f64> = low.iter().filter_map(|(from, to)| place.sum.mean(*from, *to)).collect();
    let usual = before.iter().sum::<f64>() / before.len().max(1) as f64;
    let is_theirs = waiting >= OF_SYSTEM_MIN * in_system && waiting <= OF_SYSTEM_MAX * in_system.max(1.0);
    (is_theirs && usual <= LOW_MAX * waiting).then_some((from, to))
}

fn told(
    facts: &Facts<'_>,
    part: ObservedPart<'_>,
    places: &[Place<'_>],
    (waiting, total): (f64, f64),
    place: &Place<'_>,
    stretch: (f64, f64),
) -> RankedFinding {
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
        units::number(total),
        part.observer,
        units::number(waiting),
        place.at
    );
    let behind = behind(facts, place.role);
    let is_sure = waiting >= SHARE_SURE * total && place.role != Role::ThreadsWaitingForOther;
    let (standing, confidence) = match (&behind, is_sure) {
        (Some(_), _) => (Standing::Consequence, Confidence::Low),
        (None, true) => (Standing::Cause, Confidence::High),
        (None, false) => (Standing::Cause, Confidence::Medium),
    };
    let in_system = facts.strain.in_system(stretch.0, stretch.1).unwrap_or(0.0);
    let text = format!(
        "{} of {} {word} waited there, while {} requests were in the system",
        units::number(waiting),
        units::number(total),
        units::number(in_system)
    );
    let series = place.each.iter().map(SignalReadings::name).take(4).collect();
    let mut found = RankedFinding::new(standing, "thread-waits", confidence, claim).rests_on(text, series, stretch);
    for (other, count) in others(places, place, stretch) {
        let at = other.label("at").unwrap_or_default();
        let below = other.label("under").map_or(String::new(), |under| format!(" below `{under}`"));
        let text = format!("meanwhile {} {} in `{at}`{below}", units::number(count), does(other));
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
    database.map(|wait| format!("{} sessions of the database were in {}", units::number(wait.sessions), wait.event))
}

fn most<'s, 'a>(each: &'s [SignalReadings<'a>], (from, to): (f64, f64)) -> Option<&'s SignalReadings<'a>> {
    let mean = |readings: &SignalReadings<'_>| readings.mean(from, to).unwrap_or(0.0);
    each.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))
}

/// What the rest does; the most first.
fn others<'p, 'a>(places: &'p [Place<'a>], but: &Place<'_>, (from, to): (f64, f64)) -> Vec<(&'p SignalReadings<'a>, f64)> {
    let rest = places.iter().filter(|place| (place.role, place.at) != (but.role, but.at)).flat_map(|place| &place.each);
    let counted = rest.filter_map(|readings| Some((readings, readings.mean(from, to)?)));
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
