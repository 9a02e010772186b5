//! Measures how often a comparison is right, on pairs of simulated runs under a constant load whose truth is known. The table in
//! docs/compare/method.md comes from [`the_whole_table`].

use super::simulated::{SimulatedLoad, System, input};
use super::{ComparedMetric, ComparisonVerdict, EFFECT, RowVerdict, SubjectKind, compare};
use crate::statistics::share_in_words;

const SYSTEMS: [System; 6] = [
    System {
        name: "no queue, log-normal services of 20 ms, 50/s",
        servers: 0,
        load: SimulatedLoad::Constant(50.0),
        service: 0.02,
        seconds: 300,
    },
    System {
        name: "no queue, log-normal services of 20 ms, 500/s",
        servers: 0,
        load: SimulatedLoad::Constant(500.0),
        service: 0.02,
        seconds: 300,
    },
    System { name: "M/M/4 at 0.5, 100/s", servers: 4, load: SimulatedLoad::Constant(100.0), service: 0.02, seconds: 300 },
    System { name: "M/M/4 at 0.8, 160/s", servers: 4, load: SimulatedLoad::Constant(160.0), service: 0.02, seconds: 300 },
    System { name: "M/M/1 at 0.5, 100/s", servers: 1, load: SimulatedLoad::Constant(100.0), service: 0.005, seconds: 300 },
    System { name: "M/M/1 at 0.8, 160/s", servers: 1, load: SimulatedLoad::Constant(160.0), service: 0.005, seconds: 300 },
];

/// Counts over the simulated pairs: reported as different in any row, worse, and the same.
#[derive(Debug, Clone, Copy, Default)]
struct Outcomes {
    pairs: u64,
    different: u64,
    worse: u64,
    same: u64,
    /// Intervals of the ratio of the median, the 99th percentile and the mean that contain the truth.
    covers: [u64; 3],
}

fn outcomes(system: System, seeds: u64, pairs: u64, slower: f64) -> Outcomes {
    let mut outcomes = Outcomes { pairs, ..Outcomes::default() };
    for seed in seeds..seeds + pairs {
        let comparison = system.pair(seed, slower, 0.0);
        outcomes.different += u64::from(comparison.rows().any(|(_, row)| matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse)));
        outcomes.worse += u64::from(comparison.verdict == ComparisonVerdict::Worse);
        outcomes.same += u64::from(comparison.verdict == ComparisonVerdict::Same);
        for (covers, metric) in outcomes.covers.iter_mut().zip([ComparedMetric::P50, ComparedMetric::P99, ComparedMetric::Mean]) {
            let row = comparison.rows().find(|(subject, row)| subject.kind == SubjectKind::Request && row.metric == metric);
            let Some((_, row)) = row else { continue };
            let (low, high) = (row.low.unwrap_or(0.0), row.high.unwrap_or(f64::INFINITY));
            *covers += u64::from(low <= slower && slower <= high);
        }
    }
    outcomes
}

/// `LOADSTONE_COMPARISONS`: pairs per setting; `LOADSTONE_COMPARISON_SEED`: the first seed. The figures of docs/compare/method.md take minutes:
/// `LOADSTONE_COMPARISONS=250 LOADSTONE_COMPARISON_SEED=20001 cargo test -p loadstone-analysis --lib comparison::truth -- --nocapture`.
#[test]
fn the_whole_table() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (pairs, seeds) = (asked("LOADSTONE_COMPARISONS").unwrap_or(12), asked("LOADSTONE_COMPARISON_SEED").unwrap_or(1));
    println!(
        "| system, five minutes each | unchanged reported as different | mean covered | p50 covered | p99 covered | 5 % slower found \
     | reported as better |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    std::thread::scope(|scope| {
        let both = |system| (outcomes(system, seeds, pairs, 1.0), outcomes(system, seeds, pairs, 1.05));
        let rows: Vec<_> = SYSTEMS.map(|system| (system, scope.spawn(move || both(system)))).into_iter().collect();
        for (system, row) in rows {
            let (same, slower) = row.join().unwrap();
            // The promise is one in a hundred; three of twelve occur once in five thousand times.
            assert!(same.different * 5 <= same.pairs, "{}: {same:?}", system.name);
            println!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                system.name,
                share_in_words(same.different, pairs),
                share_in_words(same.covers[2], pairs),
                share_in_words(same.covers[0], pairs),
                share_in_words(same.covers[1], pairs),
                share_in_words(slower.worse, pairs),
                share_in_words(slower.different - slower.worse, pairs),
            );
        }
    });
}

#[test]
fn a_slower_system_is_found_and_an_equal_one_is_not() {
    let system = SYSTEMS[1];
    let slower = system.pair(7, 1.05, 0.0);
    assert_eq!(slower.verdict, ComparisonVerdict::Worse, "{}", slower.headline);
    let p50 = slower.rows().find(|(subject, row)| subject.kind == SubjectKind::Request && row.metric == ComparedMetric::P50).unwrap().1;
    assert!(p50.low.unwrap() > 1.03 && p50.high.unwrap() < 1.07, "{p50:?}");
    let same = system.pair(7, 1.0, 0.0);
    assert_eq!(same.verdict, ComparisonVerdict::Same, "{}", same.headline);
    // In reverse, it is better.
    let (a, b) = (system.run(14, 1.05, 0.0), system.run(15, 1.0, 0.0));
    let faster = compare(input(&a), input(&b), EFFECT);
    assert_eq!(faster.verdict, ComparisonVerdict::Better, "{}", faster.headline);
}
