//! Thresholds judge the values that their label names.

use loadstone_analysis::{ThresholdResult, ThresholdState, Thresholds, evaluate};
use loadstone_metrics::{
    LeafChange, MetricSlice, MetricValue, Outcome, SeriesKind, Signal, SignalKind, SignalPoint, Snapshot, Tags, ValueHistogram,
};
use loadstone_plan::{Aggregate, Comparison, Metric, MetricKind, Selector, Threshold, Window};
use loadstone_run_directory::SignalSeries;

use crate::synthetic::{self, MS, SECOND, Slice, threshold};
use Aggregate::{Count, Max, Mean, Min, Quantile, Rate};
use Comparison::{Above, AtLeast, AtMost, Below, Equals};
use Metric::{Checks, FailedChecks, FailedIterations, Failures, PassedChecks, Requests, ResponseTime, ScriptErrors, ServiceTime};
use ThresholdState::{Failed, NoData, Passed, Pending};

/// 30 seconds of 100 requests "A" each, from 1 ms to 100 ms, and a failing "B" of 500 ms every ten seconds.
fn slices() -> Vec<Snapshot> {
    (0..30)
        .map(|second| {
            let mut slice = Slice::new(second);
            for n in 1..=100 {
                slice.record(SeriesKind::Request, "A", 0, n * MS, Outcome::Passed);
            }
            if second % 10 == 5 {
                slice.record(SeriesKind::Request, "B", 0, 500 * MS, Outcome::Status);
            }
            slice.check("is ticket", second != 7).done()
        })
        .collect()
}

fn judge(threshold: Threshold, slices: Vec<Snapshot>) -> ThresholdResult {
    let mut plan = synthetic::plan(synthetic::open(100.0, 30));
    plan.thresholds = vec![threshold];
    evaluate(&synthetic::run_of(plan, slices)).remove(0)
}

fn named(mut threshold: Threshold, name: &str) -> Threshold {
    threshold.selector = Selector { name: Some(name.to_owned()), ..Selector::default() };
    threshold
}

fn over(mut threshold: Threshold, seconds: u32) -> Threshold {
    threshold.window = Window::Every { seconds };
    threshold
}

/// k6 1.4.2 computes 8.95 as p(95) of these values.
#[test]
fn a_percentile_of_k6_lies_between_two_ranks() {
    let mut values = ValueHistogram::default();
    [1.0, 2.0, 3.0, 10.0].into_iter().for_each(|value| values.record(value));
    let mut slice = Slice::new(0).done();
    slice.metrics.push(MetricSlice { name: "steps".into(), unit: "".into(), tags: Tags::default(), value: MetricValue::Trend(values) });
    let own = Metric::Own { name: "steps".to_owned(), kind: MetricKind::Trend, unit: String::new() };
    for (interpolates, expected) in [(true, 8.95), (false, 10.0)] {
        let asked = Threshold { interpolates, ..threshold(own.clone(), Quantile(0.95), Below, 9.5) };
        let result = judge(asked, vec![slice.clone()]);
        assert!((result.measured.unwrap() - expected).abs() < 0.02, "{:?}", result.measured);
        assert_eq!(result.state, if interpolates { Passed } else { Failed });
    }
}

#[test]
fn whole_run_over_every_metric() {
    for (metric, aggregate, comparison, value, state, measured) in [
        (Requests, Count, AtLeast, 3003.0, Passed, 3003.0),
        (Requests, Count, AtLeast, 3004.0, Failed, 3003.0),
        (Requests, Rate, Above, 100.0, Passed, 100.1),
        (Failures, Count, AtMost, 3.0, Passed, 3.0),
        (Failures, Rate, Equals, 0.0, Failed, 3.0 / 3003.0),
        (Failures, Rate, Below, 0.001, Passed, 3.0 / 3003.0),
        (ResponseTime, Max, Below, 0.5, Failed, 0.5),
        (ResponseTime, Max, AtMost, 0.5, Passed, 0.5),
        (ResponseTime, Min, AtLeast, 0.001, Passed, 0.001),
        (ResponseTime, Mean, Below, 0.051, Passed, (50.5 * 3000.0 + 1500.0) / 3003.0 / 1e3),
        (ResponseTime, Quantile(0.5), Below, 0.055, Passed, 0.051),
        (ResponseTime, Quantile(0.99), Below, 0.05, Failed, 0.1),
        (Checks, Count, AtLeast, 30.0, Passed, 30.0),
        (Checks, Rate, AtMost, 0.0, Failed, 1.0 / 30.0),
        (FailedChecks, Count, AtMost, 1.0, Passed, 1.0),
        (FailedChecks, Rate, Equals, 0.0, Failed, 1.0 / 30.0),
        (PassedChecks, Count, Equals, 29.0, Passed, 29.0),
        (PassedChecks, Rate, AtLeast, 0.97, Failed, 29.0 / 30.0),
    ] {
        let result = judge(threshold(metric.clone(), aggregate, comparison, value), slices());
        assert_eq!(result.state, state, "{metric:?} {aggregate:?}: {}", result.detail);
        let found = result.measured.unwrap();
        assert!((found - measured).abs() <= measured * 0.01, "{metric:?} {aggregate:?}: {found} for {measured}");
    }
}

