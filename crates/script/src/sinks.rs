//! Receivers of a script's output: console lines, errors, and (in `try`) every request, response and message in full.

use std::fmt;
use std::rc::Rc;

use loadstone_metrics::{Outcome, Phases};

use crate::error::ScriptError;
use crate::globals::console::ConsoleLevel;

/// A line written with `console` or `user.log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine {
    pub level: ConsoleLevel,
    pub text: String,
    /// Scenario and number of the user whose code wrote it. `None` at the top level of the file.
    pub user: Option<(Rc<str>, u64)>,
}

/// One request and its response in full, for any protocol.
#[derive(Debug)]
pub struct TracedExchange<'a> {
    pub scenario: &'a str,
    pub user: u64,
    /// The name it is recorded under.
    pub name: &'a str,
    pub outcome: Outcome,
    /// Why it failed, as text.
    pub error: Option<&'a str>,
    /// The expectations on the response, in the order in which they were evaluated.
    pub expectations: Vec<TracedExpectation>,
    pub request: TracedRequest,
    /// `None` when there was none.
    pub response: Option<TracedResponse>,
    /// From its start to its end. Nanoseconds.
    pub service_ns: u64,
    pub phases: Phases,
    /// A connection was opened for it.
    pub connected: bool,
}

/// One expectation on a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedExpectation {
    /// `$.state: "open"`.
    pub wanted: String,
    pub found: String,
    pub holds: bool,
}

/// A `check` of a scenario.
#[derive(Debug)]
pub struct TracedCheck<'a> {
    pub scenario: &'a str,
    pub name: &'a str,
    pub holds: bool,
}

/// What was sent.
#[derive(Debug, Clone, Default)]
pub struct TracedRequest {
    /// An HTTP method, or the name of a call.
    pub method: String,
    /// The URL, or the protocol's form of an address.
    pub address: String,
    /// Header lines, metadata.
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The response.
#[derive(Debug, Clone, Default)]
pub struct TracedResponse {
    pub status: u16,
    /// Header lines, metadata.
    pub fields: Vec<(String, String)>,
    /// Decompressed.
    pub body: Vec<u8>,
    /// On the wire, headers included.
    pub bytes_received: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageDirection {
    Sent,
    Received,
}

/// One message of a WebSocket or a stream of events, in full.
#[derive(Debug)]
pub struct TracedMessage<'a> {
    pub scenario: &'a str,
    /// The name of the step that sent it, or otherwise of its connection.
    pub name: &'a str,
    pub direction: MessageDirection,
    pub body: &'a [u8],
    /// Kind and id, of an event.
    pub event: Option<&'a str>,
    pub id: Option<&'a str>,
}

/// A receiver. `None`: there is none.
pub type ScriptSink<T> = Option<Rc<dyn Fn(&T)>>;

/// Receives every request and response in full.
pub type TraceSink = Option<Rc<dyn Fn(&TracedExchange<'_>)>>;

/// Receives every check.
pub type CheckSink = Option<Rc<dyn Fn(&TracedCheck<'_>)>>;

/// Receives every message in full.
pub type MessageSink = Option<Rc<dyn Fn(&TracedMessage<'_>)>>;

/// Receives what functions of stubs print, and their errors.
pub type StubConsole = Box<dyn Fn(&ConsoleLine) + Send>;

/// Receivers on the worker's thread. Each is optional. They are called while users wait, so they must return quickly.
#[derive(Clone, Default)]
pub struct Sinks {
    pub console: ScriptSink<ConsoleLine>,
    /// Every error of a script as it happens. The recorder has them grouped.
    pub errors: ScriptSink<ScriptError>,
    /// An unknown option, whether or not the script catches the error: the run does not do what its author intended.
    pub misuse: ScriptSink<ScriptError>,
    pub exchanges: TraceSink,
    pub messages: MessageSink,
    pub checks: CheckSink,
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
