//! A test over its runs: where its numbers changed, by how much, and with which run.
//!
//! Read [`RunTrend::of`] first; `levels` cuts one series into stretches of one level, `series` makes the series of the runs' summaries. Deliberately
//! absent: which runs there are, and reading them.

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
