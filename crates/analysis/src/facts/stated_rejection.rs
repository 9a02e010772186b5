//! Responses that show that a target rejects on purpose, whatever their status: they ask the client to retry later (`Retry-After`, RFC 9110, 10.2.3), or
//! state that no request is left (`RateLimit` and similar headers, drafts of the IETF's HTTPAPI group).

use loadstone_metrics::{FailureSample, Outcome, SeriesKey};

use crate::RunTally;

const RETRY_AFTER: &str = "retry-after";
/// Headers of the number of requests that are left (Kong and others add the unit of the window).
const REMAINING: [&str; 3] = ["ratelimit-remaining", "x-ratelimit-remaining", "x-rate-limit-remaining"];
/// Service Unavailable, and the unregistered Bandwidth Limit Exceeded.
const DELIBERATE_SERVER_ERRORS: [u16; 2] = [503, 509];
/// The longest value that is shown. Characters.
const VALUE_CHARS_MAX: usize = 40;

/// What the recorded responses of one request state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatedRejection {
    /// That of the first response: `retry-after: 1`.
    pub(crate) header: String,
    /// Recorded responses, all of which state it.
    pub(crate) responses: usize,
}

impl StatedRejection {
    /// `outcome` and `text` are those of the most frequent kind of failure. `None` if one of its recorded responses lacks such a header: a system that
    /// rejects on purpose always adds it.
    pub(super) fn of(tally: &RunTally, key: &SeriesKey, outcome: Outcome, text: &str) -> Option<Self> {
        let errors = tally.errors().iter().filter(|error| error.key == *key && error.outcome == outcome && &*error.message == text);
        let mut samples: Vec<&FailureSample> = errors.flat_map(|error| &error.samples).collect();
        samples.sort_by_key(|sample| sample.at);
        let headers: Option<Vec<String>> = samples.iter().map(|sample| header(sample)).collect();
        let headers = headers?;
        Some(Self { header: headers.first()?.clone(), responses: headers.len() })
    }
}

/// Whether a target may answer so on purpose. Other errors of a server mean that it failed (RFC 9110, 15.6).
pub(super) fn may_be_deliberate_status(status: u16) -> bool {
    !(500..600).contains(&status) || DELIBERATE_SERVER_ERRORS.contains(&status)
}

/// The header of a response by which it rejects. With a redirection or a success, `Retry-After` is no rejection.
fn header(sample: &FailureSample) -> Option<String> {
    let is_rejection = sample.status >= 400 && may_be_deliberate_status(sample.status);
    let found = sample.headers.iter().filter(|_| is_rejection).find_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let value = value.trim();
        match name == RETRY_AFTER {
            // Some servers send fractions of a second.
            true => Some((name, value.parse::<f64>().map_or_else(|_| value.to_owned(), loadstone_units::number))),
            false => has_none_left(&name, value).then(|| (name, value.to_owned())),
        }
    });
    found.map(|(name, value)| format!("{name}: {}", value.chars().take(VALUE_CHARS_MAX).collect::<String>()))
}

/// `X-RateLimit-Remaining: 0`, `RateLimit: limit=100, remaining=0, reset=50` or `RateLimit: "default";r=0;t=50`. Successful responses have these headers,
/// too, with other numbers.
fn has_none_left(name: &str, value: &str) -> bool {
    let is_none = |number: &str| number.trim() == "0";
    let mut parts = value.split([';', ',']);
    if name == "ratelimit" {
        return parts
            .filter_map(|part| part.split_once('='))
            .any(|(key, number)| matches!(key.trim(), "r" | "remaining") && is_none(number));
    }
    let is_remaining = |known: &str| name.strip_prefix(known).is_some_and(|unit| unit.is_empty() || unit.starts_with('-'));
    REMAINING.iter().any(|known| is_remaining(known)) && parts.next().is_some_and(is_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(status: u16, name: &str, value: &str) -> Option<String> {
        header(&FailureSample::new(status, [("server", "nginx"), (name, value)].into_iter(), b""))
    }

    /// Values as servers send them: seconds, a fraction, a date, and those of Kong, GitHub and both drafts.
    #[test]
    fn a_rejection_is_stated_by_retry_after_or_by_requests_that_are_left() {
        for (status, name, value, expected) in [
            (423, "Retry-After", "0.26101218939530635", "retry-after: 0.261"),
            (503, "retry-after", "120", "retry-after: 120"),
            (403, "Retry-After", "Fri, 31 Dec 2027 23:59:59 GMT", "retry-after: Fri, 31 Dec 2027 23:59:59 GMT"),
            (403, "X-RateLimit-Remaining", "0", "x-ratelimit-remaining: 0"),
            (403, "X-RateLimit-Remaining-Minute", "0", "x-ratelimit-remaining-minute: 0"),
            (400, "RateLimit", "limit=100, remaining=0, reset=50", "ratelimit: limit=100, remaining=0, reset=50"),
            (400, "RateLimit", "\"default\";r=0;t=50", "ratelimit: \"default\";r=0;t=50"),
        ] {
            assert_eq!(stated(status, name, value).as_deref(), Some(expected), "{status} {name}: {value}");
        }
    }

    /// Requests are left, the server itself failed, or the response is no rejection.
    #[test]
    fn other_responses_state_no_rejection() {
        for (status, name, value) in [
            (404, "X-RateLimit-Remaining", "4999"),
            (404, "RateLimit", "limit=100, remaining=10, reset=50"),
            (404, "RateLimit-Limit", "0"),
            (502, "Retry-After", "60"),
            (301, "Retry-After", "1"),
            (423, "Content-Type", "text/plain"),
        ] {
            assert_eq!(stated(status, name, value), None, "{status} {name}: {value}");
        }
    }
}
