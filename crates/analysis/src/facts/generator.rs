//! The validity checks that speak of the load generator's own capacity; the others speak of the plan, the record or the target.

use crate::validity::generator_checks;
use crate::{Grade, Validity, ValidityCheck};

pub(crate) struct GeneratorChecks<'a> {
    checks: Vec<&'a ValidityCheck>,
}

impl<'a> GeneratorChecks<'a> {
    pub(super) fn of(validity: &'a Validity) -> Self {
        Self { checks: generator_checks(validity).collect() }
    }

    /// The worst of them.
    pub(crate) fn grade(&self) -> Grade {
        self.checks.iter().filter_map(|check| check.grade).max().unwrap_or(Grade::Valid)
    }

    /// Those that are not valid; the worst first.
    pub(crate) fn doubtful(&self) -> Vec<&'a ValidityCheck> {
        let is_doubtful = |check: &&ValidityCheck| check.grade.is_some_and(|grade| grade > Grade::Valid);
        let mut doubtful: Vec<&ValidityCheck> = self.checks.iter().copied().filter(is_doubtful).collect();
        doubtful.sort_by_key(|check| std::cmp::Reverse(check.grade));
        doubtful
    }
}
