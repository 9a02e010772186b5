//! The findings of both runs side by side.

use super::model::{FindingMove, FindingState};
use crate::{Finding, Findings, RuleId, Subject};

/// New ones first, then those that went, those with other numbers, and those that stayed.
pub(super) fn moves(baseline: &Findings, candidate: &Findings) -> Vec<FindingMove> {
    let mut left: Vec<&Finding> = baseline.findings.iter().collect();
    let mut moves: Vec<FindingMove> = Vec::new();
    // Those about exactly the same subject first, so that two findings of one rule do not change places.
    let alike: [fn(&Finding, &Finding) -> bool; 2] = [|a, b| a.rule == b.rule && a.subject == b.subject, Finding::is_same_matter];
    let mut unmatched: Vec<&Finding> = candidate.findings.iter().collect();
    for alike in alike {
        unmatched.retain(|new| {
            let Some(index) = left.iter().position(|old| alike(old, new)) else { return true };
            let old = left.remove(index);
            let state = if old.claim == new.claim { FindingState::Same } else { FindingState::Moved };
            moves.push(pair(state, Some(old), Some(new)));
            false
        });
    }
    moves.extend(unmatched.into_iter().map(|new| pair(FindingState::New, None, Some(new))));
    moves.extend(left.into_iter().map(|old| pair(FindingState::Gone, Some(old), None)));
    moves.sort_by_key(|found| found.state);
    moves
}

fn pair(state: FindingState, old: Option<&Finding>, new: Option<&Finding>) -> FindingMove {
    let claim = |finding: &Finding| finding.claim.clone();
    let (rule, subject) = new.or(old).map_or((RuleId::new(""), Subject::Whole), |finding| (finding.rule.clone(), finding.subject.clone()));
    FindingMove { state, rule, subject, baseline: old.map(claim), candidate: new.map(claim) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, Remark};

    fn findings(found: &[(&'static str, Subject, &str)]) -> Findings {
        let finding = |(rule, subject, claim): &(&'static str, Subject, &str)| {
            Finding::new(RuleId::new(rule), subject.clone(), Confidence::High, (*claim).to_owned())
        };
        Findings { findings: found.iter().map(finding).collect(), remark: Remark::default() }
    }

    #[test]
    fn a_finding_is_matched_by_its_rule_and_subject() {
        let before = findings(&[
            ("pool", Subject::request("Buy"), "\"Buy\" waits 12 ms for one of 4 connections"),
            ("stall", Subject::Whole, "a stall every 10.0 s, up to 401 ms"),
            ("failures", Subject::request("List"), "9.1 % of \"List\" failed"),
        ]);
        let after = findings(&[
            ("pool", Subject::request("Buy"), "in other words, and with other numbers"),
            ("failures", Subject::request("Buy"), "12 % of \"Buy\" failed"),
            ("stall", Subject::Whole, "a stall every 10.0 s, up to 401 ms"),
        ]);
        let states: Vec<(FindingState, String)> =
            moves(&before, &after).into_iter().map(|found| (found.state, found.rule.to_string())).collect();
        let expected = [
            (FindingState::New, "failures"),
            (FindingState::Gone, "failures"),
            (FindingState::Moved, "pool"),
            (FindingState::Same, "stall"),
        ];
        assert_eq!(states, expected.map(|(state, rule)| (state, rule.to_owned())));
    }
}
