//! The names of requests in findings. Read [`RequestNames`].
//!
//! Facts and rules identify a request by its name. Where several scenarios have a request of one name, these are different requests, with loads of their
//! own. Their names then contain the scenario: facts are computed from a copy of the run with such names, so that no rule needs to know of scenarios.
//! Deliberately absent: the names of spans, which have no scenario.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use loadstone_metrics::{SeriesKey, SeriesKind};
use loadstone_run_directory::Run;

/// How findings name the requests of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestNames {
    /// Names that requests of several scenarios have.
    shared: BTreeSet<Arc<str>>,
}

impl RequestNames {
    /// `keys`: of all series of the run, in any order, also repeatedly.
    pub fn of<'a>(keys: impl IntoIterator<Item = &'a SeriesKey>) -> Self {
        let (mut scenarios, mut shared) = (HashMap::<&str, &str>::new(), BTreeSet::new());
        for key in keys.into_iter().filter(|key| key.kind == SeriesKind::Request) {
            let first = *scenarios.entry(&key.name).or_insert(&key.scenario);
            if first != &*key.scenario && !shared.contains(&key.name) {
                shared.insert(Arc::clone(&key.name));
            }
        }
        Self { shared }
    }

    /// `Log in`, or `Log in (Buyers)` if another scenario has a request of this name.
    pub fn shown(&self, key: &SeriesKey) -> Arc<str> {
        if key.kind == SeriesKind::Request && self.shared.contains(&key.name) {
            return format!("{} ({})", key.name, key.scenario).into();
        }
        Arc::clone(&key.name)
    }

    /// The run with these names.
    pub(crate) fn in_run(run: &Run) -> Cow<'_, Run> {
        let names = Self::of(run.slices.iter().flat_map(|slice| &slice.series).map(|series| &series.key));
        if names.shared.is_empty() {
            return Cow::Borrowed(run);
        }
        let mut named = run.clone();
        for slice in &mut named.slices {
            let series = slice.series.iter_mut().map(|series| &mut series.key);
            let errors = slice.errors.iter_mut().map(|error| &mut error.key);
            let others = slice.slow.iter_mut().map(|slow| &mut slow.key).chain(slice.tagged.iter_mut().map(|part| &mut part.series.key));
            series.chain(errors).chain(others).for_each(|key| key.name = names.shown(key));
        }
        Cow::Owned(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_scenario_only_where_it_is_not_the_only_one() {
        let key = |scenario: &str, name: &str| SeriesKey::new(SeriesKind::Request, scenario, name);
        let iteration = SeriesKey::new(SeriesKind::Iteration, "Admins", "Log in");
        let in_group = SeriesKey { group: "Account".into(), ..key("Buyers", "List") };
        let keys = [
            key("Buyers", "Log in"),
            key("Buyers", "List"),
            in_group.clone(),
            key("Admins", "Log in"),
            key("Admins", "Ban"),
            iteration.clone(),
        ];
        let names = RequestNames::of(&keys);
        let shown: Vec<String> = keys.iter().map(|key| names.shown(key).to_string()).collect();
        assert_eq!(shown, ["Log in (Buyers)", "List", "List", "Log in (Admins)", "Ban", "Log in"]);
    }
}
