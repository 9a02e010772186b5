//! JMeter (and Taurus): results as CSV with a header line. Columns are found by their names.

use std::borrow::Cow;

use loadstone_metrics::{Outcome, Phases};
use loadstone_plan::LoadModel;

use super::fields;
use crate::entry::{Entry, RecordTime, Timed, outcome_of, outcome_of_error};
use crate::record_format::{RecordFormat, RecordReader, UnreadableLine};

/// Longest entry of several lines, such as a failure message with a stack trace. Bytes.
const ENTRY_BYTES_MAX: usize = 1 << 20;

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "jtl",
    tool: "JMeter",
    resolution_ns: 1_000_000,
    model: LoadModel::Users,
    has_iterations: false,
    comes_at_end: false,
    lacks: &["the schedule: when each sample was due", "requests in flight when JMeter was killed", "TLS and name resolution times"],
    make: |_| Ok(Box::<JtlReader>::default()),
};

#[derive(Default)]
struct JtlReader {
    columns: Option<Columns>,
    /// An entry whose quoted field continues.
    open: Vec<u8>,
    users: Option<u64>,
}

/// The places of the columns. Without a header, the order of JMeter's defaults.
#[derive(Debug, Clone, Copy)]
struct Columns {
    timestamp: usize,
    elapsed: usize,
    label: usize,
    code: usize,
    message: Option<usize>,
    data_type: Option<usize>,
    success: Option<usize>,
    failure: Option<usize>,
    bytes: Option<usize>,
    sent: Option<usize>,
    threads: Option<usize>,
    url: Option<usize>,
    latency: Option<usize>,
    connect: Option<usize>,
}

/// The columns of JMeter 5 by default.
const DEFAULT_HEADER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,\
                              grpThreads,allThreads,URL,Latency,IdleTime,Connect";

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let names = fields::split(header);
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        Some(Self {
            timestamp: at("timeStamp")?,
            elapsed: at("elapsed")?,
            label: at("label")?,
            code: at("responseCode")?,
            message: at("responseMessage"),
            data_type: at("dataType"),
            success: at("success"),
            failure: at("failureMessage"),
            bytes: at("bytes"),
            sent: at("sentBytes"),
            threads: at("allThreads"),
            url: at("URL"),
            latency: at("Latency"),
            connect: at("Connect"),
        })
    }
}

impl RecordReader for JtlReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        if self.open.is_empty() && !fields::is_open(line) {
            return self.entry(line, take);
        }
        let closes = !self.open.is_empty() && fields::is_open(line);
        if !self.open.is_empty() {
            self.open.push(b' ');
        }
        self.open.extend_from_slice(line);
        if !closes && self.open.len() <= ENTRY_BYTES_MAX {
            return Ok(());
        }
        let whole = std::mem::take(&mut self.open);
        self.entry(&whole, take)
    }
}

impl JtlReader {
    fn entry(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?.trim_end_matches('\r');
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with("timeStamp") {
            self.columns = Some(Columns::of(line).ok_or(UnreadableLine)?);
            return Ok(());
        }
        let columns = match self.columns {
            Some(columns) => columns,
            None => *self.columns.insert(Columns::of(DEFAULT_HEADER).ok_or(UnreadableLine)?),
        };
        let values = fields::split(line);
        let text = |column: Option<usize>| column.and_then(|at| values.get(at)).map_or("", Cow::as_ref);
        let number = |column: Option<usize>| text(column).parse::<u64>().ok();
        let started_ms = number(Some(columns.timestamp)).ok_or(UnreadableLine)?;
        let elapsed_ms = number(Some(columns.elapsed)).ok_or(UnreadableLine)?;
        let ended = RecordTime::Wall(started_ms.saturating_mul(1_000_000)).plus(elapsed_ms.saturating_mul(1_000_000));
        if let Some(users) = number(columns.threads).filter(|users| self.users != Some(*users)) {
            self.users = Some(users);
            take(&Entry::Users { at: ended, source: 0, count: users });
        }
        let code = text(Some(columns.code));
        let status = code.parse::<u16>().ok().filter(|status| (100..600).contains(status)).unwrap_or(0);
        let message = if text(columns.failure).is_empty() { text(columns.message) } else { text(columns.failure) };
        let outcome = match (text(columns.success), status) {
            ("false", 0) => outcome_of_error(&format!("{code} {message}")),
            ("false", status) if outcome_of(status) == Outcome::Passed => Outcome::Expect,
            ("false", status) => outcome_of(status),
            _ => Outcome::Passed,
        };
        let connect = number(columns.connect).unwrap_or(0) * 1_000_000;
        let latency = number(columns.latency).unwrap_or(0) * 1_000_000;
        let duration_ns = elapsed_ms.saturating_mul(1_000_000);
        let wait = latency.saturating_sub(connect);
        let timed = Timed {
            outcome,
            status,
            message: if outcome == Outcome::Status { "" } else { message },
            phases: Phases { connect, wait, body: duration_ns.saturating_sub(latency), ..Phases::default() },
            bytes_received: number(columns.bytes).unwrap_or(0),
            bytes_sent: number(columns.sent).unwrap_or(0),
            ..Timed::new(text(Some(columns.label)), ended, duration_ns)
        };
        // A transaction controller is a sample without a URL and a type of data.
        let is_transaction = columns.url.is_some() && text(columns.url) == "null" && text(columns.data_type).is_empty();
        if is_transaction {
            let outcome = if outcome == Outcome::Passed { outcome } else { Outcome::Step };
            take(&Entry::Group(Timed { outcome, message: "", phases: Phases::default(), status: 0, ..timed }));
        } else {
            take(&Entry::Request(timed));
        }
        Ok(())
    }
}
