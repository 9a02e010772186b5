//! A capacity for people and machines. Read [`terminal()`]; `cells` formats the parts that all renderers share.
//!
//! Deliberately absent: conclusions. `loadstone_analysis::Capacity` has them.

mod cells;
mod markdown;
mod ramp;
mod terminal;
mod view;

use loadstone_analysis::Capacity;

pub use cells::probe_line;
pub use markdown::markdown;
pub use ramp::{RampView, ramp, ramp_html, ramp_json, ramp_markdown};
pub use terminal::terminal;
pub use view::CapacityView;

/// The capacity as JSON, ending in a line break. docs/capacity.md describes every field.
pub fn json(capacity: &Capacity) -> String {
    crate::json::pretty(capacity)
}

/// The capacity as a page: one file that opens from disk.
pub fn html(capacity: &Capacity) -> String {
    crate::html::answer_page("capacity", &CapacityView::of(capacity))
}
