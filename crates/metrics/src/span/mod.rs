//! What the spans of a run's requests say: where, in the systems that a request passes, its time goes.
//!
//! Read [`SpanPath`] first (a span by where it stands below its request), then [`SpanSlice`] (one path in one stretch of time). [`KeptTrace`] is one
//! request whole. A [`TraceBatch`] carries all three from whoever receives spans. Deliberately absent: how spans are received and put together
//! (`observe`), and what follows from them (`analysis`).

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
