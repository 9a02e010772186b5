//! The borders of a replay.

use loadstone_wire_formats::access_log::instant;

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
        instant(text).map(|time| Border::At(time.ns)).ok_or_else(|| {
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
    fn a_border_is_an_instant_or_a_time_since_the_first_request() {
        assert_eq!(Border::parse("from", "90s").unwrap().instant(5), 90_000_000_005);
        assert_eq!(Border::parse("to", "2026-11-28T17:00:00Z").unwrap().instant(5), 1_795_885_200_000_000_000);
        assert!(Border::parse("to", "noon").unwrap_err().contains("neither an instant"));
    }
}
