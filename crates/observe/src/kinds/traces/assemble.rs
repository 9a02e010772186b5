//! One trace: its spans as a tree, and its critical path.
//!
//! The critical path of a request is found by walking back from the end through the child that finished last (CRISP: Zhang, Ramanathan, Raj, Parwal,
//! Sherwood & Chabbi, USENIX ATC 2022). Unlike there, a child that was still in progress when the next one began counts until then: instrumentations round
//! the starts of spans to a millisecond, so that consecutive calls overlap slightly. Time that no child covers is the span's own time. The part of it right
//! before a child is also counted as the child's lead: a wait for a connection, for a thread, or for the network to the next service.

use std::collections::HashMap;

use loadstone_metrics::span::SpanKind;

use super::span::HeldSpan;

/// Possible difference between two runtimes' clocks on one machine: Node knows the start of its clock only to a millisecond.
const SAME_CLOCK_NS: u64 = 2_000_000;

/// A span's place in its tree, and its times. Nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TreeSpan {
    /// Index of its parent; `None`: an entry, or a span whose parent was never received.
    pub(super) parent: Option<usize>,
    /// Time without a child in progress.
    pub(super) own: u64,
    /// Own time on the critical path.
    pub(super) critical: u64,
    /// The part of its parent's critical time right before it.
    pub(super) lead: u64,
}

/// An assembled trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TraceTree {
    /// Of each span, in the order of the spans.
    pub(super) spans: Vec<TreeSpan>,
    /// In an order in which parents come before their children.
    pub(super) order: Vec<usize>,
    /// From the first entry's begin to the last entry's end.
    pub(super) start: u64,
    pub(super) total: u64,
    /// The part of the total that no entry covers.
    pub(super) between: u64,
    /// The shift of another service's spans that was needed to place them within their callers.
    pub(super) skew: u64,
}

/// Assembles a trace. Spans of another clock that lie outside of their callers are shifted; `spans` then has the shifted times.
pub(super) fn assemble(spans: &mut [HeldSpan]) -> TraceTree {
    let mut tree = links(spans);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    for (index, span) in tree.spans.iter().enumerate() {
        if let Some(parent) = span.parent {
            children[parent].push(index);
        }
    }
    tree.order = from_the_roots(&tree, &children);
    tree.skew = align(spans, &tree);
    let entries = entries(spans, &tree);
    tree.start = entries.iter().map(|entry| spans[*entry].start).min().unwrap_or(0);
    let end = entries.iter().map(|entry| spans[*entry].end).max().unwrap_or(0);
    tree.total = end.saturating_sub(tree.start);
    for (index, (span, below)) in tree.spans.iter_mut().zip(&children).enumerate() {
        span.own = own(spans, index, below);
    }
    walk(spans, &mut tree, &mut children, entries, end);
    tree
}

/// The parent of each span. For a span that was received twice, the first copy counts.
fn links(spans: &[HeldSpan]) -> TraceTree {
    let mut places: HashMap<u64, usize> = HashMap::with_capacity(spans.len());
    for (index, span) in spans.iter().enumerate() {
        places.entry(span.id).or_insert(index);
    }
    let parent =
        |(index, span): (usize, &HeldSpan)| places.get(&span.parent).copied().filter(|parent| span.parent != 0 && *parent != index);
    let links = spans.iter().enumerate().map(|place| TreeSpan { parent: parent(place), ..TreeSpan::default() });
    TraceTree { spans: links.collect(), ..TraceTree::default() }
}

/// Parents before children. Spans in a cycle are unreachable and omitted.
fn from_the_roots(tree: &TraceTree, children: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tree.spans.len()).filter(|index| tree.spans[*index].parent.is_none()).collect();
    let mut next = 0;
    while next < order.len() {
        order.extend_from_slice(&children[order[next]]);
        next += 1;
    }
    order
}

/// Shifts a server span of another service, with all its descendants, into its call if it seems to lie before or after the call. It is then placed in the
/// middle: the clocks' difference is uncertain by the time that the call took longer than the server span, in either direction (Cristian 1989). A server
/// span that only ends after its call does not indicate a clock difference: servers may end their span after the last byte.
fn align(spans: &mut [HeldSpan], tree: &TraceTree) -> u64 {
    let mut shifts = vec![0_i64; spans.len()];
    let mut largest = 0;
    for &index in &tree.order {
        let Some(parent) = tree.spans[index].parent else { continue };
        let mut shift = shifts[parent];
        move_by(&mut spans[index], shift);
        let (caller, span) = (spans[parent], spans[index]);
        let is_answer = caller.kind == SpanKind::Client && span.kind == SpanKind::Server && caller.service != span.service;
        let apart = caller.start.saturating_sub(span.start).max(span.start.saturating_sub(caller.end));
        if is_answer && apart > SAME_CLOCK_NS {
            largest = largest.max(apart);
            let middle = caller.start + caller.duration().saturating_sub(span.duration()) / 2;
            let by = middle as i64 - span.start as i64;
            move_by(&mut spans[index], by);
            shift += by;
        }
        shifts[index] = shift;
    }
    largest
}

