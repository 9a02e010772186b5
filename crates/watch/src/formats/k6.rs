//! k6: the points of `--out json=FILE`, one metric per line.
//!
//! k6 writes the metrics of one request one after another, with equal time and tags. `http_req_duration` lacks the time before the request was sent, which
//! `http_req_blocked` has (it includes connecting and TLS). A request here takes both, because the user waits for both.
//!
//! The tag `scenario` names the part of the load, `name` the request, and the innermost group of `group` its group. Tags that are not k6's own are the
//! user's: they are counted apart, as k6's sub-metrics are.

use std::borrow::Cow;
use std::fmt;

use loadstone_metrics::{Outcome, Phases};
use loadstone_plan::LoadModel;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::entry::{Entry, EntryTag, RecordTime, Timed, outcome_of, outcome_of_error};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "k6-json",
    tool: "k6",
    resolution_ns: 1_000,
    model: LoadModel::Users,
    is_of_server: false,
    has_iterations: true,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["requests in flight when k6 was killed", "name resolution times"],
    make: |_| Ok(Box::<K6Reader>::default()),
};

#[derive(Default)]
struct K6Reader {
    has_target: bool,
    pending: Option<PendingRequest>,
}

/// The metrics of one request so far.
struct PendingRequest {
    time: String,
    at: RecordTime,
    name: String,
    scenario: String,
    group: String,
    tags: Vec<EntryTag<'static>>,
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

#[derive(Default)]
struct K6Tags<'a> {
    name: Cow<'a, str>,
    method: Cow<'a, str>,
    status: Cow<'a, str>,
    group: Cow<'a, str>,
    check: Cow<'a, str>,
    error: Cow<'a, str>,
    error_code: Cow<'a, str>,
    expected_response: Cow<'a, str>,
    scenario: Cow<'a, str>,
    service: Cow<'a, str>,
    url: Cow<'a, str>,
    /// Those of the user, in k6's order: sorted by name.
    others: Vec<EntryTag<'a>>,
}

/// A string without a copy, where it has no escapes.
#[derive(Deserialize)]
struct TagText<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for K6Tags<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TagsVisitor)
    }
}

struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = K6Tags<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tags")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tags = K6Tags::default();
        while let Some((TagText(name), TagText(value))) = map.next_entry()? {
            match &*name {
                "name" => tags.name = value,
                "method" => tags.method = value,
                "status" => tags.status = value,
                "group" => tags.group = value,
                "check" => tags.check = value,
                "error" => tags.error = value,
                "error_code" => tags.error_code = value,
                "expected_response" => tags.expected_response = value,
                "scenario" => tags.scenario = value,
                "service" => tags.service = value,
                "url" => tags.url = value,
                // Of k6, and not needed: most of them differ with each request.
                "proto" | "subproto" | "tls_version" | "ip" | "iter" | "vu" | "ocsp_status" | "rpc_type" => {}
                _ => tags.others.push((name, value)),
            }
        }
        Ok(tags)
    }
}

impl K6Tags<'_> {
    /// The scenario. `setup` and `teardown` run outside of all scenarios.
    fn scenario(&self) -> &str {
        let first_group = || self.group.strip_prefix("::").and_then(|path| path.split("::").next());
        match &*self.scenario {
            "" => first_group().filter(|group| matches!(*group, "setup" | "teardown")).unwrap_or(""),
            scenario => scenario,
        }
    }
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
        let (scenario, group) = (tags.scenario(), group(&tags.group));
        let timed = |name| Timed { scenario, tags: &tags.others, ..Timed::new(name, at, milliseconds(*value)) };
        match line.metric {
            "http_reqs" if !self.has_target && !tags.url.is_empty() => {
                self.has_target = true;
                take(&Entry::Target { url: &tags.url });
                self.pending = Some(PendingRequest::new((*time).to_owned(), at, tags));
            }
            "http_reqs" => self.pending = Some(PendingRequest::new((*time).to_owned(), at, tags)),
            "grpc_req_duration" => {
                let name =
                    if tags.service.is_empty() { tags.name.clone() } else { Cow::Owned(format!("{}/{}", tags.service, tags.method)) };
                let outcome = if matches!(&*tags.status, "0" | "") { Outcome::Passed } else { Outcome::Status };
                take(&Entry::Request(Timed { group, outcome, ..timed(&name) }));
            }
            "iteration_duration" => take(&Entry::Iteration(timed(""))),
            "group_duration" if !group.is_empty() => take(&Entry::Group(Timed { group: parent(&tags.group), ..timed(group) })),
            "checks" => take(&Entry::Check { at, name: &tags.check, scenario, group, tags: &tags.others, passed: *value > 0.0 }),
            "vus" => take(&Entry::Users { at, source: 0, count: value.max(0.0) as u64 }),
            "dropped_iterations" => take(&Entry::Dropped { at, scenario, count: value.max(0.0) as u64 }),
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
            scenario: &pending.scenario,
            group: &pending.group,
            tags: &pending.tags,
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
            scenario: tags.scenario().to_owned(),
            group: group(&tags.group).to_owned(),
            tags: tags.others.iter().map(|(name, value)| (owned(name), owned(value))).collect(),
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

/// The group around the innermost one, or an empty string.
fn parent(path: &str) -> &str {
    path.rsplit("::").nth(1).unwrap_or("")
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.to_owned())
}

fn milliseconds(value: f64) -> u64 {
    (value.max(0.0) * 1e6).round() as u64
}

fn wall(time: &str) -> Result<RecordTime, UnreadableLine> {
    let at: jiff::Timestamp = time.parse().map_err(|_| UnreadableLine)?;
    u64::try_from(at.as_nanosecond()).map(RecordTime::Wall).map_err(|_| UnreadableLine)
}
