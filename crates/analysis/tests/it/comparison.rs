//! Comparison of two runs: the conditions that must match, the verdicts, and the results of gates.

use loadstone_analysis::{
    ComparedInput, ComparedMetric, ComparedRow, ComparisonGate, ComparisonVerdict, GateState, Grade, RowVerdict, RunComparison, Side,
    SubjectKind, compare, conclude,
};
use loadstone_metrics::{GaugeValue, MetricSlice, MetricValue, Outcome, Role, Tags, ValueHistogram};
use loadstone_plan::{Aggregate, Comparison, LoadProfile, Metric, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::synthetic::{MS, SECOND, Slice, closed, counter, gauge, open, plan, run_of, threshold};

/// 60 seconds of 50 requests each, whose times cycle through these milliseconds, multiplied by `slower`. The first `failing` of each second
/// fail.
fn run(slower: f64, failing: u64) -> Run {
    let second = |number: u32| {
        let mut slice = Slice::new(number).arrivals(50);
        for request in 0..50_u64 {
            // The seconds differ, and none drifts.
            let spread = (request * 7 + u64::from(number) * 13) % 50;
            let outcome = if request < failing { Outcome::Status } else { Outcome::Passed };
            slice = slice.request("Buy", 0, ((20 * MS + spread * MS / 5) as f64 * slower) as u64, outcome);
        }
        slice.done()
    };
    run_of(plan(open(50.0, 60)), (0..60).map(second).collect())
}

fn compared(baseline: &Run, candidate: &Run) -> RunComparison {
    let (old, new) = (conclude(baseline), conclude(candidate));
    let load = ["Buy: 50/s".to_owned()];
    compare(ComparedInput { run: baseline, summary: &old, load: &load }, ComparedInput { run: candidate, summary: &new, load: &load }, 0.03)
}

fn row(comparison: &RunComparison, kind: SubjectKind, metric: ComparedMetric) -> &ComparedRow {
    comparison.rows().find(|(subject, row)| subject.kind == kind && row.metric == metric).unwrap().1
}

fn gate(metric: ComparedMetric, by: f64) -> ComparisonGate {
    ComparisonGate { label: String::new(), metric: Some(metric), name: None, by }
}

#[test]
fn a_slower_request_is_worse_and_the_size_is_reported() {
    let comparison = compared(&run(1.0, 0), &run(1.1, 0));
    assert_eq!(comparison.verdict, ComparisonVerdict::Worse, "{}", comparison.headline);
    let p95 = row(&comparison, SubjectKind::Request, ComparedMetric::P95);
    assert_eq!(p95.verdict, RowVerdict::Worse);
    assert!(p95.low.unwrap() > 1.08 && p95.high.unwrap() < 1.12 && (p95.change.unwrap() - 1.1).abs() < 0.01, "{p95:?}");
    // The rate is as requested, regardless of the times.
    assert_eq!(row(&comparison, SubjectKind::Request, ComparedMetric::Rate).verdict, RowVerdict::Same);
    assert!(comparison.headline.contains("of \"Buy\" is 10") && comparison.headline.contains("% higher"), "{}", comparison.headline);
    assert_eq!(compared(&run(1.1, 0), &run(1.0, 0)).verdict, ComparisonVerdict::Better);
    assert_eq!(compared(&run(1.0, 0), &run(1.0, 0)).verdict, ComparisonVerdict::Same);
}

#[test]
fn a_negligible_change_is_the_same_and_not_worse() {
    let comparison = compared(&run(1.0, 0), &run(1.01, 0));
    assert_eq!(comparison.verdict, ComparisonVerdict::Same, "{}", comparison.headline);
    assert_eq!(row(&comparison, SubjectKind::Request, ComparedMetric::P50).verdict, RowVerdict::Same);
}

#[test]
fn new_failures_are_worse_without_a_ratio() {
    let comparison = compared(&run(1.0, 0), &run(1.0, 1));
    let failures = row(&comparison, SubjectKind::Request, ComparedMetric::Failures);
    assert_eq!((failures.verdict, failures.baseline, failures.candidate), (RowVerdict::Worse, Some(0.0), Some(0.02)));
    assert_eq!(gate(ComparedMetric::Failures, 0.01).judge(&comparison).state, GateState::Failed);
    assert_eq!(gate(ComparedMetric::Failures, 0.05).judge(&comparison).state, GateState::Held);
    // One of three thousand may be chance.
    let mut once = run(1.0, 0);
    once.slices[30] = run(1.0, 1).slices[30].clone();
    let comparison = compared(&run(1.0, 0), &once);
    assert_eq!(row(&comparison, SubjectKind::Request, ComparedMetric::Failures).verdict, RowVerdict::CannotTell);
}

#[test]
fn a_different_load_forbids_the_comparison_and_a_longer_one_does_not() {
    let (old, new) = (run(1.0, 0), run(1.2, 0));
    let (concluded, slower) = (conclude(&old), conclude(&new));
    let with_load = |profile| {
        let asked = Run { plan: plan(profile), ..new.clone() };
        compare(
            ComparedInput { run: &old, summary: &concluded, load: &[] },
            ComparedInput { run: &asked, summary: &slower, load: &[] },
            0.03,
        )
    };
    for other in [open(80.0, 60), closed(50, 60)] {
        let comparison = with_load(other);
        assert_eq!(comparison.verdict, ComparisonVerdict::NotComparable);
        assert!(comparison.differences[0].what == "load" && comparison.differences[0].forbids, "{:?}", comparison.differences);
        assert_eq!(gate(ComparedMetric::P95, 0.05).judge(&comparison).state, GateState::Undecided);
    }
    let longer = with_load(open(50.0, 90));
    assert!(longer.differences.iter().any(|difference| difference.what == "duration" && !difference.forbids));
    assert_eq!(longer.verdict, ComparisonVerdict::Worse);
}

#[test]
fn an_invalid_measurement_forbids_the_comparison() {
    let (old, new) = (run(1.0, 0), run(1.2, 0));
    let (concluded, mut invalid) = (conclude(&old), conclude(&new));
    invalid.verdict.validity.grade = Grade::Invalid;
    let input = |run, summary| ComparedInput { run, summary, load: &[] };
    let comparison = compare(input(&old, &concluded), input(&new, &invalid), 0.03);
    assert_eq!((comparison.verdict, comparison.differences[0].what.as_str()), (ComparisonVerdict::NotComparable, "validity"));
}

#[test]
fn mismatched_conditions_are_reported() {
    let (mut old, mut new) = (run(1.0, 0), run(1.0, 0));
    assert_eq!(compared(&old, &new).differences, []);
    (old.info.script, new.info.script) = (Some("aa".to_owned()), Some("bb".to_owned()));
    new.info.host.cores = 8;
    let reported: Vec<String> = compared(&old, &new).differences.into_iter().map(|difference| difference.what).collect();
    assert_eq!(reported, ["script", "machine"]);
}

#[test]
fn the_target_s_work_per_request_is_compared() {
    let of = |cores: f64, bytes: f64| {
        let mut run = run(1.0, 0);
        // It varies by 5 %.
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| cores * (1.0 + (second % 5) as f64 / 100.0));
        gauge("process:80", "memory").role(Role::ProcessMemory).each_second(&mut run, |_| bytes);
        gauge("app", "queue").each_second(&mut run, |second| cores * 10.0 + (second % 3) as f64);
        run
    };
    let comparison = compared(&of(0.5, 1e8), &of(0.6, 1e8));
    let cpu = row(&comparison, SubjectKind::Target, ComparedMetric::CpuPerRequest);
    assert_eq!(cpu.verdict, RowVerdict::Worse, "{cpu:?}");
    // Half a core, 2 % more on average, for fifty requests per second.
    assert!((cpu.baseline.unwrap() - 0.0102).abs() < 0.0002 && (cpu.change.unwrap() - 1.2).abs() < 0.02, "{cpu:?}");
    assert_eq!(row(&comparison, SubjectKind::Target, ComparedMetric::Memory).verdict, RowVerdict::Same);
    // It is unknown whether a higher value of a signal is worse.
    assert_eq!(row(&comparison, SubjectKind::Signal, ComparedMetric::Value).verdict, RowVerdict::Moved);
    assert_eq!(gate(ComparedMetric::CpuPerRequest, 0.1).judge(&comparison).state, GateState::Failed);
    assert_eq!(gate(ComparedMetric::CpuPerRequest, 0.3).judge(&comparison).state, GateState::Held);
}