fn move_by(span: &mut HeldSpan, by: i64) {
    span.start = span.start.saturating_add_signed(by);
    span.end = span.end.saturating_add_signed(by);
}

/// The spans that the load's request caused directly: the first root, and others of the same parent.
fn entries(spans: &[HeldSpan], tree: &TraceTree) -> Vec<usize> {
    let roots = || tree.order.iter().copied().filter(|index| tree.spans[*index].parent.is_none());
    let first = roots().min_by_key(|index| (spans[*index].kind != SpanKind::Server, spans[*index].start));
    let parent = first.map(|index| spans[index].parent);
    roots().filter(|index| Some(spans[*index].parent) == parent).collect()
}

/// A span's time minus the part that its children cover.
fn own(spans: &[HeldSpan], index: usize, children: &[usize]) -> u64 {
    let (start, end) = (spans[index].start, spans[index].end);
    let mut covered: Vec<(u64, u64)> =
        children.iter().map(|child| (spans[*child].start.max(start), spans[*child].end.min(end))).filter(|(from, to)| from < to).collect();
    covered.sort_unstable();
    let (mut own, mut at) = (spans[index].duration(), start);
    for (from, to) in covered {
        let from = from.max(at);
        own -= to.saturating_sub(from);
        at = at.max(to);
    }
    own
}

/// A part of the critical path: the share of these spans in the time of their parent (`None`: the request) from its start until an instant.
struct PathStretch {
    parent: Option<usize>,
    start: u64,
    until: u64,
    children: Vec<usize>,
}

