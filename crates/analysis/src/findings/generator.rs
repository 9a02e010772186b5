//! The generator itself: when its measurement is not valid, its own limits come before any of the target's.

use super::Scene;
use super::draft::{Draft, Standing};
use crate::{Confidence, Evidence, Finding, Grade, ValidityCheck};

const RULE: &str = "generator";

/// Checks that speak of the generator's capacity; the others speak of the plan, the record or the target.
const CAPACITY: [&str; 9] =
    ["offered-rate", "closed-users", "schedule-lag", "read-lag", "worker-busy", "run-queue", "throttling", "stalls", "exhaustion"];

pub(super) fn is_capacity(check: &ValidityCheck) -> bool {
    CAPACITY.contains(&check.id.as_str())
}

pub(super) fn is_certain(finding: &Finding) -> bool {
    finding.rule == RULE && finding.confidence == Confidence::High
}

pub(super) fn find(scene: &Scene<'_>) -> Option<Draft> {
    let blamed = |check: &&ValidityCheck| is_capacity(check) && check.grade.is_some_and(|grade| grade > Grade::Valid);
    let mut checks: Vec<&ValidityCheck> = scene.validity.checks.iter().filter(blamed).collect();
    checks.sort_by_key(|check| std::cmp::Reverse(check.grade));
    let worst = checks.first()?;
    let is_invalid = worst.grade == Some(Grade::Invalid);
    let claim = if is_invalid {
        "The load generator limits the results, not the target alone"
    } else {
        "The load generator may have added to the results"
    };
    let finding = Finding {
        rule: RULE.to_owned(),
        claim: claim.to_owned(),
        confidence: if is_invalid { Confidence::High } else { Confidence::Medium },
        evidence: checks
            .iter()
            .map(|check| Evidence {
                text: format!("{}: {}", check.title, check.evidence),
                series: vec![format!("validity/{}", check.id)],
                from_seconds: 0.0,
                to_seconds: scene.tally.duration_seconds(),
            })
            .collect(),
        alternatives: Vec::new(),
        next: worst.advice.clone(),
    };
    Some(Draft { standing: if is_invalid { Standing::Cause } else { Standing::Consequence }, finding, dwarfs_generator: false })
}
