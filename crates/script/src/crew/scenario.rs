//! What does not vary between the requests of one scenario, prepared once per worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use metrics::{Recorder, SeriesId, SeriesKey, SeriesKind};
use protocol::http::{Origin, resolve};
use url::Url;

use crate::error::ScriptError;
use crate::load::{Loaded, unix_path};
use crate::settings::Keep;

/// The base that relative URLs are resolved against.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) url: Url,
    pub(crate) origin: Rc<Origin>,
}

impl Base {
    fn new(text: &str) -> Result<Self, ScriptError> {
        let url = resolve(None, text).map_err(|error| ScriptError::new(format!("target: {error}")))?;
        let origin = Rc::new(Origin::of(&url));
        Ok(Self { url, origin })
    }
}

/// Series by name.
type Book = HashMap<String, SeriesId>;

/// A scenario on one worker.
pub(crate) struct ScenarioCard {
    pub(crate) name: Rc<str>,
    key_name: Arc<str>,
    pub(crate) base: Option<Base>,
    /// The test's and the scenario's, merged.
    pub(crate) headers: Vec<(String, String)>,
    /// Value of the `Authorization` header for the base's origin.
    pub(crate) authorization: Option<String>,
    pub(crate) timeout_ns: u64,
    pub(crate) body_bytes_max: u64,
    pub(crate) redirects: u32,
    pub(crate) keep: Keep,
    pub(crate) iterations: SeriesId,
    /// Series by kind and group, then by name.
    series: RefCell<HashMap<(SeriesKind, Arc<str>), Book>>,
    series_max: usize,
}

impl ScenarioCard {
    pub(crate) fn new(loaded: &Loaded, index: usize, recorder: &Rc<RefCell<Recorder>>) -> Result<Self, ScriptError> {
        let (test, own) = (&loaded.settings, &loaded.settings.scenarios[index]);
        let target = own.target.as_deref().or(loaded.plan.target.as_deref());
        let key_name: Arc<str> = own.name.as_str().into();
        let key = SeriesKey { kind: SeriesKind::Iteration, scenario: key_name.clone(), group: "".into(), name: key_name.clone() };
        let iterations = recorder.borrow_mut().series(&key);
        let mut headers = test.headers.clone();
        for (name, value) in &own.headers {
            set_header(&mut headers, name, value);
        }
        Ok(Self {
            name: own.name.as_str().into(),
            key_name,
            // Whatever the host: a Unix socket stands for all of them.
            base: target.map(|target| if unix_path(target).is_some() { "http://localhost" } else { target }).map(Base::new).transpose()?,
            headers,
            authorization: own.auth.as_ref().or(test.auth.as_ref()).map(|auth| auth.header()),
            timeout_ns: own.timeout_ns.unwrap_or(loaded.plan.options.request_timeout_ns),
            body_bytes_max: loaded.plan.options.body_bytes_max,
            redirects: test.redirects,
            keep: own.keep,
            iterations,
            series: RefCell::default(),
            series_max: loaded.plan.options.series_max as usize,
        })
    }

    /// The series of a name in a group.
    pub(crate) fn series(&self, recorder: &RefCell<Recorder>, kind: SeriesKind, group: &Arc<str>, name: &str) -> SeriesId {
        let mut books = self.series.borrow_mut();
        let book = books.entry((kind, group.clone())).or_default();
        if let Some(id) = book.get(name) {
            return *id;
        }
        let key = SeriesKey { kind, scenario: self.key_name.clone(), group: group.clone(), name: name.into() };
        let id = recorder.borrow_mut().series(&key);
        // Names beyond the recorder's bound are looked up there each time, so that this cache is bounded as well.
        if book.len() < self.series_max {
            book.insert(name.to_owned(), id);
        }
        id
    }
}

/// Sets a header, whatever the case it was given in before.
pub(crate) fn set_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    match headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some(line) => value.clone_into(&mut line.1),
        None => headers.push((name.to_owned(), value.to_owned())),
    }
}
