//! Measures how often a comparison of two ramps is right, on pairs of simulated runs under the same plan whose truth is known. The table in
//! docs/compare/method.md comes from [`the_whole_table`].

use std::ops::Range;

use loadstone_metrics::Histogram;

use super::simulated::{SimulatedLoad, System, input};
use super::{ComparedMetric, ComparedRow, ComparisonVerdict, EFFECT, RowVerdict, RunComparison, SubjectKind, compare};
use crate::statistics::share_in_words;

const fn ramp(from: f64, to: f64) -> SimulatedLoad {
    SimulatedLoad::Ramp { from, to }
}

const CALM: System =
    System { name: "no queue, log-normal services of 20 ms, 5 to 100/s", servers: 0, load: ramp(5.0, 100.0), service: 0.02, seconds: 60 };
const HALF: System = System { name: "M/M/4 up to 0.5, 5 to 100/s", servers: 4, load: ramp(5.0, 100.0), service: 0.02, seconds: 60 };
const BEYOND: System = System { name: "M/M/4 up to 1.2, 10 to 240/s", servers: 4, load: ramp(10.0, 240.0), service: 0.02, seconds: 60 };
const CROWDED: System = System {
    name: "M/M/4, up to 40 users, of whom 24 keep it busy",
    servers: 4,
    load: SimulatedLoad::Users(40),
    service: 0.02,
    seconds: 60,
};
const SYSTEMS: [System; 8] = [
    CALM,
    HALF,
    System { name: "M/M/4 up to 0.8, 0 to 160/s", servers: 4, load: ramp(0.0, 160.0), service: 0.02, seconds: 60 },
    System { name: "M/M/4 up to 0.8, 0 to 160/s, five minutes", servers: 4, load: ramp(0.0, 160.0), service: 0.02, seconds: 300 },
    System { name: "M/M/1 up to 0.8, 10 to 160/s", servers: 1, load: ramp(10.0, 160.0), service: 0.005, seconds: 60 },
    BEYOND,
    System { name: "M/M/4, up to 15 users", servers: 4, load: SimulatedLoad::Users(15), service: 0.02, seconds: 60 },
    CROWDED,
];
const METRICS: [ComparedMetric; 3] = [ComparedMetric::Mean, ComparedMetric::P50, ComparedMetric::P95];

fn row(comparison: &RunComparison, metric: ComparedMetric) -> &ComparedRow {
    comparison.rows().find(|(subject, row)| subject.kind == SubjectKind::Request && row.metric == metric).unwrap().1
}

/// Counts over the simulated pairs.
#[derive(Debug, Clone, Copy, Default)]
struct RampOutcomes {
    different: u64,
    worse: u64,
    better: u64,
    /// Intervals that contain the truth, in the order of [`METRICS`].
    covers: [u64; 3],
}

fn outcomes(system: System, seeds: Range<u64>, slower: f64, truth: [f64; 3]) -> RampOutcomes {
    let mut outcomes = RampOutcomes::default();
    for seed in seeds {
        let comparison = system.pair(seed, slower, 0.0);
        outcomes.different += u64::from(comparison.rows().any(|(_, row)| matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse)));
        outcomes.worse += u64::from(comparison.verdict == ComparisonVerdict::Worse);
        outcomes.better += u64::from(matches!(comparison.verdict, ComparisonVerdict::Better | ComparisonVerdict::Mixed));
        for ((covers, metric), truth) in outcomes.covers.iter_mut().zip(METRICS).zip(truth) {
            let row = row(&comparison, metric);
            *covers += u64::from(row.low.is_none_or(|low| low <= truth) && row.high.is_none_or(|high| truth <= high));
        }
    }
    outcomes
}

/// The ratios of the numbers of this many runs together.
fn truth_of(system: System, slower: f64, runs: u64) -> [f64; 3] {
    if system.servers == 0 {
        return [slower; 3];
    }
    let numbers = |slower: f64| {
        let mut all = Histogram::new();
        for seed in 0..runs {
            let (run, _) = system.run(1_000_000 + seed, slower, 0.0);
            run.slices.iter().flat_map(|slice| &slice.series).for_each(|series| all.merge(&series.response));
        }
        [all.mean().unwrap(), all.quantile(0.5).unwrap() as f64, all.quantile(0.95).unwrap() as f64]
    };
    let (old, new) = (numbers(1.0), numbers(slower));
    std::array::from_fn(|at| new[at] / old[at])
}

