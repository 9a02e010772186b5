//! What a second of another tool's record showed about the record itself. All validity checks of such a run are based on it.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// The reading of a record during one second of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordSlice {
    /// Entries that were understood.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub entries: u64,
    /// The scheme, host and port of the system, as the record names it: `http://shop:8080`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Lines that were not understood.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// The first of these lines, bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable_line: Option<String>,
    /// Where it is: `result.jtl:17`, or `line 17` of a pipe. `None`: unknown, or the record has no lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable_at: Option<String>,
    /// Lines that are no request: bytes that a server could not read as one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub no_requests: u64,
    /// The first of these lines, bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_request_line: Option<String>,
    /// Requests that began before the seconds that were still open. They count as started later than they did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub started_early: u64,
    /// Requests that ended before the seconds that were still open. They count in a later second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended_early: u64,
    /// Entries outside of the run: before its start, or in the future. They are not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outside: u64,
    /// Iterations that the tool dropped because it had no free user.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// How late iterations started, against the tool's plan. 0: in time. Empty: the plan is unknown.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub late_starts: Histogram,
    /// The record has only this share of the requests, as far as was known at the end of this second. `None`: nothing shows that any is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_share: Option<f64>,
    /// How often the record was rotated or truncated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rotated: u64,
    /// Steps of the wall clock, whose absolute values add up. Nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clock_step_ns: u64,
    /// CPU time of the tool's busiest thread. Nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thread_busy_ns: u64,
    /// How long Loadstone's proxy delayed the requests. `None`: they did not pass through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Box<ProxyDelays>>,
    /// How the command ended, in its last second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_end: Option<CommandEnd>,
    /// What the tool stated about its requests at its end, in the last second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<StatedTimes>,
}

/// Time that Loadstone's proxy added: between the arrival of a message's last byte and sending it on. Nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxyDelays {
    pub of_requests: Histogram,
    pub of_responses: Histogram,
    /// The sum of both, for each request.
    pub of_both: Histogram,
}

/// Percentiles of all requests as the tool states them, next to those of its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatedTimes {
    /// The tool that states them. `None`: the one that wrote the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool's name for these times: `http_req_duration`.
    pub metric: String,
    /// Ascending.
    pub percentiles: Vec<StatedPercentile>,
}

/// One percentile, once as stated and once computed from the record by the tool's own definition of a request's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StatedPercentile {
    pub quantile: f64,
    pub stated_ns: u64,
    pub recorded_ns: u64,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    Exited(u8),
    /// By a signal that Loadstone did not send.
    Killed(u8),
    /// By a signal that Loadstone sent, because the run was to end.
    Stopped,
}

impl ProxyDelays {
    fn merge(&mut self, other: &ProxyDelays) {
        self.of_requests.merge(&other.of_requests);
        self.of_responses.merge(&other.of_responses);
        self.of_both.merge(&other.of_both);
    }
}

impl RecordSlice {
    pub(crate) fn merge(&mut self, other: RecordSlice) {
        self.entries += other.entries;
        self.target = self.target.take().or(other.target);
        self.unreadable += other.unreadable;
        if self.unreadable_line.is_none() {
            (self.unreadable_line, self.unreadable_at) = (other.unreadable_line, other.unreadable_at);
        }
        self.no_requests += other.no_requests;
        self.no_request_line = self.no_request_line.take().or(other.no_request_line);
        self.late_starts.merge(&other.late_starts);
        self.started_early += other.started_early;
        self.ended_early += other.ended_early;
        self.outside += other.outside;
        self.dropped += other.dropped;
        self.sampled_share = other.sampled_share.or(self.sampled_share);
        self.rotated += other.rotated;
        self.clock_step_ns += other.clock_step_ns;
        self.thread_busy_ns += other.thread_busy_ns;
        match (&mut self.proxy, other.proxy) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self.command_end = self.command_end.or(other.command_end);
        self.stated = self.stated.take().or(other.stated);
    }

    /// Adds a later second or another part.
    pub fn add(into: &mut Option<RecordSlice>, from: Option<RecordSlice>) {
        match (into.as_mut(), from) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, from) => *into = from,
            (Some(_), None) => {}
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
