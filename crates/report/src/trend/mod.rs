//! A test over its runs, for people and machines. Read [`terminal()`]; `cells` formats the parts that all renderers share.
//!
//! Deliberately absent: conclusions. `loadstone_analysis::RunTrend` has them.

mod cells;
mod markdown;
mod terminal;
mod view;

use loadstone_analysis::RunTrend;

pub use markdown::markdown;
pub use terminal::terminal;
pub use view::TrendView;

/// The trend as JSON, ending in a line break. docs/trend.md describes every field.
pub fn json(trend: &RunTrend) -> String {
    crate::json::pretty(trend)
}

/// The trend as a page: one file that opens from disk.
pub fn html(trend: &RunTrend) -> String {
    crate::html::answer_page("trend", &TrendView::of(trend))
}
