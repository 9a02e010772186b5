//! A dependency slowed down, and the requests slowed down with it.
//!
//! The rule needs a stub in the place of the dependency, which measures how long it holds each call. It reports the stub if all of these hold:
//!
//! - requests waited, after at least {BEFORE_MIN_S} seconds in which they did not
//! - calls took at least {SLOWER_RATIO_MIN} times as long as before, and at least {SLOWER_MIN_S:ms} longer
//! - the added call time per request is {EXPLAINED_RANGE.0:%} to {EXPLAINED_RANGE.1:%} of the added time of the requests
//!
//! It ignores flows: work in a queue waits for the workers that process it, not for a call. The calls themselves took the added time, so a queue in front of
//! the dependency is ruled out. The rule cannot see why the dependency slowed down.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Evidence, Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};

/// Minimum ratio of hold times after and before, and minimum difference.
const SLOWER_RATIO_MIN: f64 = 1.5;
const SLOWER_MIN_S: f64 = 0.02;
/// Seconds needed before the change.
const BEFORE_MIN_S: f64 = 8.0;
/// Range of the added call time per request over the added request time.
const EXPLAINED_RANGE: (f64, f64) = (0.6, 1.8);

pub(super) const RULE: Rule = Rule {
    ids: &["slow-dependency"],
    page: "slow-dependency",
    title: "A dependency became slower",
    says: "calls to a dependency take the added time",
    example: Example {
        run: "examples/slow-dependency",
        claim: "Calls to \"ledger\" slowed down from 40.0 ms to 490 ms, and so did the requests",
    },
    needs: &[],
    settings: &[],
    precedence: 300,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    // Only if the requests themselves wait for the calls: work in a queue waits for the workers that process it.
    if facts.call_ceiling.is_some() {
        return None;
    }
    let waiting = facts.waiting.iter().find(|waiting| waiting.flow.is_none())?;
    let (from, to) = (waiting.from, waiting.to);
    if from < BEFORE_MIN_S {
        return None;
    }
    facts.called.iter().find_map(|endpoint| {
        let (hold, calls) = (endpoint.hold.as_ref()?, endpoint.calls.as_ref()?);
        let (before, during) = (hold.mean(0.0, from - 2.0)?, hold.mean(from + 2.0, to - 2.0)?);
        if during < SLOWER_RATIO_MIN * before || during < before + SLOWER_MIN_S {
            return None;
        }
        let (slow_before, slow_during) = (response(facts, 0.0, from - 2.0)?, response(facts, from + 2.0, to - 2.0)?);
        let per_request = calls.mean(from, to)? / waiting.finished.max(1e-9);
        let explained = (during - before) * per_request / (slow_during - slow_before).max(1e-9);
        if explained < EXPLAINED_RANGE.0 || explained > EXPLAINED_RANGE.1 {
            return None;
        }
        let name = endpoint.name;
        let claim = format!(
            "Calls to \"{name}\" slowed down from {} to {}, and so did the requests",
            loadstone_units::seconds(before),
            loadstone_units::seconds(during)
        );
        Some(
            RankedFinding::new(Standing::Cause, "slow-dependency", Subject::endpoint(name), Confidence::High, claim)
                .with(Quantity::seconds("call_before", before))
                .with(Quantity::seconds("call", during))
                .with(Quantity::share("explained_share", explained.min(1.0)))
                .rests_on_drawn(
                    Evidence::new(format!(
                        "mean response time went from {} to {}; \"{name}\" accounts for {} of the increase",
                        loadstone_units::seconds(slow_before),
                        loadstone_units::seconds(slow_during),
                        loadstone_units::share(explained.min(1.0))
                    ),
                    vec![hold.name(), "response/p50".to_owned()],
                    (from, to),
                    )
                    .level(&hold.name(), "before", before, (0.0, from))
                    .level(&hold.name(), "during", during, (from, to)),
                )
                .weigh(Alternative::ruled_out("A queue in front of it", "the calls themselves took the added time"))
                .try_next("Give the call a time limit, run it in parallel with others, or respond without it."),
        )
    })
}

/// Mean response time of the requests that ended in a stretch. Seconds.
fn response(facts: &Facts<'_>, from: f64, to: f64) -> Option<f64> {
    let seconds = facts.tally.seconds().iter().filter(|second| second.start as f64 / 1e9 >= from && second.end as f64 / 1e9 <= to);
    let (count, sum) = seconds.fold((0, 0), |(count, sum), second| (count + second.requests, sum + second.response_sum_ns));
    (count > 0).then(|| sum as f64 / count as f64 / 1e9)
}
