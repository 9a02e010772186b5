//! Where the output of scripts goes.

use std::rc::Rc;

/// Receives what scripts print, and their request to end the run.
#[derive(Clone, Default)]
pub struct K6Sinks {
    /// A line of `console`.
    pub console: Option<Rc<dyn Fn(&str)>>,
    /// `exec.test.abort()`: the message.
    pub abort: Option<Rc<dyn Fn(&str)>>,
}
