//! Compares the 95 % intervals with a truth in closed form: the response time of an M/M/1 queue is exponential with rate μ − λ, so its
//! quantile is −ln(1 − q) / (μ − λ).

use loadstone_analysis::{Percentile, conclude};
use loadstone_metrics::{Outcome, Phases, Recorder, Sample, SeriesKind, Snapshot};

use crate::draws::Draws;
use crate::synthetic;

/// `seconds` of a stationary M/M/1 queue on virtual time, recorded second by second.
fn queue(seed: u64, arrivals: f64, services: f64, seconds: u32) -> Vec<Snapshot> {
    let mut draws = Draws::new(seed);
    let mut recorder = Recorder::new(0, 10);
    let id = recorder.series(&synthetic::key(SeriesKind::Request, "A"));
    let mut slices = Vec::new();
    // Stationary from the start: the initial work is zero with probability 1 − ρ, and exponential otherwise.
    let mut free_at = if draws.uniform() < arrivals / services { draws.exponential(1.0 / (services - arrivals)) } else { 0.0 };
    let mut now = 0.0;
    loop {
        now += draws.exponential(1.0 / arrivals);
        let begin = f64::max(now, free_at);
        free_at = begin + draws.exponential(1.0 / services);
        while free_at >= f64::from(slices.len() as u32 + 1) {
            let slice = slices.len() as u32;
            slices.push(recorder.drain(slice, u64::from(slice) * synthetic::SECOND, u64::from(slice + 1) * synthetic::SECOND));
            if slices.len() as u32 == seconds {
                return slices;
            }
        }
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let sample = Sample {
            scheduled: ns(now),
            started: ns(now),
            ended: ns(free_at),
            phases: Phases::default(),
            outcome: Outcome::Passed,
            status: 200,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        recorder.record(id, &sample);
    }
}

/// The number of intervals that contain the truth in `repetitions` runs; `(ours, the order-statistic interval)` per quantile.
fn covered(utilisation: f64, repetitions: u64) -> Vec<(f64, u64, u64)> {
    const SERVICES: f64 = 200.0;
    let arrivals = SERVICES * utilisation;
    let mut counts: Vec<(f64, u64, u64)> = vec![(0.5, 0, 0), (0.9, 0, 0), (0.99, 0, 0)];
    for repetition in 0..repetitions {
        let slices = queue(repetition + 1, arrivals, SERVICES, 120);
        let summary = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(arrivals, 120)), slices));
        for (quantile, ours, naive) in &mut counts {
            let truth = -(1.0 - *quantile).ln() / (SERVICES - arrivals);
            let row = summary.response.percentiles.iter().find(|row| row.quantile == *quantile).unwrap();
            *ours += u64::from(holds(row, truth));
            *naive += u64::from(naive_holds(row, summary.response.count, truth, SERVICES - arrivals));
        }
    }
    counts
}

fn holds(row: &Percentile, truth: f64) -> bool {
    row.low.is_none_or(|low| low <= truth) && row.high.is_none_or(|high| truth <= high)
}

/// The width under the assumption of independence, around the same estimate: 1.96·√(q(1−q)/n) over the density at the quantile.
fn naive_holds(row: &Percentile, count: u64, truth: f64, rate: f64) -> bool {
    let q = row.quantile;
    let half = 1.96 * (q * (1.0 - q) / count as f64).sqrt() / (rate * (1.0 - q));
    (row.value.unwrap() - truth).abs() <= half
}

/// Set `LOADSTONE_COVERAGE=400` for more runs; the figures in docs/metrics/intervals.md are those of `interval::coverage`.
#[test]
fn intervals_cover_the_truth_where_those_for_independent_samples_do_not() {
    let repetitions = std::env::var("LOADSTONE_COVERAGE").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    for utilisation in [0.5, 0.8] {
        for (quantile, ours, naive) in covered(utilisation, repetitions) {
            let share = |count: u64| count as f64 / repetitions as f64;
            println!("ρ {utilisation} q {quantile}: covered {:.3}, assuming independence {:.3}", share(ours), share(naive));
            // With a true coverage of 93 %, 60 draws fall below 83 % once in 300 times.
            let slack = 3.0 * (0.95f64 * 0.05 / repetitions as f64).sqrt();
            assert!(share(ours) >= 0.93 - slack, "ρ {utilisation} q {quantile}: {ours} of {repetitions}");
            if utilisation == 0.8 {
                assert!(share(naive) < 0.6, "ρ {utilisation} q {quantile}: {naive} of {repetitions}");
            }
        }
    }
}
