//! Throughput stops while requests wait, and nothing observed shows why.
//!
//! The rule needs no response time at low load, so few requests and a steep ramp are enough. It uses the estimate of `loadstone capacity --of-run`:
//!
//! | load | highest throughput |
//! |---|---|
//! | more arrives than ends in 3 consecutive fortieths of the load, and in 6 or more | the completions meanwhile, with Student's *t* |
//! | the load at least doubles, and throughput levels off | the maximum of the universal scalability law (Gunther 1993), or the level of a broken line |
//! | few requests: arrivals pile up beyond chance, as a single limit makes them | the completions since then, as a count (Garwood 1936) |
//! | few requests: completions follow the users along a broken line | its level, with the interval of the profile likelihood (Wilks 1938) |
//!
//! Only requests that wait are counted, with their usual part of all: while a queue grows, more of the requests ahead of it end than the limit carries.
//!
//! Work must wait at the end of the load: the time in the system, which is requests in the system over throughput (Little 1961), is twice that in the best
//! tenth of the load plus 20 ms, and two requests or more are in the system.
//!
//! **A constant load** has no low load, but the first requests of the run meet no queue. If later even the fast tenth of a request's times exceeds its shortest
//! time by half of its mean or more, and 1.5 requests or more wait so at any time, the queue is always there. Its throughput is the limit. Under arrivals a
//! fifth is enough, and the number of requests in the system must grow in each quarter of the load. For users, the asymptotic bounds (Denning and Buzen 1978)
//! give the number that reaches the limit: N* = X · (Z + R₀), with the time Z between requests and the shortest times R₀.
//!
//! Throughput × the shortest time is the number of places, if each request holds one for the same time. The claim has that number only if the shortest times
//! show it: several are as short, or they are whole multiples of the shortest one. Exponential times would show that by chance in 5 % of cases.
//!
//! Otherwise, the first responses of users who begin at once show it. They all send the same request at the same instant, so that with k places the i-th
//! response takes i · S / k, of which the first shows S. The claim has the number if blocks of k responses are about as long as each other, so that
//! service times
//! scatter little, if as many responses were as short as the first, and if the interval is narrow: {in_service::RANGE_FACTOR_MAX} times from end to end at
//! most, with {in_service::USERS_PER_PLACE_MIN} users for each place.
//!
//! If users begin at once, more of their first requests are fast than later, because the queue was empty at first. If chance explains that in
//! {constant_load::FILLS_P_VALUE_MAX:%} of cases at most, a fifth of the mean is enough under users, too.
//!
//! If several names wait and no number is known so, it is an upper bound, as their shortest times may include a wait. For a rising load, the claim has
//! throughput × the time in
//! the best tenth of the load, less {BEST_TENTH_WITHIN:%} at the lower end.
//!
//! If every request waits about as long (within a factor of 1.3), also one that takes a tenth of that at most, they queue before any work, for a request
//! thread, an event loop or the accept queue, or for a pool that each of them uses. If the process is idle meanwhile, and an endpoint of the service that an
//! observer reads stops answering, this is the cause.
//!
//! Otherwise, this is a symptom. If another rule reports the cause, it becomes evidence of that finding.

use loadstone_metrics::SeriesKind;

use crate::capacity::ThroughputCeiling;
use crate::evidence::common_wait::{self, CommonWait};
use crate::evidence::{examined, next_limit};
use crate::facts::Facts;
use crate::facts::constant_load::{ConstantLoad, ConstantQueue};
use crate::facts::in_service::InService;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::{clock, named};
use crate::remark::load_shape::{self, WantedLoad};
use crate::remark::load_target::LoadTarget;
use crate::{Confidence, Evidence, Grade, remark};

/// Share of failed requests above which failures explain more.
const FAILED_SHARE_MAX: f64 = 0.2;
/// Share of the time in the system from which one request is named.
const BUSIEST_SHARE_MIN: f64 = 0.6;

/// Part by which the time in the best tenth of the load may be too long.
const BEST_TENTH_WITHIN: f64 = 0.2;
/// The most requests served at a time that are named: a large number is no size that somebody configured.
const SERVED_NAMED_MAX: f64 = 16.0;