/// A ramp from 10 to 69 requests per second, with a CPU cost per request and a constant cost of the process.
#[test]
fn the_effect_of_a_ramp_on_the_target_is_no_random_variation() {
    let of = |cost: f64, to: f64| {
        let second = |number: u32| {
            let arrivals = 10 + u64::from(number);
            let requests = Slice::new(number).arrivals(arrivals).requests("Buy", arrivals, (20 + u64::from(number % 3)) * MS);
            requests.done()
        };
        let stages = vec![OpenStage::Rate { from: 10.0, to, duration_ns: 60 * SECOND, timing: Timing::Even }];
        let mut run = run_of(plan(LoadProfile::Open { stages }), (0..60).map(second).collect());
        counter("process:80", "cpu")
            .role(Role::ProcessCpu)
            .each_second(&mut run, |second| cost * (0.2 + 0.005 * (10 + second) as f64) * (1.0 + (second * 7 % 5) as f64 / 200.0));
        run
    };
    let cpu = |to| row(&compared(&of(1.0, 70.0), &of(1.1, to)), SubjectKind::Target, ComparedMetric::CpuPerRequest).clone();
    let (paired, unpaired) = (cpu(70.0), cpu(71.0));
    assert!(paired.verdict == RowVerdict::Worse && paired.low.unwrap() > 1.08 && paired.high.unwrap() < 1.12, "{paired:?}");
    assert!(unpaired.verdict == RowVerdict::CannotTell, "under another plan these are other seconds: {unpaired:?}");
}

