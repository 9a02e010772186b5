//! The index of a record: when each request was sent and where it is, in order. A temporary file of 16 bytes per request, mapped into memory, so that a
//! record of any length costs no memory that the system cannot take back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use loadstone_plan::{RecordedInstants, ReplayStage};
use loadstone_wire_formats::access_log::{LogFormat, RecordedTime, TimeReader};
use memmap2::Mmap;

use super::access_log;
use super::border::Border;
use super::format::ReplayFormat;
use super::gor::GorReader;
use super::har;
use super::logged::changes_data;

/// Bytes of an entry: nanoseconds since the first request, position in the record.
const ENTRY_BYTES: usize = 16;
/// Logs are in the order in which requests ended. A request that began this much earlier than the newest line is in its place.
const REORDERED_NS_MAX: i64 = 120_000_000_000;
/// Requests that wait for their place, and lines of one second.
const WAITING_MAX: usize = 1 << 20;
/// Longer lines are no requests. Bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;
const BUFFER_BYTES: usize = 1 << 20;
const SECOND_NS: i64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct RecordIndex {
    /// Absent: no request was found.
    entries: Option<Mmap>,
}

impl RecordIndex {
    /// Reads the record once and sets what the stage did not know.
    pub(super) fn build(source: &File, format: &ReplayFormat, stage: &mut ReplayStage, allow_writes: bool) -> Result<Self, String> {
        let mut source = source.try_clone().map_err(unreadable)?;
        source.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        let border = |what: &str, text: &Option<String>| text.as_ref().map(|text| Border::parse(what, text)).transpose();
        let mut writer = IndexWriter::new((border("from", &stage.from)?, border("to", &stage.to)?), stage.speed, allow_writes)?;
        let read = match format {
            ReplayFormat::Lines(format) => of_lines(source, |line, times| of_log(format, line, times), &mut writer),
            ReplayFormat::Spooled => of_lines(source, |line, _| har::line(line), &mut writer),
            ReplayFormat::Gor => of_gor(source, &mut writer),
        };
        read.map_err(unreadable)?;
        writer.finish(stage).map_err(|problem| format!("cannot write a temporary file: {problem}"))
    }

    /// Where the request with this number is in the record.
    pub(super) fn position(&self, number: u64) -> Option<u64> {
        self.entry(number).map(|(_, position)| position)
    }

    fn entry(&self, number: u64) -> Option<(u64, u64)> {
        let at = usize::try_from(number).ok()?.checked_mul(ENTRY_BYTES)?;
        let entry = self.entries.as_ref()?.get(at..at.checked_add(ENTRY_BYTES)?)?;
        let (offset, position) = entry.split_at(ENTRY_BYTES / 2);
        Some((u64::from_le_bytes(offset.try_into().ok()?), u64::from_le_bytes(position.try_into().ok()?)))
    }
}

impl RecordedInstants for RecordIndex {
    fn offset_ns(&self, index: u64) -> Option<u64> {
        self.entry(index).map(|(offset_ns, _)| offset_ns)
    }
}

fn unreadable(problem: std::io::Error) -> String {
    format!("cannot be read: {problem}")
}

fn of_log(format: &LogFormat, line: &str, times: &mut TimeReader) -> Option<(RecordedTime, String)> {
    let line = format.line(line, times)?;
    // The whole request is checked here, so that each one in the index can be sent.
    access_log::request_of(&line)?;
    Some((line.began()?, line.method.to_owned()))
}

fn of_lines(
    mut source: impl BufRead,
    read: impl Fn(&str, &mut TimeReader) -> Option<(RecordedTime, String)>,
    writer: &mut IndexWriter,
) -> std::io::Result<()> {
    let (mut line, mut position, mut times) = (Vec::new(), 0, TimeReader::default());
    loop {
        line.clear();
        let count = std::io::Read::take(&mut source, LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        if count == 0 {
            return Ok(());
        }
        let is_whole = line.ends_with(b"\n") || count < LINE_BYTES_MAX;
        let text = std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or(&line)).ok().filter(|_| is_whole);
        match text.and_then(|text| read(text, &mut times)) {
            Some((begin, method)) => writer.add(begin, position, &method)?,
            None => writer.unreadable += u64::from(!line.trim_ascii().is_empty()),
        }
        position += count;
    }
}

