//! Requests spend most of their time waiting for one thing outside of the service, and for so long that users notice it at any load.
//!
//! A dependency that is slow from the beginning shows no change, and a system that can bear it has no limit. The time shows where it is spent: by Little's
//! law, the mean number of requests in a place over that in the system is the share of their time.
//!
//! | place | signal |
//! |---|---|
//! | a call in which threads wait for the network, a disk or another process | [runtimes](../observers.md#runtimes) |
//! | an address that has not answered | `awaited` of `observe.process` |
//!
//! The rule reports a place that holds at least {time_place::SHARE_MIN:%} of the requests in the system, at the highest load, if one of these holds:
//!
//! - One kind of request spends {WAIT_MIN_S} s or more there on average, at least {WAIT_PART_MIN:%} of its time. After a second, users notice that they wait
//!   (Miller 1968). The time of all other requests is taken off, as if they spent all of it there, so this is a lower bound.
//! - The server at the address is observed, and half of its observer's round trips take {time_place::ROUND_TRIP_MIN_S:ms} or more. They ask
//!   for little.
//!
//! It reports nothing if the path became slower from an instant on: [`dependency-path`](dependency-path.md) states that. A request may wait by design, as for
//! an event, so the confidence is medium at most. An address at which an observed process listens counts only if that process neither computes nor waits for
//! others meanwhile. Calls whose number does not vary with the requests, such as long polls, do not count.
//!
//! The rule does not count calls. Many short round trips to an address look like one that takes long.

use crate::Confidence;
use crate::evidence::time_place as sentences;
use crate::facts::Facts;
use crate::facts::time_place::TimePlaceKind;
use crate::finding::ranked::{Account, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Alternative, Quantity, Subject};

/// Seconds of one request in the place, and as a part of its time.
const WAIT_MIN_S: f64 = 1.0;
const WAIT_PART_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["long-wait"],
    page: "long-wait",
    title: "Requests wait for one dependency",
    says: "most of the time of requests is spent in calls to one dependency",
    example: Example {
        run: "examples/long-wait",
        claim: "Each \"Buy\" takes 1.51 s, and spends at least 1.46 s of it waiting for the network, a disk or another process in `send_mail \
                mail.py` below `checkout orders.py`",
    },
    needs: &["python", "jvm", "process"],
    settings: &["timeout", "url", "host"],
    precedence: 305,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let place = facts.time_place.as_ref().filter(|_| facts.dependency_path.is_none())?;
    let is_outward = !matches!(place.kind, TimePlaceKind::Statement);
    let request = place.request.as_ref().filter(|request| request.there_s >= WAIT_MIN_S.max(WAIT_PART_MIN * request.mean_s));
    let round_trip = place.long_round_trip();
    if !is_outward || (request.is_none() && round_trip.is_none()) {
        return None;
    }
    let share = place.share();
    let who = match request {
        Some(request) => format!(
            "Each \"{}\" takes {}, and spends at least {} of it waiting for",
            request.name,
            loadstone_units::seconds(request.mean_s),
            loadstone_units::seconds(request.there_s)
        ),
        None => format!("Requests spend {} of their time waiting for", loadstone_units::share(share)),
    };
    let late = round_trip
        .map(|round_trip| format!("half of its observer's round trips take {} or longer", loadstone_units::seconds(round_trip.median_s)));
    let claim = format!("{who} {}{}", sentences::awaited(place), late.iter().map(|late| format!("; {late}")).collect::<String>());
    let span = (place.from, place.to);
    let found = RankedFinding::new(Standing::Fault, "long-wait", Subject::part(place.observer, place.name), Confidence::Medium, claim)
        .accounting_for(Some(Account::Time(share)))
        .with(Quantity::share("time_share", share))
        .rests_on(sentences::sentence(place), place.series.clone(), span);
    let found = match &place.series[..] {
        [one] => found.at_level(one, "on average", place.count),
        _ => found,
    };
    let (alternative, next) = match round_trip {
        Some(_) => (
            Alternative::not_ruled_out("A network or proxy on the path to it that is slow", "the observer's round trip includes the path"),
            "Find out what the server does meanwhile (its slow log, commands of other clients), and how far away it is.",
        ),
        None => (
            Alternative::not_ruled_out(
                "A request that waits by design, as for an event or a job",
                "how long the answers should take is not known",
            ),
            "Find out whether one answer takes so long, or many short ones do. Give the call a time limit, or make it after the response (a job).",
        ),
    };
    let found = match round_trip.zip(late) {
        Some((round_trip, late)) => found
            .with(Quantity::seconds("round_trip", round_trip.median_s))
            .rests_on(late, vec![round_trip.series.clone()], span)
            .at_level(&round_trip.series, "median", round_trip.median_s),
        None => found,
    };
    Some(found.weigh(alternative).try_next(next))
}
