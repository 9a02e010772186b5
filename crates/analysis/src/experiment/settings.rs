//! The settings of an experiment.

use crate::{ComparedMetric, Finding};

/// The meaning of the knob's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobScale {
    /// Unknown: the values are only labels.
    Words,
    /// An amount of capacity: a size, a number of connections.
    Amount(f64),
    /// An added delay. Seconds.
    Delay(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TrialValue {
    /// The value as the user wrote it.
    pub label: String,
    pub scale: KnobScale,
}

/// The settings of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSettings {
    pub test: String,
    pub knob: String,
    /// At least two; the others are compared with the first.
    pub values: Vec<TrialValue>,
    pub block_seconds: usize,
    /// Maximum number of rounds. Even.
    pub rounds_max: usize,
    /// Smallest relative change that matters: 0.1 for 10 %.
    pub effect: f64,
    /// The deciding metric, in place of the requests that take most of the time, and the name of its request; `None`: all requests
    /// together.
    pub measure: Option<(ComparedMetric, Option<String>)>,
    /// The finding that the experiment tests: the knob is its suspected cause.
    pub finding: Option<Finding>,
}
