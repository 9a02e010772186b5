//! A test over its runs: where its numbers changed, by how much, and with which run.
//!
//! Read [`RunTrend::of`] first. `levels` cuts one series into segments of one level, and `series` creates the series from the runs'
//! summaries. Deliberately absent: finding and reading the runs.

mod levels;
mod model;
mod numbers;
#[cfg(test)]
mod recorded;
mod series;
#[cfg(test)]
mod truth;

pub use model::{RunTrend, TrendMetric, TrendRun, TrendSeries, TrendStep};
pub use numbers::{TrendInput, TrendNumbers};
