//! Measures how often a trend is right, on simulated histories. The table in docs/trend.md comes from [`the_whole_table`].

use loadstone_metrics::{SeriesKey, SeriesKind};

use super::{RunTrend, TrendInput, TrendNumbers, TrendRun};
use crate::statistics::draws::Draws;
use crate::statistics::share_in_words;
use crate::{Findings, Grade, Percentile, RequestRow, RunTotals, Summary, TimeStats, Validity, Verdict};

/// Runs of a system, and their variation without any change.
#[derive(Debug, Clone, Copy)]
struct Noise {
    name: &'static str,
    runs: usize,
    /// Standard deviation of ln p95 of one run; half of it for p50, twice for p99.
    deviation: f64,
    /// Correlation of a run with the previous one.
    memory: f64,
    /// One run in this many takes 50 % longer; 0: none.
    outliers: u64,
}

const NOISES: [Noise; 6] = [
    Noise { name: "60 runs, ±3 %, independent", runs: 60, deviation: 0.03, memory: 0.0, outliers: 0 },
    Noise { name: "200 runs, ±3 %, independent", runs: 200, deviation: 0.03, memory: 0.0, outliers: 0 },
    Noise { name: "60 runs, ±3 %, correlated by 0.5", runs: 60, deviation: 0.03, memory: 0.5, outliers: 0 },
    Noise { name: "100 runs, ±3 %, correlated by 0.7", runs: 100, deviation: 0.03, memory: 0.7, outliers: 0 },
    Noise { name: "60 runs, ±3 %, one in 15 an outlier", runs: 60, deviation: 0.03, memory: 0.0, outliers: 15 },
    Noise { name: "20 runs, ±2 %, independent", runs: 20, deviation: 0.02, memory: 0.0, outliers: 0 },
];

impl Noise {
    /// From the run `from` on, all times are multiplied by `slower`.
    fn history(self, seed: u64, from: usize, slower: f64) -> RunTrend {
        let mut draws = Draws::new(seed);
        let mut machine = draws.normal();
        let inputs: Vec<TrendInput> = (0..self.runs)
            .map(|run| {
                machine = self.memory * machine + (1.0 - self.memory * self.memory).sqrt() * draws.normal();
                let is_outlier = self.outliers > 0 && draws.uniform() * (self.outliers as f64) < 1.0;
                let times = if run >= from { slower } else { 1.0 } * if is_outlier { 1.5 } else { 1.0 };
                let requests = ["Buy", "List"].map(|name| {
                    // The common part of all requests of a run, and the part of each request.
                    let of = |sd: f64, own: f64| times * (sd * (0.8 * machine + 0.6 * own)).exp();
                    let own = draws.normal();
                    let times = [
                        0.02 * of(0.5 * self.deviation, own),
                        0.04 * of(self.deviation, own),
                        0.08 * of(2.0 * self.deviation, draws.normal()),
                    ];
                    (name, times)
                });
                input(run, &requests)
            })
            .collect();
        RunTrend::of("history", &inputs)
    }
}

fn stats(times: [f64; 3]) -> TimeStats {
    let percentile = |(quantile, value): (f64, f64)| Percentile {
        quantile,
        value: Some(value),
        low: None,
        high: None,
        samples_beyond: 100,
        uncertainty: None,
    };
    TimeStats { count: 10_000, percentiles: [0.5, 0.95, 0.99].into_iter().zip(times).map(percentile).collect(), ..TimeStats::default() }
}