pub(super) const RULE: Rule = Rule {
    ids: &["throughput-limit"],
    page: "throughput-limit",
    title: "Throughput stops while requests wait",
    says: "throughput stops while requests wait, and nothing observed shows why",
    example: Example {
        run: "examples/throughput-limit",
        claim: "30 users are more than the system serves: no more than 11 of them would reach the same 10/s, and \"Issues\" waits for 1.72 s or \
                longer, 2 at a time if each takes equally long and no rate limit delays them",
    },
    needs: &[],
    settings: &[],
    precedence: 400,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let failed = facts.tally.together(SeriesKind::Request).map_or(0.0, |all| all.failed as f64 / all.count.max(1) as f64);
    if facts.generator.grade() == Grade::Invalid || failed > FAILED_SHARE_MAX {
        return None;
    }
    let constant = facts.constant_load.as_ref().and_then(of_constant_load);
    let (found, span) = constant.or_else(|| facts.ceiling.map(|ceiling| of_ceiling(facts, ceiling)))?;
    let common = common_wait::find(facts, span);
    let runtime = common.as_ref().and_then(|_| LoadTarget::of_run(facts).observe_runtime(&facts.run.plan, &facts.terms()));
    let found = found.outlining(1 + usize::from(common.is_some())).try_next(runtime.unwrap_or_else(|| next(facts)));
    let found = match common {
        Some(common) => before_any_work(facts, found, &common, span),
        None => found,
    };
    Some(next_limit::add_evidence(facts, found, span, &|_| false))
}

/// The queue is before any work, or for a pool that each request uses. A silent endpoint of the service excludes the pool. With an idle process, the
/// cause is then known.
fn before_any_work(facts: &Facts<'_>, mut found: RankedFinding, common: &CommonWait, span: (f64, f64)) -> RankedFinding {
    let cpu = examined::cpu(facts, span.0, span.1);
    let core = if cpu.ruled_out { "" } else { ", a core" };
    let place = if common.reaches_an_observer() { " or the accept queue" } else { ", the accept queue or a pool that each of them uses" };
    found.finding.claim +=
        &format!(". All requests wait equally long, {}: for a request thread, an event loop{core}{place}", common.also());
    let evidence = Evidence::new(common.sentence(), vec!["response/p50".to_owned()], span);
    found.finding.evidence.insert(1, evidence);
    if cpu.ruled_out && common.reaches_an_observer() {
        found.standing = Standing::Cause;
    }
    found.weigh(cpu)
}

/// The missing observer. After a load of one level, a ramp to it would show the time of a request without waiting, and with it the number of places.
fn next(facts: &Facts<'_>) -> String {
    let ramp = facts.constant_load.as_ref().and_then(ConstantLoad::queue).map(|_| {
        format!(
            " Ramp to this load from a low one{}: the requests that do not wait show how many are served at a time.",
            load_shape::line(facts, WantedLoad::FromLow)
        )
    });
    format!("{}{}", remark::observe_next(facts), ramp.unwrap_or_default())
}

fn of_constant_load(load: &ConstantLoad) -> Option<(RankedFinding, (f64, f64))> {
    let queue = load.queue()?;
    let (number, seconds) = (loadstone_units::number, loadstone_units::seconds);
    let names: Vec<&str> = queue.waiting.iter().map(|request| request.name.as_str()).collect();
    let span = (load.from, load.to);
    let series = || vec!["in_flight/requests".to_owned(), "rate/requests".to_owned()];
    let found = RankedFinding::new(
        Standing::Symptom,
        "throughput-limit",
        Subject::requests(names.iter().copied()),
        Confidence::Medium,
        claim_of_queue(load, &queue, &names),
    )
    .with(Quantity::rate("throughput", load.throughput()))
    .with(Quantity::rate("throughput_waiting", queue.throughput))
    .rests_on_drawn(waits_of(&queue, &names, span));
    let in_system = format!("{} requests were in the system", number(load.in_flight));
    let found = match queue.users_needed {
        Some(needed) => found.with(Quantity::count("users_needed", needed)).rests_on(
            format!("{in_system}; users spent {} of an iteration between requests", seconds(load.think_s())),
            series(),
            span,
        ),
        None => found.rests_on(format!("{in_system}, and their number grew"), series(), span),
    };
    let found = match queue.places_if_equal {
        Some((low, high)) => found.with(Quantity::count("places", queue.places.clamp(low, high)).within(low, high)).rests_on(
            format!("throughput × shortest time = {}, and other requests without a queue took as long", number(queue.places)),
            series(),
            span,
        ),
        None => match queue.in_service {
            Some(served) => with_places(found, served, span),
            None => found,
        },
    };
    Some((found, span))
}

