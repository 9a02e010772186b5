//! The input of a trend from one run: a few numbers of its summary.

use serde::{Deserialize, Serialize};

use super::model::{TrendMetric, TrendRun};
use crate::{RequestRow, Summary, TimeStats};

/// A run as the input of a trend.
#[derive(Debug, Clone)]
pub struct TrendInput {
    pub run: TrendRun,
    pub numbers: TrendNumbers,
}

/// Small enough to keep for thousands of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrendNumbers {
    all: TrendTimes,
    requests: Vec<NamedNumbers>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct NamedNumbers {
    name: String,
    count: u64,
    /// `None`: the name occurs in several scenarios, so it is not a single series.
    numbers: Option<TrendTimes>,
}

/// Seconds, and the share of failures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct TrendTimes {
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    failures: Option<f64>,
}

impl TrendNumbers {
    pub fn of(summary: &Summary) -> Self {
        let failures = (summary.totals.requests > 0).then_some(summary.totals.failure_share);
        let mut requests: Vec<NamedNumbers> = Vec::new();
        for RequestRow { key, count, failed, response, .. } in &summary.requests {
            match requests.iter_mut().find(|known| *known.name == *key.name) {
                Some(known) => known.numbers = None,
                None => {
                    let failures = (*count > 0).then(|| *failed as f64 / *count as f64);
                    let numbers = Some(TrendTimes::of(response, failures));
                    requests.push(NamedNumbers { name: key.name.to_string(), count: *count, numbers });
                }
            }
        }
        Self { all: TrendTimes::of(&summary.response, failures), requests }
    }

    /// p50, p95 and p99 of all requests together and of each request, without failures.
    #[cfg(test)]
    pub(super) fn of_times(all: [Option<f64>; 3], requests: &[(&str, [Option<f64>; 3])]) -> Self {
        let of = |[p50, p95, p99]: [Option<f64>; 3]| TrendTimes { p50, p95, p99, failures: Some(0.0) };
        let named = |(name, times): &(&str, _)| NamedNumbers { name: (*name).to_owned(), count: 1, numbers: Some(of(*times)) };
        Self { all: of(all), requests: requests.iter().map(named).collect() }
    }

    /// Names of the requests, the most frequent first.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut named: Vec<&NamedNumbers> = self.requests.iter().filter(|of| of.count > 0 && of.numbers.is_some()).collect();
        named.sort_by_key(|of| std::cmp::Reverse(of.count));
        named.into_iter().map(|of| of.name.as_str()).collect()
    }

    /// `request`: its name; `None`: all requests together.
    pub(super) fn value(&self, request: Option<&str>, metric: TrendMetric) -> Option<f64> {
        let numbers = match request {
            Some(name) => self.requests.iter().find(|of| of.name == name)?.numbers?,
            None => self.all,
        };
        match metric {
            TrendMetric::P50 => numbers.p50,
            TrendMetric::P95 => numbers.p95,
            TrendMetric::P99 => numbers.p99,
            TrendMetric::Failures => numbers.failures,
        }
    }
}

impl TrendTimes {
    fn of(times: &TimeStats, failures: Option<f64>) -> Self {
        Self { p50: times.at(0.5), p95: times.at(0.95), p99: times.at(0.99), failures }
    }
}