#[test]
fn a_selector_narrows_and_an_unknown_name_lists_the_known() {
    let result = judge(named(threshold(ResponseTime, Max, AtMost, 0.1), "A"), slices());
    assert_eq!((result.state, result.measured), (Passed, Some(0.1)));
    let result = judge(named(threshold(ResponseTime, Max, AtMost, 0.1), "C"), slices());
    assert_eq!((result.state, result.detail.as_str()), (NoData, "no request is named \"C\"; known: A, B"));
    let result = judge(threshold(Metric::GroupTime, Max, AtMost, 0.1), slices());
    assert_eq!((result.state, result.detail.as_str()), (NoData, "no group ended, so there is nothing to judge"));
    // No series of that name: not a count of zero.
    assert_eq!(judge(named(threshold(Requests, Count, AtMost, 5.0), "C"), slices()).state, NoData);
}

#[test]
fn every_window_must_hold_and_the_worst_is_named() {
    let mut slow = slices();
    slow[17] = Slice::new(17).requests("A", 100, 300 * MS).done();
    let result = judge(over(named(threshold(ResponseTime, Quantile(0.9), Below, 0.095), "A"), 5), slow);
    assert_eq!((result.state, result.at_seconds), (Failed, Some(15.0)));
    assert!((result.measured.unwrap() - 0.3).abs() < 0.002, "{:?}", result.measured);
    assert!(result.detail.contains("(1 of 6 windows failed)"), "{}", result.detail);
    // Over the whole run the slow second is not visible.
    assert_eq!(judge(named(threshold(ResponseTime, Quantile(0.9), Below, 0.095), "A"), slices()).state, Passed);
}

#[test]
fn the_last_window_counts_from_half_full_and_never_for_a_missing_count() {
    let tail = |extra: u32| -> Vec<Snapshot> {
        (0..10 + extra).map(|second| Slice::new(second).requests("A", 10, if second < 10 { MS } else { 900 * MS }).done()).collect()
    };
    let slow = || over(threshold(ResponseTime, Max, Below, 0.5), 10);
    assert_eq!([4, 5].map(|extra| judge(slow(), tail(extra)).state), [Passed, Failed]);
    let shorter = judge(over(threshold(ResponseTime, Max, Below, 0.5), 30), tail(4));
    assert_eq!(
        (shorter.state, shorter.detail.as_str()),
        (NoData, "no window of 30 s was at least half full: run longer, or use shorter windows")
    );
    let enough = || over(threshold(Requests, Count, AtLeast, 100.0), 10);
    assert_eq!([4, 9, 10].map(|extra| judge(enough(), tail(extra)).state), [Passed; 3]);
    let few = || over(threshold(Requests, Count, AtMost, 40.0), 10);
    assert_eq!(judge(few(), tail(5)).state, Failed);
    // A rate is computed over the recorded seconds.
    assert_eq!(judge(over(threshold(Requests, Rate, AtLeast, 10.0), 10), tail(6)).state, Passed);
}

#[test]
fn windows_begin_with_the_first_sample_and_hold_zero_only_between_samples() {
    let gap: Vec<Snapshot> = (0..60)
        .map(|second| {
            let slice = Slice::new(second);
            if (13..23).contains(&second) || (43..53).contains(&second) { slice.requests("A", 5, MS).done() } else { slice.done() }
        })
        .collect();
    let result = judge(over(threshold(Requests, Count, AtLeast, 50.0), 10), gap.clone());
    assert_eq!((result.state, result.measured, result.at_seconds), (Failed, Some(0.0), Some(23.0)));
    assert_eq!(judge(over(threshold(Requests, Count, AtLeast, 50.0), 10), gap[..30].to_vec()).state, Passed);
    // Seconds in which nothing ended have no times.
    assert_eq!(judge(over(threshold(ResponseTime, Max, Below, 0.5), 10), gap).state, Passed);
}