/// As in `truth`: `LOADSTONE_COMPARISONS=200 LOADSTONE_COMPARISON_SEED=20001 cargo test -p loadstone-analysis --lib comparison::ramp_truth -- --nocapture`.
#[test]
fn the_whole_table() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (pairs, first) = (asked("LOADSTONE_COMPARISONS").unwrap_or(8), asked("LOADSTONE_COMPARISON_SEED").unwrap_or(1));
    println!(
        "| system, a ramp of a minute | unchanged reported as different | mean, p50, p95 covered | 20 % slower found | reported as better \
         | mean, p50, p95 covered |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    std::thread::scope(|scope| {
        let both = |system| {
            let seeds = first..first + pairs;
            let truth = truth_of(system, 1.2, (10 * pairs).min(400));
            (outcomes(system, seeds.clone(), 1.0, [1.0; 3]), outcomes(system, seeds, 1.2, truth))
        };
        let rows: Vec<_> = SYSTEMS.map(|system| (system, scope.spawn(move || both(system)))).into_iter().collect();
        for (system, row) in rows {
            let (same, slower) = row.join().unwrap();
            assert!(same.different * 5 <= pairs && slower.better * 5 <= pairs, "{}: {same:?}, {slower:?}", system.name);
            assert!(same.covers.iter().all(|covers| covers * 4 >= pairs * 3), "{}: {same:?}", system.name);
            let share = |of| share_in_words(of, pairs);
            let covered = |of: [u64; 3]| of.map(|covers| format!("{:.1}", 100.0 * covers as f64 / pairs as f64)).join(", ");
            println!(
                "| {} | {} | {} % | {} | {} | {} % |",
                system.name,
                share(same.different),
                covered(same.covers),
                share(slower.worse),
                share(slower.better),
                covered(slower.covers)
            );
        }
    });
}

#[test]
fn a_ramp_of_a_minute_detects_a_change_of_20_percent() {
    for system in [CALM, HALF] {
        let slower = system.pair(3, 1.2, 0.0);
        assert_eq!(slower.verdict, ComparisonVerdict::Worse, "{}: {}", system.name, slower.headline);
        let p50 = row(&slower, ComparedMetric::P50);
        assert!(p50.verdict == RowVerdict::Worse && p50.low.unwrap() > 1.03 && p50.high.unwrap() < 1.5, "{}: {p50:?}", system.name);
        let same = system.pair(3, 1.0, 0.0);
        assert!(same.rows().all(|(_, row)| !matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse)), "{}", same.headline);
    }
}

/// The same seconds without the knowledge that they had the same load: the other run's plan ends with half as many users.
#[test]
fn the_effect_of_the_ramp_is_no_random_variation() {
    let width = |comparison: &RunComparison, metric| {
        let row = row(comparison, metric);
        row.low.zip(row.high).map_or(f64::INFINITY, |(low, high)| (high / low).ln())
    };
    let (a, mut b) = (CROWDED.run(6, 1.0, 0.0), CROWDED.run(7, 1.2, 0.0));
    let paired = compare(input(&a), input(&b), EFFECT);
    assert_eq!(paired.verdict, ComparisonVerdict::Worse, "{}", paired.headline);
    b.0.plan = System { load: SimulatedLoad::Users(20), ..CROWDED }.run(7, 1.0, 0.0).0.plan;
    let unpaired = compare(input(&a), input(&b), EFFECT);
    for metric in METRICS {
        let (narrow, wide) = (width(&paired, metric), width(&unpaired, metric));
        assert!(narrow < 0.5 * wide, "{metric:?}: {narrow} against {wide}");
    }
}

/// A queue that grows until the load ends is a single queue, regardless of its number of requests. Whether it grew to half or twice its
/// length is chance.
#[test]
fn a_ramp_beyond_the_limit_is_undecided() {
    for seed in 1..=6 {
        let comparison = BEYOND.pair(seed, 1.0, 0.0);
        let mean = row(&comparison, ComparedMetric::Mean);
        assert!(mean.verdict == RowVerdict::CannotTell && mean.why.contains("queued") && mean.minutes_needed.is_none(), "{mean:?}");
        assert!(!matches!(comparison.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse), "{}", comparison.headline);
    }
}
