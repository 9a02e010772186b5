//! Instants in logs.

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// An instant of a record. Nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedTime {
    pub ns: i64,
    /// The record has whole seconds only.
    pub is_whole_second: bool,
}

/// Reads instants. The last one is remembered: consecutive lines of a log often have the same second.
#[derive(Debug, Default)]
pub struct TimeReader {
    last: Option<(String, RecordedTime)>,
}

impl TimeReader {
    /// `28/Nov/2026:17:00:00 +0000`, the same with a fraction and in this machine's zone, `2026-11-28T17:00:00+00:00` with or without a fraction, or
    /// seconds since 1970 with a fraction.
    pub fn read(&mut self, text: &str) -> Option<RecordedTime> {
        if let Some((known, time)) = &self.last
            && known == text
        {
            return Some(*time);
        }
        let time = instant(text)?;
        self.last = Some((text.to_owned(), time));
        Some(time)
    }
}

/// What [`TimeReader::read`] reads, once.
pub fn instant(text: &str) -> Option<RecordedTime> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    if let Some(time) = epoch(text, 1_000_000_000) {
        return Some(time);
    }
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) if text.contains(' ') => strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?,
        // HAProxy writes no zone: it is that of its machine.
        Err(_) => {
            strtime::parse("%d/%b/%Y:%H:%M:%S%.f", text).ok()?.to_datetime().ok()?.to_zoned_datetime(TimeZone::system()).ok()?.timestamp()
        }
    };
    Some(RecordedTime { ns: i64::try_from(at.as_nanosecond()).ok()?, is_whole_second: !text.contains('.') })
}

/// A number since 1970 in units of this many nanoseconds.
pub(super) fn epoch(text: &str, unit_ns: u64) -> Option<RecordedTime> {
    let ns = i64::try_from(in_units(text, unit_ns)?).ok()?;
    Some(RecordedTime { ns, is_whole_second: unit_ns == 1_000_000_000 && !text.contains('.') })
}

/// A decimal number times the unit, exactly. Nanoseconds.
pub(super) fn in_units(text: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().ok()?;
    let (mut ns, mut digit_ns) = (whole.checked_mul(unit_ns)?, unit_ns);
    for digit in fraction.bytes() {
        digit_ns /= 10;
        ns = ns.checked_add(u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?) * digit_ns)?;
    }
    Some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_servers_are_read() {
        // date -u -d @1795885200 → Sat Nov 28 17:00:00 UTC 2026
        let second = 1_795_885_200_000_000_000;
        for (text, ns, is_whole_second) in [
            ("28/Nov/2026:17:00:00 +0000", second, true),
            ("[28/Nov/2026:18:30:00 +0130]", second, true),
            ("2026-11-28T17:00:00+00:00", second, true),
            ("2026-11-28T17:00:00.250Z", second + 250_000_000, false),
            ("1795885200.123", second + 123_000_000, false),
        ] {
            assert_eq!(TimeReader::default().read(text), Some(RecordedTime { ns, is_whole_second }), "{text}");
        }
        for text in ["yesterday", "-1", "", "1e9", "99999999999999999999"] {
            assert_eq!(TimeReader::default().read(text), None, "{text}");
        }
        assert_eq!(epoch("1795885200123", 1_000_000), Some(RecordedTime { ns: second + 123_000_000, is_whole_second: false }));
        assert_eq!(in_units("0.003", 1_000_000_000), Some(3_000_000));
    }
}
