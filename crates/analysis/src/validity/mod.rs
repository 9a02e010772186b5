//! Was the measurement valid? One check per file, each a pure function of what the generator recorded about itself.
//!
//! Read [`judge`] first. Formulas, limits and why they stand where they stand: docs/validity.md.

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
mod requests;
mod run_queue;
mod samples;
mod schedule_lag;
mod series;
mod slices;
mod stalls;
mod steady;
mod throttling;
mod users;
mod worker_busy;

use crate::{Grade, Validity, ValidityCheck};
pub(crate) use check::{CheckInput, RunStage};

/// What a check speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// The load generator's capacity: what it could not do in time.
    Generator,
    /// The plan, the record, the network or the target.
    Other,
}

type Check = fn(&CheckInput<'_>) -> ValidityCheck;

/// In the order in which they are shown.
const CHECKS: &[(Subject, Check)] = &[
    (Subject::Other, requests::check),
    (Subject::Generator, offered_rate::check),
    (Subject::Other, users::open),
    (Subject::Generator, users::closed),
    (Subject::Generator, schedule_lag::check),
    (Subject::Generator, read_lag::check),
    (Subject::Generator, worker_busy::check),
    (Subject::Generator, run_queue::check),
    (Subject::Generator, throttling::check),
    (Subject::Generator, stalls::check),
    (Subject::Other, in_flight::check),
    (Subject::Other, conservation::check),
    (Subject::Generator, exhaustion::check),
    (Subject::Other, connecting::check),
    (Subject::Other, clock_drift::check),
    (Subject::Other, samples::check),
    (Subject::Other, series::check),
    (Subject::Other, slices::check),
    (Subject::Other, steady::check),
    (Subject::Other, observers::check),
];

/// Applies every check; the worst grade is the verdict.
pub(crate) fn judge(input: &CheckInput<'_>) -> Validity {
    let checks: Vec<ValidityCheck> = CHECKS.iter().map(|(_, check)| check(input)).collect();
    let grade = checks.iter().filter_map(|check| check.grade).max().unwrap_or(Grade::Valid);
    Validity { grade, checks }
}

/// Those that speak of the generator's capacity, of what [`judge`] returned.
pub(crate) fn generator_checks(validity: &Validity) -> impl Iterator<Item = &ValidityCheck> {
    let judged = CHECKS.iter().zip(&validity.checks);
    judged.filter(|((subject, _), _)| *subject == Subject::Generator).map(|(_, check)| check)
}
