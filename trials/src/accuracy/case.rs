//! The cases: a server that follows a formula, a load, and the formula.

use serde_json::{Value, json};

use super::closed_form::ClosedForm;

/// Quantiles that are judged.
pub(super) const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
const STALL: &str = "one stall of 1 s";

#[derive(Debug, Clone)]
pub(super) struct AccuracyCase {
    pub(super) name: &'static str,
    /// What the server does: a `Truth` of crates/stub.
    pub(super) truth: Value,
    pub(super) rate: u32,
    pub(super) poisson: bool,
    pub(super) seconds: u32,
    /// Words for the formula, for the table.
    pub(super) formula: &'static str,
    pub(super) law: ClosedForm,
}

impl AccuracyCase {
    /// The formula's value at a quantile. Seconds.
    pub(super) fn truth_s(&self, quantile: f64) -> f64 {
        self.law.at_s(quantile)
    }

    /// The formula is that of a random process: a run of finite length scatters around it.
    pub(super) fn is_random(&self) -> bool {
        matches!(self.law, ClosedForm::SingleServer { .. })
    }
}

/// Short cases for a look, or long ones whose intervals are worth counting.
pub(super) fn all(full: bool) -> Vec<AccuracyCase> {
    let seconds = if full { 60 } else { 20 };
    let single = |name, lambda: u32| AccuracyCase {
        name,
        truth: json!({ "kind": "single_server", "mean_service_ns": 1_000_000 }),
        rate: lambda,
        poisson: true,
        seconds: if full { 120 } else { 25 },
        formula: "−ln(1−q)/(μ−λ), μ = 1,000/s",
        law: ClosedForm::SingleServer { mu: 1_000.0, lambda: f64::from(lambda) },
    };
    vec![
        AccuracyCase {
            name: STALL,
            truth: json!({ "kind": "stall", "after_ns": 5_000_000_000_u64, "length_ns": 1_000_000_000 }),
            rate: 1_000,
            poisson: false,
            seconds,
            formula: "max(0, D − (1−q)·T), D = 1 s",
            law: ClosedForm::Pauses { base_s: 0.0, every_s: f64::from(seconds), pause_s: 1.0 },
        },
        single("M/M/1, ρ = 0.5", 500),
        single("M/M/1, ρ = 0.7", 700),
        single("M/M/1, ρ = 0.9", 900),
        AccuracyCase {
            name: "two delays",
            truth: json!({ "kind": "bimodal", "fast": "5ms", "slow": "50ms", "slow_share": 0.03 }),
            rate: 1_000,
            poisson: false,
            seconds: seconds / 2,
            formula: "97 % take 5 ms, 3 % take 50 ms",
            law: ClosedForm::Bimodal { fast_s: 0.005, slow_s: 0.05, slow_share: 0.03 },
        },
        AccuracyCase {
            name: "slow body",
            truth: json!({ "kind": "slow_body", "bytes": 10_000, "piece_bytes": 1_000, "pause_ns": 5_000_000 }),
            rate: 200,
            poisson: false,
            seconds: seconds / 2,
            formula: "9 pauses of 5 ms",
            law: ClosedForm::Constant(0.045),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_at_known_points() {
        let cases = all(false);
        let at = |name: &str, q: f64| cases.iter().find(|case| case.name == name).map(|case| (case.truth_s(q) * 1e6).round()).unwrap();
        assert_eq!([at(STALL, 0.5), at(STALL, 0.99), at(STALL, 0.999)], [0.0, 800_000.0, 980_000.0]);
        // ln 2 ms / 0.5
        assert_eq!(at("M/M/1, ρ = 0.5", 0.5), 1_386.0);
        assert_eq!([at("two delays", 0.9), at("two delays", 0.99)], [5_000.0, 50_000.0]);
    }
}
