//! Gatling: `simulation.log`, as text (3.4 to 3.12) or binary (3.13 and later). The first byte decides.

mod binary;
mod bytes;
mod text;

use loadstone_plan::LoadModel;

use crate::entry::Entry;
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};
use binary::BinaryLog;

/// Longest line of a text log. Bytes.
const LINE_BYTES_MAX: usize = 4 << 20;

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "gatling",
    tool: "Gatling",
    resolution_ns: 1_000_000,
    model: LoadModel::Arrivals,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Stream,
    lacks: &[
        "the injection profile: whether users started late",
        "connection phases",
        "statuses, except in messages",
        "requests in flight when Gatling was killed",
    ],
    make: |_| Ok(Box::new(GatlingReader { open: Vec::new(), log: GatlingLog::Unknown })),
};

struct GatlingReader {
    /// Bytes of a record that is not complete yet.
    open: Vec<u8>,
    log: GatlingLog,
}

enum GatlingLog {
    /// Nothing was read.
    Unknown,
    Text(text::TextLog),
    Binary(Box<BinaryLog>),
    /// A binary log cannot be read on after an error: its records have no marks.
    Lost,
}

impl RecordReader for GatlingReader {
    fn line(&mut self, bytes: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        if let (GatlingLog::Unknown, Some(first)) = (&self.log, bytes.first()) {
            let is_binary = *first == binary::RUN;
            self.log = if is_binary { GatlingLog::Binary(Box::default()) } else { GatlingLog::Text(text::TextLog::default()) };
        }
        self.open.extend_from_slice(bytes);
        let read = match &mut self.log {
            GatlingLog::Unknown | GatlingLog::Lost => self.open.len(),
            GatlingLog::Text(log) => lines(&self.open, log, take),
            GatlingLog::Binary(log) => match log.records(&self.open, take) {
                Ok(read) => read,
                Err(problem) => {
                    take(&Entry::Unreadable(problem.as_bytes()));
                    self.log = GatlingLog::Lost;
                    self.open.len()
                }
            },
        };
        self.open.drain(..read);
        Ok(())
    }

    fn end(&mut self, take: &mut dyn FnMut(&Entry<'_>)) {
        if matches!(self.log, GatlingLog::Text(_)) && !self.open.is_empty() {
            // Always succeeds: lines that cannot be read are entries.
            let _ = self.line(b"\n", take);
        }
    }
}

/// Passes on the complete lines, and returns their length.
fn lines(bytes: &[u8], log: &mut text::TextLog, take: &mut dyn FnMut(&Entry<'_>)) -> usize {
    let mut begin = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = &bytes[begin..end];
        if log.line(line, take).is_err() {
            take(&Entry::Unreadable(line));
        }
        begin = end + 1;
    }
    if bytes.len() - begin <= LINE_BYTES_MAX {
        return begin;
    }
    take(&Entry::Unreadable(&bytes[begin..]));
    bytes.len()
}
