//! Was the measurement valid? One check per file, each a pure function of what the generator recorded about itself.
//!
//! Read [`judge`] first. Formulas, limits and why they stand where they stand: docs/validity.md.

mod agents;
mod check;
mod clock_drift;
mod connecting;
mod conservation;
mod doubt;
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
    /// Why it could not.
    Evidence,
    /// The plan, the record, the network or the target.
    Other,
}

type Check = fn(&CheckInput<'_>) -> ValidityCheck;

/// In the order in which they are shown. Those from schedule lag to stalls have no grade: what lateness does to a number is the doubt's to say, and
/// they explain it.
const CHECKS: &[(Subject, Check)] = &[
    (Subject::Other, requests::check),
    (Subject::Generator, offered_rate::check),
    (Subject::Other, users::open),
    (Subject::Generator, users::closed),
    (Subject::Generator, doubt::check),
    (Subject::Evidence, schedule_lag::check),
    (Subject::Evidence, read_lag::check),
    (Subject::Evidence, worker_busy::check),
    (Subject::Evidence, run_queue::check),
    (Subject::Evidence, throttling::check),
    (Subject::Evidence, stalls::check),
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
    let mut checks: Vec<ValidityCheck> = CHECKS.iter().map(|(_, check)| check(input)).collect();
    // Last, as most runs have none.
    checks.extend(agents::check(input));
    let grade = checks.iter().filter_map(|check| check.grade).max().unwrap_or(Grade::Valid);
    Validity { grade, checks }
}

/// Those that speak of the generator's capacity, of what [`judge`] returned.
pub(crate) fn generator_checks(validity: &Validity) -> impl Iterator<Item = &ValidityCheck> {
    of_subject(validity, Subject::Generator)
}

/// What explains why the generator was late; only what is worth a look.
pub(crate) fn generator_evidence(validity: &Validity) -> impl Iterator<Item = &ValidityCheck> {
    of_subject(validity, Subject::Evidence).filter(|check| !check.advice.is_empty())
}

impl Validity {
    /// Why nothing follows from the measurement, in one line: what the generator could not do in time is explained by what kept it. `None`: it is not INVALID.
    pub fn invalid_because(&self) -> Option<String> {
        let spoilt = self.checks.iter().find(|check| check.grade == Some(Grade::Invalid))?;
        let is_generator = generator_checks(self).any(|check| check.id == spoilt.id);
        let why = if is_generator { generator_evidence(self).next().unwrap_or(spoilt) } else { spoilt };
        Some(format!("{}: {}", why.title, why.evidence))
    }
}

fn of_subject(validity: &Validity, wanted: Subject) -> impl Iterator<Item = &ValidityCheck> {
    let judged = CHECKS.iter().zip(&validity.checks);
    judged.filter(move |((subject, _), _)| *subject == wanted).map(|(_, check)| check)
}

/// Whether the load was made as it was asked for, of what [`judge`] returned.
pub(crate) fn load_was_made(validity: &Validity) -> bool {
    let is_made = |check: &ValidityCheck| check.id == doubt::INFO.id || check.grade < Some(Grade::Invalid);
    generator_checks(validity).all(is_made)
}
