//! The terminal output during a run and at its end. Read [`Style`] first, then [`summary()`] and [`Progress`].
//!
//! Deliberately absent: standard output. Everything here returns strings or writes to the writer that it receives.

mod columns;
mod flows;
mod metrics;
mod progress;
mod provisional;
mod resources;
mod screen;
mod signals;
mod spans;
mod style;
mod summary;
mod table;
mod tables;

pub use columns::{TimeColumns, UnknownColumn};
pub use progress::Progress;
pub use provisional::provisional_lines;
pub use screen::{ProgressMode, Screen};
pub use style::{ColorChoice, Style, fitted};
pub use summary::{Closing, summary};

pub(crate) use style::{Paint, hang, shorten, tame, width_of};
pub(crate) use summary::grade_sign;
pub(crate) use table::{ColumnHead, Row, TextCell, TextTable};
