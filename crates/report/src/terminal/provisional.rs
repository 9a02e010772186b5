//! Findings during the run, as lines between those of its progress.

use loadstone_analysis::Provisional;

use super::progress::clock;
use super::summary::claim;

/// One line if the first finding is new, and one if the previous first finding was withdrawn.
pub fn provisional_lines(found: &Provisional, before: Option<&Provisional>) -> Vec<String> {
    let at = clock((found.seconds * 1e9) as u64);
    let gone = found.withdrawn_first(before).map(|gone| format!("finding withdrawn at {at}: {}", gone.claim));
    let new = found.new_first(before).map(|first| format!("finding at {at}, provisional: {}", claim(first)));
    gone.into_iter().chain(new).collect()
}

#[cfg(test)]
mod tests {
    use loadstone_analysis::{Confidence, Finding, RuleId, Subject};

    use super::*;

    /// Findings about requests, each with its claim.
    fn found(seconds: f64, claims: &[(&str, &str)]) -> Provisional {
        let finding = |(request, claim): &(&str, &str)| {
            Finding::new(RuleId::new("change"), Subject::request(request), Confidence::High, (*claim).to_owned())
        };
        let findings = claims.iter().map(finding).collect();
        Provisional { seconds, findings, withdrawn: Vec::new(), signals: Vec::new(), changes: Vec::new(), resources: Vec::new() }
    }

    #[test]
    fn the_first_finding_is_reported_when_it_appears_and_when_it_is_withdrawn() {
        let none = found(10.0, &[]);
        assert_eq!(provisional_lines(&none, None), Vec::<String>::new());
        let first = found(65.0, &[("Buy", "\"Buy\" went from 2 ms to 4 ms"), ("List", "\"List\" went from 1 ms to 3 ms")]).after(&none);
        assert_eq!(
            provisional_lines(&first, Some(&none)),
            ["finding at 1:05, provisional: \"Buy\" went from 2 ms to 4 ms (high confidence)"]
        );
        let same = found(70.0, &[("Buy", "\"Buy\" went from 2 ms to 5 ms")]).after(&first);
        assert_eq!(provisional_lines(&same, Some(&first)), Vec::<String>::new(), "another number is no news");
        let other = found(75.0, &[("List", "\"List\" went from 1 ms to 3 ms")]).after(&same);
        let lines = provisional_lines(&other, Some(&same));
        assert_eq!(lines[0], "finding withdrawn at 1:15: \"Buy\" went from 2 ms to 5 ms");
        assert_eq!(lines[1..], ["finding at 1:15, provisional: \"List\" went from 1 ms to 3 ms (high confidence)"]);
        assert_eq!(provisional_lines(&found(80.0, &[]).after(&other), Some(&other)).len(), 1);
    }
}
