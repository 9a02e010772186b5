//! Traces of a record: spans that exporters wrote before, of requests that Loadstone did not send.
//!
//! The receiver identifies the requests of the current run by the ids of their traces. Here each trace is a request, which has the name of its first server
//! span without a parent, as in `loadstone watch --record otlp`. Deliberately absent: bounded memory (a record has an end) and sampling.

use std::collections::{BTreeMap, HashMap};

use loadstone_metrics::TraceId;
use loadstone_metrics::span::{RequestLabel, SpanKind, TraceBatch};
use prost::bytes::Bytes;

use super::aggregate::{Aggregates, CompleteTrace};
use super::assemble::{TraceTree, assemble};
use super::names::NameTable;
use super::proto::{decode, service_name};
use super::span::HeldSpan;

/// Assembles the traces of these OTLP messages (`ExportTraceServiceRequest`), in any order. `scenario`: to which all requests belong. `zero_wall_ns`: the time
/// of day at the run's zero, in nanoseconds since 1970; traces that began before it are left out. `None`: a message cannot be read.
pub fn recorded_traces(messages: &[Bytes], scenario: &str, zero_wall_ns: u64) -> Option<TraceBatch> {
    let mut names = NameTable::new();
    // By the halves of their ids, so that paths always get the same numbers.
    let mut traces: BTreeMap<(u64, u64), Vec<HeldSpan>> = BTreeMap::new();
    for message in messages {
        for resource in &decode(message)?.resource_spans {
            let service = names.number(service_name(resource).as_bytes());
            for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
                let Some(id) = trace_id(&span.trace_id) else { continue };
                let name = names.number(&span.name);
                traces.entry(id.halves()).or_default().push(HeldSpan::of(span, service, name));
            }
        }
    }
    let mut aggregates = Aggregates::new();
    let mut requests = HashMap::new();
    for ((high, low), mut spans) in traces {
        let Some(id) = TraceId::new(high, low) else { continue };
        let tree = assemble(&mut spans);
        let Some(at) = tree.start.checked_sub(zero_wall_ns) else { continue };
        let Some(root) = request_span(&spans, &tree) else { continue };
        let name = names.name(root.name);
        let label = RequestLabel::of(scenario, &name);
        requests.insert(label, name);
        aggregates.add(&CompleteTrace { id, label, spans: &spans, tree: &tree, at, left_out: 0 }, &names);
    }
    let mut batch = aggregates.take(u64::MAX, true);
    for path in batch.paths.iter_mut().filter(|path| path.kind == SpanKind::Request) {
        path.scenario = scenario.into();
        path.name = requests.get(&path.label).cloned().unwrap_or_default();
    }
    for kept in &mut batch.kept {
        kept.scenario = scenario.into();
        kept.name = requests.get(&kept.label).cloned().unwrap_or_default();
    }
    Some(batch)
}

fn trace_id(id: &[u8]) -> Option<TraceId> {
    let (high, low) = id.split_at_checked(8)?;
    TraceId::new(u64::from_be_bytes(high.try_into().ok()?), u64::from_be_bytes(low.try_into().ok()?))
}

/// The server span that is the request: the first without a parent in the record.
fn request_span<'a>(spans: &'a [HeldSpan], tree: &TraceTree) -> Option<&'a HeldSpan> {
    let roots = tree.order.iter().filter(|index| tree.spans[**index].parent.is_none()).map(|index| &spans[*index]);
    roots.filter(|span| span.kind == SpanKind::Server).min_by_key(|span| span.start)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::super::proto::{ExportTraces, ReadSpan, ResourceSpans, ScopeSpans};
    use super::*;

    const ZERO_NS: u64 = 1_000_000_000_000;
    const MS: u64 = 1_000_000;

    fn span(trace: u64, (id, parent): (u64, u64), (name, kind): (&'static str, i32), (start, end): (u64, u64)) -> ReadSpan {
        ReadSpan {
            trace_id: Bytes::from([7_u64.to_be_bytes(), trace.to_be_bytes()].concat()),
            span_id: Bytes::copy_from_slice(&id.to_be_bytes()),
            parent_span_id: if parent == 0 { Bytes::new() } else { Bytes::copy_from_slice(&parent.to_be_bytes()) },
            name: Bytes::from_static(name.as_bytes()),
            kind,
            start: ZERO_NS + start * MS,
            end: ZERO_NS + end * MS,
            status: None,
        }
    }

    fn message(spans: Vec<ReadSpan>) -> Bytes {
        let resource_spans = vec![ResourceSpans { resource: None, scope_spans: vec![ScopeSpans { spans }] }];
        ExportTraces { resource_spans }.encode_to_vec().into()
    }

    #[test]
    fn each_trace_is_a_request_with_the_name_of_its_first_server_span() {
        let first = message(vec![
            span(1, (1, 0), ("GET /cart", 2), (0, 10)),
            span(1, (2, 1), ("query", 3), (2, 8)),
            span(2, (3, 0), ("GET /list", 2), (2_000, 2_004)),
            // A job without a server span is no request.
            span(3, (4, 0), ("job", 1), (2_000, 2_900)),
        ]);
        let second = message(vec![span(1, (5, 2), ("answer", 2), (3, 7))]);
        let batch = recorded_traces(&[first, second], "record", ZERO_NS).unwrap();
        let names: Vec<(&str, SpanKind)> = batch.paths.iter().map(|path| (&*path.name, path.kind)).collect();
        assert_eq!(
            names,
            [
                ("GET /cart", SpanKind::Request),
                ("GET /cart", SpanKind::Server),
                ("query", SpanKind::Client),
                ("answer", SpanKind::Server),
                ("GET /list", SpanKind::Request),
                ("GET /list", SpanKind::Server),
            ]
        );
        assert!(batch.paths.iter().filter(|path| path.kind == SpanKind::Request).all(|path| &*path.scenario == "record"));
        let seconds: Vec<(u32, usize)> = batch.slices.iter().map(|slice| (slice.second, slice.spans.len())).collect();
        assert_eq!(seconds, [(0, 4), (2, 2)]);
        // Own time on the critical path: 4 of the root, 2 of the call, 4 of its answer.
        let critical: Vec<u64> = batch.slices[0].spans.iter().map(|span| span.critical_ns / MS).collect();
        assert_eq!(critical, [0, 4, 2, 4]);
    }

    #[test]
    fn traces_from_before_the_run_are_left_out_and_damage_is_reported() {
        let early = message(vec![span(1, (1, 0), ("GET /", 2), (0, 10))]);
        assert!(recorded_traces(std::slice::from_ref(&early), "record", ZERO_NS + MS).unwrap().is_empty());
        assert!(recorded_traces(&[early, Bytes::from_static(&[0xff; 9])], "record", ZERO_NS).is_none());
    }
}
