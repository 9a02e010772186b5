//! A test over its runs, for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What a step means stands in `analysis::RunTrend`.

mod cells;
mod markdown;
mod terminal;

use analysis::RunTrend;

pub use markdown::markdown;
pub use terminal::terminal;

/// The trend as JSON, ending in a line break. Every field is in docs/trend.md.
pub fn json(trend: &RunTrend) -> String {
    crate::json::pretty(trend)
}