/// The times of the requests that wait, next to the shortest of them.
fn waits_of(queue: &ConstantQueue<'_>, names: &[&str], span: (f64, f64)) -> Evidence {
    let text = format!(
        "{}: even the fast tenth took {} longer than the fastest of the run ({}), which met hardly any queue",
        named(names),
        loadstone_units::seconds(queue.least_wait_s),
        loadstone_units::seconds(queue.shortest_s)
    );
    let series = vec!["response/p50".to_owned(), "rate/requests".to_owned()];
    Evidence::new(text, series, span).of_requests(names.iter().copied()).level("response/p50", "fastest", queue.shortest_s, span)
}

fn with_places(found: RankedFinding, served: &InService, span: (f64, f64)) -> RankedFinding {
    let (number, seconds) = (loadstone_units::number, loadstone_units::seconds);
    let (low, high) = served.places;
    let text = format!(
        "all users began at once with \"{}\": the first {} responses took {} to {}, so that {} were in service at a time (95 % interval {} to {})",
        served.name,
        loadstone_units::count(served.responses as u64),
        seconds(served.shortest_s),
        seconds(served.within_s),
        number(served.number),
        number(served.low),
        number(served.high)
    );
    found.with(Quantity::count("places", served.number.clamp(low, high)).within(low, high)).rests_on(
        text,
        vec!["in_flight/requests".to_owned(), "rate/requests".to_owned()],
        span,
    )
}

fn claim_of_queue(load: &ConstantLoad, queue: &ConstantQueue<'_>, names: &[&str]) -> String {
    let (number, rate) = (loadstone_units::number, loadstone_units::rate);
    let places = queue.places_if_equal.map_or_else(String::new, |(low, high)| {
        let places = if low < high { format!("{} to {}", number(low), number(high)) } else { number(low) };
        format!(", {places} at a time if each takes equally long and no rate limit delays them")
    });
    let at_most = queue.places_at_most.map_or_else(String::new, |most| {
        format!(", at most {} at a time if each name takes equally long and no rate limit delays them", number(most))
    });
    let served = queue.in_service.filter(|_| places.is_empty()).map(|served| served_by(served.places));
    let places = served.unwrap_or(places + &at_most);
    let verb = if names.len() == 1 { "waits" } else { "wait" };
    let wait = format!("{} {verb} for {} or longer{places}", named(names), loadstone_units::seconds(queue.least_wait_s));
    match queue.users_needed {
        Some(needed) => format!(
            "{} users are more than the system serves: no more than {} of them would reach the same {}, and {wait}",
            number(load.asked),
            number(needed.ceil()),
            rate(load.throughput())
        ),
        None => format!(
            "{} iterations arrive and {} end: more than the system serves. Requests end at {}, and {wait}",
            rate(load.asked),
            rate(load.iterations),
            rate(load.throughput())
        ),
    }
}

fn of_ceiling(facts: &Facts<'_>, ceiling: ThroughputCeiling) -> (RankedFinding, (f64, f64)) {
    let span = (ceiling.from, ceiling.to);
    let of = ceiling.throughput;
    let rate = loadstone_units::rate;
    let (before, during) = ceiling.time_s;
    let load = if ceiling.is_overload { ", while more arrive".to_owned() } else { grown_to(facts, ceiling.to) };
    let most = busiest(facts, span);
    let place = most.as_ref().map_or_else(String::new, |(name, share, own)| {
        format!(", {} of it in \"{name}\", of which {} end", loadstone_units::share(*share), rate(*own))
    });
    let claim = format!(
        "Throughput stops at {} (95 % interval {} to {}) from {} on{load}: the time in the system grew from {} to {}{place}{}",
        rate(of.value),
        rate(of.low),
        rate(of.high),
        clock(ceiling.from),
        loadstone_units::seconds(before),
        loadstone_units::seconds(during),
        served_at_a_time((of.low * before, of.high * before))
    );
    let subject = most.as_ref().map_or(Subject::Whole, |(name, ..)| Subject::requests([name.as_str()]));
    let found = RankedFinding::new(Standing::Symptom, "throughput-limit", subject, Confidence::Medium, claim)
        .with(Quantity::rate("throughput", of.value).within(of.low, of.high))
        .with(Quantity::seconds("time_low", before))
        .with(Quantity::seconds("time_high", during))
        .rests_on(
            format!(
                "throughput stopped at {} ({} to {}), with {} requests in the system at the end",
                rate(of.value),
                rate(of.low),
                rate(of.high),
                loadstone_units::number(ceiling.in_system)
            ),
            vec!["rate/asked".to_owned(), "rate/requests".to_owned(), "in_flight/requests".to_owned()],
            span,
        )
        .at_level("rate/requests", "stopped at", of.value)
        .rests_on(
            format!(
                "throughput × time in the system in the best tenth of the load = {}: no more are in service at a time",
                loadstone_units::number(of.value * before)
            ),
            vec!["in_flight/requests".to_owned(), "rate/requests".to_owned()],
            span,
        );
    (found, span)
}

