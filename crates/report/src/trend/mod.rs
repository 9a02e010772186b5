//! A test over its runs, for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What a step means stands in `loadstone_analysis::RunTrend`.

mod cells;
mod markdown;
mod terminal;
mod view;

use loadstone_analysis::RunTrend;

pub use markdown::markdown;
pub use terminal::terminal;
pub use view::TrendView;

/// The trend as JSON, ending in a line break. Every field is in docs/trend.md.
pub fn json(trend: &RunTrend) -> String {
    crate::json::pretty(trend)
}

/// The trend as a page: one file, which opens from disk.
pub fn html(trend: &RunTrend) -> String {
    crate::html::answer_page("trend", &TrendView::of(trend))
}
