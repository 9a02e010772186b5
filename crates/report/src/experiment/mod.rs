//! An experiment for people and machines. Read [`terminal()`]; `cells` formats the parts that all renderers share.
//!
//! Deliberately absent: conclusions. `loadstone_analysis::Experiment` has them.

mod cells;
mod markdown;
mod terminal;
mod view;

use loadstone_analysis::Experiment;

pub use markdown::markdown;
pub use terminal::terminal;
pub use view::ExperimentView;

/// The experiment as JSON, ending in a line break. docs/experiment.md describes every field.
pub fn json(experiment: &Experiment) -> String {
    crate::json::pretty(experiment)
}

/// The experiment as a page: one file that opens from disk.
pub fn html(experiment: &Experiment) -> String {
    crate::html::answer_page("experiment", &ExperimentView::of(experiment))
}
