//! A comparison of two runs for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What a row means stands in `loadstone_analysis::RunComparison`.

pub(crate) mod cells;
mod junit;
mod markdown;
mod terminal;

use loadstone_analysis::RunComparison;

pub use junit::junit;
pub use markdown::markdown;
pub use terminal::terminal;

/// The comparison as JSON, ending in a line break. Every field is in docs/compare.md.
pub fn json(comparison: &RunComparison) -> String {
    crate::json::pretty(comparison)
}

/// The comparison as a page: one file, which opens from disk.
pub fn html(comparison: &RunComparison) -> String {
    crate::html::answer_page("comparison", comparison)
}