fn input(run: usize, requests: &[(&str, [f64; 3])]) -> TrendInput {
    let row = |(name, times): &(&str, [f64; 3])| RequestRow {
        key: SeriesKey::new(SeriesKind::Request, *name, "Buy"),
        count: 10_000,
        failed: 0,
        rate: 100.0,
        response: stats(*times),
        service: TimeStats::default(),
        lag: TimeStats::default(),
        phases: Vec::new(),
        outcomes: Vec::new(),
        statuses: Vec::new(),
        bytes_sent: 0,
        bytes_received: 0,
        retried: 0,
        rate_uncertainty: None,
        failed_uncertainty: None,
    };
    let summary = Summary {
        source: crate::LoadSource::default(),
        schema: Summary::SCHEMA,
        id: format!("run-{run}"),
        test: "history".to_owned(),
        started: String::new(),
        totals: RunTotals { requests: 20_000, ..RunTotals::default() },
        response: stats(requests[0].1),
        requests: requests.iter().map(row).collect(),
        groups: Vec::new(),
        scenarios: Vec::new(),
        flows: Vec::new(),
        checks: Vec::new(),
        metrics: Vec::new(),
        tagged: Vec::new(),
        spans: Vec::new(),
        profiles: Vec::new(),
        proofs: Vec::new(),
        errors: Vec::new(),
        signals: Vec::new(),
        changes: Vec::new(),
        resources: Vec::new(),
        verdict: Verdict {
            validity: Validity { grade: Grade::Valid, checks: Vec::new() },
            thresholds: Vec::new(),
            findings: Findings { findings: Vec::new(), remark: crate::Remark::default() },
        },
    };
    TrendInput { run: TrendRun { id: format!("run-{run}"), ..TrendRun::default() }, numbers: TrendNumbers::of(&summary) }
}

/// Counts over histories: any step reported without a change; and for a change of 10 % fifteen runs (or a third) before the end: found at
/// all, found at the exact run, and another run reported.
fn outcomes(noise: Noise, histories: u64) -> [u64; 4] {
    let from = noise.runs - (noise.runs / 3).min(15);
    let mut outcomes = [0; 4];
    for seed in 1..=histories {
        outcomes[0] += u64::from(!noise.history(seed, usize::MAX, 1.0).steps().is_empty());
        let changed = noise.history(seed + 1_000_000, from, 1.1);
        let steps = changed.steps();
        outcomes[1] += u64::from(steps.iter().any(|(_, step)| step.at.abs_diff(from) <= 2 && step.is_worse()));
        outcomes[2] += u64::from(steps.iter().any(|(_, step)| step.at == from && step.is_worse()));
        outcomes[3] += u64::from(steps.iter().any(|(_, step)| step.at.abs_diff(from) > 2));
    }
    outcomes
}

/// `LOADSTONE_TRENDS`: histories per row. The figures of docs/trend.md use 200: `LOADSTONE_TRENDS=200 cargo test -p loadstone-analysis
/// --lib run_trend::truth -- --nocapture`.
#[test]
fn the_whole_table() {
    let histories = std::env::var("LOADSTONE_TRENDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    println!("| history | false alert | 10 % step found | its run named | another run named, too |\n|---|--:|--:|--:|--:|");
    for noise in NOISES {
        let [alerts, found, named, wrong] = outcomes(noise, histories);
        let share = |hits: u64| share_in_words(hits, histories);
        println!("| {} | {} | {} | {} | {} |", noise.name, share(alerts), share(found), share(named), share(wrong));
        // The promise is one in twenty; five of twenty occur once in four hundred times.
        assert!(alerts * 4 <= histories, "{}: {alerts} of {histories}", noise.name);
    }
}

#[test]
fn a_slower_release_is_named_with_its_size() {
    let trend = NOISES[0].history(3, 45, 1.2);
    let steps = trend.steps();
    let (series, step) = steps.first().unwrap();
    assert_eq!((step.at, step.before_at), (45, 44), "{}", trend.headline);
    assert!(step.low < 1.2 && 1.2 < step.high && step.high - step.low < 0.1, "{step:?}");
    assert!(trend.headline.contains("rose by") && trend.headline.contains("run-45"), "{} {}", trend.headline, series.title());
    let few = NOISES[0];
    assert!(Noise { runs: 5, ..few }.history(1, 9, 1.0).headline.starts_with("cannot tell: 5 runs so far"));
}
