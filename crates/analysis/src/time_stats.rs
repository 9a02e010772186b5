//! Percentiles and means, as every surface shows them.

use serde::{Deserialize, Serialize};

/// A percentile with its interval and the number of samples beyond it. Seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Percentile {
    /// 0.5, 0.99, …
    pub quantile: f64,
    /// `None`: too few samples for this percentile (see docs/metrics.md).
    pub value: Option<f64>,
    /// The lower end of the 95 % interval; `None` if it is not known.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Samples beyond the percentile.
    pub samples_beyond: u64,
    /// How much the generator may have added to it at most, where that matters. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<f64>,
}

/// Distribution of one kind of time. Seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TimeStats {
    pub count: u64,
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The longest time was cut off by a time limit or by the end of the run: the true maximum is `max` or more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_is_bound: bool,
    /// 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999 in this order.
    pub percentiles: Vec<Percentile>,
    /// How much the generator may have added to the mean at most, where that matters. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_uncertainty: Option<f64>,
    /// The same for the maximum. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uncertainty: Option<f64>,
}

impl TimeStats {
    /// The value at one of the listed quantiles, if there were enough samples.
    pub fn at(&self, quantile: f64) -> Option<f64> {
        self.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9)?.value
    }
}
