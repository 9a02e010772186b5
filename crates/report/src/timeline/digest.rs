//! Values from a step's histograms, cached until the step changes. A page that is redrawn every second reads the histograms of a long run once, not
//! once a second. Read [`StepDigest`]; [`super::step`] fills it.

use std::sync::Arc;

use loadstone_metrics::Histogram;

/// Name in a column's id, and quantile.
pub(crate) const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// Percentiles and maximum of one distribution. Seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeDigest {
    /// In the order of [`PERCENTILES`].
    pub(crate) percentiles: [Option<f64>; 4],
    pub(crate) max: Option<f64>,
}

#[derive(Debug, Clone)]
pub(crate) struct StepDigest {
    pub(crate) response: TimeDigest,
    pub(crate) lag: TimeDigest,
    pub(crate) timer_lag: TimeDigest,
    pub(crate) read_lag: TimeDigest,
    pub(crate) flows: Vec<(Arc<str>, TimeDigest)>,
    /// Counts by bin of the heat map, see [`super::bins::counts`].
    pub(crate) heat: Vec<(i32, u64)>,
}

impl StepDigest {
    pub(crate) fn flow(&self, name: &str) -> Option<&TimeDigest> {
        self.flows.iter().find(|(known, _)| &**known == name).map(|(_, times)| times)
    }
}

impl TimeDigest {
    pub(crate) fn of(times: &Histogram) -> Self {
        let max = (!times.is_empty()).then(|| times.max() as f64 / 1e9);
        Self { percentiles: PERCENTILES.map(|(_, quantile)| percentile(times, quantile)), max }
    }

    pub(crate) fn p99(&self) -> Option<f64> {
        self.percentiles[3]
    }
}

/// Percentile in seconds. `None` if not even one value is expected beyond it.
pub(crate) fn percentile(times: &Histogram, quantile: f64) -> Option<f64> {
    let beyond = times.count() as f64 * (1.0 - quantile);
    if beyond < 1.0 - 1e-9 {
        return None;
    }
    times.quantile(quantile).map(|ns| ns as f64 / 1e9)
}
