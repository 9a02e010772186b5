//! Was the measurement valid? Each check is one file, and a pure function of what the generator recorded about itself.
//!
//! Read [`judge`] first. docs/validity.md has the formulas, the limits and the reasons for them.

mod agents;
mod check;
mod clock_drift;
mod connecting;
mod conservation;
mod exhaustion;
mod in_flight;
mod lateness;
mod observers;
mod offered_rate;
mod read_lag;
mod recorded;
mod requests;
mod run_queue;
mod samples;
mod schedule_lag;
mod series;
mod slices;
mod stalls;
mod steady;
mod throttling;
mod uncertainty;
mod unsendable;
mod users;
mod worker_busy;

use crate::load_source::LoadSource;
use crate::{Grade, Validity, ValidityCheck};
pub(crate) use check::{CheckInput, RunStage};
pub(crate) use connecting::accepts_late;

/// The subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckedThing {
    /// The capacity of the load generator: load or work that it did not generate in time.
    Generator,
    /// The reason why it was late.
    Evidence,
    /// The plan, the record, the network or the target.
    Other,
}

type Check = fn(&CheckInput<'_>) -> ValidityCheck;

/// In display order. The checks from schedule lag to stalls have no grade: they explain the uncertainty, which the `uncertainty` check grades.
const CHECKS: &[(CheckedThing, Check)] = &[
    (CheckedThing::Other, requests::check),
    (CheckedThing::Generator, offered_rate::check),
    (CheckedThing::Other, users::open),
    (CheckedThing::Generator, users::closed),
    (CheckedThing::Generator, uncertainty::check),
    (CheckedThing::Evidence, schedule_lag::check),
    (CheckedThing::Evidence, read_lag::check),
    (CheckedThing::Evidence, worker_busy::check),
    (CheckedThing::Evidence, run_queue::check),
    (CheckedThing::Evidence, throttling::check),
    (CheckedThing::Evidence, stalls::check),
    (CheckedThing::Other, in_flight::check),
    (CheckedThing::Other, conservation::check),
    (CheckedThing::Generator, exhaustion::check),
    (CheckedThing::Other, unsendable::check),
    (CheckedThing::Other, connecting::check),
    (CheckedThing::Other, clock_drift::check),
    (CheckedThing::Other, samples::check),
    (CheckedThing::Other, series::check),
    (CheckedThing::Other, slices::check),
    (CheckedThing::Other, steady::check),
    (CheckedThing::Other, observers::check),
];

/// The same for the load of another tool. What its record lacks is not checked.
const RECORDED_CHECKS: &[(CheckedThing, Check)] = &[
    (CheckedThing::Other, requests::check),
    (CheckedThing::Generator, recorded::omission::check),
    (CheckedThing::Generator, recorded::dropped::check),
    (CheckedThing::Generator, recorded::planned::check),
    (CheckedThing::Generator, recorded::late::check),
    (CheckedThing::Other, recorded::stated::check),
    (CheckedThing::Generator, uncertainty::check),
    (CheckedThing::Evidence, recorded::proxy::check),
    (CheckedThing::Evidence, recorded::tool_cpu::check),
    (CheckedThing::Evidence, recorded::tool_wait::check),
    (CheckedThing::Other, recorded::complete::check),
    (CheckedThing::Other, recorded::no_request::check),
    (CheckedThing::Other, recorded::sampled::check),
    (CheckedThing::Other, recorded::clock::check),
    (CheckedThing::Other, recorded::lacks::check),
    (CheckedThing::Other, samples::check),
    (CheckedThing::Other, series::check),
    (CheckedThing::Other, slices::check),
    (CheckedThing::Other, steady::check),
    (CheckedThing::Other, observers::check),
];

/// Applies every check; the worst grade is the verdict.
pub(crate) fn judge(input: &CheckInput<'_>) -> Validity {
    let table = if input.plan.recorded.is_some() { RECORDED_CHECKS } else { CHECKS };
    let mut checks: Vec<ValidityCheck> = table.iter().map(|(_, check)| check(input)).collect();
    // Last, since most runs have no agents.
    checks.extend(agents::check(input));
    let source = LoadSource::of(input.plan);
    checks.iter_mut().for_each(|check| check.title = source.in_place_of_generator(&check.title));
    let grade = checks.iter().filter_map(|check| check.grade).max().unwrap_or(Grade::Valid);
    Validity { grade, checks }
}

/// The checks on the generator's capacity, in the result of [`judge`].
pub(crate) fn generator_checks(validity: &Validity) -> impl Iterator<Item = &ValidityCheck> {
    of_subject(validity, CheckedThing::Generator)
}

/// The checks that explain why the generator was late; only the notable ones.
pub(crate) fn generator_evidence(validity: &Validity) -> impl Iterator<Item = &ValidityCheck> {
    of_subject(validity, CheckedThing::Evidence).filter(|check| !check.advice.is_empty())
}

impl Validity {
    /// Why the measurement is invalid, in one line. A capacity failure of the generator is explained by its cause. `None`: the measurement
    /// is not INVALID.
    pub fn invalid_because(&self) -> Option<String> {
        let invalid = self.checks.iter().find(|check| check.grade == Some(Grade::Invalid))?;
        let is_generator = generator_checks(self).any(|check| check.id == invalid.id);
        let why = if is_generator { generator_evidence(self).next().unwrap_or(invalid) } else { invalid };
        Some(format!("{}: {}", why.title, why.evidence))
    }
}

fn of_subject(validity: &Validity, wanted: CheckedThing) -> impl Iterator<Item = &ValidityCheck> {
    let is_recorded = validity.checks.iter().any(|check| check.id == recorded::lacks::INFO.id);
    let judged = if is_recorded { RECORDED_CHECKS } else { CHECKS }.iter().zip(&validity.checks);
    judged.filter(move |((subject, _), _)| *subject == wanted).map(|(_, check)| check)
}

/// Whether the generator produced the load that the plan asks for, in the result of [`judge`].
pub(crate) fn load_was_made(validity: &Validity) -> bool {
    let is_complete = |check: &ValidityCheck| check.id == uncertainty::INFO.id || check.grade < Some(Grade::Invalid);
    generator_checks(validity).all(is_complete)
}
