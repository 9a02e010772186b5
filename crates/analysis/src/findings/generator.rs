//! The load generator reached its limit, or most of the times that the run rests on may be its own lateness.
//!
//! Reported if the generator did not create the load that the test asks for, or if most of the response times that the verdict uses may include its own
//! delay. If it may have added to a few numbers only, the report marks these numbers and [validity](../validity.md#uncertainty) lists them. Such numbers limit
//! nothing, so they are no finding.
//!
//! The evidence ends with the cause: a late schedule, responses that were read late, workers without a core or throttled, or script stalls. This finding
//! ranks before all others, with the [exceptions](../how-findings-work.md#ranking).
//!
//! Growth between two stretches of one run belongs to the target, unless the generator was later in the second stretch by at least half of that growth.
//! Lateness that both stretches have in common does not affect their difference.

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
