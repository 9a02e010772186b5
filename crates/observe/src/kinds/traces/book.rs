//! Joins spans to traces, and aggregates complete traces in bounded memory: if too many spans arrive, complete traces are dropped.

use std::collections::{HashMap, VecDeque};

use loadstone_metrics::TraceId;
use loadstone_metrics::span::{RequestLabel, TraceBatch};

use super::aggregate::{Aggregates, CompleteTrace};
use super::assemble::assemble;
use super::names::NameTable;
use super::proto::{ExportTraces, ReadSpan, service_name};
use super::span::HeldSpan;

/// A trace is complete after this time without a new span. By default, each service's exporter sends its spans at least every five seconds
/// (OTEL_BSP_SCHEDULE_DELAY).
const SETTLE_NS: u64 = 6_500_000_000;
/// Maximum wait for the last spans at the end of a run.
const PATIENCE_NS: u64 = 5_700_000_000;
/// Maximum number of spans of incomplete traces. Each has 56 bytes, and as much again while the lists grow.
const HELD_MAX: usize = 300_000;
/// Maximum number of spans per trace.
const OF_TRACE_MAX: usize = 5_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Counts of spans by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SpanCounts {
    pub(super) received: u64,
    /// Spans of requests that the load did not send, or of another run.
    pub(super) foreign: u64,
    /// Spans of the run that were dropped because of a limit.
    pub(super) dropped: u64,
    pub(super) traces: u64,
    /// Minimum difference between the clocks of two services since the counts were last read. Nanoseconds.
    pub(super) skew_ns: u64,
    /// Sampling: one of this many traces is read.
    pub(super) one_of: u64,
    /// The maximum time from a span's end until it was received, by the clocks of both machines. Negative if the clocks differ.
    lag_max_ns: i64,
    lag_min_ns: i64,
}

impl SpanCounts {
    fn see_lag(&mut self, lag_ns: i64) {
        self.lag_max_ns = self.lag_max_ns.max(lag_ns);
        self.lag_min_ns = self.lag_min_ns.min(lag_ns);
    }

    /// How long spans of ended requests may still be in transit.
    pub(super) fn patience_ns(&self) -> u64 {
        const LEAST: u64 = 500_000_000;
        if self.traces_seen() && self.lag_min_ns >= 0 { (self.lag_max_ns.unsigned_abs() + LEAST).min(PATIENCE_NS) } else { PATIENCE_NS }
    }

    fn traces_seen(&self) -> bool {
        self.received > self.foreign
    }
}

/// An incomplete trace.
struct OpenTrace {
    label: RequestLabel,
    spans: Vec<HeldSpan>,
    left_out: u64,
    last: u64,
}

/// All spans of a run.
pub(super) struct SpanBook {
    /// First quarter of the ids of the run's traces.
    run: u32,
    /// The time of day at the run's zero. Nanoseconds since 1970.
    zero_wall: u64,
    names: NameTable,
    open: HashMap<TraceId, OpenTrace>,
    /// When to check whether a trace is complete, in order. Nanoseconds on the receiver's clock.
    due: VecDeque<(u64, TraceId)>,
    held: usize,
    /// Only traces whose id ends in this many zero bits are read.
    zero_bits: u32,
    aggregates: Aggregates,
    counts: SpanCounts,
}

impl SpanBook {
    pub(super) fn new(run: u32, zero_wall: u64) -> Self {
        Self {
            run,
            zero_wall,
            names: NameTable::new(),
            open: HashMap::new(),
            due: VecDeque::new(),
            held: 0,
            zero_bits: 0,
            aggregates: Aggregates::new(),
            counts: SpanCounts { one_of: 1, ..SpanCounts::default() },
        }
    }

