//! An experiment for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What a row means stands in `loadstone_analysis::Experiment`.

mod cells;
mod markdown;
mod terminal;
mod view;

use loadstone_analysis::Experiment;

pub use markdown::markdown;
pub use terminal::terminal;
pub use view::ExperimentView;

/// The experiment as JSON, ending in a line break. Every field is in docs/experiment.md.
pub fn json(experiment: &Experiment) -> String {
    crate::json::pretty(experiment)
}

/// The experiment as a page: one file, which opens from disk.
pub fn html(experiment: &Experiment) -> String {
    crate::html::answer_page("experiment", &ExperimentView::of(experiment))
}
