//! The time that the generator may have added, compared with simulated runs in which the added time is known.

use loadstone_analysis::{Grade, Summary, ThresholdState, TimeStats, conclude};
use loadstone_metrics::{Outcome, Phases, Recorder, Sample, SeriesKind};
use loadstone_plan::{Aggregate, Comparison, LoadProfile, Metric, Selector, Threshold, Window};
use loadstone_run_directory::Run;
use proptest::prelude::*;

use crate::draws::Draws;
use crate::synthetic::{self, MS, SECOND, Slice, threshold};

/// The effect of the generator on a request. Seconds.
#[derive(Debug, Clone, Copy)]
struct Generator {
    /// Share of the requests that start late, and their mean lateness.
    starts_late: (f64, f64),
    /// Share of the responses that are read late, and their mean lateness.
    reads_late: (f64, f64),
    /// Only the slowest responses are read late, instead of random ones.
    slowest: bool,
}

const ON_TIME: Generator = Generator { starts_late: (1.0, 40e-6), reads_late: (1.0, 30e-6), slowest: false };

/// The name and mean service time of a request: half of the time is constant, the rest exponential.
const MEANS: [(&str, f64); 2] = [("A", 0.010), ("B", 0.040)];

/// A minute of requests, and the true times of each request name, sorted.
fn minute(generator: Generator, per_second: u32, seed: u64) -> (Run, [Vec<f64>; 2]) {
    let mut draws = Draws::new(seed);
    let mut recorder = Recorder::new(0, 10);
    let ids = MEANS.map(|(name, _)| recorder.series(&synthetic::key(SeriesKind::Request, name)));
    let mut truths = [Vec::new(), Vec::new()];
    let mut slices = Vec::new();
    for second in 0..60_u64 {
        for number in 0..per_second as usize {
            let mean = MEANS[number % 2].1;
            let service = 0.5 * mean + draws.exponential(mean / 2.0);
            let mut late = |(share, mean): (f64, f64), may: bool| {
                let is_late = draws.uniform() <= share && may;
                if is_late { draws.exponential(mean) } else { 0.0 }
            };
            let lag = late(generator.starts_late, true);
            let read = late(generator.reads_late, !generator.slowest || service > 2.0 * mean);
            truths[number % 2].push(service);
            let ns = |seconds: f64| (seconds * 1e9) as u64;
            let started = second * SECOND + SECOND;
            let sample = Sample {
                scheduled: started - ns(lag),
                started,
                ended: started + ns(service + read),
                phases: Phases::default(),
                outcome: Outcome::Passed,
                status: 200,
                bytes_sent: 0,
                bytes_received: 0,
                retried: 0,
                trace: None,
            };
            recorder.record(ids[number % 2], &sample);
            recorder.generator().read_lag.record(ns(read));
        }
        let leaf = recorder.leaf(0);
        (leaf.arrivals_due, leaf.started, leaf.ended) = (per_second.into(), per_second.into(), per_second.into());
        recorder.generator().wall_ns = SECOND;
        slices.push(recorder.drain(second as u32, second * SECOND, (second + 1) * SECOND));
    }
    truths.iter_mut().for_each(|truths| truths.sort_by(f64::total_cmp));
    (synthetic::run_of(synthetic::plan(synthetic::open(f64::from(per_second), 60)), slices), truths)
}