#[test]
fn warm_up_does_not_count() {
    let slices: Vec<Snapshot> =
        (0..20).map(|second| Slice::new(second).requests("A", 10, if second < 5 { 900 * MS } else { MS }).done()).collect();
    for (after, state) in [(4, Failed), (5, Passed), (20, NoData)] {
        let result = judge(Threshold { after_seconds: after, ..threshold(ResponseTime, Max, Below, 0.5) }, slices.clone());
        assert_eq!(result.state, state, "after {after}: {}", result.detail);
    }
}

/// The second in which a threshold is reported as certain to fail.
fn fails_at(threshold: Threshold, slices: &[Snapshot]) -> Option<u32> {
    let mut thresholds = Thresholds::new(&[Threshold { abort: true, ..threshold }]);
    let mut at = None;
    for slice in slices {
        for change in thresholds.push(slice) {
            assert!(change.abort && change.result.state == Failed && at.is_none());
            at = Some(slice.slice);
        }
    }
    at
}

#[test]
fn aborts_only_when_failure_is_certain() {
    let slices = slices();
    for (threshold, at) in [
        // One slow request refutes a maximum, and one failure refutes zero.
        (threshold(ResponseTime, Max, Below, 0.4), Some(5)),
        (threshold(Failures, Rate, Equals, 0.0), Some(5)),
        (threshold(Failures, Count, AtMost, 1.0), Some(15)),
        (threshold(Requests, Count, AtMost, 1000.0), Some(9)),
        // Counts and rates may be reached later.
        (threshold(Requests, Count, AtLeast, 1e9), None),
        (threshold(Requests, Rate, AtLeast, 1e9), None),
        (threshold(Requests, Count, Equals, 1e9), None),
        // Ten consecutive seconds, with ten samples beyond the percentile: p99 of 100 requests per second has those from second 9 on.
        (threshold(ResponseTime, Quantile(0.5), Below, 0.01), Some(9)),
        (threshold(ResponseTime, Quantile(0.99), Below, 0.01), Some(18)),
        (threshold(ResponseTime, Mean, Below, 0.01), Some(9)),
        (threshold(ResponseTime, Mean, Below, 1.0), None),
        // A whole window is certain once the next one has begun.
        (over(threshold(ResponseTime, Quantile(0.5), Below, 0.01), 3), Some(3)),
    ] {
        let label = format!("{threshold:?}");
        assert_eq!(fails_at(threshold, &slices), at, "{label}");
    }
}

#[test]
fn a_threshold_that_recovers_is_not_aborted() {
    let slices: Vec<Snapshot> =
        (0..40).map(|second| Slice::new(second).requests("A", 50, if second < 4 { 900 * MS } else { MS }).done()).collect();
    assert_eq!(fails_at(threshold(ResponseTime, Quantile(0.5), Below, 0.5), &slices), None);
    assert_eq!(judge(threshold(ResponseTime, Quantile(0.5), Below, 0.5), slices).state, Passed);
}

#[test]
fn while_running_nothing_has_passed_yet() {
    let mut thresholds = Thresholds::new(&[threshold(ResponseTime, Max, Below, 1.0), threshold(Requests, Count, AtLeast, 5.0)]);
    assert_eq!(thresholds.so_far().iter().map(|result| result.state).collect::<Vec<_>>(), [Pending, Pending]);
    thresholds.push(&slices()[0]);
    assert_eq!(thresholds.so_far().iter().map(|result| result.state).collect::<Vec<_>>(), [Pending, Pending]);
    assert_eq!(thresholds.finish().iter().map(|result| result.state).collect::<Vec<_>>(), [Passed, Passed]);
}