fn of_gor(source: impl BufRead, writer: &mut IndexWriter) -> std::io::Result<()> {
    let mut reader = GorReader::new(source);
    while let Some(entry) = reader.next()? {
        match entry {
            Some(entry) => writer.add(entry.begin, entry.position, &entry.method)?,
            None => writer.unreadable += 1,
        }
    }
    Ok(())
}

/// Puts requests in order while they are read.
struct IndexWriter {
    file: BufWriter<File>,
    borders: (Option<Border>, Option<Border>),
    speed: f64,
    allow_writes: bool,
    /// Of the record's first request, which relative borders refer to.
    first: Option<i64>,
    newest: i64,
    /// Requests of one second whose record has whole seconds: they are spread over it.
    second: (i64, Vec<u64>),
    /// Requests whose place is not certain yet: `(begin, position)`.
    waiting: BinaryHeap<Reverse<(i64, u64)>>,
    /// Begin of the first request that is sent, and of the last one so far.
    sent: Option<(i64, i64)>,
    count: u64,
    last_offset_ns: u64,
    /// The current second of the replay and its arrivals.
    current: (u64, u64),
    peak: u64,
    writes_left_out: u64,
    unreadable: u64,
}

impl IndexWriter {
    fn new(borders: (Option<Border>, Option<Border>), speed: f64, allow_writes: bool) -> Result<Self, String> {
        let file = tempfile::tempfile().map_err(|problem| format!("cannot create a temporary file: {problem}"))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            borders,
            speed,
            allow_writes,
            first: None,
            newest: i64::MIN,
            second: (0, Vec::new()),
            waiting: BinaryHeap::new(),
            sent: None,
            count: 0,
            last_offset_ns: 0,
            current: (0, 0),
            peak: 0,
            writes_left_out: 0,
            unreadable: 0,
        })
    }

    fn add(&mut self, begin: RecordedTime, position: u64, method: &str) -> std::io::Result<()> {
        if !self.allow_writes && changes_data(method) {
            self.writes_left_out += 1;
            return Ok(());
        }
        if !begin.is_whole_second {
            return self.wait(begin.ns, position);
        }
        if self.second.0 != begin.ns || self.second.1.len() >= WAITING_MAX {
            self.end_second()?;
            self.second.0 = begin.ns;
        }
        self.second.1.push(position);
        Ok(())
    }

    /// Spreads the requests of a second evenly over it: the record does not say more.
    fn end_second(&mut self) -> std::io::Result<()> {
        let (second, positions) = (self.second.0, std::mem::take(&mut self.second.1));
        let count = positions.len() as i64;
        for (at, position) in positions.into_iter().enumerate() {
            self.wait(second + SECOND_NS * at as i64 / count, position)?;
        }
        Ok(())
    }

    fn wait(&mut self, begin: i64, position: u64) -> std::io::Result<()> {
        self.first = Some(self.first.map_or(begin, |first| first.min(begin)));
        self.newest = self.newest.max(begin);
        self.waiting.push(Reverse((begin, position)));
        while self.waiting.len() > WAITING_MAX
            || self.waiting.peek().is_some_and(|Reverse((oldest, _))| self.newest.saturating_sub(*oldest) > REORDERED_NS_MAX)
        {
            self.write_oldest()?;
        }
        Ok(())
    }

    fn write_oldest(&mut self) -> std::io::Result<()> {
        let Some(Reverse((begin, position))) = self.waiting.pop() else { return Ok(()) };
        let first = self.first.unwrap_or(begin);
        let (from, to) = (self.borders.0.map(|from| from.instant(first)), self.borders.1.map(|to| to.instant(first)));
        if from.is_some_and(|from| begin < from) || to.is_some_and(|to| begin >= to) {
            return Ok(());
        }
        let (began, last) = self.sent.unwrap_or((begin, begin));
        let begin = begin.max(last);
        self.sent = Some((began, begin));
        self.last_offset_ns = ((begin - began) as f64 / self.speed).round() as u64;
        self.count += 1;
        let second = self.last_offset_ns / SECOND_NS as u64;
        self.current = if self.current.0 == second { (second, self.current.1 + 1) } else { (second, 1) };
        self.peak = self.peak.max(self.current.1);
        self.file.write_all(&self.last_offset_ns.to_le_bytes())?;
        self.file.write_all(&position.to_le_bytes())
    }

    fn finish(mut self, stage: &mut ReplayStage) -> std::io::Result<RecordIndex> {
        self.end_second()?;
        while !self.waiting.is_empty() {
            self.write_oldest()?;
        }
        (stage.count, stage.duration_ns, stage.peak) = (self.count, self.last_offset_ns, self.peak);
        (stage.writes_left_out, stage.unreadable) = (self.writes_left_out, self.unreadable);
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        if self.count == 0 {
            return Ok(RecordIndex { entries: None });
        }
        // SAFETY: the file has no name, so no other program can change or shorten it.
        let entries = unsafe { Mmap::map(&file)? };
        Ok(RecordIndex { entries: Some(entries) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(speed: f64, from: Option<&str>, to: Option<&str>) -> ReplayStage {
        serde_json::from_value(serde_json::json!({ "file": "x", "speed": speed, "from": from, "to": to })).unwrap()
    }

    fn built(stage: &mut ReplayStage, allow_writes: bool, requests: &[(i64, bool, &str)]) -> Vec<(u64, u64)> {
        let border = |text: &Option<String>| text.as_ref().map(|text| Border::parse("", text).unwrap());
        let mut writer = IndexWriter::new((border(&stage.from), border(&stage.to)), stage.speed, allow_writes).unwrap();
        for (position, (ns, is_whole_second, method)) in requests.iter().enumerate() {
            writer.add(RecordedTime { ns: *ns, is_whole_second: *is_whole_second }, position as u64, method).unwrap();
        }
        let index = writer.finish(stage).unwrap();
        (0..).map_while(|number| index.entry(number)).collect()
    }

    #[test]
    fn requests_are_in_the_order_in_which_they_began() {
        let mut all = stage(2.0, None, None);
        let entries = built(&mut all, false, &[(900, false, "GET"), (500, false, "GET"), (100, false, "POST"), (700, false, "HEAD")]);
        assert_eq!(entries, [(0, 1), (100, 3), (200, 0)]);
        assert_eq!((all.count, all.duration_ns, all.peak, all.writes_left_out), (3, 200, 3, 1));
        assert_eq!(built(&mut stage(1.0, None, None), true, &[(900, false, "GET"), (100, false, "POST")]), [(0, 1), (800, 0)]);
    }

    #[test]
    fn whole_seconds_are_spread_evenly() {
        let at = |second: i64| (second * SECOND_NS, true, "GET");
        let entries = built(&mut stage(1.0, None, None), false, &[at(5), at(5), at(5), at(5), at(6), at(8)]);
        let offsets: Vec<u64> = entries.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(offsets, [0, 250_000_000, 500_000_000, 750_000_000, 1_000_000_000, 3_000_000_000]);
    }

    #[test]
    fn a_part_of_the_record_is_chosen() {
        let requests: Vec<(i64, bool, &str)> = (0..10).map(|second| (second * SECOND_NS, false, "GET")).collect();
        let entries = built(&mut stage(1.0, Some("3s"), Some("6s")), false, &requests);
        assert_eq!(entries.iter().map(|(_, position)| *position).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(entries[0].0, 0, "the first one that is sent is due at once");
        assert_eq!(built(&mut stage(1.0, Some("1h"), None), false, &requests), []);
    }

    #[test]
    fn a_request_of_long_ago_is_sent_now() {
        let minute = 60 * SECOND_NS;
        let entries = built(
            &mut stage(1.0, None, None),
            false,
            &[(0, false, "GET"), (10 * minute, false, "GET"), (minute, false, "GET"), (20 * minute, false, "GET")],
        );
        assert!(entries.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{entries:?}");
        assert_eq!(entries.len(), 4);
    }
}
