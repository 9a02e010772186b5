//! A span in memory, until its trace is complete.

use loadstone_metrics::span::SpanKind;

use super::proto::ReadSpan;

/// 56 bytes; names are numbers of a [`NameTable`](super::names::NameTable).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeldSpan {
    pub(super) id: u64,
    /// 0: none.
    pub(super) parent: u64,
    pub(super) service: u32,
    pub(super) name: u32,
    pub(super) kind: SpanKind,
    pub(super) failed: bool,
    /// By the clock of the machine that created it. Nanoseconds since 1970.
    pub(super) start: u64,
    pub(super) end: u64,
}

impl HeldSpan {
    /// `service`, `name`: their numbers.
    pub(super) fn of(span: &ReadSpan, service: u32, name: u32) -> Self {
        Self {
            id: number(&span.span_id),
            parent: number(&span.parent_span_id),
            service,
            name,
            kind: span.kind(),
            failed: span.failed(),
            start: span.start,
            end: span.end.max(span.start),
        }
    }

    pub(super) fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// 0: none.
fn number(id: &[u8]) -> u64 {
    id.try_into().map_or(0, u64::from_be_bytes)
}
