//! Limits and settings that apply to the whole run.

use serde::{Deserialize, Serialize};

/// Limits on a run, and its seed. Every field has a default that suits most tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Seed of every random draw of the run. The same seed and plan repeat the same draws.
    pub seed: u64,
    /// How long running iterations may continue after their load profile has ended. Nanoseconds.
    pub graceful_stop_ns: u64,
    /// Time limit of one request unless it sets its own. Nanoseconds.
    pub request_timeout_ns: u64,
    /// Maximum number of separate series (request names, groups, …). Later names share one series, `(other)`.
    pub series_max: u32,
    /// Response bodies larger than this fail the request. Bytes.
    pub body_bytes_max: u64,
}

impl Default for RunOptions {
    /// Seed 1, 30 s for a graceful stop and for a request, 500 series, bodies of 64 MiB.
    fn default() -> Self {
        Self { seed: 1, graceful_stop_ns: 30_000_000_000, request_timeout_ns: 30_000_000_000, series_max: 500, body_bytes_max: 64 << 20 }
    }
}
