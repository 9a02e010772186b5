//! Sums of traces by request and path, for every stretch of the run, and the few traces that are kept completely.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use loadstone_metrics::TraceId;
use loadstone_metrics::span::{KeptFor, KeptSpan, KeptTrace, RequestLabel, SpanKind, SpanPath, SpanSlice, TraceBatch, TraceSlice};

use super::assemble::TraceTree;
use super::names::{NameTable, OTHER};
use super::span::HeldSpan;

/// Distinct paths; further ones count as one path below their request.
const PATHS_MAX: usize = 2_000;
/// After the first hour, stretches are minutes, like the folded snapshots on disk.
const SECONDS_UNTIL: u64 = 3_600;
const MINUTE: u64 = 60;

/// A path's parent and its own identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PathKey {
    parent: u32,
    service: u32,
    name: u32,
    kind: SpanKind,
}

/// A trace with all its spans, on the run's clock.
pub(super) struct CompleteTrace<'a> {
    pub(super) id: TraceId,
    pub(super) label: RequestLabel,
    pub(super) spans: &'a [HeldSpan],
    pub(super) tree: &'a TraceTree,
    /// When it began. Nanoseconds since the run began.
    pub(super) at: u64,
    /// Spans beyond the limit.
    pub(super) left_out: u64,
}

pub(super) struct Aggregates {
    requests: HashMap<RequestLabel, u32>,
    paths: HashMap<PathKey, u32>,
    count: u32,
    fresh: Vec<SpanPath>,
    /// By first second.
    stretches: BTreeMap<u64, TraceStretch>,
}

/// Sums over the requests that began in a stretch.
#[derive(Default)]
struct TraceStretch {
    /// By path.
    spans: HashMap<u32, SpanSlice>,
    kept: KeptOfStretch,
}

/// The traces that are kept of a stretch: one for each reason.
#[derive(Default)]
struct KeptOfStretch {
    slow: Option<KeptTrace>,
    failed: Option<KeptTrace>,
    sample: Option<KeptTrace>,
    /// The trace with the smallest hash is the sample, so that each is equally likely (a reservoir of one).
    draw: u64,
}

