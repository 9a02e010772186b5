//! Tests a cause by experiment: short blocks of the same load run with alternating values of a knob, and the numbers that change with it
//! depend on it. docs/experiment.md has the definitions and the measured error rates.
//!
//! Read [`Experiment`] (`model`) first, then [`KnobTrial`]: it chooses the next block, takes its measurement, and decides when to stop.
//! `warm_up` finds the seconds to exclude, `block` has the numbers of one block, and `contrast` compares two values of the knob. `sequence`
//! has the interval that may be checked after every round, `sensitivity` the effect of each millisecond of an added delay, and `proof` the
//! result for a finding. Deliberately absent: changing knobs, and load generation.

mod block;
mod contrast;
mod model;
mod proof;
mod sensitivity;
mod sequence;
mod settings;
mod trial;
#[cfg(test)]
mod truth;
mod warm_up;

pub use model::{
    BlockNumber, BlockRecord, Experiment, ExperimentRow, ExperimentStop, ExperimentSubject, KnobContrast, Sensitivity, SensitivityMetric,
};
pub use proof::names_knob;
pub use settings::{KnobScale, TrialSettings, TrialValue};
pub use trial::{KnobTrial, NextBlock};

/// Default for the smallest relative change that matters. It is larger than that of comparisons: blocks are short, and a cause has a larger
/// effect than 3 %.
pub const EXPERIMENT_EFFECT: f64 = 0.1;