#[test]
fn while_running_a_threshold_reports_its_current_state() {
    let mut thresholds = Thresholds::new(&[
        threshold(ResponseTime, Quantile(0.5), Below, 0.06),
        threshold(ResponseTime, Quantile(0.5), Below, 0.04),
        threshold(Requests, Count, AtLeast, 150.0),
        threshold(Requests, Count, AtMost, 50.0),
        named(threshold(ResponseTime, Max, Below, 1.0), "none of this name"),
    ]);
    thresholds.push(&slices()[0]);
    let so_far = thresholds.so_far();
    let stands: Vec<_> = so_far.iter().map(|result| (result.state, result.failing)).collect();
    assert_eq!(stands, [(Pending, false), (Pending, true), (Pending, true), (Failed, false), (Pending, false)]);
    assert!(so_far[0].detail.starts_with("so far p50 was 50.0 ms; bound below 60.0 ms"), "{}", so_far[0].detail);
    assert!(so_far[1].detail.ends_with("; it currently fails"), "{}", so_far[1].detail);
    assert_eq!(so_far[3].detail, "so far the count was 100; bound at most 50; it can no longer be met");
    assert_eq!((so_far[4].measured, so_far[4].detail.as_str()), (None, "nothing measured yet"));
    thresholds.push(&slices()[1]);
    let ended = thresholds.finish();
    assert!(ended.iter().all(|result| !result.failing && !result.detail.starts_with("so far")), "{ended:?}");
    assert_eq!(ended[2].state, Passed);
}

#[test]
fn a_percentile_beyond_the_time_limit_fails_with_the_bound() {
    let slices: Vec<Snapshot> = (0..20)
        .map(|second| {
            let slice = Slice::new(second).requests("A", 95, 10 * MS);
            (0..5).fold(slice, |slice, _| slice.request("A", 0, 2 * SECOND, Outcome::Timeout)).done()
        })
        .collect();
    let result = judge(threshold(ResponseTime, Quantile(0.99), Below, 5.0), slices.clone());
    assert_eq!((result.state, result.measured), (Failed, Some(2.0)));
    assert!(result.detail.starts_with("p99 was at least 2.00 s (longer responses were cut off by a time limit)"), "{}", result.detail);
    assert_eq!(judge(threshold(ResponseTime, Quantile(0.9), Below, 0.05), slices).state, Passed);
}

#[test]
fn service_times_and_maxima_include_cut_off_requests() {
    // 9 of 100 time out after 1 s of service; 2 more are interrupted after 3 s, at the very end. Each waited 500 ms for its start.
    let slices: Vec<Snapshot> = (0..20)
        .map(|second| {
            let slice = (0..91).fold(Slice::new(second), |slice, n| slice.request("A", 500 * MS, (10 + n) * MS, Outcome::Passed));
            let slice = (0..9).fold(slice, |slice, _| slice.request("A", 500 * MS, SECOND, Outcome::Timeout));
            let cut_off = if second == 19 { 2 } else { 0 };
            (0..cut_off).fold(slice, |slice, _| slice.request("A", 500 * MS, 3 * SECOND, Outcome::Interrupted)).done()
        })
        .collect();
    for (metric, aggregate, bound, state, measured) in [
        (ServiceTime, Quantile(0.95), 2.0, Failed, 3.0),
        (ServiceTime, Quantile(0.9), 2.0, Passed, 0.099),
        (ResponseTime, Quantile(0.9), 2.0, Passed, 0.599),
        (ServiceTime, Max, 10.0, Failed, 3.0),
        (ResponseTime, Max, 10.0, Failed, 3.5),
    ] {
        let result = judge(threshold(metric.clone(), aggregate, Below, bound), slices.clone());
        assert_eq!(result.state, state, "{metric:?} {aggregate:?}: {}", result.detail);
        assert!((result.measured.unwrap() - measured).abs() < 0.005, "{metric:?} {aggregate:?}: {}", result.detail);
    }
    let longest = judge(threshold(ServiceTime, Max, Below, 10.0), slices);
    assert!(longest.detail.starts_with("the maximum was at least 3.00 s"), "{}", longest.detail);
    // A request that was cut off early does not contradict a longer time that was fully observed.
    let early = vec![Slice::new(0).requests("A", 10, 900 * MS).request("A", 0, 100 * MS, Outcome::Interrupted).done()];
    assert_eq!(judge(threshold(ResponseTime, Max, Below, 1.0), early).state, Passed);
}

