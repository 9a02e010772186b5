//! Where a script's words go: console lines, errors, and (in `try`) every request and answer whole.

use std::fmt;
use std::rc::Rc;

use metrics::Outcome;
use protocol::http::{Exchange, Request};

use crate::error::ScriptError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A line written with `console` or `user.log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine {
    pub level: Level,
    pub text: String,
    /// Scenario and number of the user whose code wrote it; `None` at the top level of the file.
    pub user: Option<(Rc<str>, u64)>,
}

/// One request and its answer, whole.
#[derive(Debug)]
pub struct Traced<'a> {
    pub scenario: &'a str,
    pub user: u64,
    /// The name it is recorded under.
    pub name: &'a str,
    pub request: &'a Request,
    pub exchange: &'a Exchange,
    pub outcome: Outcome,
    /// Why it failed, in words.
    pub error: Option<&'a str>,
}

/// Receivers on the worker's thread; each may be left out. They are called while users wait, so they return fast.
#[derive(Clone, Default)]
pub struct Sinks {
    pub console: Option<Rc<dyn Fn(&ConsoleLine)>>,
    /// Every error of a script as it happens; the recorder has them grouped.
    pub errors: Option<Rc<dyn Fn(&ScriptError)>>,
    pub trace: Option<Rc<dyn Fn(&Traced<'_>)>>,
}

impl Sinks {
    pub(crate) fn error(&self, error: &ScriptError) {
        if let Some(errors) = &self.errors {
            errors(error);
        }
    }
}

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sinks").finish_non_exhaustive()
    }
}
