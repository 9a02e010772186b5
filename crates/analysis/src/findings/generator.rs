//! The load generator at its limit: it sent less load than the test specifies, or most measured times may be due to its lateness.
//!
//! | case | confidence |
//! |---|---|
//! | the generator did not generate the requested load | high |
//! | a validity check is invalid: most measured times may be due to the generator's lateness | medium |
//!
//! In a run of `loadstone watch`, the finding names the tool, or the proxy that recorded the requests.
//!
//! The evidence lists the failed [validity checks](../validity.md) and what explains them: a late schedule, unread responses, starved or throttled workers,
//! script stalls.
//!
//! The finding ranks before all others, with the [exceptions](../how-findings-work.md#ranking). If the generator may have added time to some values only, no
//! finding appears. Those values are marked, and the validity shows them ([uncertainty](../validity.md#uncertainty)).
//!
//! Other rules attribute growth between two stretches of a run to the target, unless the generator was later in the second stretch by at least half of that
//! growth: lateness that is equal in both does not change their difference.

use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::{Confidence, Evidence, Grade};

pub(super) const RULE: Rule = Rule {
    ids: &["generator"],
    page: "generator",
    title: "The load generator limits the results",
    says: "the load generator itself limits the results",
    example: Example {
        run: "corpus/node.healthy.plain.constant.nothing.1",
        claim: "Most measured times may be due to the load generator, not the target",
    },
    needs: &[],
    settings: &[],
    precedence: 340,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let generator = &facts.generator;
    let checks = generator.failed_checks();
    let worst = checks.first()?;
    // The users are missing for a reason that `failures` reports.
    if !facts.tally.failed_starts().is_empty() && checks.iter().all(|check| check.id == "closed-users") {
        return None;
    }
    let whole = (0.0, facts.tally.duration_seconds());
    let source = facts.load_source();
    let finding = |confidence, claim: String| {
        let found = RankedFinding::new(Standing::Cause, "generator", Subject::Generator, confidence, claim)
            .with(Quantity::seconds("lateness", generator.lateness(whole).read));
        RankedFinding { uncertainty: GeneratorUncertainty::Itself, ..found }
    };
    let found = if !generator.generated_the_load() {
        finding(Confidence::High, format!("{} reached its limit: the target received less load than the test specifies", source.title()))
    } else if worst.grade == Some(Grade::Invalid) {
        finding(Confidence::Medium, format!("Most measured times may be due to {}, not the target", source.name))
    } else {
        return None;
    };
    let found = checks.iter().copied().chain(generator.reasons()).fold(found, |found, check| {
        let evidence = Evidence::new(format!("{}: {}", check.title, check.evidence), vec![format!("validity/{}", check.id)], whole);
        found.rests_on_drawn(check.levels.iter().fold(evidence, |evidence, at| evidence.level(&at.series, at.label, at.value, whole)))
    });
    Some(found.try_next(worst.advice.as_str()))
}