/// Assigns the time from the end of the last entry back to the start to the spans.
fn walk(spans: &[HeldSpan], tree: &mut TraceTree, children: &mut [Vec<usize>], entries: Vec<usize>, end: u64) {
    let mut stretches = vec![PathStretch { parent: None, start: tree.start, until: end, children: entries }];
    while let Some(PathStretch { parent, start, until, children: mut below }) = stretches.pop() {
        below.sort_unstable_by_key(|child| std::cmp::Reverse((spans[*child].end.min(until), spans[*child].start)));
        let (mut at, mut own, mut later) = (until, 0, None);
        let mut gap = |tree: &mut TraceTree, later: Option<usize>, ns: u64| {
            own += ns;
            if let (Some(child), Some(_)) = (later, parent) {
                tree.spans[child].lead += ns;
            }
        };
        for child in below {
            // A child that continued after the next one began counts until then: clocks are rounded, and time with a child in progress is not the parent's own.
            let (from, to) = (spans[child].start.max(start), spans[child].end.min(at));
            if from >= to {
                continue;
            }
            gap(tree, later, at - to);
            stretches.push(PathStretch { parent: Some(child), start: from, until: to, children: std::mem::take(&mut children[child]) });
            (at, later) = (from, Some(child));
        }
        gap(tree, later, at.saturating_sub(start));
        match parent {
            Some(parent) => tree.spans[parent].critical += own,
            None => tree.between = own,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Service 1 unless the id says otherwise: tens are services.
    fn span(id: u64, parent: u64, kind: SpanKind, start: u64, end: u64) -> HeldSpan {
        HeldSpan { id, parent, service: (id / 10) as u32, name: id as u32, kind, failed: false, start, end }
    }

    fn times(tree: &TraceTree) -> Vec<(u64, u64, u64)> {
        tree.spans.iter().map(|span| (span.own, span.critical, span.lead)).collect()
    }

    #[test]
    fn time_before_a_child_is_its_lead_and_parallel_calls_are_not_waited_for() {
        use SpanKind::{Client, Internal, Server};
        let mut spans = [
            span(1, 99, Server, 0, 100),
            // Starts after 30, with a shorter parallel call.
            span(2, 1, Client, 30, 60),
            span(3, 1, Internal, 35, 50),
            // 10 between, and 20 after.
            span(4, 1, Client, 70, 80),
        ];
        let tree = assemble(&mut spans);
        assert_eq!((tree.start, tree.total, tree.between, tree.skew), (0, 100, 0, 0));
        // 100 − (30..60) − (70..80).
        assert_eq!(times(&tree), [(60, 60, 0), (30, 30, 30), (15, 0, 0), (10, 10, 10)]);
    }

    #[test]
    fn calls_one_after_another_and_calls_at_once() {
        use SpanKind::{Client, Server};
        let mut one_by_one = [span(1, 0, Server, 0, 30), span(2, 1, Client, 0, 10), span(3, 1, Client, 10, 20), span(4, 1, Client, 20, 30)];
        assert_eq!(times(&assemble(&mut one_by_one)), [(0, 0, 0), (10, 10, 0), (10, 10, 0), (10, 10, 0)]);
        let mut at_once = [span(1, 0, Server, 0, 30), span(2, 1, Client, 0, 30), span(3, 1, Client, 0, 20), span(4, 1, Client, 0, 10)];
        assert_eq!(times(&assemble(&mut at_once)), [(0, 0, 0), (30, 30, 0), (20, 0, 0), (10, 0, 0)]);
    }

    /// Node's instrumentation rounds the start of a span to a millisecond: of three calls, each seems to begin before the previous one has ended.
    #[test]
    fn calls_that_overlap_by_a_rounding_are_one_after_another() {
        use SpanKind::{Client, Server};
        let mut rounded = [span(1, 0, Server, 0, 60), span(2, 1, Client, 0, 11), span(3, 1, Client, 10, 51), span(4, 1, Client, 50, 60)];
        assert_eq!(times(&assemble(&mut rounded)), [(0, 0, 0), (11, 10, 0), (41, 40, 0), (10, 10, 0)]);
    }

    /// The called service's clock is a second ahead: its spans are shifted into the middle of the call. Milliseconds.
    #[test]
    fn another_clock_is_seen_and_taken_out() {
        use SpanKind::{Client, Server};
        let span = |id, parent, kind, start: u64, end: u64| span(id, parent, kind, start * 1_000_000, end * 1_000_000);
        let mut spans =
            [span(1, 0, Server, 0, 100), span(2, 1, Client, 10, 90), span(30, 2, Server, 1_030, 1_070), span(31, 30, Client, 1_040, 1_050)];
        let tree = assemble(&mut spans);
        let ms = |ns: u64| ns / 1_000_000;
        assert_eq!((ms(tree.skew), ms(spans[2].start), ms(spans[3].start)), (940, 30, 40));
        let times: Vec<_> = times(&tree).into_iter().map(|(own, critical, lead)| (ms(own), ms(critical), ms(lead))).collect();
        assert_eq!(times, [(20, 20, 0), (40, 40, 10), (30, 30, 20), (10, 10, 10)]);
        // A server span may lie anywhere within its call, begin a millisecond before it by another clock, and end after it.
        for (start, end) in [(12, 70), (9, 60), (80, 130)] {
            let mut agreed = [span(2, 0, Client, 10, 90), span(30, 2, Server, start, end)];
            assert_eq!((assemble(&mut agreed).skew, ms(agreed[1].start)), (0, start));
        }
    }

    #[test]
    fn what_goes_on_after_the_answer_is_not_the_requests_time() {
        use SpanKind::{Consumer, Internal, Server};
        let mut spans =
            [span(1, 99, Server, 0, 10), span(2, 1, Internal, 5, 500), span(40, 2, Consumer, 300, 400), span(7, 555, Internal, 50, 900)];
        let tree = assemble(&mut spans);
        assert_eq!(tree.total, 10);
        assert_eq!((tree.spans[1].critical, tree.spans[2].critical, tree.spans[3].critical), (5, 0, 0));
    }

    #[test]
    fn circles_and_copies_end() {
        use SpanKind::Internal;
        let mut spans = [span(1, 2, Internal, 0, 10), span(2, 1, Internal, 0, 10), span(3, 3, Internal, 0, 5), span(3, 0, Internal, 0, 5)];
        let tree = assemble(&mut spans);
        assert_eq!(tree.order, [2, 3]);
        assert!(assemble(&mut []).order.is_empty());
    }

    proptest! {
        /// For any tree: all of a request's time is on its critical path exactly once, and no span has more than its own time.
        #[test]
        fn the_path_adds_up_to_the_request(made in prop::collection::vec((0_usize..20, 0_u64..1_000, 0_u64..500, 0_u8..3), 1..20)) {
            let mut spans: Vec<HeldSpan> = made.iter().enumerate().map(|(index, (parent, start, length, kind))| {
                let parent = if index == 0 { 999 } else { 1 + (parent % index) as u64 };
                let kind = [SpanKind::Server, SpanKind::Client, SpanKind::Internal][*kind as usize];
                HeldSpan { id: index as u64 + 1, parent, service: *start as u32 % 2, name: 0, kind, failed: false, start: *start, end: start + length }
            }).collect();
            let tree = assemble(&mut spans);
            let on_path: u64 = tree.spans.iter().map(|span| span.critical).sum();
            prop_assert_eq!(on_path + tree.between, tree.total);
            for (span, times) in spans.iter().zip(&tree.spans) {
                prop_assert!(times.own <= span.duration());
                prop_assert!(times.critical <= times.own);
            }
            for (index, span) in tree.spans.iter().enumerate() {
                let leads: u64 = tree.spans.iter().filter(|child| child.parent == Some(index)).map(|child| child.lead).sum();
                prop_assert!(leads <= span.critical);
            }
        }
    }
}