fn truth(sorted: &[f64], quantile: f64) -> f64 {
    sorted[((quantile * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn times<'a>(summary: &'a Summary, name: &str) -> &'a TimeStats {
    &summary.requests.iter().find(|row| *row.key.name == *name).unwrap().response
}

fn uncertainties(run: &Run) -> usize {
    let summary = conclude(run);
    summary.requests.iter().flat_map(|row| &row.response.percentiles).filter(|p| p.quantile <= 0.99 && p.uncertainty.is_some()).count()
}

fn grade(run: &Run) -> Grade {
    conclude(run).verdict.validity.grade
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A marked number minus its uncertainty is not above the truth except by chance, and the error of an unmarked number is within the
    /// limit for marks.
    #[test]
    fn the_truth_lies_within_the_bound(
        starts in (0.0f64..1.0, 0.0001f64..0.030), reads in (0.0f64..1.0, 0.0001f64..0.020), slowest in any::<bool>(),
        per_second in 10u32..150, seed in any::<u64>()
    ) {
        holds(Generator { starts_late: starts, reads_late: reads, slowest }, per_second, seed)?;
    }
}

/// Read lag is recorded for all requests together and divided evenly between the two. This additional share of a request's responses may
/// have been read late, by three standard deviations (binomial). A bound that included it would also mark punctual generators.
fn by_chance(generator: Generator, count: usize) -> f64 {
    // Of the slowest, those that took twice the mean, half of which is constant.
    let may_be_late = if generator.slowest { (-3.0_f64).exp() } else { 1.0 };
    let late = 2.0 * count as f64 * may_be_late * generator.reads_late.0;
    3.0 * (late * 0.25).sqrt() / count as f64
}

fn holds(generator: Generator, per_second: u32, seed: u64) -> Result<(), TestCaseError> {
    let (run, truths) = minute(generator, per_second, seed);
    let summary = conclude(&run);
    for ((name, _), truths) in MEANS.into_iter().zip(&truths) {
        for percentile in &times(&summary, name).percentiles {
            let Some(value) = percentile.value else { continue };
            let uncertainty = percentile.uncertainty.unwrap_or(f64::max(0.05 * value, 0.000_5));
            let highest = truth(truths, percentile.quantile + by_chance(generator, truths.len()));
            prop_assert!(value - uncertainty <= highest * 1.005, "{name} {}: {value} − {uncertainty} > {highest}", percentile.quantile);
            let truth = truth(truths, percentile.quantile);
            prop_assert!(truth <= value * 1.005, "{name} {}: {value} < {truth}", percentile.quantile);
        }
    }
    Ok(())
}

/// Of a few late reads, "A" has more than half.
#[test]
fn an_uneven_split_of_late_reads_is_within_chance() {
    let generator = Generator {
        starts_late: (0.275_903_284_310_037_24, 0.000_1),
        reads_late: (0.096_859_415_974_188_48, 0.018_295_943_874_749_566),
        slowest: true,
    };
    holds(generator, 62, 2_577_782_747_611_187_680).unwrap();
}

#[test]
fn a_punctual_generator_causes_no_uncertainty() {
    for per_second in [20, 100, 1_000] {
        for seed in 0..10 {
            let (run, _) = minute(ON_TIME, per_second, seed);
            assert_eq!((uncertainties(&run), grade(&run)), (0, Grade::Valid), "{per_second}/s, seed {seed}");
        }
    }
}

#[test]
fn rare_slow_wake_ups_cause_no_uncertainty() {
    // One in a thousand responses is read 5 ms late, and one in a thousand requests starts 5 ms late.
    let generator = Generator { starts_late: (0.001, 0.005), reads_late: (0.001, 0.005), slowest: false };
    let uncertain = (0..20).filter(|seed| grade(&minute(generator, 100, *seed).0) != Grade::Valid).count();
    assert_eq!(uncertain, 0);
}

#[test]
fn a_late_generator_is_reported_for_the_numbers_that_it_moved() {
    // A fifth of the requests starts 8 ms late on average: times of 10 ms move, medians less than tails.
    let late = Generator { starts_late: (0.2, 0.008), ..ON_TIME };
    let unread = Generator { reads_late: (0.2, 0.008), ..ON_TIME };
    for generator in [late, unread] {
        for seed in 0..10 {
            let (run, truths) = minute(generator, 100, seed);
            let summary = conclude(&run);
            let p95 = times(&summary, "A").percentiles.iter().find(|p| p.quantile == 0.95).copied().unwrap();
            let value = p95.value.unwrap();
            assert!(value > 1.05 * truth(&truths[0], 0.95), "the generator did not move it");
            assert!(p95.uncertainty.is_some(), "{generator:?}, seed {seed}: {p95:?}");
            assert!(summary.verdict.validity.grade > Grade::Valid);
        }
    }
}

#[test]
fn lateness_of_one_request_causes_no_uncertainty_of_another() {
    // 1 ms of read lag for one in a hundred of the responses.
    let generator = Generator { reads_late: (0.01, 0.001), ..ON_TIME };
    let (run, _) = minute(generator, 100, 1);
    let summary = conclude(&run);
    assert!(times(&summary, "B").percentiles.iter().all(|p| p.uncertainty.is_none()), "{:?}", times(&summary, "B"));
}

#[test]
fn a_single_uncertain_number_is_marked_and_the_run_remains_valid() {
    // "Late" starts 2 ms late, three requests do not.
    let run = |late_names: usize| {
        let slices = (0..60).map(|second| {
            let slice = (0..10).fold(Slice::new(second).arrivals(40), |slice, _| {
                ["A", "B", "C", "D"].iter().enumerate().fold(slice, |slice, (number, name)| {
                    slice.request(name, if number < late_names { 2 * MS } else { 50_000 }, 10 * MS, Outcome::Passed)
                })
            });
            slice.done()
        });
        synthetic::run_of(synthetic::plan(synthetic::open(40.0, 60)), slices.collect())
    };
    for (late_names, worth) in [(0, Grade::Valid), (1, Grade::Valid), (2, Grade::Suspect), (4, Grade::Suspect)] {
        let run = run(late_names);
        assert_eq!(grade(&run), worth, "{late_names} late");
        let marked = |name| times(&conclude(&run), name).percentiles.iter().any(|percentile| percentile.uncertainty.is_some());
        assert_eq!(["A", "B", "C", "D"].into_iter().filter(|name| marked(name)).count(), late_names);
    }
}

#[test]
fn lag_of_arrivals_that_waited_for_users_of_a_slow_target_is_no_uncertainty() {
    let run = |users_max| {
        let mut plan = synthetic::plan(synthetic::open(100.0, 60));
        if let loadstone_plan::Load::Run(run) = &mut plan.load {
            run.users_max = Some(users_max);
        }
        let slices = (0..60).map(|second| {
            let slice = (0..100).fold(Slice::new(second).arrivals(100), |slice, _| slice.request("A", SECOND, 200 * MS, Outcome::Passed));
            slice.leaf(|leaf| (leaf.waiting, leaf.users_active) = (100, 20)).done()
        });
        synthetic::run_of(plan, slices.collect())
    };
    let median = |run: &Run| times(&conclude(run), "A").percentiles[0];
    assert_eq!(median(&run(20)).uncertainty, None);
    // While enough users were free, the generator was the cause.
    assert!(median(&run(2_000)).uncertainty.is_some_and(|uncertainty| uncertainty > 0.99));
}

/// Each request waited for the generator to connect, as well as for its response.
#[test]
fn a_request_that_opens_a_connection_is_read_late_twice() {
    let median = |connecting: u32, requests: u32| {
        let second = |number| {
            let mut slice = (0..connecting).fold(Slice::new(number), |slice, _| slice.request_connecting("A", 5 * MS, 20 * MS));
            slice = (connecting..requests).fold(slice, |slice, _| slice.request("A", 0, 20 * MS, Outcome::Passed));
            slice.generator(|generator| generator.read_lag.record_n(MS, requests.into())).done()
        };
        let run = synthetic::run_of(synthetic::plan(synthetic::closed(10, 60)), (0..60).map(second).collect());
        times(&conclude(&run), "A").percentiles[0].uncertainty.unwrap()
    };
    // Reads of 1 ms, known to √2.
    let (none, few, all) = (median(0, 100), median(2, 100), median(100, 100));
    assert!((0.001..0.001 * 1.45).contains(&none) && (0.002..0.002 * 1.45).contains(&all), "{none} {all}");
    // If only few opened a connection, the other requests give the better bound.
    assert_eq!(few, none);
}

#[test]
fn a_group_is_late_for_all_its_requests() {
    let run = synthetic::run_of(
        synthetic::plan(synthetic::closed(10, 60)),
        (0..60)
            .map(|second| {
                let mut slice = Slice::new(second);
                for _ in 0..20 {
                    slice = (0..4).fold(slice, |slice, _| slice.request_in("Buy", "A", 5 * MS));
                    slice.record(SeriesKind::Group, "Buy", 0, 20 * MS, Outcome::Passed);
                }
                slice.generator(|generator| generator.read_lag.record_n(MS, 80)).done()
            })
            .collect(),
    );
    let summary = conclude(&run);
    let uncertainty = summary.groups[0].response.percentiles[0].uncertainty.unwrap();
    // Four reads of 1 ms, known to √2.
    assert!((0.004..0.004 * 1.45).contains(&uncertainty), "{uncertainty}");
}

fn with_threshold(mut run: Run, threshold: Threshold) -> (ThresholdState, String, Grade) {
    run.plan.thresholds = vec![threshold];
    let verdict = conclude(&run).verdict;
    (verdict.thresholds[0].state, verdict.thresholds[0].detail.clone(), verdict.validity.grade)
}

fn below(quantile: f64, seconds: f64) -> Threshold {
    threshold(Metric::ResponseTime, Aggregate::Quantile(quantile), Comparison::Below, seconds)
}

/// A minute of 100/s in which all requests take 10 ms and start 5 ms late.
fn late_by_a_third() -> Run {
    let second = |second| (0..100).fold(Slice::new(second).arrivals(100), |slice, _| slice.request("A", 5 * MS, 10 * MS, Outcome::Passed));
    synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), (0..60).map(|number| second(number).done()).collect())
}

