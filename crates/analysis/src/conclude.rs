//! The verdict on a run.

use std::borrow::Cow;

use loadstone_run_directory::Run;

use crate::facts::Facts;
use crate::request_names::RequestNames;
use crate::summary::{Conclusions, Numbers};
use crate::uncertainty::{self, UncertaintyTally};
use crate::validity::{CheckInput, RunStage};
use crate::{
    RunTally, Summary, ThresholdResult, Validity, Verdict, change_rows, findings, moved, profile_rows, resources, span_rows, thresholds,
    validity,
};

/// Concludes everything from a run that is finished, killed or in progress. The same run gives the same summary.
pub fn conclude(run: &Run) -> Summary {
    let tally = RunTally::of(&run.slices);
    let uncertainties = UncertaintyTally::of(&run.plan, &run.slices, |_| true);
    let mut numbers = Numbers::of(run, &tally);
    uncertainty::mark_numbers(&mut numbers, &tally, &uncertainties);
    let (evaluated, threshold_samples) = thresholds::judged(run);
    let (thresholds, undecided) = uncertainty::decided(run, &tally, evaluated);
    let implied = thresholds::implied(&run.plan.thresholds, &numbers.totals);
    let input = CheckInput {
        plan: &run.plan,
        host: &run.info.host,
        agents: &run.info.agents,
        tally: &tally,
        notices: &run.notices,
        response: &numbers.response,
        threshold_samples: &threshold_samples,
        judged: &uncertainty::judged_percentiles(&tally, &uncertainties),
        thresholds: &thresholds,
        undecided: &undecided,
        accepts_late: validity::accepts_late(&run.signals),
        stage: RunStage::Over(run.end.as_ref()),
    };
    let validity = validity::judge(&input);
    let named = RequestNames::in_run(run);
    let tally_of_named = matches!(named, Cow::Owned(_)).then(|| RunTally::of(&named.slices));
    let facts = Facts::of(&named, tally_of_named.as_ref().unwrap_or(&tally), &validity);
    let findings = findings::find(&facts);
    let conclusions = Conclusions {
        signals: moved::rows(&run.signals, &findings),
        changes: change_rows::of(&facts),
        resources: resources::rows(&facts),
        spans: span_rows::of(&facts),
        profiles: profile_rows::of(&facts),
        verdict: Verdict { validity: without_levels(validity), thresholds: with_implied(thresholds, implied), findings },
    };
    numbers.into_summary(&run.info, &run.plan, conclusions)
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
