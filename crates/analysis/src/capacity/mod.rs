//! The capacity of a system: the highest load at which it meets its objectives, as a number with an interval.
//!
//! Read [`next_step`] first: the search is a function from the probes so far to the next step, so that an interrupted search can be
//! resumed. [`ProbeReading`] has the result of one probe (an ordinary run) for each objective and for its backlog. `belief` turns the
//! readings into a probability distribution of the capacity. [`Capacity`] is the data that any surface shows. Deliberately absent: load
//! generation, waiting and files, which belong to the command.

mod belief;
mod bootstrap;
mod ceiling;
mod few_requests;
mod model;
mod ramp;
mod ramp_stretch;
#[cfg(test)]
mod ramp_truth;
mod reading;
mod report;
mod search;
#[cfg(test)]
mod truth;
mod utilisation;
mod what_if;

pub(crate) use ceiling::ThroughputCeiling;
pub use model::{
    Capacity, CapacityInterval, CapacityProbe, CapacityVerdict, LoadUnit, ObjectiveReading, ProbeDisturbance, ProbeLean, ProbeReading,
};
pub use ramp::{RampEstimate, RampPoint, ScalabilityLaw};
pub(crate) use ramp_stretch::sustained;
pub use reading::objective_problem;
pub use search::{CapacityEnd, CapacitySettings, CapacityStep, ProbeReason, next_step};
pub use utilisation::{ResourceCeiling, UnknownCeiling};
pub use what_if::WhatIf;
