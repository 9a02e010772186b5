//! The limit that a target states when it rejects requests: in a header, or in the body.

use loadstone_metrics::{ErrorGroup, FailureSample};

/// Seconds of the usual units of time.
const UNITS: [(&str, f64); 4] = [("second", 1.0), ("minute", 60.0), ("hour", 3_600.0), ("day", 86_400.0)];
/// Headers of a number of requests (Kong and others add the unit of the window).
const HEADERS: [&str; 4] = ["ratelimit-limit", "x-ratelimit-limit", "x-rate-limit-limit", "x-rate-limit"];
/// Fields of a JSON body with that number.
const FIELDS: [&str; 6] = ["limit", "rate_limit", "ratelimit", "ratelimit_limit", "max_requests", "quota"];

/// A number of requests that the target allows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatedLimit {
    pub(crate) requests: f64,
    /// The time for which the number counts, if it is stated. Seconds.
    window_s: Option<f64>,
    /// Where it is stated: `the header ratelimit-limit`.
    pub(crate) at: String,
}

impl StatedLimit {
    /// Requests per second, if the window is known.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.window_s.map(|window| self.requests / window)
    }
}

/// The first limit that is stated in the recorded responses. One with a window ranks before one without.
pub(crate) fn find<'a>(errors: impl Iterator<Item = &'a ErrorGroup>) -> Option<StatedLimit> {
    let stated: Vec<StatedLimit> = errors.flat_map(|error| &error.samples).flat_map(of_sample).collect();
    stated.iter().find(|limit| limit.window_s.is_some()).or(stated.first()).cloned()
}

fn of_sample(sample: &FailureSample) -> Vec<StatedLimit> {
    let of_header = |(name, value): &(String, String)| of_header(&name.to_ascii_lowercase(), value);
    let mut found: Vec<StatedLimit> = sample.headers.iter().filter_map(of_header).collect();
    match serde_json::from_str::<serde_json::Value>(&sample.body) {
        Ok(body) => of_json(&body, &mut found),
        Err(_) => found.extend(of_words(&sample.body)),
    }
    found
}

/// `RateLimit-Limit: 100`, `RateLimit-Policy: "default";q=100;w=60` or `100;w=60`, `RateLimit: limit=100, remaining=0` (drafts of the IETF's HTTPAPI group).
fn of_header(name: &str, value: &str) -> Option<StatedLimit> {
    let at = format!("the header {name}");
    let parameter = |wanted: &str| {
        let each = value.split([';', ',']).filter_map(|part| part.trim().split_once('='));
        each.into_iter().find(|(key, _)| key.trim() == wanted).and_then(|(_, number)| positive(number))
    };
    let first = || positive(value.split([';', ',']).next()?);
    let (requests, window_s) = match name {
        "ratelimit-policy" => (parameter("q").or_else(first)?, parameter("w")),
        "ratelimit" => (parameter("limit")?, None),
        _ if HEADERS.contains(&name) => (first()?, parameter("w")),
        _ => {
            let (start, unit) = name.rsplit_once('-')?;
            let (_, seconds) = UNITS.iter().find(|(known, _)| *known == unit)?;
            (first().filter(|_| HEADERS.contains(&start))?, Some(*seconds))
        }
    };
    Some(StatedLimit { requests, window_s, at })
}

/// Numbers of usual fields, and sentences, at any depth.
fn of_json(value: &serde_json::Value, found: &mut Vec<StatedLimit>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let is_limit = FIELDS.contains(&name.to_ascii_lowercase().as_str());
                match value.as_f64().filter(|number| is_limit && *number > 0.0) {
                    Some(requests) => found.push(StatedLimit { requests, window_s: None, at: format!("`{name}` of the body") }),
                    None => of_json(value, found),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| of_json(value, found)),
        serde_json::Value::String(text) => found.extend(of_words(text)),
        _ => {}
    }
}

/// `14 per 1 second`, `100 requests per minute`, `14/s`.
fn of_words(text: &str) -> Option<StatedLimit> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().map(|word| word.trim_matches([',', '.', ':', ';', '(', ')', '"'])).collect();
    let per = words.iter().position(|word| *word == "per")?;
    let requests = words[..per].iter().rev().take(2).find_map(|word| positive(word))?;
    let (count, unit) = match words.get(per + 1).and_then(|word| positive(word)) {
        Some(count) => (count, words.get(per + 2)?),
        None => (1.0, words.get(per + 1)?),
    };
    let (_, seconds) = UNITS.iter().find(|(known, _)| unit.trim_end_matches('s') == *known)?;
    Some(StatedLimit { requests, window_s: Some(count * seconds), at: "the body".to_owned() })
}

fn positive(text: &str) -> Option<f64> {
    text.trim().trim_matches('"').parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(headers: &[(&str, &str)], body: &str) -> Option<(f64, Option<f64>)> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sample = FailureSample { at: 0, status: 429, headers, body: body.to_owned(), body_bytes: body.len() as u64 };
        let found = of_sample(&sample);
        found.first().map(|limit| (limit.requests, limit.window_s))
    }

    /// Responses of express-rate-limit, Kong, GitHub, Flask-Limiter, Spring Cloud Gateway and nginx.
    #[test]
    fn limits_are_read_from_usual_headers_and_bodies() {
        for (headers, body, expected) in [
            (&[("RateLimit-Policy", "100;w=60"), ("RateLimit-Limit", "100")][..], "Too many requests", Some((100.0, Some(60.0)))),
            (&[("RateLimit-Policy", "\"100-in-1min\"; q=100; w=60; pk=:abc:")], "", Some((100.0, Some(60.0)))),
            (&[("RateLimit", "limit=14, remaining=0, reset=1")], "", Some((14.0, None))),
            (&[("X-RateLimit-Limit-Minute", "300")], "", Some((300.0, Some(60.0)))),
            (&[("X-RateLimit-Limit", "5000"), ("X-RateLimit-Remaining", "0")], "", Some((5_000.0, None))),
            (&[], r#"{"error":"rate_limited","limit":14,"retry_after":0.07}"#, Some((14.0, None))),
            (&[], r#"{"errors":[{"message":"Request was throttled: 20 requests per minute."}]}"#, Some((20.0, Some(60.0)))),
            (&[], "429 Too Many Requests: 14 per 1 second", Some((14.0, Some(1.0)))),
            (&[("Retry-After", "1")], "<html>503</html>", None),
            (&[], r#"{"limit":"none","per_page":20}"#, None),
        ] {
            assert_eq!(stated(headers, body), expected, "{headers:?} {body}");
        }
    }
}
