//! The message from a receiver of spans to their recorder.

use super::kept::KeptTrace;
use super::path::SpanPath;
use super::slice::TraceSlice;

/// What became known since the last batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceBatch {
    /// New paths. Their numbers continue those of earlier batches.
    pub paths: Vec<SpanPath>,
    pub slices: Vec<TraceSlice>,
    pub kept: Vec<KeptTrace>,
}

impl TraceBatch {
    /// Appends a later batch.
    pub fn append(&mut self, mut later: TraceBatch) {
        self.paths.append(&mut later.paths);
        self.slices.append(&mut later.slices);
        self.kept.append(&mut later.kept);
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.slices.is_empty() && self.kept.is_empty()
    }
}
