//! Responses to failed requests. The first few of each kind of failure are kept, so that users can investigate them afterwards.

use loadstone_secrets::exchange as mask;
use loadstone_units::text::printable;
use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::outcome::Outcome;

/// The response to one failed request. Values are masked from the start if their name marks them as a credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureSample {
    /// When the request ended.
    pub at: Nanos,
    pub status: u16,
    /// The first headers, and those of a rejection among the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The beginning of the body as text. Empty if the body is not text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Bytes of the whole body, decompressed.
    pub body_bytes: u64,
}

impl FailureSample {
    /// Samples per kind of failure in one run.
    pub const SAMPLES_PER_KIND_MAX: usize = 3;
    /// Kinds of failure of which one worker keeps samples. A kind is a series, an outcome and a message.
    pub(crate) const SAMPLED_KINDS_MAX: usize = 30;
    const HEADERS_MAX: usize = 20;
    /// Headers of a rejection that follow them.
    const LATER_HEADERS_MAX: usize = 4;
    const HEADER_BYTES_MAX: usize = 200;
    const BODY_BYTES_MAX: usize = 2_048;
    /// Larger bodies are not searched for password fields, since their beginning is not valid JSON.
    const PARSED_BYTES_MAX: usize = 64 * 1024;

    pub fn new<'a>(status: u16, headers: impl Iterator<Item = (&'a str, &'a str)>, body: &[u8]) -> Self {
        let header = |(name, value): (&str, &str)| {
            (name.to_owned(), printable(&cut(&mask::header(name, value), Self::HEADER_BYTES_MAX)).into_owned())
        };
        Self {
            at: 0,
            status,
            headers: first_headers(headers).map(header).collect(),
            body: printable(&text(body)).into_owned(),
            body_bytes: body.len() as u64,
        }
    }
}

/// The first headers, and of the others those by which a target rejects on purpose: proxies often add these last.
fn first_headers<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_of_rejection = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "retry-after" || ["ratelimit", "x-ratelimit", "x-rate-limit"].iter().any(|start| name.starts_with(start))
    };
    let numbered = headers.enumerate().filter(move |(number, (name, _))| *number < FailureSample::HEADERS_MAX || is_of_rejection(name));
    numbered.map(|(_, header)| header).take(FailureSample::HEADERS_MAX + FailureSample::LATER_HEADERS_MAX)
}

/// The beginning of a body without passwords. Empty if the body is not text.
fn text(body: &[u8]) -> String {
    if body.len() <= FailureSample::PARSED_BYTES_MAX
        && let Ok(given) = serde_json::from_slice::<serde_json::Value>(body)
    {
        let mut masked = given.clone();
        mask::json(&mut masked);
        if masked != given {
            return cut(&masked.to_string(), FailureSample::BODY_BYTES_MAX);
        }
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(FailureSample::BODY_BYTES_MAX + 4)]);
    if text.chars().any(|c| c == char::REPLACEMENT_CHARACTER || c.is_control() && !c.is_whitespace()) && std::str::from_utf8(body).is_err()
    {
        return String::new();
    }
    cut(&text, FailureSample::BODY_BYTES_MAX)
}

/// The ellipsis informs the search for secrets that one may be cut off here.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The kinds of failure that have had their samples. Bounded over the whole run.
#[derive(Debug, Default)]
pub(crate) struct SampledKinds(Vec<SampledKind>);

#[derive(Debug)]
struct SampledKind {
    /// The series' index in the recorder.
    series: u32,
    outcome: Outcome,
    message: String,
    samples: usize,
}

impl SampledKinds {
    /// Whether another sample of this kind is needed. If so, it counts as taken.
    pub(crate) fn take(&mut self, series: u32, outcome: Outcome, message: &str) -> bool {
        let same = |kind: &&mut SampledKind| kind.series == series && kind.outcome == outcome && kind.message == message;
        if let Some(kind) = self.0.iter_mut().find(same) {
            let is_wanted = kind.samples < FailureSample::SAMPLES_PER_KIND_MAX;
            kind.samples += usize::from(is_wanted);
            return is_wanted;
        }
        let is_wanted = self.0.len() < FailureSample::SAMPLED_KINDS_MAX;
        if is_wanted {
            self.0.push(SampledKind { series, outcome, message: message.to_owned(), samples: 1 });
        }
        is_wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_under_credential_names_are_never_kept() {
        let headers = [("authorization", "Bearer abc"), ("set-cookie", "session=abc; Path=/"), ("content-type", "application/json")];
        let sample = FailureSample::new(401, headers.into_iter(), br#"{"user":"ann","password":"abc"}"#);
        assert!(!format!("{sample:?}").contains("abc"), "{sample:?}");
        assert_eq!(sample.headers[2].1, "application/json");
        assert!(sample.body.contains(r#""user":"ann""#));
    }

    #[test]
    fn headers_of_a_rejection_are_kept_after_many_others() {
        let others: Vec<String> = (0..30).map(|number| format!("x-{number}")).collect();
        let headers = others.iter().map(|name| (name.as_str(), "1")).chain([("Retry-After", "2"); 30]).chain([("set-cookie", "a=b")]);
        let sample = FailureSample::new(503, headers, b"");
        assert_eq!(sample.headers.len(), FailureSample::HEADERS_MAX + FailureSample::LATER_HEADERS_MAX);
        assert_eq!(sample.headers.iter().filter(|(name, _)| name == "Retry-After").count(), FailureSample::LATER_HEADERS_MAX);
    }

    #[test]
    fn text_bodies_are_cut_and_binary_bodies_dropped() {
        let long = "é".repeat(2_000);
        let sample = FailureSample::new(500, std::iter::empty(), long.as_bytes());
        assert_eq!((sample.body.len(), sample.body_bytes), (2_048 + "…".len(), 4_000));
        assert!(sample.body.ends_with("é…"));
        let picture = FailureSample::new(500, std::iter::empty(), &[0x89, b'P', 0xff, 0x00, 0x01]);
        assert_eq!((picture.body.as_str(), picture.body_bytes), ("", 5));
    }
}
