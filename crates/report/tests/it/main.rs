//! Renderers with hand-written runs and summaries.

mod answers;
mod comparison;
mod exchange;
mod fixtures;
mod live;
mod long;
mod outputs;
mod page;
mod progress;
mod spans;
mod summary;
mod timeline;