#[test]
fn a_threshold_is_decided_unless_its_bound_lies_within_the_uncertainty() {
    let (state, _, grade) = with_threshold(late_by_a_third(), below(0.95, 0.020));
    assert_eq!((state, grade), (ThresholdState::Passed, Grade::Valid));
    let (state, detail, grade) = with_threshold(late_by_a_third(), below(0.95, 0.009));
    assert_eq!((state, grade), (ThresholdState::Failed, Grade::Valid), "{detail}");
    let (state, detail, grade) = with_threshold(late_by_a_third(), below(0.95, 0.012));
    assert_eq!((state, grade), (ThresholdState::Undecided, Grade::Invalid), "{detail}");
    assert!(detail.contains("cannot be decided: the generator may have added up to 5.0"), "{detail}");
}

#[test]
fn windows_are_decided_one_by_one() {
    let windows = |seconds| Threshold { window: Window::Every { seconds: 10 }, ..below(0.9, seconds) };
    // From second 30 to 40 the generator is 50 ms late; from 10 to 20 the target takes 25 ms.
    let run = || {
        let second = |number: u32| {
            let (lag, service) = match number {
                30..40 => (50 * MS, 10 * MS),
                10..20 => (0, 25 * MS),
                _ => (0, 10 * MS),
            };
            (0..100).fold(Slice::new(number).arrivals(100), |slice, _| slice.request("A", lag, service, Outcome::Passed))
        };
        synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), (0..60).map(|number| second(number).done()).collect())
    };
    assert_eq!(with_threshold(run(), windows(0.070)).0, ThresholdState::Passed);
    assert_eq!(with_threshold(run(), windows(0.040)).0, ThresholdState::Undecided);
    // The target's own slow window fails the threshold, regardless of the later lateness of the generator.
    assert_eq!(with_threshold(run(), windows(0.020)).0, ThresholdState::Failed);
}

