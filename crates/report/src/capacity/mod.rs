//! A capacity for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What it means stands in `loadstone_analysis::Capacity`.

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

/// The capacity as JSON, ending in a line break. Every field is in docs/capacity.md.
pub fn json(capacity: &Capacity) -> String {
    crate::json::pretty(capacity)
}

/// The capacity as a page: one file, which opens from disk.
pub fn html(capacity: &Capacity) -> String {
    crate::html::answer_page("capacity", &CapacityView::of(capacity))
}
