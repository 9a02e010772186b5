//! hey and oha: the lines of `hey -o csv` and `oha --output-format csv`, which they print when they have ended. Times count from their start, in seconds.

use std::borrow::Cow;

use loadstone_metrics::Phases;
use loadstone_plan::LoadModel;

use super::fields;
use crate::entry::{Entry, RecordTime, Timed, outcome_of};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const HEY: RecordFormat = RecordFormat {
    name: "hey-csv",
    tool: "hey",
    resolution_ns: 100_000,
    model: LoadModel::Users,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: true,
    parts: RecordParts::Lines,
    lacks: &["requests without a response: hey leaves them out", "users", "the wall clock: times count from hey's start"],
    make: |_| Ok(Box::new(PrintedCsv { header: "response-time", request: of_hey })),
};

pub(super) const OHA: RecordFormat = RecordFormat {
    name: "oha-csv",
    tool: "oha",
    resolution_ns: 1_000,
    lacks: &["requests without a response: oha leaves them out", "users", "the wall clock: times count from oha's start"],
    make: |_| Ok(Box::new(PrintedCsv { header: "request-start", request: of_oha })),
    ..HEY
};

struct PrintedCsv {
    /// How the line with the names of the columns begins.
    header: &'static str,
    request: fn(&PrintedColumns<'_>) -> Result<Timed<'static>, UnreadableLine>,
}

struct PrintedColumns<'a>(Vec<Cow<'a, str>>);

impl RecordReader for PrintedCsv {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?;
        if line.starts_with(self.header) || line.is_empty() {
            return Ok(());
        }
        let columns = PrintedColumns(fields::split(line));
        let status = columns.number(6)?;
        take(&Entry::Request(Timed { status, outcome: outcome_of(status), ..(self.request)(&columns)? }));
        Ok(())
    }
}

impl PrintedColumns<'_> {
    fn number<T: std::str::FromStr>(&self, at: usize) -> Result<T, UnreadableLine> {
        self.0.get(at).and_then(|value| value.parse().ok()).ok_or(UnreadableLine)
    }

    /// Seconds as nanoseconds.
    fn ns(&self, at: usize) -> Result<u64, UnreadableLine> {
        let seconds: f64 = self.number(at)?;
        if (0.0..1e9).contains(&seconds) { Ok((seconds * 1e9) as u64) } else { Err(UnreadableLine) }
    }
}

/// Duration, name resolution and connecting, name resolution, writing, waiting, reading, status, start.
fn of_hey(columns: &PrintedColumns<'_>) -> Result<Timed<'static>, UnreadableLine> {
    let (duration_ns, dns) = (columns.ns(0)?, columns.ns(2)?);
    let connect = columns.ns(1)?.saturating_sub(dns);
    let phases = Phases { dns, connect, wait: columns.ns(4)?, body: columns.ns(5)?, ..Phases::default() };
    let ended = RecordTime::SinceStart(columns.ns(7)?).plus(duration_ns);
    Ok(Timed { phases, ..Timed::new("requests", ended, duration_ns) })
}

/// Start, name resolution, the same with connecting, first byte, duration, bytes, status.
fn of_oha(columns: &PrintedColumns<'_>) -> Result<Timed<'static>, UnreadableLine> {
    let (dns, dns_and_connect, first_byte, duration_ns) = (columns.ns(1)?, columns.ns(2)?, columns.ns(3)?, columns.ns(4)?);
    let phases = Phases {
        dns,
        connect: dns_and_connect.saturating_sub(dns),
        wait: first_byte.saturating_sub(dns_and_connect),
        body: duration_ns.saturating_sub(first_byte),
        ..Phases::default()
    };
    let ended = RecordTime::SinceStart(columns.ns(0)?).plus(duration_ns);
    Ok(Timed { phases, bytes_received: columns.number(5)?, ..Timed::new("requests", ended, duration_ns) })
}