#[test]
fn failures_are_counted_exactly_even_with_a_late_generator() {
    let second = |number: u32| {
        (0..100).fold(Slice::new(number).arrivals(100), |slice, n| {
            slice.request("A", 50 * MS, 10 * MS, if n < 10 { Outcome::Status } else { Outcome::Passed })
        })
    };
    let run = || synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), (0..60).map(|number| second(number).done()).collect());
    let few = threshold(Metric::Failures, Aggregate::Rate, Comparison::Below, 0.05);
    let (state, detail, _) = with_threshold(run(), few);
    assert_eq!(state, ThresholdState::Failed, "{detail}");
}

#[test]
fn timeouts_are_uncertain_if_responses_were_read_late() {
    let run = |read_late: u64| {
        let second = |number: u32| {
            let slice = Slice::new(number).requests("A", 90, 10 * MS);
            let slice = (0..10).fold(slice, |slice, _| slice.request("A", 0, SECOND, Outcome::Timeout));
            slice.generator(|generator| {
                generator.read_lag.record_n(20_000, 90);
                generator.read_lag.record_n(300 * MS, read_late);
            })
        };
        synthetic::run_of(synthetic::plan(synthetic::closed(10, 60)), (0..60).map(|number| second(number).done()).collect())
    };
    let few = || threshold(Metric::Failures, Aggregate::Rate, Comparison::Below, 0.05);
    assert_eq!(with_threshold(run(0), few()).0, ThresholdState::Failed);
    assert_eq!(with_threshold(run(10), few()).0, ThresholdState::Undecided);
    assert_eq!(with_threshold(run(2), few()).0, ThresholdState::Failed);
}