/// Iterations that end at 10/s for 20 s; every second one of them fails, every fourth throws.
#[test]
fn failing_iterations_and_script_errors_are_distinguished() {
    let slices: Vec<Snapshot> = (0..20)
        .map(|second| {
            let mut slice = Slice::new(second);
            for n in 0..10 {
                let outcome = if n % 2 == 0 { Outcome::Script } else { Outcome::Passed };
                slice.record(SeriesKind::Iteration, "Buy", 0, MS, outcome);
            }
            slice.script_error().script_error().done()
        })
        .collect();
    for (metric, aggregate, comparison, value, state, measured) in [
        (Metric::Iterations, Count, Equals, 200.0, Passed, 200.0),
        (Metric::Iterations, Rate, AtLeast, 10.0, Passed, 10.0),
        (FailedIterations, Count, AtMost, 100.0, Passed, 100.0),
        (FailedIterations, Rate, Below, 0.5, Failed, 0.5),
        (ScriptErrors, Count, Equals, 0.0, Failed, 40.0),
        (ScriptErrors, Rate, AtMost, 0.2, Passed, 0.2),
    ] {
        let result = judge(threshold(metric.clone(), aggregate, comparison, value), slices.clone());
        assert_eq!((result.state, result.measured), (state, Some(measured)), "{metric:?} {aggregate:?}: {}", result.detail);
    }
    // Scripts that never ended an iteration have no errors; those of an unknown scenario have no data.
    let none = || threshold(ScriptErrors, Count, Equals, 0.0);
    assert_eq!(judge(none(), vec![Slice::new(0).done()]).state, Passed);
    let of_scenario = Selector { scenario: Some("Bye".to_owned()), ..Selector::default() };
    assert_eq!(judge(Threshold { selector: of_scenario, ..none() }, slices).state, NoData);
}

/// Open load at 50/s with requests of 300 ms: it begins at 0.002 s, ends ten seconds later, and one request hangs until 24.5 s.
fn edges() -> Vec<Snapshot> {
    let second = |number: u32| {
        let slice = Slice::new(number);
        match number {
            0 => slice.requests("A", 35, 300 * MS).leaf(|leaf| leaf.changes.push(LeafChange::Began { at: 2 * MS, scenario: "Buy".into() })),
            1..10 => slice.requests("A", 50, 300 * MS),
            10 => slice.requests("A", 14, 300 * MS).leaf(|leaf| leaf.changes.push(LeafChange::LoadEnded { at: 10 * SECOND + 2 * MS })),
            24 => slice.request("A", 0, 14 * SECOND, Outcome::Interrupted),
            _ => slice,
        }
    };
    (0..25).map(|number| second(number).done()).collect()
}

#[test]
fn partial_seconds_at_the_edges_of_the_load_are_no_windows() {
    for (seconds, state) in [(1, Passed), (2, Passed), (3, Passed), (9, Passed)] {
        let result = judge(over(threshold(Requests, Rate, AtLeast, 40.0), seconds), edges());
        assert_eq!((result.state, result.measured), (state, Some(50.0)), "{seconds} s: {}", result.detail);
    }
    assert_eq!(judge(over(threshold(Requests, Count, AtLeast, 50.0), 1), edges()).state, Passed);
    // A partial second with too many events fails.
    let mut burst = edges();
    burst[10] =
        Slice::new(10).requests("A", 60, MS).leaf(|leaf| leaf.changes.push(LeafChange::LoadEnded { at: 10 * SECOND + 2 * MS })).done();
    assert_eq!(judge(over(threshold(Requests, Count, AtMost, 55.0), 1), burst).state, Failed);
    // A really slow second within the load counts.
    let mut slow = edges();
    slow[5] = Slice::new(5).requests("A", 30, MS).done();
    assert_eq!(judge(over(threshold(Requests, Rate, AtLeast, 40.0), 1), slow).state, Failed);
    // The rate of the run: 499 in 10.3 s.
    let whole = judge(threshold(Requests, Rate, AtLeast, 48.0), edges());
    assert_eq!(whole.state, Passed, "{}", whole.detail);
}

#[test]
fn signals_are_judged_by_their_points() {
    let signal = Signal {
        name: "cpu".to_owned(),
        observer: "process".to_owned(),
        kind: SignalKind::Gauge,
        unit: "1".to_owned(),
        help: String::new(),
        ..Signal::default()
    };
    let points = (0..20).map(|n| SignalPoint { at: n * SECOND, value: if n == 12 { 9.0 } else { 1.0 } }).collect();
    let mut plan = synthetic::plan(synthetic::open(1.0, 20));
    let metric = || Metric::Signal { name: "cpu".to_owned() };
    plan.thresholds = vec![
        threshold(metric(), Max, Below, 9.0),
        threshold(metric(), Mean, AtMost, 1.4),
        over(threshold(metric(), Mean, Below, 2.0), 5),
        threshold(metric(), Aggregate::Last, Equals, 1.0),
        threshold(Metric::Signal { name: "memory".to_owned() }, Max, Below, 9.0),
    ];
    let mut run = synthetic::run_of(plan, slices());
    run.signals = vec![SignalSeries { signal, points }];
    let results = evaluate(&run);
    assert_eq!(results.iter().map(|result| result.state).collect::<Vec<_>>(), [Failed, Passed, Failed, Passed, NoData]);
    assert_eq!(results[2].at_seconds, Some(10.0));
    assert!(results[4].detail.contains("no signal named \"memory\""), "{}", results[4].detail);
}

