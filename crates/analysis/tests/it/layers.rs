//! A pipeline of three layers: which of them is named, and when none is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loadstone_metrics::{FlowBook, FlowDefinition, FlowEvent, FlowKey, FlowStep, Mark, MarkKind, Role, Snapshot};
use loadstone_plan::FlowSpec;
use loadstone_run_directory::Run;

use crate::synthetic::{MS, SECOND, Slice, counter, open, plan, run_of};

/// One request per second for a minute, each followed by 20 journeys. They pass three layers in order, each with one worker that takes
/// `takes` milliseconds.
fn pipeline(takes: [u64; 3]) -> Run {
    let mut free = [0; 3];
    let mut events = Vec::new();
    for journey in 0..1_200u64 {
        let key = FlowKey::of(&journey.to_string());
        let mut at = journey * 50 * MS;
        events.push(FlowEvent { flow: 0, key, step: FlowStep::Start, at });
        for (layer, step) in [FlowStep::Stage(0), FlowStep::Stage(1), FlowStep::Finish].into_iter().enumerate() {
            at = free[layer].max(at) + takes[layer] * MS;
            free[layer] = at;
            events.push(FlowEvent { flow: 0, key, step, at });
        }
    }
    recorded(events)
}

/// The same with one worker for all layers, which takes `takes` milliseconds for each step, in the order of arrival.
fn pipeline_with_shared_worker(takes: u64) -> Run {
    let steps = [FlowStep::Stage(0), FlowStep::Stage(1), FlowStep::Finish];
    let mut waiting: BinaryHeap<Reverse<(u64, u64, usize)>> = (0..1_200).map(|journey| Reverse((journey * 50 * MS, journey, 0))).collect();
    let key = |journey: u64| FlowKey::of(&journey.to_string());
    let mut events: Vec<FlowEvent> =
        (0..1_200).map(|journey| FlowEvent { flow: 0, key: key(journey), step: FlowStep::Start, at: journey * 50 * MS }).collect();
    let mut free = 0;
    while let Some(Reverse((ready, journey, layer))) = waiting.pop() {
        free = ready.max(free) + takes * MS;
        events.push(FlowEvent { flow: 0, key: key(journey), step: steps[layer], at: free });
        if layer + 1 < steps.len() {
            waiting.push(Reverse((free, journey, layer + 1)));
        }
    }
    recorded(events)
}

/// The run with the events of all journeys.
fn recorded(mut events: Vec<FlowEvent>) -> Run {
    let stages = ["matched", "generated"];
    events.retain(|event| event.at <= 70 * SECOND);
    events.sort_by_key(|event| event.at);
    let mut book = FlowBook::new([FlowDefinition { name: "E-mail".into(), timeout_ns: None, stages: stages.map(Into::into).to_vec() }]);
    let mut events = events.into_iter().peekable();
    let slices = (0..70).map(|number| {
        let end = (number + 1) * SECOND;
        book.take(std::iter::from_fn(|| events.next_if(|event| event.at <= end)).collect::<Vec<_>>());
        let flows = if number == 69 { book.close(end) } else { book.drain(end) };
        let marks =
            if number == 60 { vec![Mark { at: number * SECOND, kind: MarkKind::LoadEnded, text: String::new() }] } else { Vec::new() };
        let requests = u64::from(number < 60);
        Snapshot { flows, marks, ..Slice::new(number as u32).arrivals(requests).requests("Publish", requests, 5 * MS).done() }
    });
    let slices = slices.collect();
    let flow = FlowSpec { name: "E-mail".to_owned(), timeout_ns: None, drain_ns: SECOND, stages: stages.map(str::to_owned).to_vec() };
    run_of(loadstone_plan::TestPlan { flows: vec![flow], ..plan(open(1.0, 60)) }, slices)
}

fn slowest(takes: [u64; 3]) -> Option<String> {
    let findings = loadstone_analysis::conclude(&pipeline(takes)).verdict.findings.findings;
    findings.into_iter().find(|found| found.rule == "slow-stage").map(|found| found.claim)
}

#[test]
fn the_layer_with_the_growing_queue_is_named_in_any_position() {
    for (takes, name, left) in [([80, 1, 1], "matched", "12.5/s"), ([1, 80, 1], "generated", "12.5/s"), ([1, 1, 80], "finish", "12.5/s")] {
        let claim = slowest(takes).unwrap();
        assert!(claim.contains(&format!("\"{name}\"")) && claim.contains(left), "{claim}");
    }
}

/// The second worker passes on less than the capacity of the third, so the third is no limit yet. Of two slow layers, the first is fixed
/// first.
#[test]
fn of_two_slow_layers_the_first_is_named() {
    let claim = slowest([1, 70, 100]).unwrap();
    assert!(claim.contains("\"generated\""), "{claim}");
}

