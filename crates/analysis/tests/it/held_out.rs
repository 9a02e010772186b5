//! Measures false accusations and missed changes on seeds and kinds of noise that were not used to choose the limits of the rules.
//! bench/results/diagnosis.md has the numbers.

use loadstone_analysis::{Summary, conclude};
use loadstone_metrics::Outcome;
use loadstone_run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::changing_load::{under, waves};
use crate::draws::Draws;

const RUNS: u64 = 60;
const SEEDS: u64 = 770_000;
const SECONDS: u32 = 80;

/// A kind of noise: a factor of the times, depending on the second's level.
struct Noise {
    name: &'static str,
    /// Share of a second's level that carries over to the next.
    memory: f64,
    draw: fn(&mut Draws) -> f64,
}

const NOISES: [Noise; 4] = [
    Noise { name: "lognormal", memory: 0.0, draw: |draws| noise(0.8, draws) },
    // Three in ten are cache misses.
    Noise { name: "bimodal", memory: 0.0, draw: |draws| if draws.uniform() < 0.3 { 12.0 * noise(0.2, draws) } else { noise(0.2, draws) } },
    Noise { name: "AR(1)", memory: 0.7, draw: |draws| noise(0.3, draws) },
    // Pareto noise, without a finite variance.
    Noise { name: "heavy tail", memory: 0.0, draw: |draws| draws.uniform().powf(-0.5) },
];

impl Noise {
    /// The level of each second.
    fn levels(&self, draws: &mut Draws) -> Vec<f64> {
        let mut level = 0.0;
        let next = |_| {
            level = self.memory * level + if self.memory > 0.0 { noise(0.2, draws).ln() } else { 0.0 };
            f64::exp(level)
        };
        (0..SECONDS).map(next).collect()
    }

    /// A run whose times are multiplied by `factor` from `at` on.
    fn run(&self, seed: u64, is_diurnal: bool, (at, factor): (f64, f64)) -> Run {
        let mut draws = Draws::new(SEEDS + seed);
        let levels = self.levels(&mut draws);
        let median = 0.004 * 10.0_f64.powf(draws.uniform());
        let time = |second: f64, draws: &mut Draws| {
            let level = levels.get(second as usize).copied().unwrap_or(1.0);
            median * level * (self.draw)(draws) * if second >= at { factor } else { 1.0 }
        };
        if is_diurnal {
            let loaded = |second: f64, load: f64, draws: &mut Draws| time(second, draws) / (1.0 - load / 90.0);
            under(waves, &[("A", &loaded)], SEEDS + seed)
        } else {
            let steady = |second: u32, draws: &mut Draws| time(f64::from(second), draws);
            let rate = [10, 30, 60][(seed % 3) as usize];
            constant(
                SECONDS,
                rate,
                &[Request { name: "A", time: &steady, outcome: &passes as &dyn Fn(u32, &mut Draws) -> Outcome }],
                SEEDS + seed,
            )
        }
    }
}

fn has_change_finding(summary: &Summary) -> bool {
    summary.verdict.findings.findings.iter().any(|finding| ["change", "periodic-stall", "stall"].contains(&finding.rule.as_str()))
}

/// False accusations of healthy runs, and tripled times found within two seconds, by kind of noise and of load.
#[test]
fn held_out_noise_rarely_causes_findings_and_hides_few_changes() {
    let runs = crate::seeds(6, RUNS);
    let (mut table, mut accused_in_all, mut found_in_all, mut all) = (String::new(), 0, 0, 0);
    for kind in &NOISES {
        for is_diurnal in [false, true] {
            let (mut accused, mut found) = (0, 0);
            for seed in 0..runs {
                accused += u64::from(has_change_finding(&conclude(&kind.run(seed, is_diurnal, (0.0, 1.0)))));
                let at = 20.0 + (seed * 7 % 40) as f64;
                let summary = conclude(&kind.run(seed + runs, is_diurnal, (at, 3.0)));
                let is_there = summary.changes.iter().any(|change| (change.at_seconds - at).abs() <= 2.0 + change.at_error_seconds);
                found += u64::from(is_there && has_change_finding(&summary));
            }
            let load = if is_diurnal { "waves" } else { "constant" };
            table.push_str(&format!("{:<10} {load:<9} accused {accused:>3} of {runs}, found {found:>3} of {runs}\n", kind.name));
            (accused_in_all, found_in_all, all) = (accused_in_all + accused, found_in_all + found, all + runs);
        }
    }
    println!("{table}");
    assert!(accused_in_all * 100 <= 2 * all && found_in_all * 100 >= 70 * all, "{accused_in_all} and {found_in_all} of {all}:\n{table}");
}
