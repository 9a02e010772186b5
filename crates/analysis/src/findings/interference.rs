//! One request holds up the others while it is under way: it blocks an event loop, holds a lock, or fills a shared queue.
//!
//! For each request, the rule compares the seconds in which it is under way with the others, by the longest other request that ended in them. It reports the
//! request if all of these hold:
//!
//! | condition | limit |
//! |---|---|
//! | seconds with the request, and without it | {interference::SECONDS_MIN} each; with it, at most {interference::UNDER_WAY_SHARE_MAX:%} of all |
//! | the longest other request, median with over without | {interference::SLOWER_FACTOR_MIN}, and {interference::SLOWER_BY_MIN_S:ms} more |
//! | its seconds that are slow, and slow seconds that are its own | {interference::TOGETHER_SHARE_MIN:%} each |
//! | its own time over theirs | {interference::OWN_TIME_PART_MIN} |
//! | other requests per second, with over without | at most {interference::SAME_LOAD_FACTOR_MAX} |
//! | probability of chance, times the requests tested | {interference::P_VALUE_MAX} |
//!
//! The probability comes from {interference::PERMUTATIONS} permutations that exchange seconds within blocks of {interference::BLOCK_SECONDS} s. Confidence is
//! high if {SURE_SHARE_MIN:%} of its seconds are slow and {SURE_SHARE_MIN:%} of the slow seconds are its own.
//!
//! A request that is under way all the time cannot be compared with other seconds. With `observe.node`, the evidence has the delay of the event loop in both
//! kinds of seconds. The rule cannot see what else a script does at the same time as the request.

use loadstone_metrics::Role;

use crate::Confidence;
use crate::Evidence;
use crate::facts::Facts;
use crate::facts::interference::Interference;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::named;
use crate::Grade;

/// Share for high confidence.
const SURE_SHARE_MIN: f64 = 0.9;
/// Factor by which the delay of an event loop is larger while the request is under way, if it blocks the loop.
const LOOP_DELAY_FACTOR_MIN: f64 = 2.0;

pub(super) const RULE: Rule = Rule {
    ids: &["interference"],
    page: "interference",
    title: "One request holds up the others",
    says: "other requests are slow while one request is under way",
    example: Example {
        run: "examples/interference",
        claim: "\"Export\" holds up other requests: the longest of them take 181 ms in the seconds in which it is under way, and 4.31 ms in the \
                others",
    },
    needs: &[],
    settings: &["worker", "thread"],
    precedence: 200,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let found = facts.interference.as_ref()?;
    let (during, otherwise) = (loadstone_units::seconds(found.during_s), loadstone_units::seconds(found.otherwise_s));
    let blocked = blocked_loop(facts, found);
    let how = if blocked.is_some() { ": it blocks the event loop" } else { "" };
    let claim = format!(
        "\"{}\" holds up other requests{how}: the longest of them take {during} in the seconds in which it is under way, and {otherwise} in the others",
        found.request
    );
    let is_sure = found.slow_share >= SURE_SHARE_MIN && found.explained_share >= SURE_SHARE_MIN;
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let span = (found.under_way.first()?.0, found.under_way.last()?.1);
    let held_up: Vec<&str> = found.held_up.iter().map(String::as_str).collect();
    let text = format!(
        "\"{}\" takes {} and was under way in {} seconds, of which {} were slow for {}; {} of all slow seconds are among them",
        found.request,
        loadstone_units::seconds(found.takes_s),
        loadstone_units::count(found.under_way.len() as u64),
        loadstone_units::share(found.slow_share),
        named(&held_up),
        loadstone_units::share(found.explained_share)
    );
    let evidence = Evidence::new(text, vec!["response/max".to_owned()], span)
        .of_requests(held_up.iter().copied())
        .level("response/max", "while it is under way", found.during_s, span)
        .level("response/max", "otherwise", found.otherwise_s, span);
    let finding = RankedFinding::new(Standing::Fault, "interference", Subject::requests([found.request.as_str()]), confidence, claim)
        .with(Quantity::seconds("during", found.during_s))
        .with(Quantity::seconds("otherwise", found.otherwise_s))
        .rests_on_drawn(evidence);
    let finding = match blocked {
        Some((text, series)) => finding.rests_on(text, vec![series], span),
        None => finding,
    };
    let chance = format!(
        "slow seconds coincide with it as often in {} of permutations of neighbouring seconds",
        if found.p_value < 0.001 { "less than 0.1 %".to_owned() } else { loadstone_units::share(found.p_value) }
    );
    let uncertainty = if facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    let finding = finding
        .weigh(Alternative::ruled_out("Chance", chance))
        .weigh(Alternative::ruled_out("The load", "as many other requests ended in these seconds as in the others"))
        .weigh(Alternative::ruled_out("The load generator", "in most of these seconds it stalled for less than half as long"))
        .try_next(format!(
            "Find what \"{}\" and {} share: the thread of an event loop, a lock, a table, a pool. Do its work in parts, in another thread or process, or \
             outside of the request path. Run again without it: the longest of the others should remain at about {otherwise}.",
            found.request,
            named(&held_up)
        ));
    Some(RankedFinding { uncertainty, ..finding })
}

/// The event loop that is delayed while the request is under way: a sentence, and its signal.
fn blocked_loop(facts: &Facts<'_>, found: &Interference) -> Option<(String, String)> {
    facts.signals.parts_with(Role::EventLoopDelay).find_map(|part| {
        let delay = facts.signals.read(part, Role::EventLoopDelay)?;
        let (during, otherwise) = (delay.mean_inside(&found.under_way)?, delay.mean_inside(&found.others)?);
        let text = format!(
            "the event loop of \"{}\" was delayed by {} in these seconds, and by {} in the others",
            part.observer,
            loadstone_units::seconds(during),
            loadstone_units::seconds(otherwise)
        );
        (during >= LOOP_DELAY_FACTOR_MIN * otherwise.max(1e-4)).then(|| (text, delay.name()))
    })
}
