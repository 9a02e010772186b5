//! Two runs of one test: is it better? Definitions, and how often it is right: docs/compare.md.
//!
//! Read [`RunComparison`] (`model`) first, then [`compare`]. `matching` tells what should be the same and is not; `times`, `target` and `own` make the
//! rows; `change` has the interval of a ratio, `discovery` says which of many rows stand out, `row` what may be said of one; `gate` holds a comparison
//! against what a team allows. Deliberately absent: what differs from run to run without any change (another placement in memory, a noisy neighbour). Two
//! runs tell of these two.

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
mod series;
mod side;
#[cfg(test)]
mod simulated;
mod target;
mod times;
#[cfg(test)]
mod truth;

pub use matching::LoadShape;
pub use model::{
    ComparedMetric, ComparedRow, ComparedRun, ComparedSubject, ComparisonGate, ComparisonVerdict, FindingMove, FindingState, GateResult,
    GateState, RowVerdict, RunComparison, RunDifference, ShiftPoint, Side, SubjectKind,
};
pub use side::ComparedInput;

use same_load::SameLoad;
use side::RunSide;

/// Relative change below which nobody cares, unless somebody says otherwise.
pub const EFFECT: f64 = 0.03;

/// What became of `baseline` in `candidate`. `effect`: relative change below which nobody cares, 0.03 for 3 %.
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
    // A family of their own: hundreds of signals must not make it harder to see a slower request.
    let mut signals = target::signals(&old, &new, load, effect);
    judge(&mut signals, effect);
    target::list(&mut signals);
    subjects.extend(signals);
    let differences = matching::differences(baseline, candidate);
    let verdict = headline::verdict(&subjects, &differences);
    RunComparison {
        schema: 1,
        baseline: compared(baseline),
        candidate: compared(candidate),
        effect,
        false_share: discovery::FALSE_SHARE,
        verdict,
        headline: headline::sentence(verdict, &subjects, &differences, effect),
        differences,
        subjects,
        findings: findings::moves(&baseline.summary.verdict.findings, &candidate.summary.verdict.findings),
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
