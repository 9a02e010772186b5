//! Effective concurrency: a request of which only so many are served at a time.
//!
//! Behind a pool of k slots, a lock (k = 1) or k workers with service time S, throughput cannot pass k/S. Once the load asks for more, throughput
//! stays there and response times grow by the wait for a slot. By Little's law k = X_max · S₀, with S₀ seen under low load.
//! A CPU that saturates looks the same for each request by itself, but slows down all of them: the rule only speaks of a pool when other
//! requests kept their times at the same moment, and says nothing when all grow together.

use super::Scene;
use super::draft::{Draft, Standing};
use super::load_response::{Block, LoadResponse, Part};
use crate::{Confidence, Evidence, Finding, Grade};

/// Times longer under high load than under low that a limited request must be at least, and that an unaffected one may be at most.
pub(super) const GROWN: f64 = 1.5;
const KEPT: f64 = 1.25;
/// Growth from which the plateau is beyond doubt, if its size is known well enough.
const STRONGLY_GROWN: f64 = 3.0;
/// Part of the throughput that the load asks for, by what it was under low load, above which there is no limit to speak of.
const DEFICIT: f64 = 0.90;
/// The same at the top of a load that ends just above the limit.
const DEFICIT_JUST_ABOVE: f64 = 0.95;
/// Growth of throughput that is none.
const STILL: f64 = 0.04;
/// How far throughput may still grow where it is called a plateau, while the load grows by more.
const FLAT: f64 = 1.15;
/// Blocks that the plateau needs.
const SATURATED_MIN: usize = 4;
/// Failed share of the plateau above which failures explain more than slots do.
const FAILED_MAX: f64 = 0.20;

/// Places from which on there is at least one, by an estimate that may be a little low.
const ONE_PLACE: f64 = 0.9;

/// A request whose throughput stopped following the load.
struct Plateau<'a> {
    response: &'a LoadResponse,
    low: Part,
    high: Part,
    /// Throughput of the plateau over the one that the load asks for, going by low load.
    reached: f64,
}

pub(super) fn find(scene: &Scene<'_>) -> Option<Draft> {
    if generator_grade(scene) == Grade::Invalid {
        return None;
    }
    let limited: Vec<Plateau<'_>> = scene.responses.iter().filter_map(plateau).collect();
    let first = limited.first()?;
    // Fewer than one place: requests are not held back for as long as they take, so no pool or lock stands on their way.
    let (slots, half) = concurrency(&limited);
    if slots + half < ONE_PLACE {
        return None;
    }
    let (from, to) = (first.high.from, first.high.to);
    let others = || scene.responses.iter().filter(|response| !limited.iter().any(|plateau| std::ptr::eq(plateau.response, *response)));
    let kept: Vec<Kept<'_>> = others()
        .filter_map(|response| Some(Kept { name: &response.name, inflation: response.inflation(from, to)? }))
        .filter(|kept| kept.inflation <= KEPT)
        .collect();
    let grown = others().filter(|response| response.has_grown(GROWN, from, to)).count();
    // Where most of what was measured grew together, something that they share is the better explanation.
    let is_alone = if kept.is_empty() { limited.len() + grown == 1 } else { grown <= kept.len() };
    // A processor that saturates is only ruled out by as many requests that kept their times as there are others: a single one may be served by
    // another process.
    let processor_is_ruled_out = kept.len() >= limited.len() + grown;
    is_alone.then(|| {
        let finding = finding(scene, &limited, if processor_is_ruled_out { &kept } else { &[] });
        Draft { standing: Standing::Cause, finding, dwarfs_generator: false }
    })
}

/// The worst of the checks that speak of the generator; a threshold with too few samples, say, is no reason to doubt a plateau.
fn generator_grade(scene: &Scene<'_>) -> Grade {
    let checks = scene.validity.checks.iter().filter(|check| super::generator::is_capacity(check));
    checks.filter_map(|check| check.grade).max().unwrap_or(Grade::Valid)
}

/// A request that kept its times while others were limited.
struct Kept<'a> {
    name: &'a str,
    inflation: f64,
}

