//! Compares two runs of one test. docs/compare.md has the definitions, docs/compare/method.md the measured error rates.
//!
//! Read [`RunComparison`] (`model`) first, then [`compare`]. `matching` lists what should be the same in both runs and is not. `times`,
//! `target` and `own` create the rows. `change` computes the interval of a ratio, `discovery` selects the significant rows among many, and
//! `row` decides the verdict of one row. `gate` compares the result with the limits that a team sets. Deliberately absent: variation from
//! run to run without any change (another memory layout, a noisy neighbour). Two runs only measure these two runs.

mod blocks;
mod change;
mod discovery;
mod findings;
mod gate;
mod headline;
mod lasting;
mod matching;
mod model;
mod own;
mod pairs;
mod quantile_pairs;
#[cfg(test)]
mod ramp_truth;
mod row;
mod same_load;
mod separation;
mod series;
mod side;
#[cfg(test)]
mod simulated;
mod target;
mod thresholds;
mod times;
#[cfg(test)]
mod truth;

pub use matching::LoadShape;
pub use model::{
    ComparedMetric, ComparedRow, ComparedRun, ComparedSubject, ComparisonGate, ComparisonVerdict, FindingMove, FindingState, GateResult,
    GateState, RowVerdict, RunComparison, RunDifference, ShiftPoint, Side, SubjectKind, ThresholdMove,
};
pub use side::ComparedInput;

use same_load::SameLoad;
use side::RunSide;

/// Default for the smallest relative change that matters.
pub const EFFECT: f64 = 0.03;

/// Compares `candidate` with `baseline`. `effect`: the smallest relative change that matters, 0.03 for 3 %.
pub fn compare(baseline: ComparedInput<'_>, candidate: ComparedInput<'_>, effect: f64) -> RunComparison {
    let (old, new) = (RunSide::of(baseline), RunSide::of(candidate));
    let load = SameLoad::of(baseline.run, candidate.run);
    let load = load.as_ref();
    let mut subjects = times::subjects(&old, &new, load, effect);
    subjects.extend(target::subjects(&old, &new, load, effect));
    judge(&mut subjects, effect);
    let mut own = own::subjects(&old, &new, effect);
    judge(&mut own, effect);
    subjects.extend(own);
    // Signals are a separate family of tests, so that hundreds of signals do not hide a slower request.
    let mut signals = target::signals(&old, &new, load, effect);
    judge(&mut signals, effect);
    target::list(&mut signals);
    subjects.extend(signals);
    let differences = matching::differences(baseline, candidate);
    let thresholds = thresholds::moves(&baseline.summary.verdict.thresholds, &candidate.summary.verdict.thresholds);
    let verdict = headline::verdict(&subjects, &differences, &thresholds);
    RunComparison {
        schema: 1,
        baseline: compared(baseline),
        candidate: compared(candidate),
        effect,
        false_share: discovery::FALSE_SHARE,
        verdict,
        headline: headline::headline(verdict, &subjects, &differences, &thresholds, effect),
        differences,
        subjects,
        findings: findings::moves(&baseline.summary.verdict.findings, &candidate.summary.verdict.findings),
        thresholds,
        gates: Vec::new(),
    }
}

fn judge(subjects: &mut [ComparedSubject], effect: f64) {
    let rows = || subjects.iter().flat_map(|subject| &subject.rows);
    let different = discovery::different(&rows().filter_map(|row| row.p).collect::<Vec<_>>());
    let mut different = different.into_iter();
    for row in subjects.iter_mut().flat_map(|subject| &mut subject.rows) {
        let is_different = row.p.is_some() && different.next().unwrap_or(false);
        row::judge(row, is_different, effect);
    }
}

fn compared(input: ComparedInput<'_>) -> ComparedRun {
    let (info, summary) = (&input.run.info, input.summary);
    ComparedRun {
        id: info.id.clone(),
        test: input.run.plan.name.clone(),
        started: info.started.clone(),
        tags: info.tags.clone(),
        duration_seconds: summary.totals.duration_seconds,
        requests: summary.totals.requests,
        grade: summary.verdict.validity.grade,
    }
}
