//! An experiment for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What a row means stands in `analysis::Experiment`.

mod cells;
mod markdown;
mod terminal;

use analysis::Experiment;

pub use markdown::markdown;
pub use terminal::terminal;

/// The experiment as JSON, ending in a line break. Every field is in docs/experiment.md.
pub fn json(experiment: &Experiment) -> String {
    crate::json::pretty(experiment)
}
