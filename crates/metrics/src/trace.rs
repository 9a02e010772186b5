//! The id by which a tracing system identifies a request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The trace id of a `traceparent` header: 128 bits, not all zero, written as 32 digits (W3C Trace Context, section 3.2.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "string"))]
#[serde(into = "String", try_from = "String")]
pub struct TraceId {
    high: u64,
    low: u64,
}

impl TraceId {
    /// `None` for the id that the standard forbids.
    pub fn new(high: u64, low: u64) -> Option<Self> {
        (high != 0 || low != 0).then_some(Self { high, low })
    }

    /// Its first and its last 16 digits.
    pub fn halves(self) -> (u64, u64) {
        (self.high, self.low)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.high, self.low)
    }
}

/// The string is not 32 lower-case hexadecimal digits, or only zeros.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a trace id")]
pub struct NotATraceId(String);

impl FromStr for TraceId {
    type Err = NotATraceId;

    fn from_str(text: &str) -> Result<Self, NotATraceId> {
        let wrong = || NotATraceId(text.to_owned());
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(wrong());
        }
        let half = |range| u64::from_str_radix(&text[range], 16).map_err(|_| wrong());
        Self::new(half(0..16)?, half(16..32)?).ok_or_else(wrong)
    }
}

impl From<TraceId> for String {
    fn from(id: TraceId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for TraceId {
    type Error = NotATraceId;

    fn try_from(text: String) -> Result<Self, NotATraceId> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        // The example of the standard, section 3.2.3.
        let text = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(text.parse::<TraceId>().unwrap().to_string(), text);
        let long = "4".repeat(33);
        for wrong in ["", "00000000000000000000000000000000", "4BF92F3577B34DA6A3CE929D0E0E4736", "+bf92f3577b34da6a3ce929d0e0e4736", &long]
        {
            assert!(wrong.parse::<TraceId>().is_err(), "{wrong}");
        }
    }
}
