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
    /// Open load: arrivals of one worker that are due within this time of the first one start together, when the last of them is due. The others'
    /// wait counts as schedule lag. Nanoseconds, at most [`Self::START_WINDOW_MAX_NS`].
    #[serde(default = "RunOptions::default_start_window_ns")]
    pub start_window_ns: u64,
    /// Response bodies larger than this fail the request. Bytes.
    pub body_bytes_max: u64,
}

impl RunOptions {
    /// With a longer start window, the load would no longer be the one that was written.
    pub const START_WINDOW_MAX_NS: u64 = 10_000_000;

    /// One wake-up costs more CPU time than a request, and a wait of 70 µs is less than most measured differences.
    const fn default_start_window_ns() -> u64 {
        70_000
    }
}

impl Default for RunOptions {
    /// Seed 1, 30 s for a graceful stop and for a request, 500 series, a start window of 70 µs, bodies of 64 MiB.
    fn default() -> Self {
        Self {
            seed: 1,
            graceful_stop_ns: 30_000_000_000,
            request_timeout_ns: 30_000_000_000,
            series_max: 500,
            start_window_ns: Self::default_start_window_ns(),
            body_bytes_max: 64 << 20,
        }
    }
}
