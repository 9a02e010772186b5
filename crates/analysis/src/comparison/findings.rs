//! The findings of both runs side by side.

use super::model::{FindingMove, FindingState};
use crate::{Finding, Findings};

/// New ones first, then those that went, those with other numbers, and those that stayed.
pub(super) fn moves(baseline: &Findings, candidate: &Findings) -> Vec<FindingMove> {
    let mut left: Vec<&Finding> = baseline.findings.iter().collect();
    let mut moves: Vec<FindingMove> = Vec::new();
    // First those that are alike in words, so that two of one rule do not change places.
    let alike: [fn(&Finding, &Finding) -> bool; 2] =
        [|a, b| a.rule == b.rule && stem(&a.claim) == stem(&b.claim), |a, b| a.rule == b.rule && subject(&a.claim) == subject(&b.claim)];
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
    let rule = new.or(old).map(|finding| finding.rule.clone()).unwrap_or_default();
    FindingMove { state, rule, baseline: old.map(claim), candidate: new.map(claim) }
}

/// A claim without its numbers and their units.
fn stem(claim: &str) -> String {
    let words = claim.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.filter(|word| !matches!(*word, "%" | "ms" | "s" | "µs" | "min" | "/s")).collect::<Vec<_>>().join(" ")
}

/// What a claim names in quotes.
fn subject(claim: &str) -> Vec<&str> {
    claim.split('"').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;

    fn findings(claims: &[(&str, &str)]) -> Findings {
        let finding = |(rule, claim): &(&str, &str)| Finding {
            rule: (*rule).to_owned(),
            claim: (*claim).to_owned(),
            confidence: Confidence::High,
            evidence: Vec::new(),
            alternatives: Vec::new(),
            next: String::new(),
        };
        Findings { findings: claims.iter().map(finding).collect(), remark: String::new() }
    }

    #[test]
    fn a_finding_is_known_again_by_its_rule_and_words() {
        let before = findings(&[
            ("pool", "\"Buy\" waits 12 ms for one of 4 connections"),
            ("stall", "a stall every 10.0 s, up to 401 ms"),
            ("failures", "9.1 % of \"List\" failed"),
        ]);
        let after = findings(&[
            ("pool", "\"Buy\" waits 31 ms for one of 4 connections"),
            ("failures", "12 % of \"Buy\" failed"),
            ("stall", "a stall every 10.0 s, up to 401 ms"),
        ]);
        let states: Vec<(FindingState, String)> = moves(&before, &after).into_iter().map(|found| (found.state, found.rule)).collect();
        let expected = [
            (FindingState::New, "failures"),
            (FindingState::Gone, "failures"),
            (FindingState::Moved, "pool"),
            (FindingState::Same, "stall"),
        ];
        assert_eq!(states, expected.map(|(state, rule)| (state, rule.to_owned())));
    }
}