/// The load at the end of the stretch, in the unit of the throughput: requests per second, or users. Empty for a load of both.
fn grown_to(facts: &Facts<'_>, to: f64) -> String {
    let asked = facts.strain.asked(to - 1.0, to);
    let set_ups = facts.run.plan.set_ups();
    let leaves = facts.run.plan.load.leaves().into_iter().zip(0_u32..).filter(|(_, number)| !set_ups.contains_key(number));
    let mut kinds: Vec<bool> = leaves.map(|(leaf, _)| leaf.profile.is_open()).collect();
    kinds.dedup();
    match kinds[..] {
        [false] => format!(", although the load grew to {}", loadstone_units::counted(asked.round() as u64, "user")),
        [true] => {
            let ended = |kind| facts.tally.together(kind).map_or(0, |all| all.count);
            let (requests, iterations) = (ended(SeriesKind::Request), ended(SeriesKind::Iteration));
            // The record of another tool may have no iterations.
            let each = if iterations == 0 { 1.0 } else { requests as f64 / iterations as f64 };
            // A failed or interrupted iteration sends fewer requests than the others.
            let about = if (each - 1.0).abs() < 0.01 { "" } else { "about " };
            format!(", although the load grew to {about}{}", loadstone_units::rate(asked * each))
        }
        _ => String::new(),
    }
}

/// What has the number of places that requests are served at.
fn served_by((low, high): (f64, f64)) -> String {
    let share = if high < 2.0 { ", or a share of a core (a CPU quota)" } else { "" };
    let served = from_to((low, high));
    format!(", about {served} at a time: a pool, workers, a lock or cores of that number{share}, unless a rate limit delays them")
}

fn from_to((low, high): (f64, f64)) -> String {
    let number = loadstone_units::number;
    if low < high { format!("{} to {}", number(low), number(high)) } else { number(high) }
}

/// About how many requests are served at a time, by Little's law with the time in the best tenth of the load. It may include a wait, or be short by chance.
fn served_at_a_time((low, high): (f64, f64)) -> String {
    let (low, high) = ((low * (1.0 - BEST_TENTH_WITHIN)).floor().max(1.0), high.ceil().max(1.0));
    if high > SERVED_NAMED_MAX {
        return String::new();
    }
    served_from_to((low, high))
}

fn served_from_to(range: (f64, f64)) -> String {
    let share = if range.1 < 2.0 { ", or the CPU time of a quota" } else { "" };
    format!(". About {} are served at a time, unless a rate limit delays them{share}", from_to(range))
}

/// The request that takes most of the time in the system in a stretch, its share, and how many of it end per second.
fn busiest(facts: &Facts<'_>, span: (f64, f64)) -> Option<(String, f64, f64)> {
    let times = facts.responses.iter().filter_map(|response| {
        let part = response.stretch_between(span)?;
        Some((response.name.clone(), part.throughput * part.service, part.throughput))
    });
    let times: Vec<(String, f64, f64)> = times.collect();
    let all: f64 = times.iter().map(|(_, time, _)| time).sum();
    let (name, time, own) = times.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = time / all.max(1e-9);
    (share >= BUSIEST_SHARE_MIN && facts.responses.len() > 1).then_some((name, share, own))
}
