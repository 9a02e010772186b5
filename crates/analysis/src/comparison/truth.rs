//! How often a comparison is right, on pairs of simulated runs whose truth is known: queues with Poisson arrivals, whose neighbouring response times depend on
//! each other, and services that know no queue. The tables in docs/compare.md come from [`the_whole_table`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use metrics::{Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use plan::{LoadProfile, TestPlan};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use run_directory::{Run, RunEnd, RunInfo};

use super::{ComparedInput, ComparedMetric, ComparisonVerdict, EFFECT, RowVerdict, RunComparison, SubjectKind, compare};
use crate::robust::share_in_words;
use crate::summary::{Numbers, Told};
use crate::{Findings, Grade, RunTally, Summary, Validity, Verdict};

/// A system under Poisson arrivals.
#[derive(Debug, Clone, Copy)]
struct System {
    name: &'static str,
    /// 0: as many as anyone wants.
    servers: usize,
    arrivals: f64,
    /// Mean service. Seconds.
    service: f64,
    seconds: usize,
}

const SYSTEMS: [System; 6] = [
    System { name: "no queue, log-normal services of 20 ms, 50/s", servers: 0, arrivals: 50.0, service: 0.02, seconds: 300 },
    System { name: "no queue, log-normal services of 20 ms, 500/s", servers: 0, arrivals: 500.0, service: 0.02, seconds: 300 },
    System { name: "M/M/4 at 0.5, 100/s", servers: 4, arrivals: 100.0, service: 0.02, seconds: 300 },
    System { name: "M/M/4 at 0.8, 160/s", servers: 4, arrivals: 160.0, service: 0.02, seconds: 300 },
    System { name: "M/M/1 at 0.5, 100/s", servers: 1, arrivals: 100.0, service: 0.005, seconds: 300 },
    System { name: "M/M/1 at 0.8, 160/s", servers: 1, arrivals: 160.0, service: 0.005, seconds: 300 },
];

struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.uniform().ln() * mean
    }

    /// Of this median, with σ = 0.5 (Box and Muller, 1958).
    fn log_normal(&mut self, median: f64) -> f64 {
        let normal = (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
        median * (0.5 * normal).exp()
    }
}

impl System {
    /// `slower`: services take so many times as long; `failing`: share of the requests that fail.
    fn run(self, seed: u64, slower: f64, failing: f64) -> (Run, Summary) {
        const WARM_UP: f64 = 30.0;
        let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(seed));
        let key = SeriesKey::new(SeriesKind::Request, "Buy", "Buy");
        let mut seconds: Vec<SeriesSlice> = (0..self.seconds).map(|_| SeriesSlice::new(key.clone())).collect();
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.servers).map(|_| Reverse(0)).collect();
        let mut now = 0.0;
        while now < WARM_UP + self.seconds as f64 {
            now += draws.exponential(1.0 / self.arrivals);
            let end = match free.pop() {
                Some(Reverse(free_ns)) => {
                    let end = now.max(free_ns as f64 / 1e9) + draws.exponential(self.service * slower);
                    free.push(Reverse((end * 1e9) as u64));
                    end
                }
                None => now + draws.log_normal(self.service * slower),
            };
            let fails = draws.uniform() < failing;
            if end >= WARM_UP
                && let Some(second) = seconds.get_mut((end - WARM_UP) as usize)
            {
                let ns = ((end - now) * 1e9) as u64;
                second.count += 1;
                second.failed += u64::from(fails);
                second.response.record(ns);
                second.service.record(ns);
            }
        }
        let slices = seconds.into_iter().zip(0u32..).map(|(series, slice)| {
            let start = u64::from(slice) * 1_000_000_000;
            let outcomes = vec![(Outcome::Passed, series.count - series.failed), (Outcome::Status, series.failed)];
            let series = SeriesSlice { outcomes, ..series };
            Snapshot { slice, start, end: start + 1_000_000_000, series: vec![series], ..Snapshot::default() }
        });
        let slices: Vec<Snapshot> = slices.collect();
        let plan = TestPlan::of_scenario("queue", "Buy", LoadProfile::rate(self.arrivals, self.seconds as u64 * 1_000_000_000));
        let run = Run { end: Some(RunEnd::Completed), ..Run::new(RunInfo::default(), plan, slices) };
        let summary = summary(&run);
        (run, summary)
    }

    fn pair(self, seed: u64, slower: f64, failing: f64) -> RunComparison {
        let (a, b) = (self.run(2 * seed, 1.0, 0.0), self.run(2 * seed + 1, slower, failing));
        compare(input(&a), input(&b), EFFECT)
    }
}

