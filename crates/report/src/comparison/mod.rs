//! A comparison of two runs for people and machines. Read [`terminal()`]; `cells` formats the parts that all renderers share.
//!
//! Deliberately absent: conclusions. `loadstone_analysis::RunComparison` has them.

pub(crate) mod cells;
mod junit;
mod markdown;
mod terminal;

use loadstone_analysis::RunComparison;

pub use junit::junit;
pub(crate) use junit::suite;
pub use markdown::markdown;
pub use terminal::{ShownNumbers, terminal};

/// The comparison as JSON, ending in a line break. docs/compare.md describes every field.
pub fn json(comparison: &RunComparison) -> String {
    crate::json::pretty(comparison)
}

/// The comparison as a page: one file that opens from disk.
pub fn html(comparison: &RunComparison) -> String {
    crate::html::answer_page("comparison", comparison)
}