impl Aggregates {
    pub(super) fn new() -> Self {
        Self { requests: HashMap::new(), paths: HashMap::new(), count: 0, fresh: Vec::new(), stretches: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, trace: &CompleteTrace<'_>, names: &NameTable) {
        let request = self.request(trace.label);
        let paths = self.paths_of(trace, request, names);
        let TraceStretch { spans: stretch, kept } = self.stretches.entry(stretch_of(trace.at).0).or_default();
        kept.offer(trace, names);
        let of = |path: u32| SpanSlice { path, ..SpanSlice::default() };
        let whole = stretch.entry(request).or_insert_with(|| of(request));
        whole.calls += 1;
        whole.traces += 1;
        whole.errors +=
            u64::from(trace.tree.order.iter().any(|index| trace.tree.spans[*index].parent.is_none() && trace.spans[*index].failed));
        whole.total.record(trace.tree.total);
        whole.own.record(trace.tree.between);
        whole.critical_ns += trace.tree.between;
        // Each path counts a trace once, even if several of its spans have the path.
        let mut taken: Vec<u32> = Vec::with_capacity(8);
        for (&index, &path) in trace.tree.order.iter().zip(&paths) {
            let (span, times) = (&trace.spans[index], &trace.tree.spans[index]);
            let slice = stretch.entry(path).or_insert_with(|| of(path));
            slice.calls += 1;
            slice.errors += u64::from(span.failed);
            slice.total.record(span.duration());
            slice.own.record(times.own);
            slice.critical_ns += times.critical;
            slice.lead_ns += times.lead;
            if !taken.contains(&path) {
                taken.push(path);
                slice.traces += 1;
            }
        }
    }

    /// The sums since the last call. Unfinished minutes remain, except at the end.
    pub(super) fn take(&mut self, now_second: u64, is_last: bool) -> TraceBatch {
        let is_whole = |first: u64| is_last || first < SECONDS_UNTIL || first + MINUTE + 30 <= now_second;
        let (whole, open) = std::mem::take(&mut self.stretches).into_iter().partition(|(first, _)| is_whole(*first));
        self.stretches = open;
        let whole: BTreeMap<u64, TraceStretch> = whole;
        let mut batch = TraceBatch { paths: std::mem::take(&mut self.fresh), ..TraceBatch::default() };
        for (first, stretch) in whole {
            let mut spans: Vec<SpanSlice> = stretch.spans.into_values().collect();
            spans.sort_unstable_by_key(|span| span.path);
            spans.iter_mut().for_each(SpanSlice::pack);
            let seconds = if first < SECONDS_UNTIL { 1 } else { MINUTE as u32 };
            batch.slices.push(TraceSlice { second: first as u32, seconds, spans });
            batch.kept.extend(stretch.kept.into_traces());
        }
        batch
    }

    fn request(&mut self, label: RequestLabel) -> u32 {
        if let Some(number) = self.requests.get(&label) {
            return *number;
        }
        let number = self.define(SpanPath { kind: SpanKind::Request, label, ..SpanPath::default() });
        self.requests.insert(label, number);
        number
    }

    /// The path of each span of the tree's order.
    fn paths_of(&mut self, trace: &CompleteTrace<'_>, request: u32, names: &NameTable) -> Vec<u32> {
        let mut by_span = vec![request; trace.spans.len()];
        let mut found = Vec::with_capacity(trace.tree.order.len());
        for &index in &trace.tree.order {
            let parent = trace.tree.spans[index].parent.map_or(request, |parent| by_span[parent]);
            let span = &trace.spans[index];
            let path = self.path(PathKey { parent, service: span.service, name: span.name, kind: span.kind }, request, names);
            by_span[index] = path;
            found.push(path);
        }
        found
    }

    fn path(&mut self, key: PathKey, request: u32, names: &NameTable) -> u32 {
        if let Some(number) = self.paths.get(&key) {
            return *number;
        }
        // Paths beyond the limit share one path, so that the sum loses nothing.
        let other = PathKey { parent: request, service: 0, name: 0, kind: SpanKind::Internal };
        if self.count as usize >= PATHS_MAX && key != other {
            return self.path(other, request, names);
        }
        let is_other = key == other;
        let service = if is_other { Arc::from("") } else { names.name(key.service) };
        let name = if is_other { Arc::from(OTHER) } else { names.name(key.name) };
        let path = SpanPath { parent: Some(key.parent), service, name, kind: key.kind, ..SpanPath::default() };
        let number = self.define(path);
        self.paths.insert(key, number);
        number
    }

    fn define(&mut self, path: SpanPath) -> u32 {
        self.fresh.push(path);
        self.count += 1;
        self.count - 1
    }
}

/// First second and length of the stretch that an instant belongs to.
fn stretch_of(at: u64) -> (u64, u64) {
    let second = at / 1_000_000_000;
    if second < SECONDS_UNTIL { (second, 1) } else { (second / MINUTE * MINUTE, MINUTE) }
}

impl KeptOfStretch {
    /// A trace that is kept for two reasons counts once.
    fn into_traces(self) -> Vec<KeptTrace> {
        let mut kept: Vec<KeptTrace> = Vec::new();
        for trace in [self.failed, self.slow, self.sample].into_iter().flatten() {
            if kept.iter().all(|other| other.trace != trace.trace) {
                kept.push(trace);
            }
        }
        kept
    }

    fn offer(&mut self, trace: &CompleteTrace<'_>, names: &NameTable) {
        let keep = |kept_for| Some(kept(trace, names, kept_for));
        if self.slow.as_ref().is_none_or(|slow| slow.total_ns < trace.tree.total) {
            self.slow = keep(KeptFor::Slow);
        }
        if self.failed.is_none() && trace.spans.iter().any(|span| span.failed) {
            self.failed = keep(KeptFor::Failed);
        }
        // Ids are random numbers already.
        let draw = trace.id.halves().1;
        if self.sample.is_none() || draw < self.draw {
            self.draw = draw;
            self.sample = keep(KeptFor::Sample);
        }
    }
}

fn kept(trace: &CompleteTrace<'_>, names: &NameTable, kept_for: KeptFor) -> KeptTrace {
    let mut order = trace.tree.order.clone();
    order.sort_by_key(|index| trace.spans[*index].start);
    let left_out = order.len().saturating_sub(KeptTrace::SPANS_MAX) as u64 + trace.left_out;
    order.truncate(KeptTrace::SPANS_MAX);
    let place = |index: usize| order.iter().position(|other| *other == index).and_then(|place| u16::try_from(place).ok());
    let span = |&index: &usize| {
        let (span, times) = (&trace.spans[index], &trace.tree.spans[index]);
        KeptSpan {
            parent: times.parent.and_then(place),
            service: names.name(span.service),
            name: names.name(span.name),
            kind: span.kind,
            failed: span.failed,
            start_ns: span.start.saturating_sub(trace.tree.start),
            duration_ns: span.duration(),
            own_ns: times.own,
        }
    };
    KeptTrace {
        trace: trace.id,
        kept_for,
        scenario: Arc::default(),
        name: Arc::default(),
        at: trace.at,
        total_ns: trace.tree.total,
        spans: order.iter().map(span).collect(),
        left_out,
        label: trace.label,
    }
}
