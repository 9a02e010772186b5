//! Was a conclusion right? Compares the findings with the planted fault.

use super::catalogue::{AcceptedFinding, Catalogue, PlantedFault, Severity};
use super::cell::Cell;
use super::conclusion::{CellConclusion, ConcludedFinding};

/// The rule that speaks of the load generator, not of the system.
const GENERATOR: &str = "generator";
/// Kind of a remark that does not know the limit.
const CANNOT_TELL: &str = "cannot_tell";
/// Findings that a reader considers.
const FIRST: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rating {
    /// The cause came first; of a healthy system: nothing was accused.
    Right,
    /// The cause was the second or third finding.
    InThree,
    /// The report states that it cannot tell, or what happens but not why.
    Abstained,
    /// The report states that nothing is wrong.
    Denied,
    /// It spoke of the load generator first, and named no other cause.
    Generator,
    /// It named another cause; of a healthy system: any.
    Wrong,
}

impl Rating {
    pub(crate) const ALL: [Self; 6] = [Self::Right, Self::InThree, Self::Abstained, Self::Denied, Self::Generator, Self::Wrong];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::InThree => "in three",
            Self::Abstained => "cannot tell",
            Self::Denied => "denied",
            Self::Generator => "generator",
            Self::Wrong => "wrong",
        }
    }
}

