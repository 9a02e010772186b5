//! Compares the numbers of a summary with the samples that they were computed from.

use loadstone_analysis::conclude;
use loadstone_metrics::{LeafChange, Outcome, SeriesKind, Snapshot};
use loadstone_run_directory::RunEnd;

use crate::synthetic::{self, MS, SECOND, Slice};

#[test]
fn totals_add_up_and_rows_keep_their_own() {
    let slices: Vec<Snapshot> = (0..10)
        .map(|second| {
            let mut slice = Slice::new(second).arrivals(5).requests("A", 9, 10 * MS).request("B", 2 * MS, 30 * MS, Outcome::Status);
            slice.record(SeriesKind::Iteration, "Buy", 0, 50 * MS, Outcome::Passed);
            slice.record(SeriesKind::Group, "Cart", 0, 40 * MS, Outcome::Passed);
            slice.check("total is right", second != 3).done()
        })
        .collect();
    let summary = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(5.0, 10)), slices));
    let totals = &summary.totals;
    assert_eq!((totals.requests, totals.requests_failed, totals.iterations, totals.arrivals_due), (100, 10, 10, 50));
    assert_eq!((totals.checks_passed, totals.checks_failed, totals.bytes_received), (9, 1, 100_000));
    assert_eq!((totals.request_rate, totals.failure_share, totals.duration_seconds), (10.0, 0.1, 10.0));
    assert_eq!((summary.requests.len(), summary.groups.len(), summary.scenarios.len(), summary.checks.len()), (2, 1, 1, 1));
    let b = &summary.requests[1];
    assert_eq!((b.response.max, b.service.max, b.lag.max, b.failed), (Some(0.032), Some(0.03), Some(0.002), 10));
    let csv = loadstone_run_directory::export::format("csv").unwrap().encode(&loadstone_analysis::totals_table(&summary)).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.contains("\nrequest,Buy,,A,90,0,9,0.01,0.01,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 + 1 + 1);
    assert_eq!(b.phases.iter().map(|(phase, _)| phase.as_str()).collect::<Vec<_>>(), ["wait"]);
}

#[test]
fn timeouts_are_bounds_and_never_invented_values() {
    let slices: Vec<Snapshot> = (0..20)
        .map(|second| {
            let slice = Slice::new(second).requests("A", 95, 10 * MS);
            (0..5).fold(slice, |slice, _| slice.request("A", 0, 30 * SECOND, Outcome::Timeout)).done()
        })
        .collect();
    let summary = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(100.0, 20)), slices));
    let p90 = summary.response.percentiles[2];
    let p99 = summary.response.percentiles[4];
    assert!((p90.value.unwrap() - 0.01).abs() < 0.0001);
    assert_eq!((p99.value, p99.low, p99.high, p99.samples_beyond), (None, Some(30.0), None, 20));
    let service = &summary.requests[0].service;
    assert_eq!((service.percentiles[4].value, service.percentiles[4].low), (None, Some(30.0)));
    assert_eq!((summary.response.max, summary.response.max_is_bound, service.max_is_bound), (Some(30.0), true, true));
}

/// 50/s for ten seconds, and one request that hangs until it is cut off, or times out, fourteen seconds after the load.
#[test]
fn a_straggler_does_not_reduce_the_rate() {
    for outcome in [Outcome::Interrupted, Outcome::Timeout] {
        let slices: Vec<Snapshot> = (0..25u32)
            .map(|second| match second {
                0..10 => {
                    let slice = Slice::new(second).requests("A", 50, MS);
                    slice.leaf(|leaf| match second {
                        0 => leaf.changes.push(LeafChange::Began { at: 0, scenario: "Buy".into() }),
                        9 => leaf.changes.push(LeafChange::LoadEnded { at: 10 * SECOND }),
                        _ => {}
                    })
                }
                24 => Slice::new(second).request("A", 0, 14 * SECOND, outcome),
                _ => Slice::new(second),
            })
            .map(Slice::done)
            .collect();
        let summary = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(50.0, 10)), slices));
        assert_eq!((summary.requests[0].rate, summary.totals.request_rate), (50.0, 50.0), "{outcome:?}");
        assert_eq!((summary.requests[0].response.max, summary.requests[0].response.max_is_bound), (Some(14.0), true));
    }
}

#[test]
fn the_same_run_gives_the_same_summary_and_it_survives_its_own_file() {
    let slices: Vec<Snapshot> =
        (0..30).map(|second| Slice::new(second).arrivals(7).requests("A", 7, u64::from(second % 7 + 1) * MS).done()).collect();
    let run = synthetic::run_of(synthetic::plan(synthetic::open(7.0, 30)), slices);
    let summary = conclude(&run);
    assert_eq!(summary, conclude(&run));
    let text = serde_json::to_string(&summary).unwrap();
    assert!(text.starts_with("{\"schema\":1,"), "{}", &text[..20]);
    assert_eq!(serde_json::from_str::<loadstone_analysis::Summary>(&text).unwrap(), summary);
}

#[test]
fn a_run_without_anything_in_it_has_a_summary() {
    let mut run = synthetic::run_of(synthetic::plan(synthetic::open(1.0, 1)), Vec::new());
    run.end = Some(RunEnd::Failed("no such host".to_owned()));
    let summary = conclude(&run);
    assert_eq!((summary.totals.requests, summary.response.count), (0, 0));
    assert_eq!(summary.verdict.validity.grade, loadstone_analysis::Grade::Invalid);
}
