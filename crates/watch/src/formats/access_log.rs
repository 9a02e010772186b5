//! Access logs of nginx and Apache, in any format that has a time of day, a request time, a status and a path.

use loadstone_plan::LoadModel;

use super::log_pattern::{EXAMPLE, LogPattern, PatternField, PatternPart};
use super::request_name;
use crate::entry::{Entry, RecordTime, Timed, outcome_of};
use crate::record_format::{RecordFormat, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "access-log",
    tool: "an access log",
    // $request_time and $msec have milliseconds. $time_local and %t have whole seconds.
    resolution_ns: 1_000_000,
    model: LoadModel::Arrivals,
    has_iterations: false,
    comes_at_end: false,
    lacks: &[
        "the client's view: times begin when the server read the request, so waiting in its accept queue is missing",
        "requests that never reached the server",
        "the schedule",
        "users",
        "connection phases",
    ],
    make: |pattern| Ok(Box::new(AccessLogReader { pattern: LogPattern::compile(pattern.unwrap_or(EXAMPLE))? })),
};

struct AccessLogReader {
    pattern: LogPattern,
}

/// The fields of one line.
#[derive(Default)]
struct AccessLogLine<'a> {
    at_ns: Option<u64>,
    duration_ns: Option<u64>,
    method: &'a str,
    path: &'a str,
    status: Option<u16>,
    bytes_received: u64,
    bytes_sent: u64,
}

impl RecordReader for AccessLogReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let text = String::from_utf8_lossy(line);
        if text.is_empty() {
            return Ok(());
        }
        let logged = self.read(&text).ok_or(UnreadableLine)?;
        let at = RecordTime::Wall(logged.at_ns.ok_or(UnreadableLine)?);
        let (duration_ns, status) = (logged.duration_ns.ok_or(UnreadableLine)?, logged.status.ok_or(UnreadableLine)?);
        let ended = if self.pattern.is_begin { at.plus(duration_ns) } else { at };
        take(&Entry::Request(Timed {
            status,
            outcome: outcome_of(status),
            bytes_received: logged.bytes_received,
            bytes_sent: logged.bytes_sent,
            ..Timed::new(&request_name::of_url(logged.method, logged.path), ended, duration_ns)
        }));
        Ok(())
    }

    fn resolution_ns(&self) -> Option<u64> {
        self.has_whole_seconds().then_some(1_000_000_000)
    }
}

impl AccessLogReader {
    /// Whether the time of day has no fraction.
    fn has_whole_seconds(&self) -> bool {
        let is_whole = |part: &PatternPart| matches!(part, PatternPart::Field(PatternField::LocalTime | PatternField::IsoTime));
        let is_exact = |part: &PatternPart| matches!(part, PatternPart::Field(PatternField::Epoch(_)));
        self.pattern.parts.iter().any(is_whole) && !self.pattern.parts.iter().any(is_exact)
    }

    fn read<'a>(&self, line: &'a str) -> Option<AccessLogLine<'a>> {
        let mut logged = AccessLogLine::default();
        let mut rest = line;
        let parts = &self.pattern.parts;
        for (index, part) in parts.iter().enumerate() {
            match part {
                PatternPart::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                PatternPart::Field(field) => {
                    let end = match parts.get(index + 1) {
                        Some(PatternPart::Text(next)) => rest.find(next.as_str())?,
                        _ => rest.len(),
                    };
                    logged.add(*field, &rest[..end])?;
                    rest = &rest[end..];
                }
            }
        }
        Some(logged)
    }
}

impl<'a> AccessLogLine<'a> {
    fn add(&mut self, field: PatternField, value: &'a str) -> Option<()> {
        match field {
            PatternField::LocalTime => self.at_ns = Some(ns_of(jiff::Zoned::strptime("%d/%b/%Y:%H:%M:%S %z", value).ok()?.timestamp())?),
            PatternField::IsoTime => self.at_ns = Some(ns_of(value.parse::<jiff::Timestamp>().ok()?)?),
            PatternField::Epoch(unit) => self.at_ns = Some(in_units(value, unit)?),
            PatternField::Duration(unit) => self.duration_ns = Some(in_units(value, unit)?),
            PatternField::RequestLine => {
                let mut words = value.split(' ');
                self.method = words.next().filter(|method| !method.is_empty() && method.len() < 20).unwrap_or("-");
                self.path = words.next().unwrap_or("");
            }
            PatternField::Method => self.method = value,
            PatternField::Path => self.path = value,
            PatternField::Status => self.status = Some(value.parse().ok()?),
            PatternField::BytesReceived => self.bytes_received = value.parse().unwrap_or(0),
            PatternField::BytesSent => self.bytes_sent = value.parse().unwrap_or(0),
            PatternField::Ignored => {}
        }
        Some(())
    }
}

fn ns_of(at: jiff::Timestamp) -> Option<u64> {
    u64::try_from(at.as_nanosecond()).ok()
}

/// A decimal number times the unit, exactly.
fn in_units(value: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let whole: u64 = whole.parse().ok()?;
    let mut ns = whole.checked_mul(unit_ns)?;
    let mut digit_ns = unit_ns;
    for digit in fraction.bytes() {
        digit_ns /= 10;
        ns += u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?) * digit_ns;
    }
    Some(ns)
}
