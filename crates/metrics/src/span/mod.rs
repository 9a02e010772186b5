//! The spans of a run's requests: where a request spends its time in the systems that it passes.
//!
//! Read [`SpanPath`] first (a span by its position below its request), then [`SpanSlice`] (one path in one period of time). [`KeptTrace`] is one
//! complete request. A [`TraceBatch`] carries all three from the receiver of spans. Deliberately absent: how spans are received and assembled
//! (`observe`), and conclusions from them (`analysis`).

mod batch;
mod kept;
mod label;
mod path;
mod slice;

pub use batch::TraceBatch;
pub use kept::{KeptFor, KeptSpan, KeptTrace};
pub use label::RequestLabel;
pub use path::{SpanKind, SpanPath};
pub use slice::{SpanSlice, TraceSlice};
