//! Where the output of scripts goes.

use std::rc::Rc;

use loadstone_script::{CheckSink, MessageSink, TraceSink};

/// Receives a string.
pub type TextSink = Rc<dyn Fn(&str)>;

/// Receives what scripts print, their request to end the run, and (in `try`) every request, response, message and check.
#[derive(Clone, Default)]
pub struct K6Sinks {
    /// A line of `console`.
    pub console: Option<TextSink>,
    /// `exec.test.abort()`: the message.
    pub abort: Option<TextSink>,
    /// The result of `setup`, as JSON. Empty: it returned `undefined`.
    pub set_up: Option<TextSink>,
    pub exchanges: TraceSink,
    pub messages: MessageSink,
    pub checks: CheckSink,
}
