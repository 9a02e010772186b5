//! Conclusions while a run is in progress. Further seconds may change them. Read [`Provisional`].

use loadstone_run_directory::Run;
use serde::Serialize;

use crate::facts::Facts;
use crate::finding::{Remark, RuleId, Subject, is_same_matter};
use crate::request_names::{NamedRun, RequestNames};
use crate::summary::Numbers;
use crate::uncertainty::{self, UncertaintyTally};
use crate::validity::{CheckInput, RunStage};
use crate::{
    ChangeRow, Finding, Findings, ResourceRow, RunTally, SignalRow, Summary, Validity, change_rows, findings, moved, resources, thresholds,
    validity,
};

/// The findings of a run in progress, from its seconds so far. That there is none says nothing: only the whole run can show that.
#[derive(Debug, Clone, PartialEq)]
pub struct Provisional {
    /// It rests on this much of the run. Seconds.
    pub seconds: f64,
    pub findings: Vec<Finding>,
    /// Found earlier and no longer; the latest first, at most [`Provisional::WITHDRAWN_MAX`].
    pub withdrawn: Vec<WithdrawnFinding>,
    pub signals: Vec<SignalRow>,
    pub changes: Vec<ChangeRow>,
    pub resources: Vec<ResourceRow>,
}

/// A finding that more seconds did not bear out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WithdrawnFinding {
    pub rule: RuleId,
    pub subject: Subject,
    pub claim: String,
    /// It was made of this much of the run, the last time. Seconds.
    pub held_seconds: f64,
    /// This much of the run no longer showed it. Seconds.
    pub gone_seconds: f64,
}

impl Provisional {
    pub const WITHDRAWN_MAX: usize = 8;

    /// Conclusions from the seconds so far, like [`conclude_in_place`](crate::conclude_in_place), except for those that need the end of the run.
    pub fn of(run: &mut Run) -> Self {
        let names = RequestNames::in_run(run);
        let tally = RunTally::of(&run.slices);
        let validity = Self::validity(run, &tally);
        if !names.has_shared() {
            return Self::with_names(run, &tally, &validity);
        }
        drop(tally);
        let named = NamedRun::of(run, &names);
        Self::with_names(&named, &RunTally::of(&named.slices), &validity)
    }

    fn validity(run: &Run, tally: &RunTally) -> Validity {
        let uncertainties = UncertaintyTally::of(&run.plan, &run.slices, |_| true);
        let numbers = Numbers::so_far(tally);
        let (_, threshold_samples) = thresholds::judged(run);
        validity::judge(&CheckInput {
            plan: &run.plan,
            host: &run.info.host,
            agents: &run.info.agents,
            tally,
            notices: &run.notices,
            response: &numbers.response,
            threshold_samples: &threshold_samples,
            judged: &uncertainty::judged_percentiles(tally, &uncertainties),
            thresholds: &[],
            undecided: &[],
            accepts_late: validity::accepts_late(&run.signals),
            stage: RunStage::Running,
        })
    }

    fn with_names(run: &Run, tally: &RunTally, validity: &Validity) -> Self {
        let facts = Facts::of(run, tally, validity, &[]);
        let found = findings::find(&facts);
        Self {
            seconds: tally.duration_seconds(),
            signals: moved::rows(&run.signals, &found),
            changes: change_rows::of(&facts),
            resources: resources::rows(&facts),
            findings: found.findings,
            withdrawn: Vec::new(),
        }
    }

    /// The same after an earlier one: what that found and this does not is withdrawn.
    #[must_use]
    pub fn after(mut self, before: &Provisional) -> Self {
        let gone = before.findings.iter().map(|finding| WithdrawnFinding {
            rule: finding.rule.clone(),
            subject: finding.subject.clone(),
            claim: finding.claim.clone(),
            held_seconds: before.seconds,
            gone_seconds: self.seconds,
        });
        let known = gone.chain(before.withdrawn.iter().cloned());
        let mut withdrawn: Vec<WithdrawnFinding> = Vec::new();
        for gone in known.filter(|gone| !self.findings.iter().any(|finding| gone.is_about(finding))) {
            if !withdrawn.iter().any(|listed| is_same_matter(listed.matter(), gone.matter())) {
                withdrawn.push(gone);
            }
        }
        withdrawn.truncate(Self::WITHDRAWN_MAX);
        self.withdrawn = withdrawn;
        self
    }