#[test]
fn a_rate_that_was_not_requested_is_undecided() {
    let run = |started: u64| {
        let second = |number: u32| {
            let slice = Slice::new(number).requests("A", started, 10 * MS);
            slice.leaf(|leaf| (leaf.arrivals_due, leaf.started, leaf.ended) = (100, started, started))
        };
        synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), (0..60).map(|number| second(number).done()).collect())
    };
    let rate = |least| threshold(Metric::Requests, Aggregate::Rate, Comparison::AtLeast, least);
    let (state, detail, grade) = with_threshold(run(80), rate(95.0));
    assert_eq!((state, grade), (ThresholdState::Undecided, Grade::Invalid), "{detail}");
    // More than was requested.
    assert_eq!(with_threshold(run(80), rate(150.0)).0, ThresholdState::Failed);
    assert_eq!(with_threshold(run(100), rate(150.0)).0, ThresholdState::Failed);
}

/// A busy machine: each request starts `lag` late and is read half as late.
fn busy(per_second: u64, service: u64, lag: u64) -> Run {
    let second = |number: u32| {
        let slice =
            (0..per_second).fold(Slice::new(number).arrivals(per_second), |slice, _| slice.request("A", lag, service, Outcome::Passed));
        slice.generator(|generator| generator.read_lag.record_n(lag / 2, per_second))
    };
    synthetic::run_of(synthetic::plan(synthetic::open(per_second as f64, 60)), (0..60).map(|number| second(number).done()).collect())
}

#[test]
fn lateness_that_changes_no_judged_number_leaves_a_run_valid() {
    for per_second in [12, 20, 40] {
        // A threshold far from the times holds, regardless of the lateness.
        let (state, _, grade) = with_threshold(busy(per_second, 10 * MS, 2 * MS), below(0.95, 0.050));
        assert_eq!((state, grade), (ThresholdState::Passed, Grade::Valid), "{per_second}/s");
        let (state, _, grade) = with_threshold(busy(per_second, 100 * MS, 2 * MS), below(0.95, 0.050));
        assert_eq!((state, grade), (ThresholdState::Failed, Grade::Valid), "{per_second}/s");
        // Without a threshold: times that are much larger than the lateness, and imperceptible lateness.
        assert_eq!(grade_and_uncertainties(&busy(per_second, 100 * MS, 2 * MS)), (Grade::Valid, 0), "{per_second}/s");
        assert_eq!(grade_and_uncertainties(&busy(per_second, 2 * MS, 315_000)), (Grade::Valid, 0), "{per_second}/s");
        // And lateness that is a third of the time, or decides a threshold.
        assert_eq!(grade_and_uncertainties(&busy(per_second, 6 * MS, 2 * MS)).0, Grade::Invalid, "{per_second}/s");
        assert_eq!(with_threshold(busy(per_second, 10 * MS, 2 * MS), below(0.95, 0.011)).0, ThresholdState::Undecided, "{per_second}/s");
    }
}

fn grade_and_uncertainties(run: &Run) -> (Grade, usize) {
    (grade(run), uncertainties(run))
}

#[test]
fn rates_and_failure_counts_are_marked_if_the_generator_can_have_changed_them() {
    let run = |started: u64, read_late: u64| {
        let second = |number: u32| {
            let slice = Slice::new(number).requests("A", started - 10, 10 * MS);
            let slice = (0..10).fold(slice, |slice, _| slice.request("A", 0, SECOND, Outcome::Timeout));
            let slice = slice.generator(|generator| {
                generator.read_lag.record_n(20_000, started - read_late);
                generator.read_lag.record_n(300 * MS, read_late);
            });
            slice.leaf(|leaf| (leaf.arrivals_due, leaf.started, leaf.ended) = (100, started, started))
        };
        synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), (0..60).map(|number| second(number).done()).collect())
    };
    let marks = |run: &Run| {
        let row = conclude(run).requests.remove(0);
        (row.rate_uncertainty.map(f64::round), row.failed_uncertainty)
    };
    assert_eq!(marks(&run(100, 0)), (None, None));
    // Eighty of the hundred that were due: twenty more per second might have been served.
    assert_eq!(marks(&run(80, 0)), (Some(20.0), None));
    assert_eq!(marks(&run(100, 4)), (None, Some(240)));
}

