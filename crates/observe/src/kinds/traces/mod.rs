//! A receiver of OpenTelemetry spans, to which the exporters of the system's services send.
//!
//! Read [`book`] first: it joins spans to the traces of the load's requests, in bounded memory. [`assemble`] builds a tree of each trace and computes its
//! critical path, [`aggregate`] sums traces, [`receiver`] receives messages by [`crate::otlp`], [`recorded`] reads those of a record. Deliberately absent:
//! attributes of spans, so that no secret in them is ever read; JSON; sampling of forwarded messages.

mod aggregate;
mod assemble;
mod book;
mod forward;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use prost::bytes::Bytes;

    use super::book::SpanBook;
    use super::proto::decode;

    /// Received twice, and settled.
    pub(in crate::kinds) fn message(input: &[u8]) {
        let Some(export) = decode(&Bytes::copy_from_slice(input)) else { return };
        // Traces of the run begin with these bytes.
        let mut book = SpanBook::new(input.first_chunk().map_or(0, |id| u32::from_be_bytes(*id)), 0);
        for now in [1_000_000_000, 20_000_000_000] {
            book.take(&export, now, now);
            book.settle(now);
        }
        book.last_batch();
    }
}
mod names;
mod proto;
mod receiver;
mod recorded;
mod span;

use std::net::SocketAddr;
use std::time::Duration;

use loadstone_metrics::clock::wall_ns;
use loadstone_metrics::{NoticeKind, unit};

use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::reader::{PendingRead, SignalReader};
use book::SpanCounts;
use forward::ForwardTarget;
use receiver::{ReceiverReport, SpanReceiver};

pub use recorded::recorded_traces;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "traces",
    watches: "services with OpenTelemetry",
    example: "observe.traces()",
    alternatives: "",
    reports: "where, in which service and call, the time of each request goes: [traces](traces.md); point the services' exporters there",
    options: &[
        ObserverOption {
            name: "listen",
            takes: OptionValue::Text { default: Some("127.0.0.1:4318") },
            help: "listen address for OTLP over HTTP and gRPC",
        },
        ObserverOption {
            name: "forward",
            takes: OptionValue::Text { default: None },
            help: "another OTLP receiver over HTTP, such as `\"http://127.0.0.1:4319\"`, which receives all data",
        },
        ObserverOption {
            name: "link",
            takes: OptionValue::Text { default: None },
            help: "address of a trace in your trace store, such as `\"http://127.0.0.1:16686/trace/{trace}\"`: the page links there",
        },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(TraceReader::from_description(description)?)),
};

const SPANS: MetricSpec<'_> = MetricSpec::counter("spans", unit::COUNT, "Spans received");
const TRACES: MetricSpec<'_> = MetricSpec::counter("traces", unit::COUNT, "Assembled traces of the load's requests");
const FOREIGN: MetricSpec<'_> = MetricSpec::counter("foreign", unit::COUNT, "Spans of requests that the load did not send");
const DROPPED: MetricSpec<'_> = MetricSpec::counter("dropped", unit::COUNT, "Spans dropped because of a limit");
const REFUSED: MetricSpec<'_> = MetricSpec::counter("refused", unit::COUNT, "Messages that could not be read");
const NOT_FORWARDED: MetricSpec<'_> = MetricSpec::counter("not_forwarded", unit::COUNT, "Messages that could not be forwarded");
const CPU: MetricSpec<'_> = MetricSpec::counter("cpu", unit::SECONDS, "CPU time of the thread that receives spans");
const CLOCK_SKEW: MetricSpec<'_> = MetricSpec::gauge("clock_skew", "seconds", "Minimum difference between the clocks of two services");

/// The listener could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {listen}: {problem}")]
struct ReceiverListenError {
    listen: SocketAddr,
    problem: std::io::Error,
}

struct TraceReader {
    listen: SocketAddr,
    forward: Option<String>,
    /// First quarter of the ids of the run's traces.
    run: u32,
    receiver: Option<SpanReceiver>,
    notified: SentNotices,
}

/// Notices that were sent, since each is sent once.
#[derive(Default)]
struct SentNotices {
    one_of: u64,
    refused: bool,
    not_forwarded: bool,
    skew: bool,
}

