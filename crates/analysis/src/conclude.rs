//! The verdict on a run.

use loadstone_run_directory::Run;

use crate::facts::Facts;
use crate::request_names::{NamedRun, RequestNames};
use crate::summary::{Conclusions, Numbers};
use crate::uncertainty::{self, UncertaintyTally};
use crate::validity::{CheckInput, RunStage};
use crate::{
    RunTally, Summary, ThresholdResult, Validity, Verdict, change_rows, findings, moved, profile_rows, resources, span_rows, thresholds,
    validity,
};

/// Concludes everything from a run that is finished, killed or in progress. The same run gives the same summary. The run is copied if several scenarios
/// have a request of one name: [`conclude_in_place`] needs no copy.
pub fn conclude(run: &Run) -> Summary {
    let names = RequestNames::in_run(run);
    if names.has_shared() {
        return conclude_in_place(&mut run.clone());
    }
    let tally = RunTally::of(&run.slices);
    RunJudgement::of(run, &tally).summary(run, &tally, &names)
}

/// Like [`conclude`]. Requests have other names in the run meanwhile.
pub fn conclude_in_place(run: &mut Run) -> Summary {
    let names = RequestNames::in_run(run);
    let tally = RunTally::of(&run.slices);
    let judgement = RunJudgement::of(run, &tally);
    if !names.has_shared() {
        return judgement.summary(run, &tally, &names);
    }
    drop(tally);
    let named = NamedRun::of(run, &names);
    let tally = RunTally::of(&named.slices);
    judgement.summary(&named, &tally, &names)
}

/// What is concluded under the requests' own names.
struct RunJudgement {
    numbers: Numbers,
    validity: Validity,
    thresholds: Vec<ThresholdResult>,
    implied: Vec<ThresholdResult>,
}

impl RunJudgement {
    fn of(run: &Run, tally: &RunTally) -> Self {
        let uncertainties = UncertaintyTally::of(&run.plan, &run.slices, |_| true);
        let mut numbers = Numbers::of(run, tally);
        uncertainty::mark_numbers(&mut numbers, tally, &uncertainties);
        let (evaluated, threshold_samples) = thresholds::judged(run);
        let (thresholds, undecided) = uncertainty::decided(run, tally, evaluated);
        let implied = thresholds::implied(&run.plan.thresholds, &numbers.totals);
        let input = CheckInput {
            plan: &run.plan,
            host: &run.info.host,
            agents: &run.info.agents,
            tally,
            notices: &run.notices,
            response: &numbers.response,
            threshold_samples: &threshold_samples,
            judged: &uncertainty::judged_percentiles(tally, &uncertainties),
            thresholds: &thresholds,
            undecided: &undecided,
            accepts_late: validity::accepts_late(&run.signals),
            stage: RunStage::Over(run.end.as_ref()),
        };
        let validity = validity::judge(&input);
        Self { numbers, validity, thresholds, implied }
    }

    /// `run` and `tally`: with the names that findings show.
    fn summary(self, run: &Run, tally: &RunTally, names: &RequestNames) -> Summary {
        let Self { numbers, validity, thresholds, implied } = self;
        let facts = Facts::of(run, tally, &validity, &thresholds);
        let findings = findings::find(&facts);
        let mut spans = span_rows::of(&facts);
        for row in &mut spans {
            // The page shows the scenario next to the name.
            if let Some(own) = names.own(&row.name, &row.scenario) {
                row.name = own.to_string();
            }
        }
        let conclusions = Conclusions {
            signals: moved::rows(&run.signals, &findings),
            changes: change_rows::of(&facts),
            resources: resources::rows(&facts),
            spans,
            profiles: profile_rows::of(&facts),
            verdict: Verdict { validity: without_levels(validity), thresholds: with_implied(thresholds, implied), findings },
        };
        numbers.into_summary(&run.info, &run.plan, conclusions)
    }
}

/// Findings have taken the numbers of the checks that they draw. A summary does not store them twice.
fn without_levels(mut validity: Validity) -> Validity {
    validity.checks.iter_mut().for_each(|check| check.levels.clear());
    validity
}

fn with_implied(mut thresholds: Vec<ThresholdResult>, mut implied: Vec<ThresholdResult>) -> Vec<ThresholdResult> {
    thresholds.append(&mut implied);
    thresholds
}
