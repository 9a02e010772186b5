//! oha: the lines of `oha --output-format csv`, which it prints when it has ended. Times count from its start, in seconds.

use std::borrow::Cow;

use loadstone_metrics::Phases;
use loadstone_plan::LoadModel;

use super::fields;
use crate::entry::{Entry, RecordTime, Timed, outcome_of};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "oha-csv",
    tool: "oha",
    resolution_ns: 1_000,
    model: LoadModel::Users,
    has_iterations: false,
    comes_at_end: true,
    parts: RecordParts::Lines,
    lacks: &["requests without a response: oha leaves them out", "users", "the wall clock: times count from oha's start"],
    make: |_| Ok(Box::new(OhaReader)),
};

struct OhaReader;

impl RecordReader for OhaReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?;
        if line.starts_with("request-start") || line.is_empty() {
            return Ok(());
        }
        let values = fields::split(line);
        let ns = |at: usize| {
            let seconds = values.get(at).map_or("", Cow::as_ref).parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds));
            seconds.map(|seconds| (seconds * 1e9) as u64).ok_or(UnreadableLine)
        };
        let (started, dns, dns_and_connect, first_byte, duration_ns) = (ns(0)?, ns(1)?, ns(2)?, ns(3)?, ns(4)?);
        let bytes_received = values.get(5).and_then(|bytes| bytes.parse().ok()).ok_or(UnreadableLine)?;
        let status = values.get(6).and_then(|status| status.parse::<u16>().ok()).ok_or(UnreadableLine)?;
        let phases = Phases {
            dns,
            connect: dns_and_connect.saturating_sub(dns),
            wait: first_byte.saturating_sub(dns_and_connect),
            body: duration_ns.saturating_sub(first_byte),
            ..Phases::default()
        };
        let ended = RecordTime::SinceStart(started).plus(duration_ns);
        let timed = Timed::new("requests", ended, duration_ns);
        take(&Entry::Request(Timed { status, outcome: outcome_of(status), phases, bytes_received, ..timed }));
        Ok(())
    }
}
