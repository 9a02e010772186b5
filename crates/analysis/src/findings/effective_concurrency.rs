//! Effective concurrency: a request of which only so many are served at a time.
//!
//! For a single request, a saturated CPU looks the same, but it slows down all of them: the rule only speaks of a pool when other requests kept
//! their times meanwhile, and says nothing when all grow together.

use super::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::facts::plateau::{Plateau, Plateaus, SlotEstimate, UnaffectedRequest};
use crate::{Confidence, Evidence, Finding, Grade};

/// An estimate from here on counts as at least one slot: it may be a little low.
const ONE_SLOT: f64 = 0.9;
/// Half of the interval, as a share of the slots, up to which their number is known well.
const HALF_MAX: f64 = 0.25;

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let plateaus = &facts.plateaus;
    let by_generator = |plateau: &Plateau| {
        let (low, high) = (&plateau.low, &plateau.high);
        facts.generator.explains(high.service - low.service, (low.from, low.to), (high.from, high.to))
    };
    if plateaus.limited.is_empty() || plateaus.limited.iter().any(by_generator) {
        return None;
    }
    // Less than one slot: requests are not held back for as long as they take, so no pool or lock is in their path.
    let concurrency = plateaus.concurrency();
    if concurrency.slots + concurrency.half < ONE_SLOT {
        return None;
    }
    let (limited, kept, grown) = (plateaus.limited.len(), plateaus.unaffected.len(), plateaus.grown);
    // Where most of what was measured grew together, something that they share is the better explanation.
    let is_alone = if kept == 0 { limited + grown == 1 } else { grown <= kept };
    // A processor that saturates is only ruled out by as many requests that kept their times as there are others: a single one may be served by
    // another process.
    let processor_is_ruled_out = kept >= limited + grown;
    let kept: &[UnaffectedRequest] = if processor_is_ruled_out { &plateaus.unaffected } else { &[] };
    is_alone.then(|| RankedFinding::of(Standing::Cause, finding(facts.generator.grade(), plateaus, concurrency, kept)))
}

/// `kept`: the requests that rule out that everything slowed down; empty where nothing does.
fn finding(generator: Grade, plateaus: &Plateaus, concurrency: SlotEstimate, kept: &[UnaffectedRequest]) -> Finding {
    let (limited, SlotEstimate { slots, half }) = (&plateaus.limited, concurrency);
    let names = limited.iter().map(|plateau| format!("\"{}\"", plateau.name)).collect::<Vec<_>>().join(" and ");
    let is_are = if limited.len() == 1 { "is" } else { "are together" };
    let what = if kept.is_empty() { "" } else { ": a pool, lock or limit of that size is in their path" };
    let what = if limited.len() == 1 { what.replace("their", "its") } else { what.to_owned() };
    let suspect = generator > Grade::Valid;
    let strong = limited.iter().all(Plateau::is_strong);
    let confidence = match (kept.is_empty(), strong && half < HALF_MAX * slots, suspect) {
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
            "Look for what lets {} at a time through to {names}: a connection pool, worker threads, a semaphore or a lock. Raise it by \
             half and run again: throughput should rise by half too, to about {}.",
            whole(slots, half),
            units::rate(limited.iter().map(|plateau| plateau.high.throughput).sum::<f64>() * 1.5)
        ),
    }
}

fn evidence(plateau: &Plateau, slots: &str) -> Evidence {
    let Plateau { name, low, high, reached, .. } = plateau;
    Evidence {
        text: format!(
            "\"{}\": throughput stopped at {} ({} of what the load asked for) while service times grew from {} to {}; throughput × \
             service time without waiting = {slots}",
            name,
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

fn alternatives(kept: &[UnaffectedRequest], limited: &[Plateau]) -> Vec<String> {
    let mut list = Vec::new();
    match kept {
        [] => list.push(
            "A saturated CPU or another shared resource looks the same. Not ruled out: too few other requests kept their times. \
             Observe the process, or add cheap requests to the test."
                .to_owned(),
        ),
        [first, ..] => {
            let inflation = kept.iter().map(|kept| kept.inflation).fold(1.0, f64::max);
            let others = if kept.len() == 1 { format!("\"{}\"", first.name) } else { format!("{} other requests", kept.len()) };
            list.push(format!(
                "A saturated CPU would slow everything down. Ruled out: {others} took at most {} times as long meanwhile.",
                number(inflation)
            ));
        }
    }
    let rate = limited.iter().map(|plateau| plateau.high.throughput).sum::<f64>();
    list.push(format!(
        "A rate limit of {} that delays instead of rejecting looks the same from outside, but would not move when the service time \
         changes.",
        units::rate(rate)
    ));
    list.push("A dependency that serves that many at a time: the limit would be there.".to_owned());
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
