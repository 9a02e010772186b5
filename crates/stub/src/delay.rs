//! Delays as users write them: a fixed time or a distribution, and draws from it.
//!
//! Read [`Delay`]. Deliberately absent: clocks, sleeping, and a random generator. The caller supplies 64-bit draws, so that a run repeats
//! from its seed. Stubs respond after such delays, and scripts pause for them.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use loadstone_units::UnitError;
use thiserror::Error;

/// A fixed delay, or a distribution of delays. All times in nanoseconds. Written as `100ms`, `uniform(1s, 3s)`, …
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    Fixed {
        ns: f64,
    },
    /// Every delay between the two is equally likely.
    Uniform {
        from_ns: f64,
        to_ns: f64,
    },
    /// The logarithm is uniform: 100–200 ms has the same weight as 1–2 s.
    LogUniform {
        from_ns: f64,
        to_ns: f64,
    },
    /// Draws below zero count as zero.
    Normal {
        mean_ns: f64,
        deviation_ns: f64,
    },
    /// Mean and standard deviation are those of the delay, not of its logarithm.
    LogNormal {
        mean_ns: f64,
        deviation_ns: f64,
    },
    Exponential {
        mean_ns: f64,
    },
}

/// A string that is not a delay, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{text}\" is not a delay: {problem}")]
pub struct DelayError {
    text: String,
    problem: String,
}

const FORMS: &str = "expected a duration such as \"100ms\", or \
                     uniform(1s, 3s), loguniform(100ms, 2s), normal(1s, 200ms), lognormal(1s, 200ms), exponential(1s)";

impl FromStr for Delay {
    type Err = DelayError;

