//! Instants in records.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// An instant of a record. Nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordedTime {
    pub(super) ns: i64,
    /// The record has whole seconds only.
    pub(super) is_whole_second: bool,
}

/// Reads instants. The last one is remembered: consecutive lines of a log often have the same second.
#[derive(Debug, Default)]
pub(super) struct TimeReader {
    last: Option<(String, RecordedTime)>,
}

impl TimeReader {
    /// `28/Nov/2026:17:00:00 +0000`, `2026-11-28T17:00:00+00:00` with or without a fraction, or seconds since 1970 with a fraction.
    pub(super) fn read(&mut self, text: &str) -> Option<RecordedTime> {
        if let Some((known, time)) = &self.last
            && known == text
        {
            return Some(*time);
        }
        let time = read(text)?;
        self.last = Some((text.to_owned(), time));
        Some(time)
    }
}

fn read(text: &str) -> Option<RecordedTime> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    if let Ok(seconds) = text.parse::<f64>() {
        let ns = (seconds * 1e3).round() as i64 * 1_000_000;
        return Some(RecordedTime { ns, is_whole_second: !text.contains('.') });
    }
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?,
    };
    let is_whole_second = !text.contains('.');
    Some(RecordedTime { ns: i64::try_from(at.as_nanosecond()).ok()?, is_whole_second })
}

/// A border of a replay: an instant, or a time since the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Border {
    At(i64),
    AfterFirst(i64),
}

impl Border {
    pub(super) fn parse(what: &str, text: &str) -> Result<Self, String> {
        if let Ok(ns) = loadstone_units::duration::parse(text) {
            return Ok(Border::AfterFirst(i64::try_from(ns).unwrap_or(i64::MAX)));
        }
        read(text).map(|time| Border::At(time.ns)).ok_or_else(|| {
            format!("{what}: \"{text}\" is neither an instant such as 2026-11-28T17:00:00Z nor a time since the first request such as 90s")
        })
    }

    /// The instant. `first`: of the first request.
    pub(super) fn instant(self, first: i64) -> i64 {
        match self {
            Border::At(ns) => ns,
            Border::AfterFirst(ns) => first.saturating_add(ns),
        }
    }
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
        assert_eq!(TimeReader::default().read("yesterday"), None);
    }

    #[test]
    fn a_border_is_an_instant_or_a_time_since_the_first_request() {
        assert_eq!(Border::parse("from", "90s").unwrap().instant(5), 90_000_000_005);
        assert_eq!(Border::parse("to", "2026-11-28T17:00:00Z").unwrap().instant(5), 1_795_885_200_000_000_000);
        assert!(Border::parse("to", "noon").unwrap_err().contains("neither an instant"));
    }
}