/// Work in a separate process, or unfinished work, changes the cost per request, which is no improvement of the release.
#[test]
fn work_per_request_is_compared_only_for_the_same_work() {
    let of = |cores: f64, pods: &[&str], finished: u64| {
        let mut run = run(1.0, 0);
        for pod in pods {
            counter(pod, "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| cores * (1.0 + (second % 5) as f64 / 100.0));
        }
        for slice in &mut run.slices {
            let mut flow =
                loadstone_metrics::FlowSlice { name: "Mail".into(), started: 100, finished, ..loadstone_metrics::FlowSlice::default() };
            flow.time.record_n(90 * MS, finished);
            slice.flows = vec![flow];
        }
        run
    };
    let cpu = |baseline: &Run, candidate: &Run| {
        let comparison = compared(baseline, candidate);
        let row = row(&comparison, SubjectKind::Target, ComparedMetric::CpuPerRequest);
        (row.verdict, row.why.clone())
    };
    assert_eq!(cpu(&of(0.6, &["pod 1"], 100), &of(0.3, &["pod 1"], 100)).0, RowVerdict::Better);
    let (verdict, why) = cpu(&of(0.6, &["pod 1"], 100), &of(0.3, &["pod 1", "pod 2"], 100));
    assert!(verdict == RowVerdict::CannotTell && why.starts_with("only one of the runs observed \"pod 2\""), "{why}");
    let (verdict, why) = cpu(&of(0.3, &["pod 1"], 50), &of(0.6, &["pod 1"], 100));
    assert!(verdict == RowVerdict::CannotTell && why.contains("journeys of \"Mail\", and one of the runs finished more"), "{why}");
}

/// Journeys that never finish are slower than all that do, so the finished ones alone are not compared.
#[test]
fn journeys_that_do_not_end_are_slower_by_at_least_what_they_waited() {
    let of = |hanging: u64| {
        let mut run = run(1.0, 0);
        let last = run.slices.len() - 1;
        for (index, slice) in run.slices.iter_mut().enumerate() {
            let mut flow =
                loadstone_metrics::FlowSlice { name: "Mail".into(), started: 100, finished: 100 - hanging, ..Default::default() };
            (0..100 - hanging).for_each(|number| flow.time.record((80 + (number * 7 + index as u64 * 13) % 40) * MS));
            if index == last {
                (1..=60).for_each(|age| flow.censored.record_n(age * SECOND, hanging));
                (flow.backlog, flow.left_open) = (60 * hanging, 60 * hanging);
            }
            slice.flows = vec![flow];
        }
        run
    };
    let p99 = |baseline: &Run, candidate: &Run| row(&compared(baseline, candidate), SubjectKind::Flow, ComparedMetric::P99).clone();
    let worse = p99(&of(0), &of(5));
    assert_eq!((worse.verdict, worse.at_least.clone()), (RowVerdict::Worse, vec![Side::Candidate]), "{worse:?}");
    assert!(worse.candidate.unwrap() > 10.0 && worse.low.unwrap() > 10.0 && worse.high.is_none(), "{worse:?}");
    let better = p99(&of(5), &of(0));
    assert_eq!((better.verdict, better.at_least.clone()), (RowVerdict::Better, vec![Side::Baseline]), "{better:?}");
    // Two lower bounds are no measurement: they only reflect the length of the runs.
    let neither = p99(&of(5), &of(5));
    assert!(neither.verdict == RowVerdict::CannotTell && neither.why.contains("in both runs"), "{neither:?}");
    // The medians of both runs are known.
    let medians = compared(&of(0), &of(5));
    assert_eq!(row(&medians, SubjectKind::Flow, ComparedMetric::P50).at_least, [], "{}", medians.headline);
}

#[test]
fn a_gate_without_a_subject_is_undecided_and_a_gate_of_a_request_judges_only_that_request() {
    let comparison = compared(&run(1.0, 0), &run(1.1, 0));
    let named = |name: &str| ComparisonGate { name: Some(name.to_owned()), ..gate(ComparedMetric::P95, 0.05) };
    assert_eq!(named("Buy").judge(&comparison).state, GateState::Failed);
    assert_eq!(named("Sell").judge(&comparison).state, GateState::Undecided);
    assert_eq!(gate(ComparedMetric::P95, 0.15).judge(&comparison).state, GateState::Held);
    let anything = ComparisonGate { metric: None, ..gate(ComparedMetric::P95, 0.0) };
    assert_eq!(anything.judge(&comparison).state, GateState::Failed);
    assert_eq!(anything.judge(&compared(&run(1.0, 0), &run(1.0, 0))).state, GateState::Held);
}

/// `run(1.0, 0)`, and in every second the times of some requests multiplied: from 1 to 81, different in each second.
fn overloaded() -> Run {
    let second = |number: u32| {
        let mut slice = Slice::new(number).arrivals(50);
        let factor = 2.0 + f64::from(number * 37 % 60);
        for request in 0..50_u64 {
            let spread = (request * 7 + u64::from(number) * 13) % 50;
            let slower = if request < 20 { factor * 4.0 } else { 1.5 };
            slice = slice.request("Buy", 0, ((20 * MS + spread * MS / 5) as f64 * slower) as u64, Outcome::Passed);
        }
        slice.done()
    };
    run_of(plan(open(50.0, 60)), (0..60).map(second).collect())
}

fn anything_worse() -> ComparisonGate {
    ComparisonGate { label: "anything worse".to_owned(), metric: None, name: None, by: 0.0 }
}

#[test]
fn a_large_change_is_worse_however_much_the_candidate_varies() {
    let comparison = compared(&run(1.0, 0), &overloaded());
    for metric in [ComparedMetric::Mean, ComparedMetric::P90, ComparedMetric::P99] {
        let row = row(&comparison, SubjectKind::All, metric);
        assert_eq!(row.verdict, RowVerdict::Worse, "{row:?}");
        assert!(row.low.is_some_and(|low| low >= 1.0), "the interval does not contradict the verdict: {row:?}");
    }
    assert_eq!(anything_worse().judge(&comparison).state, GateState::Failed);
    assert_eq!(gate(ComparedMetric::Mean, 0.05).judge(&comparison).state, GateState::Failed);
}

/// A pool that became too small for the load: the queue grows from the first second to the last, so neither run's parts nor its samples bound the percentiles
/// from above. The means do.
#[test]
fn percentiles_of_a_queue_that_grows_throughout_are_worse() {
    let of = |milliseconds: &dyn Fn(u64, u64) -> u64| {
        let second = |number: u32| {
            let slice = Slice::new(number).arrivals(50);
            (0..50).fold(slice, |slice, request| slice.request("Buy", 0, milliseconds(number.into(), request) * MS, Outcome::Passed)).done()
        };
        run_of(plan(open(50.0, 20)), (0..20).map(second).collect())
    };
    // The generator's machine was busy in the seventh second: there, a few requests took much longer than all others.
    let calm = of(&|second, request| if second == 7 && request % 9 == 0 { 90 + 40 * request } else { 7 + (request * 7 + second) % 7 });
    let growing = of(&|second, request| 300 * (second + 1) + request * 6);
    for metric in [ComparedMetric::P90, ComparedMetric::P95] {
        let worse = row(&compared(&calm, &growing), SubjectKind::All, metric).clone();
        assert_eq!(worse.verdict, RowVerdict::Worse, "{worse:?}");
        let row = row(&compared(&growing, &calm), SubjectKind::All, metric).clone();
        assert_eq!(row.verdict, RowVerdict::Better, "{row:?}");
    }
    for metric in [ComparedMetric::P95, ComparedMetric::P99] {
        assert_eq!(gate(metric, 0.1).judge(&compared(&calm, &growing)).state, GateState::Failed);
    }
}

/// One stall of ten seconds: how much slower the system is in general is unknown, but the threshold was met before.
#[test]
fn a_threshold_that_passed_and_fails_is_a_regression() {
    let with_threshold = |mut run: Run| {
        run.plan.thresholds = vec![threshold(Metric::ResponseTime, Aggregate::Quantile(0.95), Comparison::Below, 0.5)];
        run
    };
    let stalled = || {
        let mut run = run(1.0, 0);
        for number in 20..30 {
            let slice = (0..50).fold(Slice::new(number).arrivals(50), |slice, request| {
                slice.request("Buy", 0, (1 + request % 10) * SECOND, Outcome::Passed)
            });
            run.slices[number as usize] = slice.done();
        }
        run
    };
    let comparison = compared(&with_threshold(run(1.0, 0)), &with_threshold(stalled()));
    assert_eq!(comparison.thresholds.len(), 1, "{}", comparison.headline);
    assert!(comparison.thresholds[0].is_broken());
    assert_eq!(comparison.verdict, ComparisonVerdict::Worse, "{}", comparison.headline);
    assert!(comparison.headline.contains("passed and now fails"), "{}", comparison.headline);
    assert_eq!(anything_worse().judge(&comparison).state, GateState::Failed);
    // Without a threshold nothing is decided, and not for want of samples.
    let comparison = compared(&run(1.0, 0), &stalled());
    let p90 = row(&comparison, SubjectKind::Request, ComparedMetric::P90);
    let expected = "nearly all slow requests of the candidate ended between 0:21 and 0:30, and one event does not show how often it recurs";
    assert_eq!((p90.verdict, p90.why.as_str()), (RowVerdict::CannotTell, expected), "{p90:?}");
    assert!(
        comparison.headline.starts_with("nearly all slow requests of the candidate ended between 0:20 and 0:30"),
        "{}",
        comparison.headline
    );
    // In reverse it is no regression.
    let comparison = compared(&with_threshold(stalled()), &with_threshold(run(1.0, 0)));
    assert!(!comparison.thresholds[0].is_broken() && comparison.verdict != ComparisonVerdict::Worse, "{}", comparison.headline);
}

/// The user named the number, so its own interval decides, without the correction for all other numbers.
#[test]
fn a_named_gate_uses_its_own_interval() {
    let mut comparison = compared(&run(1.0, 0), &run(1.0, 0));
    let all = comparison.subjects.iter_mut().find(|subject| subject.kind == SubjectKind::All).unwrap();
    let mean = all.rows.iter_mut().find(|row| row.metric == ComparedMetric::Mean).unwrap();
    (mean.change, mean.low, mean.high, mean.p) = (Some(3.54), Some(1.3), Some(9.0), Some(0.02));
    mean.verdict = RowVerdict::CannotTell;
    assert_eq!(gate(ComparedMetric::Mean, 0.05).judge(&comparison).state, GateState::Failed);
    let mean = comparison.subjects.iter_mut().find(|subject| subject.kind == SubjectKind::All).unwrap();
    let mean = mean.rows.iter_mut().find(|row| row.metric == ComparedMetric::Mean).unwrap();
    mean.low = Some(0.9);
    assert_eq!(gate(ComparedMetric::Mean, 0.05).judge(&comparison).state, GateState::Undecided);
    // A comparison that decides nothing passes no gate.
    comparison.verdict = ComparisonVerdict::CannotTell;
    assert_eq!(anything_worse().judge(&comparison).state, GateState::Undecided);
}

#[test]
fn memory_saved_by_less_work_is_no_improvement() {
    let of = |arrivals: u64, bytes: f64| {
        let second = |number: u32| {
            (0..arrivals).fold(Slice::new(number).arrivals(arrivals), |slice, request| {
                slice.request("Buy", 0, 20 * MS + (request * 7 + u64::from(number) * 13) % 10 * MS, Outcome::Passed)
            })
        };
        let mut run = run_of(plan(closed(10, 60)), (0..60).map(|number| second(number).done()).collect());
        gauge("process:80", "memory").role(Role::ProcessMemory).each_second(&mut run, |_| bytes);
        run
    };
    let memory = |candidate: &Run| row(&compared(&of(50, 3e8), candidate), SubjectKind::Target, ComparedMetric::Memory).clone();
    let saved = memory(&of(20, 1e8));
    assert_eq!(saved.verdict, RowVerdict::CannotTell);
    assert!(saved.why.contains("served fewer requests"), "{saved:?}");
    assert_eq!(memory(&of(50, 1e8)).verdict, RowVerdict::Better);
}

#[test]
fn other_programs_on_the_machine_are_a_difference() {
    let of = |machine: f64| {
        let mut run = run(1.0, 0);
        gauge("machine", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        counter("machine", "cpu").role(Role::MachineCpu).each_second(&mut run, |_| machine);
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.5);
        run
    };
    let differences = compared(&of(0.9), &of(1.4)).differences;
    let found: Vec<&str> = differences.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(found, ["machine use"], "{differences:?}");
    assert_eq!(compared(&of(0.9), &of(1.0)).differences, []);
}

#[test]
fn a_request_that_only_one_run_made_is_no_change() {
    let mut renamed = run(1.0, 0);
    for series in renamed.slices.iter_mut().flat_map(|slice| &mut slice.series) {
        series.key.name = "Purchase".into();
    }
    let comparison = compared(&run(1.0, 0), &renamed);
    let alone = comparison.subjects.iter().filter(|subject| subject.only_in.is_some()).count();
    assert_eq!(alone, 2, "one in each");
}

/// The run of [`run`] with custom metrics: values of 10 to 19 EUR, orders, a share of 0.2 and a level around 5, all multiplied by `times`.
fn with_metrics(times: f64) -> Run {
    let mut made = run(1.0, 0);
    for (number, slice) in made.slices.iter_mut().enumerate() {
        let restless = |of: usize| ((number * 7 + of * 3) % 10) as f64;
        let mut values = ValueHistogram::default();
        (0..50).for_each(|of| values.record(times * (10.0 + restless(of))));
        let level = times * (4.5 + restless(1) / 10.0);
        let gauge = GaugeValue { count: 1, sum: level, min: level, max: level, last: level, last_at: slice.end };
        let metric = |name: &str, tags: &Tags, value| MetricSlice { name: name.into(), unit: "EUR".into(), tags: tags.clone(), value };
        let (whole, eu) = (Tags::default(), Tags::new([("region", "eu")]));
        slice.metrics = vec![
            metric("Value", &whole, MetricValue::Trend(values.clone())),
            metric("Value", &eu, MetricValue::Trend(values)),
            metric("Orders", &whole, MetricValue::Counter { count: 50, sum: times * (95.0 + restless(2)) }),
            metric("Level", &whole, MetricValue::Gauge(gauge)),
            metric("Cached", &whole, MetricValue::Rate { count: 100, hits: (times * (15.0 + restless(4))) as u64 }),
        ];
    }
    made
}

#[test]
fn custom_metrics_move_and_are_neither_better_nor_worse() {
    let comparison = compared(&with_metrics(1.0), &with_metrics(1.5));
    let row = |name: &str, metric| {
        let found =
            comparison.rows().find(|(subject, row)| subject.kind == SubjectKind::Metric && subject.name == name && row.metric == metric);
        found.unwrap_or_else(|| panic!("{metric:?} of {name}")).1
    };
    for (name, metric) in [
        ("Value", ComparedMetric::Value),
        ("Value", ComparedMetric::ValueP50),
        ("Value", ComparedMetric::ValueP95),
        ("Value (region=eu)", ComparedMetric::Value),
        ("Orders", ComparedMetric::AddedRate),
        ("Level", ComparedMetric::Value),
    ] {
        let row = row(name, metric);
        assert_eq!(row.verdict, RowVerdict::Moved, "{name} {row:?}");
        let (low, change, high) = (row.low.unwrap(), row.change.unwrap(), row.high.unwrap());
        assert!((change - 1.5).abs() < 0.02 && low <= change && change <= high, "{name} {row:?}");
        assert_eq!(row.unit, "EUR");
    }
    assert!((row("Value", ComparedMetric::ValueP50).baseline.unwrap() - 14.0).abs() < 0.1, "in its own unit");
    let share = row("Cached", ComparedMetric::Share);
    assert!((share.change.unwrap() - 0.1).abs() < 0.01 && share.verdict == RowVerdict::Moved, "a difference: {share:?}");
    assert_eq!(comparison.verdict, ComparisonVerdict::Same, "the requests are as they were: {}", comparison.headline);
    let anything = ComparisonGate { label: String::new(), metric: None, name: None, by: 0.1 };
    assert_eq!(anything.judge(&comparison).state, GateState::Held);
    let still = compared(&with_metrics(1.0), &with_metrics(1.0));
    let own = || still.rows().filter(|(subject, _)| subject.kind == SubjectKind::Metric);
    assert!(own().all(|(_, row)| row.verdict != RowVerdict::Moved) && own().any(|(_, row)| row.verdict == RowVerdict::Same), "{still:?}");
}

#[test]
fn a_metric_that_only_one_run_recorded_and_values_below_zero_have_no_ratio() {
    let mut below = run(1.0, 0);
    for slice in &mut below.slices {
        let mut values = ValueHistogram::default();
        [-2.0, 4.0].into_iter().for_each(|value| values.record(value));
        slice.metrics =
            vec![MetricSlice { name: "Balance".into(), unit: "".into(), tags: Tags::default(), value: MetricValue::Trend(values) }];
    }
    let of = |comparison: &RunComparison| comparison.subjects.iter().find(|subject| subject.kind == SubjectKind::Metric).unwrap().clone();
    let alone = of(&compared(&run(1.0, 0), &below));
    assert!(alone.only_in.is_some() && alone.rows.is_empty());
    let both = of(&compared(&below, &below));
    assert_eq!(both.rows.iter().map(|row| row.metric).collect::<Vec<_>>(), [ComparedMetric::Value], "quantiles have no ratio");
}

/// 60 seconds whose load rises by one request per second, all of it served; `more` additional requests per twenty.
fn ramped(more: u64) -> Run {
    let second = |number: u32| {
        let due = 10 + u64::from(number);
        let served = due + (u64::from(number) * more) / 20;
        let mut slice = Slice::new(number).arrivals(due);
        for request in 0..served {
            slice = slice.request("Buy", 0, 20 * MS + (request * 7 + u64::from(number) * 13) % 50 * MS / 5, Outcome::Passed);
        }
        slice.done()
    };
    let stages = vec![OpenStage::Rate { from: 10.0, to: 70.0, duration_ns: 60 * SECOND, timing: Timing::Even }];
    run_of(plan(LoadProfile::Open { stages }), (0..60).map(second).collect())
}

#[test]
fn a_rising_load_is_no_random_variation_of_the_rate() {
    let comparison = compared(&ramped(0), &ramped(0));
    let rate = row(&comparison, SubjectKind::Request, ComparedMetric::Rate);
    assert_eq!(rate.verdict, RowVerdict::Same, "{rate:?}");
    assert!(rate.low.unwrap() > 0.99 && rate.high.unwrap() < 1.01, "{rate:?}");
    // A tenth more is found, although 20 blocks of a ramp vary more than that by themselves.
    let comparison = compared(&ramped(0), &ramped(2));
    let rate = row(&comparison, SubjectKind::Request, ComparedMetric::Rate);
    assert!(rate.low.unwrap() > 1.0 && rate.change.unwrap() > 1.05, "{rate:?}");
}
