//! State that the users of one scenario share, prepared once per worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::{Recorder, SeriesId, SeriesKey, SeriesKind};
use rquickjs::Ctx;

use super::capability::Capability;
use super::parts::StateParts;
use crate::compile::Program;
use crate::error::ScriptError;
use crate::loaded::Loaded;
use crate::realm::caller_place;
use crate::settings::Keep;

/// Series by name.
type SeriesByName = HashMap<String, SeriesId>;

/// A scenario on one worker.
pub(crate) struct ScenarioState {
    pub(crate) name: Rc<str>,
    key_name: Arc<str>,
    /// Time limit of a request that sets none.
    pub(crate) timeout_ns: u64,
    pub(crate) keep: Keep,
    pub(crate) iterations: SeriesId,
    /// Its requests and groups are counted and timed.
    pub(crate) measured: bool,
    /// Its users run functions before or after their iterations.
    pub(crate) runs_around: bool,
    /// These are counted and timed, too.
    pub(crate) measures_start_and_end: bool,
    /// State of capabilities.
    pub(crate) parts: StateParts,
    /// Series by kind and group, then by name.
    series: RefCell<HashMap<(SeriesKind, Arc<str>), SeriesByName>>,
    /// The place of the first call of each series.
    places: RefCell<HashMap<SeriesId, String>>,
    series_max: usize,
}

impl ScenarioState {
    pub(crate) fn new(
        loaded: &Loaded,
        index: usize,
        recorder: &Rc<RefCell<Recorder>>,
        capabilities: &[&dyn Capability],
    ) -> Result<Self, ScriptError> {
        let own = &loaded.settings.scenarios[index];
        let key_name: Arc<str> = own.name.as_str().into();
        let key = SeriesKey { kind: SeriesKind::Iteration, scenario: key_name.clone(), group: "".into(), name: key_name.clone() };
        let iterations = recorder.borrow_mut().series(&key);
        let mut parts = StateParts::default();
        capabilities.iter().try_for_each(|capability| capability.open_scenario(loaded, index, &mut parts))?;
        Ok(Self {
            name: own.name.as_str().into(),
            key_name,
            timeout_ns: own.timeout_ns.unwrap_or(loaded.plan.options.request_timeout_ns),
            keep: own.keep,
            iterations,
            measured: own.measured,
            runs_around: own.on_start || own.on_end,
            measures_start_and_end: own.measures_start_and_end,
            parts,
            series: RefCell::default(),
            places: RefCell::default(),
            series_max: loaded.plan.options.series_max as usize,
        })
    }

    /// Records the place of the running call of a series. Only once per series, since finding the place is expensive.
    pub(crate) fn note_place(&self, ctx: &Ctx<'_>, program: &Program, series: SeriesId) {
        let mut places = self.places.borrow_mut();
        if places.len() < self.series_max && !places.contains_key(&series) {
            places.insert(series, caller_place(ctx, program).map(|place| place.to_string()).unwrap_or_default());
        }
    }

    pub(crate) fn place_of(&self, series: SeriesId) -> Option<String> {
        self.places.borrow().get(&series).filter(|place| !place.is_empty()).cloned()
    }

    /// The series of a name in a group.
    pub(crate) fn series(&self, recorder: &RefCell<Recorder>, kind: SeriesKind, group: &Arc<str>, name: &str) -> SeriesId {
        let mut known = self.series.borrow_mut();
        let names = known.entry((kind, group.clone())).or_default();
        if let Some(id) = names.get(name) {
            return *id;
        }
        let key = SeriesKey { kind, scenario: self.key_name.clone(), group: group.clone(), name: name.into() };
        let id = recorder.borrow_mut().series(&key);
        // For names beyond the recorder's limit, the recorder is asked each time, so that this cache is bounded as well.
        if names.len() < self.series_max {
            names.insert(name.to_owned(), id);
        }
        id
    }
}
