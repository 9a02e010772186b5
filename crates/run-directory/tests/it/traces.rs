//! Traces are read back as they were written, and summed by stretch.

use loadstone_metrics::TraceId;
use loadstone_metrics::span::{KeptFor, KeptTrace, RequestLabel, SpanKind, SpanPath, SpanSlice, TraceBatch, TraceSlice};
use loadstone_run_directory::{Reader, RunEnd, Writer, files};

use crate::fixtures;

fn slice(second: u32, path: u32, ns: &[u64]) -> TraceSlice {
    let mut span = SpanSlice { path, calls: ns.len() as u64, traces: 1, critical_ns: ns.iter().sum(), ..SpanSlice::default() };
    ns.iter().for_each(|ns| span.total.record(*ns));
    TraceSlice { second, seconds: 1, spans: vec![span] }
}

fn kept(id: u64, total_ns: u64) -> KeptTrace {
    KeptTrace {
        trace: TraceId::new(1, id).unwrap(),
        kept_for: KeptFor::Slow,
        scenario: "Shop".into(),
        name: "List".into(),
        at: 5,
        total_ns,
        spans: Vec::new(),
        left_out: 0,
        label: RequestLabel::default(),
    }
}

#[test]
fn slices_of_a_second_add_up_and_the_slowest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let plan = fixtures::plan("shop");
    let mut writer = Writer::create(folder.path(), fixtures::info(), &plan).unwrap();
    assert!(!writer.directory().join(files::TRACES).exists(), "a run without traces has no such file");
    let request = SpanPath { kind: SpanKind::Request, scenario: "Shop".into(), name: "List".into(), ..SpanPath::default() };
    let span =
        SpanPath { parent: Some(0), service: "shop".into(), name: "GET /list".into(), kind: SpanKind::Server, ..SpanPath::default() };
    let first = TraceBatch { paths: vec![request.clone()], slices: vec![slice(3, 0, &[10, 20])], kept: vec![kept(1, 20)] };
    let later = TraceBatch {
        paths: vec![span.clone()],
        slices: vec![slice(2, 1, &[7]), slice(3, 0, &[30])],
        kept: (2..20).map(|id| kept(id, id * 100)).collect(),
    };
    writer.traces(&first).unwrap();
    writer.traces(&later).unwrap();
    let directory = writer.finish(&RunEnd::Completed).unwrap();
    let traces = Reader::open(&directory).unwrap().run().unwrap().traces;
    assert_eq!(traces.paths, [request, span]);
    assert_eq!(
        traces.slices,
        [
            slice(2, 1, &[7]),
            TraceSlice { spans: vec![SpanSlice { traces: 2, ..slice(3, 0, &[10, 20, 30]).spans.remove(0) }], ..slice(3, 0, &[]) }
        ]
    );
    let mut totals: Vec<u64> = traces.kept.iter().map(|trace| trace.total_ns).collect();
    totals.sort_unstable();
    assert_eq!(totals, [1_500, 1_600, 1_700, 1_800, 1_900]);
}
