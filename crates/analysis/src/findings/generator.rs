//! The load generator itself: at its limit, or so late that most of what the run rests on may be its doing. Where it only may have added to some numbers,
//! those are marked and validity says so: that limits nothing.
//!
//! Made if the generator did not make the load that it was asked for, or if most of the times that the run rests on may be its own. Where it may have
//! added to some of them, these are marked and the validity says so ([uncertainty](../validity.md#uncertainty)): that limits nothing, and is no finding. Its evidence
//! ends with what explains it: late schedule, unread responses, starved or throttled workers, script stalls. It comes before all other findings, with the
//! [exceptions](../how-findings-work.md#ranking).
//!
//! A growth between two stretches of one run is the target's unless the generator was later in the second by at least half of that growth: what it was
//! late by in both says nothing about their difference.

use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::{Confidence, Grade};

pub(super) const RULE: Rule = Rule {
    ids: &["generator"],
    title: "The load generator limits the results",
    says: "the load generator itself limits the results",
    needs: &[],
    settings: &[],
    precedence: 340,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let generator = &facts.generator;
    let checks = generator.failed_checks();
    let worst = checks.first()?;
    let certain = |confidence, claim: &str| {
        let found = RankedFinding::new(Standing::Cause, "generator", Subject::Generator, confidence, claim.to_owned());
        RankedFinding { uncertainty: GeneratorUncertainty::Itself, ..found }
    };
    let found = if !generator.generated_the_load() {
        certain(Confidence::High, "The load generator reached its limit: the target was asked for less than the test says")
    } else if worst.grade == Some(Grade::Invalid) {
        certain(Confidence::Medium, "Most of the times that the run rests on may be the load generator's")
    } else {
        return None;
    };
    let whole = (0.0, facts.tally.duration_seconds());
    let found = checks.iter().copied().chain(generator.reasons()).fold(found, |found, check| {
        found.rests_on(format!("{}: {}", check.title, check.evidence), vec![format!("validity/{}", check.id)], whole)
    });
    Some(found.try_next(worst.advice.as_str()))
}