/// Well above the limit, the stretch in which the load asks for more than was served at best; just above it, the one in which times grew.
fn plateau(response: &LoadResponse) -> Option<Plateau<'_>> {
    let per_load = response.throughput_per_load()?;
    let top = top_throughput(response);
    let starved = response.blocks.iter().filter(|block| per_load * block.load * DEFICIT >= top && block.count > 0).collect();
    let grown = [STRONGLY_GROWN, GROWN].into_iter().map(|times| response.grown_blocks(times));
    std::iter::once(starved).chain(grown).find_map(|blocks| plateau_in(response, per_load, blocks))
}

fn plateau_in<'a>(response: &'a LoadResponse, per_load: f64, mut blocks: Vec<&Block>) -> Option<Plateau<'a>> {
    let low = response.low?;
    let high = if blocks.len() < SATURATED_MIN { None } else { Part::of(&blocks) }?;
    // Slow seconds that are scattered over the run are no stretch of saturation.
    if !response.has_grown(GROWN, high.from, high.to) || high.failed as f64 > FAILED_MAX * high.count as f64 {
        return None;
    }
    blocks.sort_by(|a, b| a.load.total_cmp(&b.load).then(a.from.total_cmp(&b.from)));
    let (lower, upper) = blocks.split_at(blocks.len() / 2);
    let (lower, upper) = (Part::of(lower)?, Part::of(upper)?);
    let noise = 2.0 * upper.throughput_error.hypot(lower.throughput_error);
    let growth = upper.throughput - lower.throughput;
    let reached = high.throughput / (per_load * high.load);
    let is_far_above = reached <= DEFICIT && (growth <= lower.throughput * (FLAT - 1.0) || growth < noise);
    // Throughput must have taken up less than half of the load's growth, while times grew strongly.
    let is_just_above = upper.throughput <= DEFICIT_JUST_ABOVE * per_load * upper.load
        && growth < lower.throughput * f64::max(0.5 * (upper.load / lower.load - 1.0), STILL)
        && high.service >= STRONGLY_GROWN * low.service;
    (is_far_above || is_just_above).then_some(Plateau { response, low, high, reached })
}

/// The throughput that a tenth of the blocks reach.
fn top_throughput(response: &LoadResponse) -> f64 {
    let mut throughputs: Vec<f64> = response.blocks.iter().map(Block::throughput).collect();
    throughputs.sort_by(f64::total_cmp);
    throughputs.get(throughputs.len().saturating_sub(1) * 9 / 10).copied().unwrap_or(0.0)
}

