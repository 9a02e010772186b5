//! hey: the lines of `hey -o csv`, which it prints when it has ended. Times count from its start.

use std::borrow::Cow;

use loadstone_metrics::Phases;
use loadstone_plan::LoadModel;

use super::fields;
use crate::entry::{Entry, RecordTime, Timed, outcome_of};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "hey-csv",
    tool: "hey",
    resolution_ns: 100_000,
    model: LoadModel::Users,
    has_iterations: false,
    comes_at_end: true,
    parts: RecordParts::Lines,
    lacks: &["requests without a response: hey leaves them out", "users", "the wall clock: times count from hey's start"],
    make: |_| Ok(Box::new(HeyReader)),
};

struct HeyReader;

impl RecordReader for HeyReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?;
        if line.starts_with("response-time") || line.is_empty() {
            return Ok(());
        }
        let values = fields::split(line);
        let ns = |at: usize| {
            let seconds = values.get(at).map_or("", Cow::as_ref).parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds));
            seconds.map(|seconds| (seconds * 1e9) as u64).ok_or(UnreadableLine)
        };
        let (duration_ns, connect_and_dns, dns, wait, body) = (ns(0)?, ns(1)?, ns(2)?, ns(4)?, ns(5)?);
        let status = values.get(6).and_then(|status| status.parse::<u16>().ok()).ok_or(UnreadableLine)?;
        let phases = Phases { dns, connect: connect_and_dns.saturating_sub(dns), wait, body, ..Phases::default() };
        let ended = RecordTime::SinceStart(ns(7)?).plus(duration_ns);
        take(&Entry::Request(Timed { status, outcome: outcome_of(status), phases, ..Timed::new("requests", ended, duration_ns) }));
        Ok(())
    }
}
