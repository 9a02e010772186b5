//! The names of requests in findings. Read [`RequestNames`], then [`NamedRun`].
//!
//! Facts and rules identify a request by its name. Where several scenarios have a request of one name, these are different requests, with loads of their
//! own. Their names then contain the scenario: facts are computed from a run with such names, so that no rule needs to know of scenarios. The run itself is
//! renamed, and renamed back, because a copy would double the memory. The names of spans have no scenario.

use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::Arc;

use loadstone_metrics::span::SpanKind;
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
            return with_scenario(&key.name, &key.scenario).into();
        }
        Arc::clone(&key.name)
    }

    /// Of the requests of a run.
    pub(crate) fn in_run(run: &Run) -> Self {
        Self::of(run.slices.iter().flat_map(|slice| &slice.series).map(|series| &series.key))
    }

    /// Whether any name as shown differs from the request's own.
    pub(crate) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// The request's own name, if the one shown differs.
    pub(crate) fn own(&self, shown: &str, scenario: &str) -> Option<Arc<str>> {
        let own = shown.strip_suffix(')')?.strip_suffix(scenario)?.strip_suffix(" (")?;
        self.shared.get(own).map(Arc::clone)
    }
}

/// A run whose requests have the names that findings show, also in its traces. It gives them back their own names when it is dropped.
pub(crate) struct NamedRun<'r> {
    run: &'r mut Run,
    /// The shown name and the request's own, by the address of the shown one. All keys of a request share it.
    own: HashMap<*const str, (Arc<str>, Arc<str>)>,
}

impl<'r> NamedRun<'r> {
    pub(crate) fn of(run: &'r mut Run, names: &RequestNames) -> Self {
        let mut shown: HashMap<(Arc<str>, Arc<str>), Arc<str>> = HashMap::new();
        rename(run, &mut |name, scenario| {
            if names.shared.contains(name) {
                let key = (Arc::clone(name), Arc::clone(scenario));
                *name = Arc::clone(shown.entry(key).or_insert_with(|| with_scenario(name, scenario).into()));
            }
        });
        let own = shown.into_iter().map(|((own, _), shown)| (Arc::as_ptr(&shown), (shown, own))).collect();
        Self { run, own }
    }
}

impl Deref for NamedRun<'_> {
    type Target = Run;

    fn deref(&self) -> &Run {
        self.run
    }
}

impl Drop for NamedRun<'_> {
    fn drop(&mut self) {
        rename(self.run, &mut |name, _| {
            if let Some((_, own)) = self.own.get(&Arc::as_ptr(name)) {
                *name = Arc::clone(own);
            }
        });
    }
}

fn with_scenario(name: &str, scenario: &str) -> String {
    format!("{name} ({scenario})")
}

/// Changes the names of requests wherever a run has them. `change` gets the name and the scenario.
fn rename(run: &mut Run, change: &mut dyn FnMut(&mut Arc<str>, &Arc<str>)) {
    for slice in &mut run.slices {
        let series = slice.series.iter_mut().map(|series| &mut series.key);
        let errors = slice.errors.iter_mut().map(|error| &mut error.key);
        let others = slice.slow.iter_mut().map(|slow| &mut slow.key).chain(slice.tagged.iter_mut().map(|part| &mut part.series.key));
        let keys = series.chain(errors).chain(others);
        keys.filter(|key| key.kind == SeriesKind::Request).for_each(|key| change(&mut key.name, &key.scenario));
    }
    for path in run.traces.paths.iter_mut().filter(|path| path.kind == SpanKind::Request) {
        change(&mut path.name, &path.scenario);
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