/// Slots and half of their 95 % interval. Requests of one pool share its slots: their parts add up, relative errors combine in quadrature.
fn concurrency(limited: &[Plateau<'_>]) -> (f64, f64) {
    let mut total = 0.0;
    let mut variance = 0.0;
    for plateau in limited {
        let (service, systematic) = service_without_waiting(plateau);
        let Plateau { low, high, .. } = plateau;
        let slots = high.throughput * service;
        total += slots;
        let relative = (low.service_error / low.service).powi(2) + (high.throughput_error / high.throughput).powi(2) + systematic.powi(2);
        variance += slots * slots * relative;
    }
    // Student's t for six degrees of freedom: there are at least three low blocks and four high ones.
    (total, 2.45 * f64::sqrt(variance))
}

/// The service time under low load without the waiting that there is even then, and the relative standard error of leaving it out.
///
/// With utilisation ρ = X_low / X_max the wait for one of k slots is about S · ρ^(√(2(k+1)) − 1) / (k(1 − ρ)) · c (Sakasegawa 1977), where c lies
/// between 0 (arrivals and services all regular) and 1 (both exponential). The middle is taken, with that span as its error. Under closed
/// load the few users of the low part do not meet each other at random, and nothing is taken off.
fn service_without_waiting(plateau: &Plateau<'_>) -> (f64, f64) {
    let Plateau { response, low, high, .. } = plateau;
    if !response.is_open {
        return (low.service, 0.0);
    }
    let utilisation = (low.throughput / high.throughput).min(0.9);
    let mut service = low.service;
    let mut wait = 0.0;
    for _ in 0..20 {
        let slots = (high.throughput * service).max(1.0);
        wait = 0.5 * utilisation.powf((2.0 * (slots + 1.0)).sqrt() - 1.0) / (slots * (1.0 - utilisation));
        service = low.service / (1.0 + wait);
    }
    (service, wait / 2.0)
}

/// `kept`: what rules out that everything slowed down; empty where that is open.
fn finding(scene: &Scene<'_>, limited: &[Plateau<'_>], kept: &[Kept<'_>]) -> Finding {
    let (slots, half) = concurrency(limited);
    let names = limited.iter().map(|plateau| format!("\"{}\"", plateau.response.name)).collect::<Vec<_>>().join(" and ");
    let is_are = if limited.len() == 1 { "is" } else { "are together" };
    let what = if kept.is_empty() { "" } else { ": a pool, a lock or a limit of that size stands on their way" };
    let what = if limited.len() == 1 { what.replace("their", "its") } else { what.to_owned() };
    let suspect = generator_grade(scene) > Grade::Valid;
    let strong = limited.iter().all(|Plateau { low, high, .. }| high.service >= STRONGLY_GROWN * low.service);
    let confidence = match (kept.is_empty(), strong && half < 0.25 * slots, suspect) {
        (true, _, _) => Confidence::Low,
        (false, true, false) => Confidence::High,
        (false, _, _) => Confidence::Medium,
    };
    let slots_text = format!("{} (95 % interval {}–{})", number(slots), number((slots - half).max(0.0)), number(slots + half));
    Finding {
        rule: "effective-concurrency".to_owned(),
        claim: format!("{names} {is_are} served about {} at a time{what}", whole(slots, half)),
        confidence,
        evidence: limited.iter().map(|plateau| evidence(plateau, &slots_text)).collect(),
        alternatives: alternatives(kept, limited),
        next: format!(
            "Look for what admits {} at a time on the way of {names}: a connection pool, worker threads, a semaphore or a lock. Raise it by half and run again: throughput should rise by half too, to about {}.",
            whole(slots, half),
            units::rate(limited.iter().map(|plateau| plateau.high.throughput).sum::<f64>() * 1.5)
        ),
    }
}

fn evidence(plateau: &Plateau<'_>, slots: &str) -> Evidence {
    let Plateau { response, low, high, reached } = plateau;
    Evidence {
        text: format!(
            "\"{}\": throughput stopped at {} ({} of what the load asked for) while service time grew from {} to {}; throughput × service time without waiting = {slots}",
            response.name,
            units::rate(high.throughput),
            units::share(*reached),
            units::seconds(low.service),
            units::seconds(high.service)
        ),
        series: vec!["rate/asked".to_owned(), "rate/requests".to_owned(), "response/p50".to_owned()],
        from_seconds: high.from,
        to_seconds: high.to,
    }
}

fn alternatives(kept: &[Kept<'_>], limited: &[Plateau<'_>]) -> Vec<String> {
    let mut list = Vec::new();
    match kept {
        [] => list.push(
            "A saturated CPU or another shared resource looks the same, and too few other requests kept their times to tell: not set aside. Observe the process, or add cheap requests to the test."
                .to_owned(),
        ),
        [first, ..] => {
            let inflation = kept.iter().map(|kept| kept.inflation).fold(1.0, f64::max);
            let others = if kept.len() == 1 { format!("\"{}\"", first.name) } else { format!("{} other requests", kept.len()) };
            list.push(format!(
                "A saturated CPU would slow down everything: set aside, because {others} took at most {} times as long at the same moment.",
                number(inflation)
            ));
        }
    }
    let rate = limited.iter().map(|plateau| plateau.high.throughput).sum::<f64>();
    list.push(format!(
        "A rate limit of {} that delays instead of rejecting looks the same from outside: it would not move when the service time changes.",
        units::rate(rate)
    ));
    list.push("A dependency behind it that serves that many at a time: the limit is then there.".to_owned());
    list
}

/// The whole numbers that the interval holds; where it holds none, the nearest if it is near.
fn whole(slots: f64, half: f64) -> String {
    let (low, high) = ((slots - half).max(1.0).ceil(), (slots + half).floor());
    let nearest = slots.round().max(1.0);
    if low < high {
        format!("{low:.0} to {high:.0}")
    } else if low == high || (slots - nearest).abs() <= 0.05 * nearest {
        format!("{:.0}", if low == high { low } else { nearest })
    } else {
        number(slots)
    }
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