fn series(name: &str, kind: SignalKind, values: &[f64]) -> SignalSeries {
    let observer = name.split('/').next().unwrap().to_owned();
    let signal = Signal { name: name.to_owned(), observer, kind, unit: "seconds".to_owned(), help: String::new(), ..Signal::default() };
    let points = values.iter().enumerate().map(|(second, value)| SignalPoint { at: second as u64 * SECOND, value: *value }).collect();
    SignalSeries { signal, points }
}

fn of_signal(name: &str, aggregate: Aggregate, comparison: Comparison, bound: f64) -> Threshold {
    threshold(Metric::Signal { name: name.to_owned() }, aggregate, comparison, bound)
}

#[test]
fn counters_count_by_their_growth_and_unseen_labels_are_zero() {
    let mut plan = synthetic::plan(synthetic::open(1.0, 20));
    let busy = "app/cpu";
    plan.thresholds = vec![
        of_signal(busy, Mean, Below, 0.6),
        of_signal(busy, Max, AtMost, 1.0),
        of_signal("db/sessions{wait=Lock:tuple}", Max, Below, 1.0),
        of_signal("db/sessions{wait=Lock:tuple}", Max, AtLeast, 1.0),
        of_signal("db/sesions{wait=CPU}", Max, Below, 1.0),
        of_signal("cache/hits", Max, Below, 1.0),
    ];
    let mut run = synthetic::run_of(plan, slices());
    // Half a core, a restart, then a whole core.
    run.signals = vec![
        series(busy, SignalKind::Counter, &[100.0, 100.5, 101.0, 0.0, 1.0]),
        series("db/sessions{wait=CPU}", SignalKind::Gauge, &[1.0, 2.0]),
    ];
    let results = evaluate(&run);
    assert_eq!(results.iter().map(|result| result.state).collect::<Vec<_>>(), [Failed, Passed, Passed, Failed, NoData, NoData]);
    assert_eq!(results[0].measured, Some(2.0 / 3.0));
    assert_eq!(results[4].detail, "no signal named \"db/sesions{wait=CPU}\" was read; known: db/sessions{wait=CPU}");
    assert!(results[5].detail.ends_with("observers that read: app, db"), "{}", results[5].detail);
}

#[test]
fn a_signal_over_its_bound_can_stop_the_run() {
    let mut limit = of_signal("app/cpu", Max, Below, 5.0);
    limit.abort = true;
    let mut thresholds = Thresholds::new(&[limit]);
    assert!(thresholds.push_signals(&[series("app/cpu", SignalKind::Gauge, &[1.0, 4.0])]).is_empty());
    let changes = thresholds.push_signals(&[series("app/cpu", SignalKind::Gauge, &[5.0])]);
    assert!(changes.len() == 1 && changes[0].abort && changes[0].result.state == Failed, "{changes:?}");
    assert!(thresholds.push_signals(&[series("app/cpu", SignalKind::Gauge, &[6.0])]).is_empty(), "reported once");
}

#[test]
fn details_show_the_measured_values_in_suitable_units() {
    // Every second has the same times, so the interval ends at the next time that occurs.
    let result = judge(named(threshold(ResponseTime, Quantile(0.9), Below, 0.05), "A"), slices());
    assert_eq!(result.detail, "p90 was 90.0 ms (95 % interval 90.0 ms to 91.1 ms); bound below 50.0 ms (3,000 samples, 300 beyond it)");
    let result = judge(threshold(Failures, Rate, AtMost, 0.01), slices());
    assert_eq!(result.detail, "the failed share was 0.1 %; bound at most 1.00 %");
    let few = judge(threshold(ResponseTime, Quantile(0.99), Below, 0.05), slices()[..2].to_vec());
    assert!(few.detail.contains("too few to rely on"), "{}", few.detail);
}