impl SignalReader for TraceReader {
    fn joins_traces(&mut self, run: u32) {
        self.run = run;
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async move {
            let run_ns = out.at();
            let report = self.receiver(run_ns)?.report(run_ns, false).await;
            self.report(report, out);
            Ok(())
        })
    }

    /// Exporters still hold spans of the last requests.
    fn finish<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async move {
            let run_ns = out.at();
            let receiver = self.receiver(run_ns)?;
            let first = receiver.report(run_ns, false).await;
            tokio::time::sleep(Duration::from_nanos(first.counts.patience_ns())).await;
            let last = receiver.report(run_ns, true).await;
            let counts = last.counts;
            self.report(first, out);
            self.report(last, out);
            if counts.traces == 0 {
                out.notice(NoticeKind::Incomplete, self.why_nothing(&counts));
            }
            Ok(())
        })
    }
}

impl TraceReader {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let listen = description.text("listen").unwrap_or_default();
        let wrong = |_| description.problem(format!("listen \"{listen}\" is not an address such as \"127.0.0.1:4318\""));
        let listen = listen.parse().map_err(wrong)?;
        let forward = description.text("forward").map(str::to_owned);
        if let Some(Err(problem)) = forward.as_deref().map(ForwardTarget::parse) {
            return Err(description.problem(format!("`forward` cannot be used: {problem}")));
        }
        // The page contains this link, so only web addresses are allowed.
        let is_page = |link: &str| (link.starts_with("http://") || link.starts_with("https://")) && link.contains("{trace}");
        if let Some(link) = description.text("link").filter(|link| !is_page(link)) {
            return Err(
                description.problem(format!("link \"{link}\" is not an address such as \"http://127.0.0.1:16686/trace/{{trace}}\""))
            );
        }
        Ok(Self { listen, forward, run: 0, receiver: None, notified: SentNotices { one_of: 1, ..SentNotices::default() } })
    }

    /// The receiver; starts it on first use.
    fn receiver(&mut self, run_ns: u64) -> Result<&SpanReceiver, ReceiverListenError> {
        let receiver = match self.receiver.take() {
            Some(receiver) => receiver,
            None => {
                let forward = self.forward.as_deref().and_then(|forward| ForwardTarget::parse(forward).ok());
                let started = SpanReceiver::start(self.listen, self.run, wall_ns().saturating_sub(run_ns), forward);
                started.map_err(|problem| ReceiverListenError { listen: self.listen, problem })?
            }
        };
        Ok(self.receiver.insert(receiver))
    }

    /// Why no trace was assembled.
    fn why_nothing(&self, counts: &SpanCounts) -> String {
        if counts.received == 0 {
            return format!("received no spans: start the services with OTEL_EXPORTER_OTLP_ENDPOINT=http://{}", self.listen);
        }
        let spans = loadstone_units::counted(counts.received, "span");
        format!("received {spans}, none of them of the load's requests: do the services adopt `traceparent`, and sample as it requests?")
    }

    fn report(&mut self, report: ReceiverReport, out: &mut SignalCollector) {
        let counts = report.counts;
        out.put(SPANS, counts.received as f64);
        out.put(TRACES, counts.traces as f64);
        out.put(FOREIGN, counts.foreign as f64);
        out.put(DROPPED, counts.dropped as f64);
        out.put(CPU, report.cpu_ns as f64 / 1e9);
        out.put(REFUSED, report.refused as f64);
        if self.forward.is_some() {
            out.put(NOT_FORWARDED, report.not_forwarded as f64);
        }
        if counts.skew_ns > 0 {
            out.put(CLOCK_SKEW, counts.skew_ns as f64 / 1e9);
        }
        out.traces(report.batch);
        let notified = &mut self.notified;
        if counts.one_of > notified.one_of {
            notified.one_of = counts.one_of;
            out.notice(NoticeKind::Remark, format!("too many spans arrived: from here on, only one of {} traces is read", counts.one_of));
        }
        if let Some(problem) = report.refusal.filter(|_| !std::mem::replace(&mut notified.refused, true)) {
            out.notice(NoticeKind::Incomplete, format!("a message was refused: {problem}"));
        }
        if let Some(problem) = report.forward_problem.filter(|_| !std::mem::replace(&mut notified.not_forwarded, true)) {
            out.notice(NoticeKind::Remark, format!("a message could not be forwarded: {problem}"));
        }
        if counts.skew_ns >= SKEW_NOTICE_MIN_NS && !std::mem::replace(&mut notified.skew, true) {
            let skew = loadstone_units::seconds(counts.skew_ns as f64 / 1e9);
            let what =
                format!("the clocks of two services differ by {skew} at least; their spans were shifted into the calls that they answer");
            out.notice(NoticeKind::Remark, what);
        }
    }
}

/// Smaller clock differences are not reported.
const SKEW_NOTICE_MIN_NS: u64 = 5_000_000;
