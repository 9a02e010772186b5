//! The intended and the actual response times of the truth server.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::Truth;

/// Largest time that the log can record: one hour. Nanoseconds.
const LONGEST_NS: u64 = 3_600_000_000_000;

pub(super) struct Log {
    truth: Truth,
    first_ns: Option<u64>,
    last_ns: u64,
    requests: u64,
    /// Response times by the rule: departure − arrival.
    asked: Histogram<u64>,
    /// Actual response times: answer ready − arrival.
    done: Histogram<u64>,
    /// Answer ready − departure by the rule.
    late: Histogram<u64>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Log({:?}, {} requests)", self.truth, self.requests)
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_NS, 3).unwrap_or_else(|_| unreachable!("an hour and 3 digits are within a histogram's limits"))
}

impl Log {
    pub(super) fn new(truth: Truth) -> Self {
        Self { truth, first_ns: None, last_ns: 0, requests: 0, asked: histogram(), done: histogram(), late: histogram() }
    }

    /// Clears the log. The rule continues.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.truth.clone());
    }

    pub(super) fn asked(&mut self, arrival_ns: u64, departure_ns: u64) {
        self.first_ns.get_or_insert(arrival_ns);
        self.last_ns = arrival_ns;
        self.requests += 1;
        self.asked.saturating_record((departure_ns - arrival_ns).min(LONGEST_NS));
    }

    /// Ignores requests that arrived before the first one that was logged.
    pub(super) fn answered(&mut self, arrival_ns: u64, due_ns: u64, now_ns: u64) {
        if self.first_ns.is_none_or(|first_ns| arrival_ns < first_ns) {
            return;
        }
        self.done.saturating_record(now_ns.saturating_sub(arrival_ns).min(LONGEST_NS));
        self.late.saturating_record(now_ns.saturating_sub(due_ns).min(LONGEST_NS));
    }

    pub(super) fn report(&self) -> Value {
        let span_ns = self.first_ns.map_or(0, |first_ns| self.last_ns - first_ns);
        let per_second = (span_ns > 0).then(|| (self.requests - 1) as f64 / (span_ns as f64 / 1e9));
        json!({
            "truth": self.truth,
            "requests": self.requests,
            "answered": self.done.len(),
            "first_arrival_ns": self.first_ns,
            "last_arrival_ns": self.first_ns.map(|_| self.last_ns),
            "arrivals_per_second": per_second,
            "asked_ns": quantiles(&self.asked),
            "done_ns": quantiles(&self.done),
            "late_ns": quantiles(&self.late),
        })
    }
}

fn quantiles(histogram: &Histogram<u64>) -> Value {
    let mut value = json!({ "count": histogram.len(), "mean": histogram.mean(), "min": histogram.min(), "max": histogram.max() });
    for (name, q) in [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)] {
        value[name] = json!(histogram.value_at_quantile(q));
    }
    value
}
