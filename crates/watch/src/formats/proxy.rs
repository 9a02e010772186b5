//! Requests through Loadstone's own proxy. They need no parsing: the proxy passes them on as they end.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use loadstone_metrics::{Nanos, Outcome};
use loadstone_plan::LoadModel;

use crate::entry::{Entry, RecordTime, Timed};
use crate::error::{EXAMPLE, WatchError};
use crate::proxy::record::{ProxiedRequest, ProxyRecord, ProxyRecords};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

/// A tool that ends closes its connections, each thread at another instant. Its end cut off the requests that were aborted at most this long before
/// the last one was sent, or after it. Nanoseconds.
const END_NS: Nanos = 500_000_000;
/// Aborted requests that wait for a later request.
const ABORTED_MAX: usize = 10_000;

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "proxy",
    tool: "the proxy",
    resolution_ns: 1_000,
    model: LoadModel::Arrivals,
    is_of_server: true,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Proxied,
    lacks: &["the time between the tool and the proxy, such as the tool's own connects", "requests that never reached the proxy"],
    make: |_| {
        let problem = format!("name the port of the proxy and the URL of the system: --record {EXAMPLE}");
        Err(WatchError::Command { what: "--record proxy".to_owned(), problem })
    },
};

/// What the record of a proxy lacks that passes on TLS.
pub(crate) const OPAQUE_LACKS: &[&str] = &[
    "requests: the proxy passes on bytes that it does not read, so each entry is a connection, and its time is the time that it was open",
];

/// Takes what a proxy recorded.
pub(crate) struct ProxyReader {
    source: ProxyRecords,
    /// The load is closed, and each connection is a user.
    has_users: bool,
    aborted: VecDeque<ProxiedRequest>,
    /// The latest start of a request.
    started_at: Nanos,
}

impl ProxyReader {
    pub(crate) fn new(source: ProxyRecords, model: LoadModel) -> Self {
        Self { source, has_users: model == LoadModel::Users, aborted: VecDeque::new(), started_at: 0 }
    }

    fn drain(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        while let Ok(record) = self.source.records.try_recv() {
            match record {
                ProxyRecord::NotRecorded(why) => take(&Entry::Unreadable(why.as_bytes())),
                ProxyRecord::Request(request) => {
                    self.started_at = self.started_at.max(request.sent_at);
                    if request.is_aborted {
                        self.aborted.push_back(*request);
                    } else {
                        pass_on(&request, request.outcome, take);
                    }
                }
            }
        }
    }

    /// Passes on the aborted requests that the tool did not abort at its end.
    fn release(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        while let Some(request) = self.aborted.front() {
            if self.aborted.len() <= ABORTED_MAX && request.ended_at + END_NS > self.started_at {
                return;
            }
            if let Some(request) = self.aborted.pop_front() {
                pass_on(&request, request.outcome, take);
            }
        }
    }
}

fn pass_on(request: &ProxiedRequest, outcome: Outcome, take: &mut dyn FnMut(&Entry<'_>)) {
    let duration_ns = request.ended_at.saturating_sub(request.sent_at);
    take(&Entry::Request(Timed {
        outcome,
        status: request.status,
        message: &request.message,
        phases: request.phases,
        bytes_sent: request.bytes_sent,
        bytes_received: request.bytes_received,
        proxy_delay: request.delay,
        ..Timed::new(&request.name, RecordTime::Run(request.ended_at), duration_ns)
    }));
}

impl RecordReader for ProxyReader {
    fn line(&mut self, _line: &[u8], _take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        Err(UnreadableLine)
    }

    fn pass_time(&mut self, now: Nanos, take: &mut dyn FnMut(&Entry<'_>)) {
        self.drain(take);
        self.release(take);
        if self.has_users {
            take(&Entry::Users { at: RecordTime::Run(now), source: 0, count: self.source.open.load(Ordering::Relaxed) });
        }
    }

    fn end(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        self.drain(take);
        self.release(take);
        // The rest was cut off by the end of the tool.
        for request in self.aborted.drain(..) {
            pass_on(&request, Outcome::Interrupted, take);
        }
    }
}
