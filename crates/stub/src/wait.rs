//! The time until a response.
//!
//! Read [`Wait`], then [`Empirical`] for measured delays. Deliberately absent: sleeping. A wait only yields the instant of the response.

use std::sync::Arc;

use crate::{BehaviourError, Delay, SeededRandom};

/// The time between a request's arrival at its endpoint and its response.
#[derive(Default)]
pub enum Wait {
    #[default]
    None,
    Drawn(Delay),
    Measured(Empirical),
    /// One wait after another, each up to an age of the server. The last one never ends. Nanoseconds.
    Stages(Vec<(u64, Wait)>),
    /// The rule of a queue: from the instant of arrival to that of the response, both in CLOCK_MONOTONIC nanoseconds.
    Departure(Box<dyn FnMut(u64) -> u64 + Send>),
}

impl From<Delay> for Wait {
    fn from(delay: Delay) -> Self {
        Wait::Drawn(delay)
    }
}

impl Wait {
    /// The same for every request.
    pub fn fixed_ns(ns: u64) -> Self {
        Wait::Drawn(Delay::Fixed { ns: ns as f64 })
    }

    /// The instant of the response to a request that arrived at `arrival_ns`, at a server that started at `started_ns`.
    pub(crate) fn until_ns(&mut self, arrival_ns: u64, started_ns: u64, random: &mut SeededRandom) -> u64 {
        match self {
            Wait::None => arrival_ns,
            Wait::Drawn(delay) => arrival_ns.saturating_add(delay.sample_ns(|| random.next_u64())),
            Wait::Measured(empirical) => arrival_ns.saturating_add(empirical.at(random.uniform()) as u64),
            Wait::Stages(stages) => {
                let age_ns = arrival_ns.saturating_sub(started_ns);
                let stage = stages.iter().position(|(until_ns, _)| age_ns < *until_ns).unwrap_or(stages.len().saturating_sub(1));
                stages.get_mut(stage).map_or(arrival_ns, |(_, wait)| wait.until_ns(arrival_ns, started_ns, random))
            }
            Wait::Departure(rule) => rule(arrival_ns),
        }
    }
}

impl std::fmt::Debug for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wait::None => f.write_str("None"),
            Wait::Drawn(delay) => write!(f, "Drawn({delay})"),
            Wait::Measured(empirical) => write!(f, "Measured({} values)", empirical.sorted_ns.len()),
            Wait::Stages(stages) => f.debug_list().entries(stages).finish(),
            Wait::Departure(_) => f.write_str("Departure(…)"),
        }
    }
}

/// Measured delays. Draws interpolate linearly between the sorted values.
#[derive(Debug, Clone, PartialEq)]
pub struct Empirical {
    sorted_ns: Arc<[f64]>,
}

impl Empirical {
    /// # Errors
    /// There is no value, or one is negative or not a number.
    pub fn new(mut values_ns: Vec<f64>) -> Result<Self, BehaviourError> {
        if values_ns.is_empty() {
            return Err(BehaviourError::NoDelays);
        }
        if let Some(wrong) = values_ns.iter().find(|value| !value.is_finite() || **value < 0.0) {
            return Err(BehaviourError::MeasuredDelay(*wrong));
        }
        values_ns.sort_by(f64::total_cmp);
        Ok(Self { sorted_ns: values_ns.into() })
    }

    /// One delay per line, in milliseconds. If a line has commas, its first field counts. A first line that is not a number is a header.
    ///
    /// # Errors
    /// Names the line that is not a delay.
    pub fn from_csv_ms(text: &str) -> Result<Self, BehaviourError> {
        Self::new(Self::values_ms(text)?.into_iter().map(|ms| ms * 1e6).collect())
    }

    /// The delays in such a file. Milliseconds.
    pub(crate) fn values_ms(text: &str) -> Result<Vec<f64>, BehaviourError> {
        let mut values = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let field = line.split(',').next().unwrap_or_default().trim().trim_matches('"');
            match field.parse::<f64>() {
                Ok(ms) => values.push(ms),
                Err(_) if index == 0 || field.is_empty() => {}
                Err(_) => return Err(BehaviourError::DelayLine { line: index + 1, field: field.to_owned() }),
            }
        }
        Ok(values)
    }

    /// The quantile of `u`, 0 ≤ u < 1. Nanoseconds.
    pub fn at(&self, u: f64) -> f64 {
        let position = u.clamp(0.0, 1.0) * (self.sorted_ns.len() - 1) as f64;
        let low = position as usize;
        let high = (low + 1).min(self.sorted_ns.len() - 1);
        self.sorted_ns[low] + (self.sorted_ns[high] - self.sorted_ns[low]) * (position - low as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_delays_interpolate_between_values() {
        let empirical = Empirical::from_csv_ms("delay_ms,note\n30,c\n10,a\n20,b\n").unwrap();
        for (u, ms) in [(0.0, 10.0), (0.25, 15.0), (0.5, 20.0), (0.999_999, 30.0)] {
            assert!((empirical.at(u) / 1e6 - ms).abs() < 1e-3, "{u}");
        }
        assert_eq!(Empirical::from_csv_ms("5").unwrap().at(0.7), 5e6);
        assert!(Empirical::from_csv_ms("1\nfast\n").unwrap_err().to_string().contains("line 2"));
        assert!(Empirical::from_csv_ms("").unwrap_err().to_string().contains("at least one"));
        assert!(Empirical::from_csv_ms("-1").is_err());
    }

    #[test]
    fn stages_change_with_the_servers_age() {
        let mut wait = Wait::Stages(vec![(100, Wait::fixed_ns(1)), (200, Wait::fixed_ns(2)), (300, Wait::fixed_ns(3))]);
        let mut random = SeededRandom::from_seed(1);
        for (age, expected) in [(0, 1), (99, 1), (100, 2), (299, 3), (10_000, 3)] {
            assert_eq!(wait.until_ns(1_000 + age, 1_000, &mut random), 1_000 + age + expected);
        }
    }

    /// Kolmogorov–Smirnov: the largest distance between the drawn and the closed-form distribution function stays below the
    /// critical value at 0.1 %, 1.95/√n.
    #[test]
    fn draws_follow_their_distribution_function() {
        type Cdf = fn(f64) -> f64;
        let cases: [(&str, Cdf); 3] = [
            ("uniform(1s, 3s)", |s| (s - 1.0) / 2.0),
            ("loguniform(100ms, 2s)", |s| (s / 0.1).ln() / 20f64.ln()),
            ("exponential(1s)", |s| 1.0 - (-s).exp()),
        ];
        for (text, cdf) in cases {
            let mut wait = Wait::from(text.parse::<Delay>().unwrap());
            let mut random = SeededRandom::from_seed(42);
            let mut seconds: Vec<f64> = (0..50_000).map(|_| wait.until_ns(0, 0, &mut random) as f64 / 1e9).collect();
            seconds.sort_by(f64::total_cmp);
            let n = seconds.len() as f64;
            let distance = seconds.iter().enumerate().map(|(i, s)| {
                let (f, i) = (cdf(*s).clamp(0.0, 1.0), i as f64);
                (f - i / n).abs().max(((i + 1.0) / n - f).abs())
            });
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < 1.95 / n.sqrt(), "{text}: {distance}");
        }
    }
}
