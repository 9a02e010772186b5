//! Flows: the numbers and findings of a queue with known times.

use loadstone_analysis::{FlowRow, Summary, ThresholdState, conclude, samples_needed};
use loadstone_metrics::{FlowBook, FlowDefinition, FlowEvent, FlowKey, FlowStep, Mark, MarkKind, Snapshot};
use loadstone_plan::{Aggregate, Comparison, FlowSpec, Metric, Selector, Threshold};
use loadstone_run_directory::Run;

use crate::synthetic::{MS, SECOND, open, plan, run_of, threshold};

/// Journeys start at 20 per second for a minute. One server takes 50 ms + `slower` for each, in order, and marks when it takes one. The run
/// ends after `seconds`.
fn queue(slower: u64, seconds: u64, thresholds: Vec<Threshold>, is_killed: bool) -> Run {
    let mut events = Vec::new();
    let mut free = 0;
    for journey in 0..1_200u64 {
        let start = journey * 50 * MS;
        let picked = free.max(start);
        free = picked + 50 * MS + slower;
        let key = FlowKey::of(&journey.to_string());
        let event = |step, at| FlowEvent { flow: 0, key, step, at };
        events.extend([event(FlowStep::Start, start), event(FlowStep::Stage(0), picked), event(FlowStep::Finish, free)]);
    }
    let definition = FlowDefinition { name: "Send".into(), timeout_ns: None, stages: vec!["picked".into()] };
    let mut book = FlowBook::new([definition]);
    book.take(events.into_iter().filter(|event| event.at <= seconds * SECOND));
    let slices = (0..seconds).map(|number| {
        let (begin, end) = (number * SECOND, (number + 1) * SECOND);
        let flows = if number + 1 == seconds && !is_killed { book.close(end) } else { book.drain(end) };
        let marks = if number == 60 { vec![Mark { at: begin, kind: MarkKind::LoadEnded, text: String::new() }] } else { Vec::new() };
        Snapshot { slice: number as u32, start: begin, end, flows, marks, ..Snapshot::default() }
    });
    let slices = slices.collect();
    let flow = FlowSpec { name: "Send".to_owned(), timeout_ns: None, drain_ns: SECOND, stages: vec!["picked".to_owned()] };
    run_of(loadstone_plan::TestPlan { flows: vec![flow], thresholds, ..plan(open(20.0, 60)) }, slices)
}

fn row(summary: &Summary) -> &FlowRow {
    &summary.flows[0]
}

fn close_to(value: f64, truth: f64) -> bool {
    (value - truth).abs() <= truth * 0.005 + 1e-9
}

/// 16.67 per second leave: journey *n* waits n · 10 ms and takes 60 ms.
#[test]
fn a_growing_queue_that_drains() {
    let run = queue(10 * MS, 80, Vec::new(), false);
    let summary = conclude(&run);
    let flow = row(&summary);
    assert_eq!((flow.started, flow.finished, flow.open, flow.timed_out, flow.overtaken), (1_200, 1_200, 0, 0, 0));
    for (quantile, rank) in [(0.5, 600), (0.9, 1_080), (0.99, 1_188)] {
        let truth = (rank - 1) as f64 * 0.010 + 0.060;
        assert!(close_to(flow.time.at(quantile).unwrap(), truth), "p{quantile}: {:?} for {truth}", flow.time.at(quantile));
    }
    assert!(close_to(flow.stages[0].time.at(0.9).unwrap(), 1_079.0 * 0.010));
    assert!(close_to(flow.start_rate, 20.0) && (flow.finish_rate - 16.67).abs() < 0.3, "{} {}", flow.start_rate, flow.finish_rate);
    // At 60 s 1,200 have started and 1,000 are done.
    assert!((199..=201).contains(&flow.backlog_max), "{}", flow.backlog_max);
    assert_eq!(flow.backlog_max_at_seconds, 60.0);
    let drain = flow.drain.unwrap();
    assert!(close_to(drain.seconds.unwrap(), 12.0), "{drain:?}");
    assert_eq!((drain.load_end_seconds, drain.left), (60.0, 0));
}

/// Ten seconds earlier about thirty are open: the tail is unknown, and the known percentiles are not too low.
#[test]
fn journeys_that_are_open_at_the_end_never_count_as_fast() {
    let run = queue(10 * MS, 70, Vec::new(), false);
    let summary = conclude(&run);
    let flow = row(&summary);
    assert!((32..=35).contains(&flow.open), "{}", flow.open);
    assert!(close_to(flow.time.at(0.9).unwrap(), 1_079.0 * 0.010 + 0.060));
    let p99 = flow.time.percentiles.iter().find(|p| p.quantile == 0.99).unwrap();
    assert!(p99.value.is_none() && p99.low.is_some_and(|low| low > 11.0 && low <= 11.94), "{p99:?}");
    assert!(flow.time.count < samples_needed(0.999) && flow.time.at(0.999).is_none());
    assert_eq!(flow.drain.unwrap().seconds, None);
}

/// A killed run has not recorded the age of its open journeys. Their number is known, and they rank behind all others.
#[test]
fn a_killed_run_counts_its_open_journeys() {
    let summary = conclude(&queue(10 * MS, 70, Vec::new(), true));
    let flow = row(&summary);
    assert!((32..=35).contains(&flow.open));
    assert!(close_to(flow.time.at(0.9).unwrap(), 1_079.0 * 0.010 + 0.060));
    assert_eq!(flow.time.at(0.99), None);
}

#[test]
fn thresholds_on_flows() {
    let of = |metric, aggregate, value| {
        let selector = Selector { name: Some("Send".to_owned()), ..Selector::default() };
        Threshold { selector, ..threshold(metric, aggregate, Comparison::Below, value) }
    };
    let time = |stage: Option<&str>, aggregate, value| of(Metric::FlowTime { stage: stage.map(str::to_owned) }, aggregate, value);
    let cases = [
        (time(None, Aggregate::Quantile(0.5), 7.0), true),
        (time(None, Aggregate::Quantile(0.5), 5.0), false),
        (time(Some("picked"), Aggregate::Quantile(0.5), 6.0), true),
        // All that finished took less than 12 s, but some never finished, so the bound cannot be shown to hold.
        (time(None, Aggregate::Quantile(0.99), 60.0), false),
        (time(None, Aggregate::Max, 60.0), false),
        (time(None, Aggregate::Mean, 60.0), false),
        (of(Metric::FlowBacklog, Aggregate::Max, 205.0), true),
        (of(Metric::FlowBacklog, Aggregate::Max, 150.0), false),
        (of(Metric::FlowBacklog, Aggregate::Last, 40.0), true),
        (of(Metric::FlowLost, Aggregate::Count, 40.0), true),
        (of(Metric::FlowLost, Aggregate::Count, 20.0), false),
        (of(Metric::FlowLost, Aggregate::Rate, 0.03), true),
        (of(Metric::FlowLost, Aggregate::Rate, 0.02), false),
    ];
    let (thresholds, holds): (Vec<Threshold>, Vec<bool>) = cases.into_iter().unzip();
    let summary = conclude(&queue(10 * MS, 70, thresholds, false));
    for (result, holds) in summary.verdict.thresholds.iter().zip(holds) {
        let expected = if holds { ThresholdState::Passed } else { ThresholdState::Failed };
        assert_eq!(result.state, expected, "{:?}: {}", result.threshold.metric, result.detail);
    }
    assert!(summary.verdict.thresholds[3].detail.contains("at least"), "{}", summary.verdict.thresholds[3].detail);
}
