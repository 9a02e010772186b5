//! Where the output of scripts goes.

use std::rc::Rc;

/// Receives a string.
pub type TextSink = Rc<dyn Fn(&str)>;

/// Receives what scripts print, and their request to end the run.
#[derive(Clone, Default)]
pub struct K6Sinks {
    /// A line of `console`.
    pub console: Option<TextSink>,
    /// `exec.test.abort()`: the message.
    pub abort: Option<TextSink>,
}
