//! A capacity for people and machines. Read [`terminal()`]; `cells` has what every form writes alike.
//!
//! Deliberately absent: anything concluded. What it means stands in `analysis::Capacity`.

mod cells;
mod markdown;
mod ramp;
mod terminal;

use analysis::Capacity;

pub use cells::probe_line;
pub use markdown::markdown;
pub use ramp::{ramp, ramp_json};
pub use terminal::terminal;

/// The capacity as JSON, ending in a line break. Every field is in docs/capacity.md.
pub fn json(capacity: &Capacity) -> String {
    crate::json::pretty(capacity)
}
