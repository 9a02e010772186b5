//! k6: the points of `--out json=FILE`, one metric per line.
//!
//! k6 writes the metrics of one request one after another, with equal time and tags. `http_req_duration` lacks the time before the request was sent, which
//! `http_req_blocked` has (it includes connecting and TLS). A request here takes both, because the user waits for both.

use std::borrow::Cow;

use loadstone_metrics::{Outcome, Phases};
use loadstone_plan::LoadModel;
use serde::Deserialize;

use crate::entry::{Entry, RecordTime, Timed, outcome_of, outcome_of_error};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "k6-json",
    tool: "k6",
    resolution_ns: 1_000,
    model: LoadModel::Users,
    has_iterations: true,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["requests in flight when k6 was killed", "name resolution times"],
    make: |_| Ok(Box::<K6Reader>::default()),
};

#[derive(Default)]
struct K6Reader {
    pending: Option<PendingRequest>,
}

/// The metrics of one request so far.
struct PendingRequest {
    time: String,
    at: RecordTime,
    name: String,
    group: String,
    status: u16,
    error: String,
    /// `expected_response` is false.
    is_unexpected: bool,
    duration_ns: u64,
    blocked_ns: u64,
    phases: Phases,
}

#[derive(Deserialize)]
struct Line<'a> {
    metric: &'a str,
    #[serde(borrow)]
    data: K6Point<'a>,
}

#[derive(Deserialize)]
struct K6Point<'a> {
    time: &'a str,
    value: f64,
    #[serde(borrow, default)]
    tags: K6Tags<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct K6Tags<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    group: Cow<'a, str>,
    #[serde(borrow)]
    check: Cow<'a, str>,
    #[serde(borrow)]
    error: Cow<'a, str>,
    #[serde(borrow)]
    error_code: Cow<'a, str>,
    #[serde(borrow)]
    expected_response: Cow<'a, str>,
    #[serde(borrow)]
    scenario: Cow<'a, str>,
    #[serde(borrow)]
    service: Cow<'a, str>,
}

/// The metrics that matter, by their names.
const REQUEST_METRICS: &str = "http_req_";

impl RecordReader for K6Reader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let start = b"{\"metric\":\"";
        // Definitions of metrics begin with their type.
        let Some(named) = line.strip_prefix(start) else {
            return if line.starts_with(b"{\"type\":\"Metric\"") || line.is_empty() { Ok(()) } else { Err(UnreadableLine) };
        };
        let end = memchr::memchr(b'"', named).ok_or(UnreadableLine)?;
        if !is_read(&named[..end]) {
            return Ok(());
        }
        let line: Line<'_> = serde_json::from_slice(line).map_err(|_| UnreadableLine)?;
        self.point(&line, take)
    }
}

fn is_read(metric: &[u8]) -> bool {
    matches!(
        metric,
        b"http_reqs"
            | b"http_req_duration"
            | b"http_req_blocked"
            | b"http_req_connecting"
            | b"http_req_tls_handshaking"
            | b"http_req_waiting"
            | b"http_req_receiving"
            | b"http_req_failed"
            | b"grpc_req_duration"
            | b"iteration_duration"
            | b"group_duration"
            | b"checks"
            | b"vus"
            | b"dropped_iterations"
    )
}

impl K6Reader {
    fn point(&mut self, line: &Line<'_>, take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let K6Point { time, value, tags } = &line.data;
        let is_of_request = line.metric.starts_with(REQUEST_METRICS);
        if is_of_request && self.pending.as_ref().is_some_and(|pending| pending.time == *time) {
            if let Some(pending) = &mut self.pending {
                pending.add(line.metric, *value);
            }
            if line.metric == "http_req_failed" {
                self.complete(take);
            }
            return Ok(());
        }
        self.complete(take);
        if is_of_request {
            return Ok(());
        }
        let at = wall(time)?;
        let duration_ns = milliseconds(*value);
        let group = group(&tags.group);
        match line.metric {
            "http_reqs" => self.pending = Some(PendingRequest::new((*time).to_owned(), at, tags)),
            "grpc_req_duration" => {
                let name =
                    if tags.service.is_empty() { tags.name.clone() } else { Cow::Owned(format!("{}/{}", tags.service, tags.method)) };
                let outcome = if matches!(&*tags.status, "0" | "") { Outcome::Passed } else { Outcome::Status };
                take(&Entry::Request(Timed { group, outcome, ..Timed::new(&name, at, duration_ns) }));
            }
            "iteration_duration" => take(&Entry::Iteration(Timed::new(&tags.scenario, at, duration_ns))),
            "group_duration" if !group.is_empty() => take(&Entry::Group(Timed::new(group, at, duration_ns))),
            "checks" => take(&Entry::Check { at, name: &tags.check, group, passed: *value > 0.0 }),
            "vus" => take(&Entry::Users { at, source: 0, count: value.max(0.0) as u64 }),
            "dropped_iterations" => take(&Entry::Dropped { at, count: value.max(0.0) as u64 }),
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        let Some(pending) = self.pending.take() else { return };
        let outcome = match (pending.status, pending.is_unexpected) {
            (0, _) => outcome_of_error(&pending.error),
            (status, true) if outcome_of(status) == Outcome::Passed => Outcome::Expect,
            (_, false) => Outcome::Passed,
            (status, true) => outcome_of(status),
        };
        take(&Entry::Request(Timed {
            group: &pending.group,
            outcome,
            status: pending.status,
            message: if pending.status == 0 { &pending.error } else { "" },
            phases: pending.phases,
            stated_ns: Some(pending.duration_ns),
            ..Timed::new(&pending.name, pending.at, pending.blocked_ns + pending.duration_ns)
        }));
    }
}

impl PendingRequest {
    fn new(time: String, at: RecordTime, tags: &K6Tags<'_>) -> Self {
        let is_url = tags.name.contains("://");
        let name = if is_url { super::request_name::of_url(&tags.method, &tags.name) } else { tags.name.to_string() };
        let error = if tags.error.is_empty() { tags.error_code.to_string() } else { tags.error.to_string() };
        Self {
            time,
            at,
            name,
            group: group(&tags.group).to_owned(),
            status: tags.status.parse().unwrap_or(0),
            error,
            is_unexpected: tags.expected_response == "false",
            duration_ns: 0,
            blocked_ns: 0,
            phases: Phases::default(),
        }
    }

    fn add(&mut self, metric: &str, value: f64) {
        let ns = milliseconds(value);
        match metric {
            "http_req_duration" => self.duration_ns = ns,
            "http_req_blocked" => self.blocked_ns = ns,
            "http_req_connecting" => self.phases.connect = ns,
            "http_req_tls_handshaking" => self.phases.tls = ns,
            "http_req_waiting" => self.phases.wait = ns,
            "http_req_receiving" => self.phases.body = ns,
            _ => {}
        }
    }
}

/// The innermost of nested groups: `::Checkout::Pay`.
fn group(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn milliseconds(value: f64) -> u64 {
    (value.max(0.0) * 1e6).round() as u64
}

fn wall(time: &str) -> Result<RecordTime, UnreadableLine> {
    let at: jiff::Timestamp = time.parse().map_err(|_| UnreadableLine)?;
    u64::try_from(at.as_nanosecond()).map(RecordTime::Wall).map_err(|_| UnreadableLine)
}