    fn from_str(text: &str) -> Result<Self, DelayError> {
        parse(text.trim()).map_err(|problem| DelayError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Delay, String> {
    let Some((name, rest)) = text.split_once('(') else {
        return Ok(Delay::Fixed { ns: duration_ns(text).map_err(|_| FORMS)? });
    };
    let inner = rest.strip_suffix(')').ok_or(FORMS)?;
    let times =
        inner.split(',').map(|part| duration_ns(part.trim()).map_err(|error| error.to_string())).collect::<Result<Vec<f64>, String>>()?;
    let name = name.trim();
    let delay = match (name, times.as_slice()) {
        ("uniform", &[from_ns, to_ns]) => Delay::Uniform { from_ns, to_ns },
        ("loguniform", &[from_ns, to_ns]) => Delay::LogUniform { from_ns, to_ns },
        ("normal", &[mean_ns, deviation_ns]) => Delay::Normal { mean_ns, deviation_ns },
        ("lognormal", &[mean_ns, deviation_ns]) => Delay::LogNormal { mean_ns, deviation_ns },
        ("exponential", &[mean_ns]) => Delay::Exponential { mean_ns },
        ("uniform" | "loguniform" | "normal" | "lognormal", _) => return Err(format!("{name} takes two durations")),
        ("exponential", _) => return Err("exponential takes one duration, its mean".to_owned()),
        _ => return Err(FORMS.to_owned()),
    };
    match delay {
        Delay::Uniform { from_ns, to_ns } | Delay::LogUniform { from_ns, to_ns } if from_ns > to_ns => {
            Err("the first duration must be shorter than the second".to_owned())
        }
        Delay::LogUniform { from_ns, .. } if from_ns <= 0.0 => Err("the first duration of loguniform must be above zero".to_owned()),
        Delay::LogNormal { mean_ns, .. } if mean_ns <= 0.0 => Err("the mean of a lognormal delay must be above zero".to_owned()),
        delay => Ok(delay),
    }
}

fn duration_ns(text: &str) -> Result<f64, UnitError> {
    loadstone_units::duration::parse(text).map(|ns| ns as f64)
}

impl Delay {
    /// One delay, in nanoseconds. `draw` yields uniformly distributed 64-bit values. The number of draws depends only on the distribution.
    pub fn sample_ns(&self, mut draw: impl FnMut() -> u64) -> u64 {
        let ns = match *self {
            Delay::Fixed { ns } => ns,
            Delay::Uniform { from_ns, to_ns } => from_ns + (to_ns - from_ns) * unit(draw()),
            Delay::LogUniform { from_ns, to_ns } => from_ns * (to_ns / from_ns).powf(unit(draw())),
            Delay::Normal { mean_ns, deviation_ns } => mean_ns + deviation_ns * standard_normal(draw),
            Delay::LogNormal { mean_ns, deviation_ns } => {
                let (mu, sigma) = log_parameters(mean_ns, deviation_ns);
                (mu + sigma * standard_normal(draw)).exp()
            }
            Delay::Exponential { mean_ns } => -mean_ns * open_unit(draw()).ln(),
        };
        // A cast saturates: below zero becomes zero.
        ns.round() as u64
    }

    /// Mean in nanoseconds. For `Normal` this is the mean as written, without the effect of replacing negative draws by zero.
    pub fn mean_ns(&self) -> f64 {
        match *self {
            Delay::Fixed { ns } => ns,
            Delay::Uniform { from_ns, to_ns } => (from_ns + to_ns) / 2.0,
            Delay::LogUniform { from_ns, to_ns } if from_ns == to_ns => from_ns,
            Delay::LogUniform { from_ns, to_ns } => (to_ns - from_ns) / (to_ns / from_ns).ln(),
            Delay::Normal { mean_ns, .. } | Delay::LogNormal { mean_ns, .. } | Delay::Exponential { mean_ns } => mean_ns,
        }
    }
}

/// μ and σ of the underlying normal distribution: σ² = ln(1 + s²/m²), μ = ln m − σ²/2.
fn log_parameters(mean: f64, deviation: f64) -> (f64, f64) {
    let variance = (1.0 + (deviation / mean).powi(2)).ln();
    (mean.ln() - variance / 2.0, variance.sqrt())
}

/// At least 0 and below 1, with 53 random bits.
fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1u64 << 53) as f64
}

/// Above 0 and at most 1, so that its logarithm is finite.
fn open_unit(draw: u64) -> f64 {
    1.0 - unit(draw)
}

/// Box and Muller's method. The second value is discarded, so that a draw does not depend on earlier draws.
fn standard_normal(mut draw: impl FnMut() -> u64) -> f64 {
    let radius = (-2.0 * open_unit(draw()).ln()).sqrt();
    radius * (TAU * unit(draw())).cos()
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: f64| format!("{}ms", ns / 1e6);
        match *self {
            Delay::Fixed { ns } => write!(f, "{}", ms(ns)),
            Delay::Uniform { from_ns, to_ns } => write!(f, "uniform({}, {})", ms(from_ns), ms(to_ns)),
            Delay::LogUniform { from_ns, to_ns } => write!(f, "loguniform({}, {})", ms(from_ns), ms(to_ns)),
            Delay::Normal { mean_ns, deviation_ns } => write!(f, "normal({}, {})", ms(mean_ns), ms(deviation_ns)),
            Delay::LogNormal { mean_ns, deviation_ns } => write!(f, "lognormal({}, {})", ms(mean_ns), ms(deviation_ns)),
            Delay::Exponential { mean_ns } => write!(f, "exponential({})", ms(mean_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn every_form_is_parsed_and_printed() {
        for text in [
            "100ms",
            "0ms",
            "90500ms",
            "uniform(1000ms, 2000ms)",
            "loguniform(100ms, 2000ms)",
            "normal(1000ms, 200ms)",
            "lognormal(1000ms, 200ms)",
            "exponential(0.25ms)",
        ] {
            assert_eq!(text.parse::<Delay>().unwrap().to_string(), text);
        }
        assert_eq!("1m30s".parse(), Ok(Delay::Fixed { ns: 90e9 }));
        assert_eq!(" uniform( 1s,2s ) ".parse(), Ok(Delay::Uniform { from_ns: 1e9, to_ns: 2e9 }));
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, part) in [
            ("5", "expected a duration"),
            ("", "expected a duration"),
            ("gamma(1s)", "expected a duration"),
            ("uniform(1s", "expected a duration"),
            ("uniform(1s)", "two durations"),
            ("exponential(1s, 2s)", "one duration"),
            ("uniform(2s, 1s)", "must be shorter than the second"),
            ("loguniform(0, 1s)", "above zero"),
            ("normal(1s, x)", "\"x\" is not a duration"),
        ] {
            let message = text.parse::<Delay>().unwrap_err().to_string();
            assert!(message.contains(part) && message.contains(&format!("\"{text}\"")), "{message}");
        }
    }

    /// Mean, standard deviation and median of each distribution in closed form, in milliseconds.
    #[test]
    fn draws_follow_the_distribution() {
        let ln = |x: f64| x.ln();
        let sqrt12 = 12f64.sqrt();
        let log_uniform_mean = 1900.0 / ln(20.0);
        let log_uniform_square = (2000f64.powi(2) - 100f64.powi(2)) / (2.0 * ln(20.0));
        for (text, mean, deviation, median) in [
            ("100ms", 100.0, 0.0, 100.0),
            ("uniform(1s, 3s)", 2000.0, 2000.0 / sqrt12, 2000.0),
            ("loguniform(100ms, 2s)", log_uniform_mean, (log_uniform_square - log_uniform_mean.powi(2)).sqrt(), (100f64 * 2000.0).sqrt()),
            ("normal(1s, 200ms)", 1000.0, 200.0, 1000.0),
            ("lognormal(1s, 500ms)", 1000.0, 500.0, 1000.0 / 1.25f64.sqrt()),
            ("exponential(1s)", 1000.0, 1000.0, 1000.0 * ln(2.0)),
        ] {
            let delay: Delay = text.parse().unwrap();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut ms: Vec<f64> = (0..200_000).map(|_| delay.sample_ns(|| rng.next_u64()) as f64 / 1e6).collect();
            ms.sort_by(f64::total_cmp);
            let count = ms.len() as f64;
            let sample_mean = ms.iter().sum::<f64>() / count;
            let sample_deviation = (ms.iter().map(|x| (x - sample_mean).powi(2)).sum::<f64>() / count).sqrt();
            assert!((sample_mean - mean).abs() <= 0.01 * mean, "{text}: mean {sample_mean}, expected {mean}");
            assert!(
                (sample_deviation - deviation).abs() <= 0.02 * deviation + 1e-9,
                "{text}: deviation {sample_deviation}, expected {deviation}"
            );
            assert!((ms[ms.len() / 2] - median).abs() <= 0.015 * median, "{text}: median {}, expected {median}", ms[ms.len() / 2]);
            assert!((delay.mean_ns() / 1e6 - mean).abs() < 1e-6 * mean, "{text}: mean_ns {}", delay.mean_ns());
        }
    }

    #[test]
    fn extreme_draws_stay_finite_and_not_negative() {
        for text in ["normal(0, 1s)", "lognormal(1s, 10s)", "exponential(1s)", "loguniform(1ms, 1h)"] {
            let delay: Delay = text.parse().unwrap();
            for draw in [0, 1, u64::MAX, u64::MAX / 2] {
                assert!(delay.sample_ns(|| draw) < 1 << 55, "{text} from {draw}: {}", delay.sample_ns(|| draw));
            }
        }
    }
}