    /// The first finding, where it is another than the one that came first before.
    pub fn new_first(&self, before: Option<&Provisional>) -> Option<&Finding> {
        let first = self.findings.first()?;
        let was = before.and_then(|before| before.findings.first());
        (!was.is_some_and(|was| was.is_same_matter(first))).then_some(first)
    }

    /// What came first before and is found no longer.
    pub fn withdrawn_first(&self, before: Option<&Provisional>) -> Option<&WithdrawnFinding> {
        let was = before?.findings.first()?;
        self.withdrawn.iter().find(|gone| gone.is_about(was))
    }

    /// Puts what it says into the numbers of the run so far.
    pub fn put_into(&self, summary: &mut Summary) {
        let remark = if self.findings.is_empty() { Remark::so_far() } else { Remark::default() };
        summary.verdict.findings = Findings { findings: self.findings.clone(), remark };
        summary.signals.clone_from(&self.signals);
        summary.changes.clone_from(&self.changes);
        summary.resources.clone_from(&self.resources);
    }
}

impl WithdrawnFinding {
    fn matter(&self) -> (&RuleId, &Subject) {
        (&self.rule, &self.subject)
    }

    fn is_about(&self, finding: &Finding) -> bool {
        is_same_matter(self.matter(), (&finding.rule, &finding.subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;

    fn found(seconds: f64, claims: &[(&str, &str)]) -> Provisional {
        let finding = |(request, claim): &(&str, &str)| {
            Finding::new(RuleId::new("change"), Subject::request(request), Confidence::High, (*claim).to_owned())
        };
        let findings = claims.iter().map(finding).collect();
        Provisional { seconds, findings, withdrawn: Vec::new(), signals: Vec::new(), changes: Vec::new(), resources: Vec::new() }
    }

    fn claims(withdrawn: &[WithdrawnFinding]) -> Vec<(&str, f64)> {
        withdrawn.iter().map(|gone| (gone.claim.as_str(), gone.gone_seconds)).collect()
    }

    #[test]
    fn another_wording_of_the_same_matter_is_neither_new_nor_withdrawn() {
        let first = found(10.0, &[("Buy", "9.12 % of \"Buy\" failed from 0:05 on")]);
        let second = found(15.0, &[("Buy", "10.3 % of \"Buy\" failed from 0:06 on")]).after(&first);
        assert_eq!((second.new_first(Some(&first)), second.withdrawn.len()), (None, 0));
    }

    #[test]
    fn what_is_found_no_longer_is_withdrawn_until_it_comes_back() {
        let first = found(10.0, &[("Buy", "\"Buy\" went up"), ("List", "\"List\" went up")]);
        let second = found(15.0, &[("List", "\"List\" went up by more")]).after(&first);
        assert_eq!(claims(&second.withdrawn), [("\"Buy\" went up", 15.0)]);
        assert_eq!(second.new_first(Some(&first)).map(|finding| finding.claim.as_str()), Some("\"List\" went up by more"));
        assert_eq!(second.withdrawn_first(Some(&first)).map(|gone| gone.held_seconds), Some(10.0));
        let third = found(20.0, &[]).after(&second);
        assert_eq!(claims(&third.withdrawn), [("\"List\" went up by more", 20.0), ("\"Buy\" went up", 15.0)]);
        let fourth = found(25.0, &[("Buy", "\"Buy\" went up again")]).after(&third);
        assert_eq!(claims(&fourth.withdrawn), [("\"List\" went up by more", 20.0)]);
        assert_eq!(fourth.withdrawn_first(Some(&third)), None, "it was withdrawn before");
    }
}
