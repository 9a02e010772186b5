//! The load generator itself: when its measurement is not valid, its own limits come before any of the target's.

use super::ranked::{GeneratorDoubt, RankedFinding, Standing};
use crate::facts::Facts;
use crate::{Confidence, Grade};

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let checks = facts.generator.doubtful();
    let worst = checks.first()?;
    let found = if worst.grade == Some(Grade::Invalid) {
        let claim = "The load generator limits the results, not the target alone";
        let found = RankedFinding::new(Standing::Cause, "generator", Confidence::High, claim.to_owned());
        RankedFinding { doubt: GeneratorDoubt::Itself, ..found }
    } else {
        let claim = "The load generator may have affected the results";
        RankedFinding::new(Standing::Consequence, "generator", Confidence::Medium, claim.to_owned())
    };
    let whole = (0.0, facts.tally.duration_seconds());
    let found = checks.iter().fold(found, |found, check| {
        found.rests_on(format!("{}: {}", check.title, check.evidence), vec![format!("validity/{}", check.id)], whole)
    });
    Some(found.try_next(worst.advice.as_str()))
}
