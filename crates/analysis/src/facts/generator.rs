//! What the load generator's own capacity means for what rules read: the validity checks that speak of it, and how late responses were read in any
//! stretch of the run.

use loadstone_metrics::Snapshot;
use loadstone_run_directory::Run;

use crate::doubt::{LateStretch, lateness_between};
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

    /// The worst of the checks that speak of it.
    pub(crate) fn grade(&self) -> Grade {
        generator_checks(self.validity).filter_map(|check| check.grade).max().unwrap_or(Grade::Valid)
    }

    /// Whether the load was made as it was asked for.
    pub(crate) fn made_the_load(&self) -> bool {
        load_was_made(self.validity)
    }

    /// Checks that are not valid; the worst first.
    pub(crate) fn doubtful(&self) -> Vec<&'a ValidityCheck> {
        let is_doubtful = |check: &&ValidityCheck| check.grade.is_some_and(|grade| grade > Grade::Valid);
        let mut doubtful: Vec<&ValidityCheck> = generator_checks(self.validity).filter(is_doubtful).collect();
        doubtful.sort_by_key(|check| std::cmp::Reverse(check.grade));
        doubtful
    }

    /// What explains why it was late.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &'a ValidityCheck> {
        generator_evidence(self.validity)
    }

    /// Mean seconds by which it made a request's times longer in a stretch (seconds since the run began).
    pub(crate) fn lateness(&self, stretch: (f64, f64)) -> LateStretch {
        lateness_between(self.slices, stretch)
    }

    /// Whether it can explain that mean service times grew by `growth` seconds from one stretch to another. A stretch is no later than itself: only
    /// what lateness differs by can have made the growth.
    pub(crate) fn explains(&self, growth: f64, before: (f64, f64), after: (f64, f64)) -> bool {
        let differ = self.lateness(after).read - self.lateness(before).read;
        !self.made_the_load() || differ >= growth / 2.0
    }
}
