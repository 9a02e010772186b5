//! Statistics that the rest of this crate uses. Each one has a single definition here, with its source. Everything is pure: numbers in, numbers out.
//!
//! | file | what it defines |
//! |---|---|
//! | `moments` | mean and variance |
//! | `robust` | median, quantile, interquartile range, median deviation |
//! | `lines` | straight lines: Theil–Sen, least squares, instrumental variable |
//! | `isotonic` | the monotone line through points |
//! | `trend`, `shift` | whether a series keeps growing, and where its level changes |
//! | `scan` | the stretch of a series whose share of failures differs most |
//! | `proportion`, `discovery` | the interval of a share; false discoveries among many tests |
//! | `poisson` | intervals and tails of counts: exact for few events |
//! | `normal`, `student` | the two distributions, χ², and degrees of freedom |
//! | `interval` | 95 % intervals of quantiles and means whose samples depend on each other |
//! | `tail_samples` | how many samples a percentile needs |
//! | `rank_sum` | whether one of two samples has the larger values |
//! | `random` | a generator that gives the same numbers for the same run |
//!
//! Deliberately absent: what a number means for a system under load. That belongs to `facts`.

mod discovery;
#[cfg(test)]
pub(crate) mod draws;
pub(crate) mod interval;
mod isotonic;
mod lines;
mod moments;
mod normal;
mod poisson;
mod proportion;
mod random;
mod rank_sum;
mod robust;
mod scan;
pub(crate) mod shift;
mod student;
mod tail_samples;
pub(crate) mod trend;

pub(crate) use discovery::discoveries;
pub(crate) use interval::{Intervals, batches_of, cumulative, mean_of_batches};
pub(crate) use isotonic::isotonic_residuals;
pub(crate) use lines::{LeastSquaresLine, instrumental_line, theil_sen};
pub(crate) use moments::{mean, population_variance, variance};
pub(crate) use normal::{Z_95, Z_95_ONE_SIDED, chi_squared_99};
pub(crate) use poisson::{binomial_at_least, gamma_quantile, poisson_at_least, poisson_interval};
#[cfg(test)]
pub(crate) use proportion::share_in_words;
pub(crate) use proportion::wilson_interval;
pub(crate) use random::Xorshift;
pub(crate) use rank_sum::{rank_sum_p, rank_sum_p_min};
pub(crate) use robust::{best_tenth, interquartile_range, median, median_deviation, nearest_of_sorted, quantile, slow_threshold};
pub(crate) use scan::{likeliest_stretch, sum_of_counts};
pub(crate) use student::{freedom_by_kurtosis, student_t, t_two_sided, welch_freedom};
pub(crate) use tail_samples::samples_beyond;
pub use tail_samples::{SAMPLES_BEYOND_MIN, samples_needed};
