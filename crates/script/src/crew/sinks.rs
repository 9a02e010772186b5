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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Sent,
    Received,
}

/// One message of a WebSocket or a stream of events, whole.
#[derive(Debug)]
pub struct TracedMessage<'a> {
    pub scenario: &'a str,
    /// Name of what it came over.
    pub name: &'a str,
    pub direction: Direction,
    pub body: &'a [u8],
    /// Kind and id, of an event.
    pub event: Option<&'a str>,
    pub id: Option<&'a str>,
}

/// A receiver; `None`: nobody listens.
pub type Sink<T> = Option<Rc<dyn Fn(&T)>>;

/// Receives every request and answer whole.
pub type TraceSink = Option<Rc<dyn Fn(&Traced<'_>)>>;

/// Receives every message whole.
pub type MessageSink = Option<Rc<dyn Fn(&TracedMessage<'_>)>>;

/// Receivers on the worker's thread; each may be left out. They are called while users wait, so they return fast.
#[derive(Clone, Default)]
pub struct Sinks {
    pub console: Sink<ConsoleLine>,
    /// Every error of a script as it happens; the recorder has them grouped.
    pub errors: Sink<ScriptError>,
    pub trace: TraceSink,
    pub messages: MessageSink,
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
