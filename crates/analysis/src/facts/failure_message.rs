//! What failed responses report: a string of a JSON body, a short plain body, or the message of a gRPC status.

use loadstone_metrics::{FailureSample, SeriesKey};

use crate::RunTally;

/// Fields of a JSON response that may describe the failure.
const MESSAGE_FIELDS: [&str; 4] = ["detail", "message", "error", "title"];
/// Words of a string from which it describes a failure.
const TELLING_WORDS_MIN: usize = 2;
/// The longest description that is shown, and the longest one in a claim. Characters.
const MESSAGE_CHARS_MAX: usize = 200;
const IN_CLAIM_CHARS_MAX: usize = 100;
/// The header with the message of a gRPC status.
const GRPC_MESSAGE: &str = "grpc-message";

/// The message of failed responses of one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailureMessage {
    /// That of the first response of the most frequent kind of failure that has one.
    pub(crate) first: String,
    /// What all recorded responses of that kind share: the whole message, or its first words. `None`: they differ from the first word on.
    shared: Option<String>,
}

impl FailureMessage {
    /// `most`: the text of the most frequent kind of failure.
    pub(super) fn of(tally: &RunTally, key: &SeriesKey, most: Option<&str>) -> Option<Self> {
        let texts = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
            let errors = tally.errors().iter().filter(|error| error.key == *key && is_wanted(&error.message));
            let mut samples: Vec<&FailureSample> = errors.flat_map(|error| &error.samples).collect();
            samples.sort_by_key(|sample| sample.at);
            samples.into_iter().filter_map(text).collect()
        };
        let of_most = texts(&|message| most == Some(message));
        let shared = shared(&of_most);
        let first = of_most.into_iter().next().or_else(|| texts(&|_| true).into_iter().next())?;
        Some(Self { first, shared })
    }

    /// What the responses share, as a part of a claim. Of a longer message, the last parts after a colon: outer layers of a system prepend theirs. `None`: a
    /// single word, which explains too little, or a long message of one part.
    pub(crate) fn in_claim(&self) -> Option<String> {
        let shared = self.shared.as_deref().filter(|shared| shared.contains(' '))?;
        if shared.chars().count() <= IN_CLAIM_CHARS_MAX {
            return Some(shared.to_owned());
        }
        let parts = shared.match_indices(": ").map(|(at, colon)| &shared[at + colon.len()..]);
        let mut short = parts.filter(|part| part.chars().count() < IN_CLAIM_CHARS_MAX && part.contains(' '));
        short.next().map(|part| format!("…{part}"))
    }
}

/// The longest telling string of a response's JSON, whatever its shape, a short plain body, or the message of its gRPC status.
fn text(sample: &FailureSample) -> Option<String> {
    let text = match serde_json::from_str::<serde_json::Value>(&sample.body) {
        Ok(serde_json::Value::String(text)) => Some(text),
        Ok(body) => longest_telling(&body).or_else(|| usual_field(&body)),
        Err(_) => Some(sample.body.trim().to_owned()),
    };
    let is_short = |text: &String| !text.is_empty() && text.chars().count() <= MESSAGE_CHARS_MAX && !text.contains(['<', '\n']);
    let body = text.filter(is_short).filter(|text| *text != format!("status {}", sample.status));
    body.or_else(|| grpc_message(sample).filter(is_short))
}

fn grpc_message(sample: &FailureSample) -> Option<String> {
    let (_, message) = sample.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(GRPC_MESSAGE))?;
    Some(percent_decoded(message).trim().to_owned())
}

/// Without the escapes that gRPC uses in this header ("gRPC over HTTP2", Status-Message). Invalid ones remain.
fn percent_decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut plain = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                plain.extend(&part.as_bytes()[2..]);
            }
            None => plain.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The message that all have, or the words with which all begin.
fn shared(texts: &[String]) -> Option<String> {
    let (first, others) = texts.split_first()?;
    if others.iter().all(|other| other == first) {
        return Some(first.clone());
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    let alike = |other: &String| words.iter().zip(other.split_whitespace()).take_while(|(mine, theirs)| **mine == *theirs).count();
    let count = others.iter().map(alike).min().filter(|count| *count >= TELLING_WORDS_MIN)?;
    Some(format!("{} …", words[..count].join(" ")))
}

/// The longest string with several words, at any depth. Stack traces, links and identifiers describe nothing.
fn longest_telling(body: &serde_json::Value) -> Option<String> {
    let is_telling = |text: &&String| {
        text.split_whitespace().count() >= TELLING_WORDS_MIN
            && text.chars().count() <= MESSAGE_CHARS_MAX
            && !text.contains(['<', '\n'])
            && !text.contains("://")
    };
    let mut left = vec![body];
    let mut longest: Option<&String> = None;
    while let Some(value) = left.pop() {
        match value {
            serde_json::Value::String(text) if is_telling(&text) => {
                longest = longest.filter(|known| known.len() >= text.len()).or(Some(text));
            }
            serde_json::Value::Array(values) => left.extend(values),
            serde_json::Value::Object(fields) => left.extend(fields.values()),
            _ => {}
        }
    }
    longest.cloned()
}

/// A usual field (RFC 9457 names `detail` and `title`), even if it is a single word.
fn usual_field(body: &serde_json::Value) -> Option<String> {
    MESSAGE_FIELDS.iter().find_map(|name| match body.get(name)? {
        serde_json::Value::String(text) => Some(text.clone()),
        nested => Some(nested.get("message")?.as_str()?.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grpc(message: &str) -> FailureSample {
        FailureSample::new(200, [("grpc-status", "13"), ("grpc-message", message)].into_iter(), b"")
    }

    #[test]
    fn the_message_of_a_grpc_status_is_decoded() {
        assert_eq!(text(&grpc("no%20such%20%C3%BC%zz")).unwrap(), "no such ü%zz");
        assert_eq!(text(&grpc("")), None);
        let with_body = FailureSample::new(500, [("grpc-message", "of the status")].into_iter(), br#"{"detail":"of the body"}"#);
        assert_eq!(text(&with_body).unwrap(), "of the body");
    }

    #[test]
    fn responses_share_a_message_or_its_first_words_or_nothing() {
        let of = |texts: [&str; 2]| shared(&texts.map(str::to_owned));
        assert_eq!(of(["out of stock", "out of stock"]).unwrap(), "out of stock");
        assert_eq!(of(["order 7 is not paid", "order 7 was lost"]).unwrap(), "order 7 …");
        assert_eq!(of(["order 7 failed", "order 8 failed"]), None);
        assert_eq!(shared(&[]), None);
    }

    #[test]
    fn a_claim_has_the_innermost_parts_of_a_long_message() {
        let of = |shared: String| FailureMessage { first: String::new(), shared: Some(shared) }.in_claim();
        assert_eq!(of("the card was refused".to_owned()).unwrap(), "the card was refused");
        let long = format!("order {}: no connection: the name resolver has no address", "x".repeat(90));
        assert_eq!(of(long).unwrap(), "…no connection: the name resolver has no address");
        assert_eq!((of("refused".to_owned()), of("word ".repeat(30))), (None, None));
    }
}
