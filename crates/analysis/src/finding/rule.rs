//! A rule as one value: its identifiers, its documentation, its place among others, and the function that finds.

use super::ranked::RankedFinding;
use crate::facts::Facts;

/// One rule of `findings`. Its file's module documentation is its page in docs/findings; `cargo xtask gen` writes both from here.
pub struct Rule {
    /// Identifiers of the findings that it reports.
    pub ids: &'static [&'static str],
    /// Its page in docs/findings, without `.md`. No two rules share one.
    pub page: &'static str,
    /// What the finding states, in a few words. The heading of its page.
    pub title: &'static str,
    /// One line of the overview: what the rule reports.
    pub says: &'static str,
    pub example: Example,
    /// Observers without which it finds nothing, as in `observe.NAME`. Empty: the load alone is enough.
    pub needs: &'static [&'static str],
    /// Words of settings that change what the finding explains: `pool`, `workers`. An experiment matches its knobs against them.
    pub settings: &'static [&'static str],
    /// Order between findings of equal rank, lower first. Rules that name a cause closer to the system's inside come before those that infer it from
    /// outside.
    pub precedence: u16,
    pub(crate) find: FindingSearch,
}

/// A finding of the rule, as its page shows it. The test `examples` compares it with the conclusions of the current code.
pub struct Example {
    /// The folder of the recorded run, in crates/analysis/tests.
    pub run: &'static str,
    pub claim: &'static str,
}

/// How a rule finds.
pub(crate) enum FindingSearch {
    One(fn(&Facts<'_>) -> Option<RankedFinding>),
    /// One finding for each thing that failed or changed.
    Each(fn(&Facts<'_>) -> Vec<RankedFinding>),
}

impl Rule {
    pub(crate) fn find(&self, facts: &Facts<'_>) -> Vec<RankedFinding> {
        let mut found = match self.find {
            FindingSearch::One(find) => find(facts).into_iter().collect(),
            FindingSearch::Each(find) => find(facts),
        };
        for one in &mut found {
            debug_assert!(self.ids.iter().any(|id| one.finding.rule == *id), "{} is not an id of this rule", one.finding.rule);
            one.precedence = self.precedence;
            self.page.clone_into(&mut one.finding.page);
        }
        found
    }
}