#[test]
fn a_window_with_a_late_generator_is_undecided_and_one_with_a_slow_target_fails() {
    // From second 20 to 25 only half of the due arrivals start, because of the generator, or because the target holds all users. The rest
    // starts in the next five seconds.
    let run = |of_generator: bool| {
        let second = |number: u32| {
            let started = match number {
                20..25 => 50,
                25..30 => 150,
                _ => 100,
            };
            let behind = if (20..25).contains(&number) { u64::from(number - 19) * 50 } else { 0 };
            let slice = Slice::new(number).requests("A", started, 10 * MS);
            slice.leaf(|leaf| {
                (leaf.arrivals_due, leaf.started, leaf.ended) = (100, started, started);
                leaf.waiting = if of_generator { 0 } else { behind };
                leaf.held_back = if of_generator && (20..30).contains(&number) { started } else { 0 };
            })
        };
        synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), (0..60).map(|number| second(number).done()).collect())
    };
    let rate = |least| Threshold {
        window: Window::Every { seconds: 5 },
        ..threshold(Metric::Requests, Aggregate::Rate, Comparison::AtLeast, least)
    };
    let (state, detail, _) = with_threshold(run(true), rate(90.0));
    assert_eq!(state, ThresholdState::Undecided, "{detail}");
    assert_eq!(with_threshold(run(true), rate(110.0)).0, ThresholdState::Failed, "more than was due");
    assert_eq!(with_threshold(run(false), rate(90.0)).0, ThresholdState::Failed, "the target held the users");
}

#[test]
fn few_samples_decide_only_what_they_can() {
    // Ten requests, the last few of 600 ms, the others of 20 ms.
    let run = |slow: u32| {
        let second = |number: u32| Slice::new(number).arrivals(1).requests("A", 1, if number < 10 - slow { 20 * MS } else { 600 * MS });
        synthetic::run_of(synthetic::plan(synthetic::open(1.0, 10)), (0..10).map(|number| second(number).done()).collect())
    };
    assert_eq!(with_threshold(run(0), below(0.95, 0.5)).0, ThresholdState::Passed);
    for (slow, state) in [(1, ThresholdState::Undecided), (2, ThresholdState::Undecided), (3, ThresholdState::Failed)] {
        let (found, detail, grade) = with_threshold(run(slow), below(0.95, 0.5));
        assert_eq!((found, grade), (state, Grade::Valid), "{slow}: {detail}");
    }
    // A median has half of the samples on either side: six of ten do not decide it, nine do.
    assert_eq!(with_threshold(run(6), below(0.5, 0.5)).0, ThresholdState::Undecided);
    assert_eq!(with_threshold(run(9), below(0.5, 0.5)).0, ThresholdState::Failed);
}

#[test]
fn users_that_start_at_once_are_no_bunch_of_late_requests() {
    // A hundred users at once, started within 3 ms; the server takes 40 ms.
    let slice = (0..100).fold(Slice::new(0).arrivals(100), |slice, n| slice.request("A", n * 30_000, 40 * MS, Outcome::Passed));
    let run = synthetic::run_of(synthetic::plan(LoadProfile::burst(100)), vec![slice.done()]);
    let summary = conclude(&run);
    assert_eq!((summary.response.percentiles[0].uncertainty, summary.verdict.validity.grade), (None, Grade::Valid));
}

#[test]
fn a_flow_is_compared_with_its_own_times() {
    let flow = |time: u64| {
        let slices = (0..60).map(|number| {
            let slice = (0..20).fold(Slice::new(number).arrivals(20), |slice, _| slice.request("Pay", 10 * MS, 10 * MS, Outcome::Passed));
            let mut snapshot = slice.done();
            let mut flow = loadstone_metrics::FlowSlice { name: "Time to send".into(), started: 20, finished: 20, ..Default::default() };
            flow.time.record_n(time, 20);
            snapshot.flows = vec![flow];
            snapshot
        });
        synthetic::run_of(synthetic::plan(synthetic::open(20.0, 60)), slices.collect())
    };
    let judged = || Threshold {
        selector: Selector { name: Some("Time to send".to_owned()), ..Selector::default() },
        ..threshold(Metric::FlowTime { stage: None }, Aggregate::Quantile(0.5), Comparison::Below, 60.0)
    };
    let (state, detail, grade) = with_threshold(flow(2 * SECOND), judged());
    assert_eq!((state, grade), (ThresholdState::Passed, Grade::Valid), "{detail}");
    assert_eq!(conclude(&flow(2 * SECOND)).flows[0].time.percentiles[0].uncertainty, None);
    assert!(conclude(&flow(30 * MS)).flows[0].time.percentiles[0].uncertainty.is_some());
}