/// 60 steps per second arrive at one worker that passes 40. In a common queue, each layer passes the same share.
#[test]
fn layers_that_share_their_workers_have_no_slowest_one() {
    let findings = loadstone_analysis::conclude(&pipeline_with_shared_worker(25)).verdict.findings.findings;
    assert!(findings[0].claim.starts_with("All layers of \"E-mail\" wait for the same workers"), "{findings:#?}");
    assert!(findings.iter().filter(|found| found.rule == "slow-stage").count() == 1);
    // 60 steps per second pass.
    let findings = loadstone_analysis::conclude(&pipeline_with_shared_worker(12)).verdict.findings.findings;
    assert!(findings.iter().all(|found| found.rule != "slow-stage"), "{findings:#?}");
}

#[test]
fn nothing_is_named_if_all_layers_keep_up() {
    assert_eq!(slowest([40, 45, 30]), None);
}

/// Forty transactions per second for one request per second with 12 journeys: three per journey, and no more.
#[test]
fn transactions_are_counted_per_journey_that_a_request_starts() {
    let named = |rate: f64| {
        let mut run = pipeline([1, 80, 1]);
        counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |_| rate);
        loadstone_analysis::conclude(&run).verdict.findings.findings.iter().any(|found| found.rule == "many-transactions")
    };
    assert!(!named(40.0));
    assert!(named(400.0));
}

/// One iteration per second starts, whose journeys insert forty rows. `calls` are the executions of a statement per second of load.
fn statement_finding(statement: &str, calls: f64, seconds: f64) -> Option<loadstone_analysis::Finding> {
    let mut run = pipeline([1, 1, 1]);
    let of = |metric: &str| counter("postgres", metric).label("statement", statement);
    let loaded = |second: u64, value: f64| if second < 60 { value } else { 0.0 };
    of("statement_calls").role(Role::StatementCalls).each_second(&mut run, |second| loaded(second, calls));
    of("statement_seconds").role(Role::StatementTime).each_second(&mut run, |second| loaded(second, seconds));
    loadstone_analysis::conclude(&run).verdict.findings.findings.into_iter().find(|found| found.rule == "statements")
}

const INSERT: &str = "INSERT INTO emails (change_id, subscriber_id) VALUES (?)";

#[test]
fn rows_inserted_one_by_one_are_counted_per_iteration() {
    let found = statement_finding(INSERT, 40.0, 0.02).unwrap();
    assert!(found.claim.contains("executed 40 times per \"Publish\"") && found.claim.contains(INSERT), "{}", found.claim);
    let reported: Vec<&str> = found.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    assert!(reported[0].contains("500 µs for each execution: 20.0 ms per \"Publish\""), "{reported:?}");
    assert!(reported[1].contains("save 39 round trips"), "{reported:?}");
}

/// One statement for all rows; one for each of a few rows; a different kind of statement with a result.
#[test]
fn statements_that_cannot_be_combined_are_no_finding() {
    for (statement, calls) in
        [(INSERT, 1.0), (INSERT, 4.0), ("UPDATE emails SET body = ? WHERE id = ?", 40.0), ("SELECT * FROM emails WHERE id = ?", 80.0)]
    {
        assert!(statement_finding(statement, calls, 0.02).is_none(), "{statement} {calls}");
    }
}

/// A nightly import runs in the middle of the load: as many inserts as forty per iteration, but all at once.
#[test]
fn inserts_that_do_not_follow_the_load_are_not_counted() {
    let mut run = pipeline([1, 1, 1]);
    let calls = counter("postgres", "statement_calls").label("statement", INSERT).role(Role::StatementCalls);
    calls.each_second(&mut run, |second| if second == 30 { 2_400.0 } else { 0.0 });
    assert!(!loadstone_analysis::conclude(&run).verdict.findings.findings.iter().any(|found| found.rule == "statements"));
}

/// An iteration that buys twenty times inserts twenty rows, none of them together.
#[test]
fn rows_of_many_requests_are_not_attributed_to_one() {
    let is_named = |requests: u64| {
        let slice = |second: u32| Slice::new(second).arrivals(1).requests("Buy", requests, 5 * MS).done();
        let mut run = run_of(plan(open(1.0, 60)), (0..60).map(slice).collect());
        let calls = counter("postgres", "statement_calls").label("statement", INSERT).role(Role::StatementCalls);
        calls.each_second(&mut run, |_| 20.0);
        loadstone_analysis::conclude(&run).verdict.findings.findings.iter().any(|found| found.rule == "statements")
    };
    assert!(is_named(1) && !is_named(20));
}