    /// Takes one message of a service. `now`: on the receiver's clock.
    pub(super) fn take(&mut self, export: &ExportTraces, now: u64, now_wall: u64) {
        for resource in &export.resource_spans {
            // The name gets a table entry only if a span of this run uses it.
            let mut service = None;
            for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
                self.counts.received += 1;
                match self.key(span) {
                    None => self.counts.foreign += 1,
                    Some((_, _)) if !self.is_read(span) => self.counts.dropped += 1,
                    Some((id, label)) => {
                        let service = *service.get_or_insert_with(|| self.names.number(service_name(resource).as_bytes()));
                        self.put(id, label, service, span, now);
                        self.counts.see_lag(now_wall as i64 - span.end as i64);
                    }
                }
            }
        }
        while self.held > HELD_MAX {
            self.thin_out();
        }
    }

    /// `None`: a trace of another run.
    fn key(&self, span: &ReadSpan) -> Option<(TraceId, RequestLabel)> {
        let (high, low) = span.trace_id.split_at_checked(8)?;
        let (high, low) = (u64::from_be_bytes(high.try_into().ok()?), u64::from_be_bytes(low.try_into().ok()?));
        ((high >> 32) as u32 == self.run).then(|| Some((TraceId::new(high, low)?, RequestLabel(high as u32))))?
    }

    /// The last bits of a trace id are random, and identical for all spans of the trace from all senders.
    fn is_read(&self, span: &ReadSpan) -> bool {
        let last = span.trace_id.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        is_read(last, self.zero_bits)
    }

    fn put(&mut self, id: TraceId, label: RequestLabel, service: u32, span: &ReadSpan, now: u64) {
        let held = HeldSpan::of(span, service, self.names.number(&span.name));
        let due = &mut self.due;
        let trace = self.open.entry(id).or_insert_with(|| {
            due.push_back((now + SETTLE_NS, id));
            OpenTrace { label, spans: Vec::with_capacity(4), left_out: 0, last: now }
        });
        trace.last = now;
        if trace.spans.len() >= OF_TRACE_MAX {
            trace.left_out += 1;
            self.counts.dropped += 1;
            return;
        }
        trace.spans.push(held);
        self.held += 1;
    }

    /// Drops half of the traces read so far, and their later spans. The remaining traces are a random sample.
    fn thin_out(&mut self) {
        self.zero_bits += 1;
        let zero_bits = self.zero_bits;
        let (mut kept, mut dropped) = (0, 0);
        self.open.retain(|id, trace| {
            let stays = is_read(id.halves().1, zero_bits);
            *(if stays { &mut kept } else { &mut dropped }) += trace.spans.len();
            stays
        });
        self.held = kept;
        self.counts.dropped += dropped as u64;
        self.counts.one_of = 1 << zero_bits.min(63);
    }

    /// Aggregates the traces that are complete.
    pub(super) fn settle(&mut self, now: u64) {
        while let Some((due, id)) = self.due.pop_front_if(|(due, _)| *due <= now) {
            let last = self.open.get(&id).map(|trace| trace.last);
            match last {
                Some(last) if last + SETTLE_NS > due => self.due.push_back((last + SETTLE_NS, id)),
                _ => self.close(id),
            }
        }
    }

    fn close(&mut self, id: TraceId) {
        let Some(mut trace) = self.open.remove(&id) else { return };
        self.held -= trace.spans.len();
        let tree = assemble(&mut trace.spans);
        self.counts.traces += 1;
        self.counts.skew_ns = self.counts.skew_ns.max(tree.skew);
        let at = tree.start.saturating_sub(self.zero_wall);
        let OpenTrace { label, spans, left_out, .. } = trace;
        self.aggregates.add(&CompleteTrace { id, label, spans: &spans, tree: &tree, at, left_out }, &self.names);
    }

    /// The results since the last call. `run_ns`: on the run's clock.
    pub(super) fn batch(&mut self, run_ns: u64) -> TraceBatch {
        self.aggregates.take(run_ns / SECOND_NS, false)
    }

    /// All remaining traces, complete or not.
    pub(super) fn last_batch(&mut self) -> TraceBatch {
        let left: Vec<TraceId> = self.open.keys().copied().collect();
        left.into_iter().for_each(|id| self.close(id));
        self.aggregates.take(u64::MAX, true)
    }

    pub(super) fn take_counts(&mut self) -> SpanCounts {
        let counts = self.counts;
        self.counts.skew_ns = 0;
        counts
    }
}

