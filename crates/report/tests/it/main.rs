//! Renderers on hand-made runs and summaries.

mod fixtures;
mod progress;
mod summary;
mod timeline;