pub(crate) fn judge(catalogue: &Catalogue, fault: &PlantedFault, severity: &Severity, cell: &Cell, conclusion: &CellConclusion) -> Rating {
    let applies = |list: &[AcceptedFinding], finding: &ConcludedFinding| {
        let mut meant = list.iter().filter(|one| one.is_for(&cell.stack, &cell.load, &cell.observe));
        meant.any(|one| one.is_met_by(&finding.rule, &finding.claim))
    };
    match conclusion.findings.iter().take(FIRST).position(|finding| applies(&severity.right, finding)) {
        Some(0) => return Rating::Right,
        Some(_) => return Rating::InThree,
        None => {}
    }
    // A bound on how many are served at a time also holds for fewer.
    let names_no_cause =
        |finding: &ConcludedFinding| catalogue.symptoms.contains(&finding.rule) || finding.is_bound() || applies(&severity.vague, finding);
    let mut causes = conclusion.findings.iter().filter(|finding| !names_no_cause(finding)).peekable();
    let speaks_of_itself = |finding: &ConcludedFinding| finding.rule == GENERATOR;
    if causes.peek().is_some() && !causes.all(speaks_of_itself) {
        return Rating::Wrong;
    }
    if conclusion.findings.first().is_some_and(speaks_of_itself) {
        return Rating::Generator;
    }
    if fault.is_healthy {
        // Of a system that carries its load, "more comes in than goes out" is an accusation, too.
        return if conclusion.findings.is_empty() { Rating::Right } else { Rating::Wrong };
    }
    let mut meant = severity.right.iter().filter(|one| one.is_for(&cell.stack, &cell.load, &cell.observe));
    if conclusion.findings.is_empty() && meant.any(|one| one.is_met_by_remark(&conclusion.remark)) {
        return Rating::Right;
    }
    let is_undecided = conclusion.remark_kind == CANNOT_TELL;
    if conclusion.findings.is_empty() && !is_undecided { Rating::Denied } else { Rating::Abstained }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(cell: &str, findings: &[(&str, &str)], remark: &str) -> Rating {
        judged_with(cell, findings, remark, "no_limit")
    }

    fn judged_with(cell: &str, findings: &[(&str, &str)], remark: &str, remark_kind: &str) -> Rating {
        let catalogue = Catalogue::read(super::super::root()).unwrap();
        let cell = Cell::parse(cell).unwrap();
        let fault = catalogue.faults.iter().find(|fault| fault.name == cell.fault).unwrap();
        let finding = |(rule, claim): &(&str, &str)| ConcludedFinding {
            rule: (*rule).into(),
            confidence: "high".into(),
            claim: (*claim).into(),
            quantities: Vec::new(),
        };
        let conclusion = CellConclusion {
            cell: cell.name(),
            findings: findings.iter().map(finding).collect(),
            remark: remark.into(),
            remark_kind: remark_kind.into(),
            ..CellConclusion::default()
        };
        judge(&catalogue, fault, fault.severity(&cell.severity).unwrap(), &cell, &conclusion)
    }

    const LOCK: (&str, &str) = ("database-waits", "\"Buy\": 19 database sessions wait for a row lock (Lock:transactionid)");
    const OTHER: (&str, &str) = ("disk", "The disk vda is saturated: 4 requests are at it on average while work waits");

    const ITSELF: (&str, &str) = ("generator", "The load generator may have affected the results");

    #[test]
    fn the_first_finding_decides() {
        let cell = "node/row-lock/plain/ramp/all/1";
        assert_eq!(judged(cell, &[LOCK, OTHER], ""), Rating::Right);
        assert_eq!(judged(cell, &[OTHER, LOCK], ""), Rating::InThree);
        assert_eq!(judged(cell, &[OTHER], ""), Rating::Wrong);
    }

    #[test]
    fn from_outside_a_lock_is_a_place_for_one() {
        let one =
            ("effective-concurrency", "\"Buy\" is served about 1 at a time: a pool, a lock or a limit of that size is in the request path");
        let four =
            ("effective-concurrency", "\"Buy\" is served about 4 at a time: a pool, a lock or a limit of that size is in the request path");
        assert_eq!(judged("node/row-lock/plain/ramp/nothing/1", &[one], ""), Rating::Right);
        assert_eq!(judged("node/row-lock/plain/ramp/nothing/1", &[four], ""), Rating::Wrong);
        assert_eq!(
            judged("node/row-lock/plain/ramp/all/1", &[one], ""),
            Rating::Abstained,
            "the database was observed, so it could be known"
        );
    }

    #[test]
    fn a_bound_names_no_cause() {
        let bound = |names: &[&str]| {
            let quantities: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
            let finding = json!({ "rule": "effective-concurrency", "claim": "\"Buy\" is served …", "quantities": quantities });
            let summary = json!({ "verdict": { "findings": { "findings": [finding], "remark": { "kind": "in_addition", "text": "" } } } });
            CellConclusion::of("node/row-lock/plain/ramp/nothing/1", &summary, "", "").findings[0].is_bound()
        };
        assert!(bound(&["places_max", "throughput"]));
        assert!(!bound(&["places_max", "places"]), "a likely number is a cause");
        assert!(!bound(&["places"]));
    }

    #[test]
    fn saying_nothing_is_not_denying() {
        let cell = "node/row-lock/plain/ramp/nothing/1";
        let queue = ("unstable-queue", "More comes in than goes out: the backlog grows by 3 a second");
        assert_eq!(judged_with(cell, &[], "Cannot tell what limits it: the load did not vary.", CANNOT_TELL), Rating::Abstained);
        assert_eq!(judged(cell, &[], "No limit was reached at this load."), Rating::Denied);
        assert_eq!(
            judged(cell, &[], "No limit was reached at this load. This run cannot tell where the limit is."),
            Rating::Denied,
            "an unknown limit is not an unknown cause"
        );
        assert_eq!(judged(cell, &[queue], ""), Rating::Abstained);
        assert_eq!(judged(cell, &[ITSELF], ""), Rating::Generator);
        assert_eq!(judged(cell, &[queue, ITSELF], ""), Rating::Abstained);
        assert_eq!(judged(cell, &[ITSELF, OTHER], ""), Rating::Wrong);
    }

    #[test]
    fn a_warm_up_may_be_reported_in_the_remark() {
        let remark =
            "Every arrival was served: no limit was reached. \"Buy\" was slower until 0:09 (180 ms instead of 9 ms): it warmed up.";
        assert_eq!(judged("node/warm-up/plain/constant/nothing/1", &[], remark), Rating::Right);
        assert_eq!(judged("node/row-lock/plain/ramp/nothing/1", &[], remark), Rating::Denied);
    }

    #[test]
    fn a_healthy_system_is_accused_by_any_cause() {
        let cell = "node/healthy/plain/ramp/all/1";
        assert_eq!(judged(cell, &[], "No limit was reached at this load."), Rating::Right);
        assert_eq!(judged_with(cell, &[], "Cannot tell what limits it: …", CANNOT_TELL), Rating::Right);
        assert_eq!(judged(cell, &[OTHER], ""), Rating::Wrong);
        assert_eq!(judged(cell, &[("unstable-queue", "More comes in than goes out")], ""), Rating::Wrong);
        assert_eq!(judged(cell, &[ITSELF], ""), Rating::Generator);
    }
}
