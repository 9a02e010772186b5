//! Recorded noise instead of simulated noise: equal runs of a real server, one after the other. docs/trend.md describes the recording.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::numbers::TrendNumbers;
use super::{RunTrend, TrendInput, TrendRun};
use crate::statistics::share_in_words;

/// One line for each run: p50, p95 and p99 of all requests, of "Search" and of "Buy". Seconds.
const QUIET: &str = include_str!("recorded/quiet.csv");
/// Recorded while other programs compiled on the same two cores.
const BUSY: &str = include_str!("recorded/busy.csv");

fn runs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<TrendInput> {
    let run = |(place, line): (usize, &str)| {
        let times: Vec<Option<f64>> = line.split(',').map(|number| number.parse().ok()).collect();
        let of = |from: usize| [times[from], times[from + 1], times[from + 2]];
        let numbers = TrendNumbers::of_times(of(0), &[("Search", of(3)), ("Buy", of(6))]);
        TrendInput { run: TrendRun { id: format!("run-{place}"), ..TrendRun::default() }, numbers }
    };
    lines.enumerate().map(run).collect()
}

/// Alerts in every window of twenty consecutive runs, the number of windows, and whether all runs together raise an alert.
fn alerts(recorded: &str) -> (usize, usize, bool) {
    let inputs = runs(recorded.lines());
    let has_alert = |part: &[TrendInput]| !RunTrend::of("recorded", part).steps().is_empty();
    let windows: Vec<bool> = inputs.windows(20).map(has_alert).collect();
    (windows.iter().filter(|alert| **alert).count(), windows.len(), has_alert(&inputs))
}

/// `cargo test -p loadstone-analysis --lib run_trend::recorded -- --nocapture` prints the figures of docs/trend.md.
#[test]
fn runs_of_a_server_that_did_not_change_raise_no_alert() {
    for (name, recorded) in [("quiet", QUIET), ("busy", BUSY)] {
        let (alerts_raised, windows, whole) = alerts(recorded);
        println!(
            "{name}: {} runs; alerts in {alerts_raised} of {windows} windows of 20, in all together: {whole}",
            recorded.lines().count()
        );
        // A machine that compiles next to the server changes by itself, so alerts on it are not limited.
        assert!(name == "busy" || (!whole && alerts_raised == 0), "{name}: {alerts_raised} of {windows}");
    }
}

/// Histories of sixty runs, composed of blocks of consecutive recorded runs, so that the correlation of neighbours is preserved (Künsch,
/// "The jackknife and the bootstrap for general stationary observations", 1989). None of the runs differs from the others by more than
/// chance.
fn alerts_of_drawn(recorded: &str, runs_per_block: usize, histories: u64) -> u64 {
    let lines: Vec<&str> = recorded.lines().collect();
    let history = |seed: u64| {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut drawn: Vec<&str> = Vec::new();
        while drawn.len() < HISTORY_RUNS {
            let from = draws.next_u64() as usize % (lines.len() - runs_per_block + 1);
            drawn.extend(&lines[from..from + runs_per_block]);
        }
        RunTrend::of("drawn", &runs(drawn[..HISTORY_RUNS].iter().copied()))
    };
    (1..=histories).map(history).filter(|trend| !trend.steps().is_empty()).count() as u64
}

const HISTORY_RUNS: usize = 60;
const RUNS_PER_BLOCK: usize = 4;

/// `LOADSTONE_TRENDS=200 cargo test -p loadstone-analysis --lib run_trend::recorded -- --nocapture` prints the figures of docs/trend.md.
#[test]
fn histories_of_recorded_noise_raise_an_alert_in_one_of_twenty() {
    let histories = std::env::var("LOADSTONE_TRENDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    for (name, recorded, runs_per_block) in
        [("quiet", QUIET, RUNS_PER_BLOCK), ("busy", BUSY, RUNS_PER_BLOCK), ("busy, in random order", BUSY, 1)]
    {
        let alerts_raised = alerts_of_drawn(recorded, runs_per_block, histories);
        println!("{name}: alerts in {} of {histories} histories of {HISTORY_RUNS} runs", share_in_words(alerts_raised, histories));
        assert!(alerts_raised * 4 <= histories, "{name}: {alerts_raised} of {histories}");
    }
}

/// The last eight of the quiet runs, slowed by 10 %: the variation between runs is recorded, the step is planted.
#[test]
fn a_planted_step_is_reported_where_the_noise_is_low_enough() {
    let planted = |line: (usize, &str)| -> String {
        let longer = if line.0 < QUIET.lines().count() - 8 { 1.0 } else { 1.1 };
        let times: Vec<String> = line
            .1
            .split(',')
            .map(|number| number.parse::<f64>().map_or_else(|_| String::new(), |time| (time * longer).to_string()))
            .collect();
        times.join(",")
    };
    let lines: Vec<String> = QUIET.lines().enumerate().map(planted).collect();
    let trend = RunTrend::of("recorded", &runs(lines.iter().map(String::as_str)));
    let steps = trend.steps();
    steps.iter().for_each(|(series, step)| println!("planted at 14: {} {} at {}", series.title(), step.in_words(series.metric), step.at));
    let (_, step) = steps.iter().find(|(series, _)| series.title() == "p50 of \"Search\"").expect("the steadiest series shows it");
    assert!(step.at == 14 && step.low < 1.1 && 1.1 < step.high, "{step:?}");
    assert!(steps.iter().all(|(_, step)| step.at.abs_diff(14) <= 2), "{}", trend.headline);
}
