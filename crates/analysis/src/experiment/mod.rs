//! Is that really the cause? A knob is turned there and back in short blocks of one load, and what moves with it hangs on it. docs/experiment.md has the
//! definitions, and how often it is right.
//!
//! Read [`Experiment`] (`model`) first, then [`KnobTrial`]: it says which block comes next, takes what was measured in it, and knows when to
//! stop. `warm_up` finds the seconds to leave out, `block` has the numbers of one block, `contrast` judges two values of the knob, `sequence` has
//! the interval that may be looked at after every round, `sensitivity` what each millisecond of an added delay costs, `proof` what becomes of a
//! finding. Deliberately absent: turning knobs, and load.

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

/// Relative change below which a cause is none, unless somebody says otherwise. Larger than that of comparisons: blocks are short, and who asks for a cause
/// does not mean 3 %.
pub const EXPERIMENT_EFFECT: f64 = 0.1;
