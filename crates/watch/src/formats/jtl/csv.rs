//! Results as CSV with a header line. Columns are found by their names.

use std::borrow::Cow;

use super::super::fields;
use super::sample::{ENTRY_BYTES_MAX, JtlSample, SampleSink};
use crate::entry::Entry;
use crate::record_format::UnreadableLine;

#[derive(Default)]
pub(super) struct CsvResults {
    columns: Option<Columns>,
    /// An entry whose quoted field continues.
    open: Vec<u8>,
    users: SampleSink,
    has_target: bool,
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

impl CsvResults {
    pub(super) fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
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
        let sample = JtlSample {
            started_ms: number(Some(columns.timestamp)).ok_or(UnreadableLine)?,
            elapsed_ms: number(Some(columns.elapsed)).ok_or(UnreadableLine)?,
            label: text(Some(columns.label)),
            code: text(Some(columns.code)),
            message: if text(columns.failure).is_empty() { text(columns.message) } else { text(columns.failure) },
            has_failed: text(columns.success) == "false",
            bytes: number(columns.bytes).unwrap_or(0),
            sent: number(columns.sent).unwrap_or(0),
            users: number(columns.threads),
            latency_ms: number(columns.latency).unwrap_or(0),
            connect_ms: number(columns.connect).unwrap_or(0),
            // A transaction controller is a sample without a URL and a type of data.
            is_transaction: columns.url.is_some() && text(columns.url) == "null" && text(columns.data_type).is_empty(),
        };
        if !self.has_target && text(columns.url).contains("://") {
            self.has_target = true;
            take(&Entry::Target { url: text(columns.url) });
        }
        self.users.pass_on(&sample, take);
        Ok(())
    }
}
