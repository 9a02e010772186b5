//! Noise that was recorded, not drawn: equal runs of a real server, one after the other. How they were made: docs/trend.md.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use super::numbers::TrendNumbers;
use super::{RunTrend, TrendInput, TrendRun};
use crate::statistics::share_in_words;

/// One line for each run: p50, p95 and p99 of all requests, of "Search" and of "Buy". Seconds.
const QUIET: &str = include_str!("recorded/quiet.csv");
/// While other programs compiled on the same two cores.
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

/// Alerts of every stretch of twenty consecutive runs, and of all of them.
fn alerts(recorded: &'static str) -> (usize, usize, bool) {
    let inputs = runs(recorded.lines());
    let told = |part: &[TrendInput]| !RunTrend::of("recorded", part).steps().is_empty();
    let windows: Vec<bool> = inputs.windows(20).map(told).collect();
    (windows.iter().filter(|told| **told).count(), windows.len(), told(&inputs))
}

/// `cargo test -p loadstone-analysis --lib run_trend::recorded -- --nocapture` prints the figures of docs/trend.md.
#[test]
fn runs_of_a_server_that_did_not_change_raise_no_alert() {
    for (name, recorded) in [("quiet", QUIET), ("busy", BUSY)] {
        let (told, windows, whole) = alerts(recorded);
        println!("{name}: {} runs; alerts in {told} of {windows} stretches of 20, in all together: {whole}", recorded.lines().count());
        // A machine that compiles beside the server changes by itself: what is told of it is no promise.
        assert!(name == "busy" || (!whole && told == 0), "{name}: {told} of {windows}");
    }
}

/// Histories of sixty runs made of what was recorded, whole runs and so many in a row, so that what neighbours share is kept; drawn anew wherever a piece
/// ends (Künsch, "The jackknife and the bootstrap for general stationary observations", 1989). No run of them differs from the others by more than chance.
fn alerts_of_drawn(recorded: &'static str, histories: u64) -> u64 {
    let lines: Vec<&str> = recorded.lines().collect();
    let history = |seed: u64| {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut drawn: Vec<&'static str> = Vec::new();
        while drawn.len() < HISTORY_RUNS {
            let from = draws.next_u64() as usize % (lines.len() - IN_A_ROW + 1);
            drawn.extend(&lines[from..from + IN_A_ROW]);
        }
        RunTrend::of("drawn", &runs(drawn[..HISTORY_RUNS].iter().copied()))
    };
    (1..=histories).map(history).filter(|trend| !trend.steps().is_empty()).count() as u64
}

const HISTORY_RUNS: usize = 60;
const IN_A_ROW: usize = 4;

/// `LOADSTONE_TRENDS=200 cargo test -p loadstone-analysis --lib run_trend::recorded -- --nocapture` prints the figures of docs/trend.md.
#[test]
fn histories_of_recorded_noise_raise_an_alert_in_one_of_twenty() {
    let histories = std::env::var("LOADSTONE_TRENDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    for (name, recorded) in [("quiet", QUIET), ("busy", BUSY)] {
        let told = alerts_of_drawn(recorded, histories);
        println!("{name}: alerts in {} of {histories} histories of {HISTORY_RUNS} runs", share_in_words(told, histories));
        assert!(told * 4 <= histories, "{name}: {told} of {histories}");
    }
}

/// The last eight of the quiet runs, made 10 % longer: what differs from run to run is recorded, the step is planted.
#[test]
fn a_planted_step_is_told_where_runs_are_alike_enough() {
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
