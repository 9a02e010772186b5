//! What is asked of an experiment.

use crate::{ComparedMetric, Finding};

/// What the knob's values mean, beyond being different.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobScale {
    /// Nothing is known.
    Words,
    /// More of it is more room: a size, a number of connections.
    Amount(f64),
    /// A delay that is added. Seconds.
    Delay(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TrialValue {
    /// As people wrote it.
    pub label: String,
    pub scale: KnobScale,
}

/// What is asked of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSettings {
    pub test: String,
    pub knob: String,
    /// At least two; the others are held against the first.
    pub values: Vec<TrialValue>,
    pub block_seconds: usize,
    /// Rounds at most. Even.
    pub rounds_max: usize,
    /// Relative change below which nobody cares: 0.1 for 10 %.
    pub effect: f64,
    /// What decides, in place of the requests that take most of the time: a metric, and of which request; `None`: all together.
    pub measure: Option<(ComparedMetric, Option<String>)>,
    /// The finding whose cause the knob is.
    pub finding: Option<Finding>,
}
