//! OpenTelemetry: server spans that services send by OTLP, as requests. Each message is one part of the record.
//!
//! A server span is a request if its parent was not received: it is the root of its trace, or its caller sends its spans elsewhere. Server spans of calls
//! within the system have a client span of the calling service as their parent. Exporters send every few seconds, so the parent may arrive later, and each
//! server span waits for it. Deliberately absent: root spans of other kinds, which are jobs and messages, and all attributes but the names and statuses of
//! requests.

mod proto;
mod sampling;

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use loadstone_metrics::{Nanos, Outcome};
use loadstone_plan::LoadModel;

use super::request_name;
use crate::entry::{Entry, RecordTime, Timed, outcome_of};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};
use proto::{RecordedSpan, decode};
use sampling::SamplingEstimate;

/// Time that a server span waits for its parent. By default, exporters send at least every five seconds (OTEL_BSP_SCHEDULE_DELAY). Nanoseconds.
pub(crate) const PARENT_WAIT_NS: Nanos = 6_000_000_000;
/// Server spans that wait. Further ones end the wait of the oldest: 100 bytes each.
const WAITING_MAX: usize = 200_000;
/// Spans that are known as parents: about 40 bytes each.
const KNOWN_MAX: usize = 1_500_000;

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "otlp",
    tool: "OpenTelemetry",
    // Node's instrumentation rounds the start of a span to a millisecond.
    resolution_ns: 1_000_000,
    model: LoadModel::Arrivals,
    is_of_server: true,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Messages,
    lacks: &[
        "the client's view: times begin when the server's instrumentation saw the request",
        "requests that never reached the server",
        "users",
        "connection phases",
    ],
    make: |_| Ok(Box::<OtlpReader>::default()),
};

#[derive(Default)]
struct OtlpReader {
    /// By the run's clock.
    now: Nanos,
    hasher: RandomState,
    /// In order of arrival.
    waiting: VecDeque<ServerSpan>,
    known: HashSet<u64>,
    /// When each of them arrived.
    known_since: VecDeque<(Nanos, u64)>,
    sampling: SamplingEstimate,
    /// The share of traces that was passed on last.
    share: Option<f64>,
}

/// A server span whose parent may still arrive.
struct ServerSpan {
    since: Nanos,
    parent: Option<u64>,
    ended_ns: u64,
    duration_ns: u64,
    name: Box<str>,
    status: u16,
    outcome: Outcome,
    message: Box<str>,
}

impl RecordReader for OtlpReader {
    fn line(&mut self, message: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let export = decode(message).ok_or(UnreadableLine)?;
        for span in export.spans() {
            self.span(span, take);
        }
        self.release(take);
        Ok(())
    }

    fn pass_time(&mut self, now: Nanos, take: &mut dyn FnMut(&Entry<'_>)) {
        self.now = now;
        self.release(take);
        // A parent is needed as long as its children may arrive and wait.
        while let Some((_, id)) = self.known_since.pop_front_if(|(since, _)| *since + 2 * PARENT_WAIT_NS < now) {
            self.known.remove(&id);
        }
        let share = self.sampling.share();
        if share.is_some() && share != self.share {
            self.share = share;
            take(&Entry::Sampled { share: share.unwrap_or(1.0) });
        }
    }

    fn end(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        self.pass_time(self.now, take);
        while let Some(span) = self.waiting.pop_front() {
            self.pass_on(&span, take);
        }
    }
}

impl OtlpReader {
    fn span(&mut self, span: &RecordedSpan, take: &mut dyn FnMut(&Entry<'_>)) {
        let id = self.hasher.hash_one((&span.trace_id, span.id()));
        // Exporters repeat a message whose acknowledgement was lost.
        if !self.known.insert(id) {
            return;
        }
        self.known_since.push_back((self.now, id));
        if self.known.len() > KNOWN_MAX
            && let Some((_, oldest)) = self.known_since.pop_front()
        {
            self.known.remove(&oldest);
        }
        if !span.is_of_server() {
            return;
        }
        if span.start == 0 || span.end < span.start {
            return take(&Entry::Unreadable(b"a server span that has no times or ends before it starts"));
        }
        if span.parent().is_none() {
            self.sampling.add(&span.trace_id, span.trace_state());
        }
        let status = span.number_of(&["http.response.status_code", "http.status_code"]).and_then(|status| u16::try_from(status).ok());
        let error = span.error();
        let outcome = if error.is_some() { Outcome::Status } else { outcome_of(status.unwrap_or(0)) };
        let message = match error {
            Some("") if status.is_none() => "its span has the status ERROR",
            error => error.unwrap_or_default(),
        };
        self.waiting.push_back(ServerSpan {
            since: self.now,
            parent: span.parent().map(|parent| self.hasher.hash_one((&span.trace_id, parent))),
            ended_ns: span.end,
            duration_ns: span.end - span.start,
            name: name(span).into(),
            status: status.unwrap_or(0),
            outcome,
            message: message.into(),
        });
    }

    fn release(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        let now = self.now;
        while let Some(span) = self.waiting.front() {
            if self.waiting.len() <= WAITING_MAX && span.since + PARENT_WAIT_NS > now {
                return;
            }
            if let Some(span) = self.waiting.pop_front() {
                self.pass_on(&span, take);
            }
        }
    }

    fn pass_on(&self, span: &ServerSpan, take: &mut dyn FnMut(&Entry<'_>)) {
        if span.parent.is_some_and(|parent| self.known.contains(&parent)) {
            return;
        }
        take(&Entry::Request(Timed {
            status: span.status,
            outcome: span.outcome,
            message: &span.message,
            ..Timed::new(&span.name, RecordTime::Wall(span.ended_ns), span.duration_ns)
        }));
    }
}

/// `GET /orders/{id}` by the semantic conventions of HTTP, present and before 1.23. Other protocols name their spans so.
fn name(span: &RecordedSpan) -> String {
    let Some(method) = span.text_of(&["http.request.method", "http.method"]) else { return span.name().to_owned() };
    if let Some(route) = span.text_of(&["http.route"]) {
        return format!("{method} {route}");
    }
    // Without a route, the convention is the method alone.
    let own = span.name().strip_prefix("HTTP").unwrap_or(span.name()).trim();
    let is_only_method = own.is_empty() || own == method;
    match span.text_of(&["url.path", "http.target"]).filter(|_| is_only_method) {
        Some(path) => request_name::of_url(method, path),
        None => span.name().to_owned(),
    }
}