fn is_read(last: u64, zero_bits: u32) -> bool {
    last.trailing_zeros() >= zero_bits
}

#[cfg(test)]
mod tests {
    use prost::bytes::Bytes;

    use super::super::proto::{ResourceSpans, ScopeSpans};
    use super::*;

    const RUN: u32 = 9;

    /// Two spans of each of these traces, with pseudo-random ids.
    fn export(numbers: std::ops::Range<u64>) -> ExportTraces {
        let span = |number: u64, id: u64, parent: u64| {
            let low = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            ReadSpan {
                trace_id: Bytes::from([&RUN.to_be_bytes()[..], &5_u32.to_be_bytes(), &low.to_be_bytes()].concat()),
                span_id: Bytes::copy_from_slice(&id.to_be_bytes()),
                parent_span_id: Bytes::copy_from_slice(&parent.to_be_bytes()),
                name: Bytes::from_static(b"GET"),
                kind: 2,
                start: 1_000,
                // The second half of the traces takes longer: a random sample has an equal share of it.
                end: 1_000 + if number.is_multiple_of(2) { 100 } else { 300 },
                status: None,
            }
        };
        let spans = numbers.flat_map(|number| [span(number, 1, 77), span(number, 2, 1)]).collect();
        ExportTraces { resource_spans: vec![ResourceSpans { resource: None, scope_spans: vec![ScopeSpans { spans }] }] }
    }

    #[test]
    fn a_flood_leaves_out_whole_traces_and_says_so() {
        let mut book = SpanBook::new(RUN, 0);
        for part in 0..500 {
            book.take(&export(part * 1_000..(part + 1) * 1_000), 1, 0);
            assert!(book.held <= HELD_MAX);
        }
        let batch = book.last_batch();
        let counts = book.take_counts();
        assert_eq!((counts.received, counts.foreign), (1_000_000, 0));
        assert_eq!((counts.one_of, counts.dropped + 2 * counts.traces), (4, 1_000_000));
        let request = &batch.slices[0].spans[0];
        assert_eq!(request.calls, counts.traces);
        assert_eq!(batch.slices[0].spans[2].calls, counts.traces, "each has all its spans");
        // Half of each kind: a binomial variable with 125,000 draws, within five standard deviations.
        let mean = request.total.mean().unwrap();
        assert!((mean - 200.0).abs() < 5.0 * 100.0 / (counts.traces as f64).sqrt(), "{mean} of {}", counts.traces);
    }

    #[test]
    fn a_trace_is_reported_after_a_quiet_period() {
        let mut book = SpanBook::new(RUN, 0);
        book.take(&export(0..1), 0, 0);
        book.settle(SETTLE_NS - 1);
        assert!(book.batch(0).is_empty());
        // Another span of the trace delays its completion.
        book.take(&export(0..1), SETTLE_NS - 1, 0);
        book.settle(2 * SETTLE_NS - 2);
        assert!(book.batch(0).is_empty());
        book.settle(2 * SETTLE_NS - 1);
        assert_eq!(book.batch(0).slices.len(), 1);
        assert!(book.open.is_empty() && book.due.is_empty() && book.held == 0);
    }

    #[test]
    fn names_without_end_become_one() {
        let mut book = SpanBook::new(RUN, 0);
        let mut export = export(0..6_000);
        for (number, span) in export.resource_spans[0].scope_spans[0].spans.iter_mut().enumerate() {
            span.name = Bytes::from(format!("GET /{number}"));
        }
        book.take(&export, 0, 0);
        let batch = book.last_batch();
        assert!(batch.paths.len() <= 2_002, "{}", batch.paths.len());
        let spans: u64 = batch.slices[0].spans[1..].iter().map(|span| span.calls).sum();
        assert_eq!(spans, 12_000, "none is lost");
    }
}