/// The numbers alone: what is found and judged makes no difference here.
fn summary(run: &Run) -> Summary {
    let verdict = Verdict {
        validity: Validity { grade: Grade::Valid, checks: Vec::new() },
        thresholds: Vec::new(),
        findings: Findings { findings: Vec::new(), remark: String::new() },
    };
    let told = Told { signals: Vec::new(), changes: Vec::new(), resources: Vec::new(), spans: Vec::new(), profiles: Vec::new(), verdict };
    Numbers::of(run, &RunTally::of(&run.slices)).into_summary(&run.info, &run.plan.name, told)
}

fn input((run, summary): &(Run, Summary)) -> ComparedInput<'_> {
    ComparedInput { run, summary, load: &[] }
}

/// Of so many pairs: called different in any row, found slower, and found slower by its median.
#[derive(Debug, Clone, Copy, Default)]
struct Outcomes {
    pairs: u64,
    different: u64,
    worse: u64,
    same: u64,
    /// Intervals of the median's, the 99th percentile's and the mean's ratio that hold the truth, where it is known.
    holds: [u64; 3],
}

fn told(system: System, seeds: u64, pairs: u64, slower: f64) -> Outcomes {
    let mut told = Outcomes { pairs, ..Outcomes::default() };
    for seed in seeds..seeds + pairs {
        let comparison = system.pair(seed, slower, 0.0);
        told.different += u64::from(comparison.rows().any(|(_, row)| matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse)));
        told.worse += u64::from(comparison.verdict == ComparisonVerdict::Worse);
        told.same += u64::from(comparison.verdict == ComparisonVerdict::Same);
        for (holds, metric) in told.holds.iter_mut().zip([ComparedMetric::P50, ComparedMetric::P99, ComparedMetric::Mean]) {
            let row = comparison.rows().find(|(subject, row)| subject.kind == SubjectKind::Request && row.metric == metric);
            let Some((_, row)) = row else { continue };
            let (low, high) = (row.low.unwrap_or(0.0), row.high.unwrap_or(f64::INFINITY));
            *holds += u64::from(low <= slower && slower <= high);
        }
    }
    told
}

/// `LOADSTONE_COMPARISONS`: pairs per setting; `LOADSTONE_COMPARISON_SEED`: of the first. These are the figures of docs/compare.md, in minutes:
/// `LOADSTONE_COMPARISONS=250 LOADSTONE_COMPARISON_SEED=20001 cargo test -p loadstone-analysis --lib comparison::truth -- --nocapture`.
#[test]
fn the_whole_table() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (pairs, seeds) = (asked("LOADSTONE_COMPARISONS").unwrap_or(12), asked("LOADSTONE_COMPARISON_SEED").unwrap_or(1));
    println!("| system, five minutes each | same called different | mean held | p50 held | p99 held | 5 % slower found | called better |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    std::thread::scope(|scope| {
        let both = |system| (told(system, seeds, pairs, 1.0), told(system, seeds, pairs, 1.05));
        let rows: Vec<_> = SYSTEMS.map(|system| (system, scope.spawn(move || both(system)))).into_iter().collect();
        for (system, row) in rows {
            let (same, slower) = row.join().unwrap();
            // One in a hundred is the promise: three of twelve are seen once in five thousand times.
            assert!(same.different * 5 <= same.pairs, "{}: {same:?}", system.name);
            println!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                system.name,
                share_in_words(same.different, pairs),
                share_in_words(same.holds[2], pairs),
                share_in_words(same.holds[0], pairs),
                share_in_words(same.holds[1], pairs),
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
    // Turned round, it is better.
    let (a, b) = (system.run(14, 1.05, 0.0), system.run(15, 1.0, 0.0));
    let faster = compare(input(&a), input(&b), EFFECT);
    assert_eq!(faster.verdict, ComparisonVerdict::Better, "{}", faster.headline);
}
