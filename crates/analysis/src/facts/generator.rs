//! What the load generator's own capacity means for the numbers that rules read: its validity checks, and how late responses were read in any stretch of the
//! run.

use loadstone_metrics::Snapshot;
use loadstone_run_directory::Run;

use crate::uncertainty::{LateStretch, lateness_between};
use crate::validity::{generator_checks, generator_evidence, load_was_made};
use crate::{Grade, Validity, ValidityCheck};

pub(crate) struct GeneratorFact<'a> {
    slices: &'a [Snapshot],
    validity: &'a Validity,
}

impl<'a> GeneratorFact<'a> {
    pub(super) fn of(run: &'a Run, validity: &'a Validity) -> Self {
        Self { slices: &run.slices, validity }
    }

    /// The worst grade of the checks on the generator.
    pub(crate) fn grade(&self) -> Grade {
        generator_checks(self.validity).filter_map(|check| check.grade).max().unwrap_or(Grade::Valid)
    }

    /// Whether it generated the load as planned.
    pub(crate) fn generated_the_load(&self) -> bool {
        load_was_made(self.validity)
    }

    /// Checks on the generator that are not valid, the worst first.
    pub(crate) fn failed_checks(&self) -> Vec<&'a ValidityCheck> {
        let has_failed = |check: &&ValidityCheck| check.grade.is_some_and(|grade| grade > Grade::Valid);
        let mut failed: Vec<&ValidityCheck> = generator_checks(self.validity).filter(has_failed).collect();
        failed.sort_by_key(|check| std::cmp::Reverse(check.grade));
        failed
    }

    /// Checks that explain why it was late.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &'a ValidityCheck> {
        generator_evidence(self.validity)
    }

    /// Mean seconds by which it lengthened a request's times in a stretch. Seconds since the run began.
    pub(crate) fn lateness(&self, stretch: (f64, f64)) -> LateStretch {
        lateness_between(self.slices, stretch)
    }

    /// Whether it may explain that mean service times grew by `growth` seconds from one stretch to another. Only the difference in lateness between the two can
    /// have caused the growth.
    pub(crate) fn explains(&self, growth: f64, before: (f64, f64), after: (f64, f64)) -> bool {
        let differ = self.lateness(after).read - self.lateness(before).read;
        !self.generated_the_load() || differ >= growth / 2.0
    }
}
