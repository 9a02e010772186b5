//! How much a system can take: the highest load at which it holds its objectives, as a number with an interval.
//!
//! Read [`next_step`] first: the search is a function from the probes so far to what to do next, so that it resumes wherever it stopped. [`ProbeReading`]
//! is what one probe, an ordinary run, says of each objective and of its backlog; `belief` turns the readings into a probability of where the capacity
//! lies; [`Capacity`] is what any surface shows. Deliberately absent: making load, waiting, files; those are the command's.

mod belief;
mod bootstrap;
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

pub use model::{
    Capacity, CapacityInterval, CapacityProbe, CapacityVerdict, LoadUnit, ObjectiveReading, ProbeDisturbance, ProbeLean, ProbeReading,
};
pub use ramp::{RampEstimate, RampPoint, ScalabilityLaw};
pub use reading::objective_problem;
pub use search::{CapacityEnd, CapacitySettings, CapacityStep, ProbeReason, next_step};
pub use utilisation::{ResourceCeiling, UnknownCeiling};
pub use what_if::WhatIf;
