//! The response to a failed request, in a few lines: the same in the terminal, in Markdown and in JUnit.

use loadstone_analysis::{ErrorRow, ErrorSample};

const BODY_LINES_MAX: usize = 3;
const LINE_CHARS_MAX: usize = 200;
/// Headers that often explain a failure, the most telling first.
const TELLING: [&str; 7] =
    ["retry-after", "ratelimit", "ratelimit-remaining", "x-ratelimit-remaining", "location", "server", "content-type"];

/// The first response: its time, status and headers, then the beginning of its body. Empty if there was no response.
pub(crate) fn lines(row: &ErrorRow) -> Vec<String> {
    let Some(sample) = row.samples.first() else { return Vec::new() };
    let mut lines = vec![head(sample)];
    let body = sample.body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.extend(body.take(BODY_LINES_MAX).map(|line| line.chars().take(LINE_CHARS_MAX).collect()));
    lines
}

fn head(sample: &ErrorSample) -> String {
    let mut parts = vec![format!("answered {} at {}", sample.status, loadstone_units::seconds(sample.at_seconds))];
    for telling in TELLING {
        let same = sample.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(telling));
        parts.extend(same.map(|(name, value)| format!("{name}: {value}")));
    }
    let body = match (sample.body_bytes, sample.body.is_empty()) {
        (0, _) => "no body".to_owned(),
        (bytes, true) => format!("{} of binary data", loadstone_units::bytes(bytes)),
        (bytes, false) => loadstone_units::bytes(bytes),
    };
    parts.push(body);
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_header_is_first() {
        let headers = [("content-type", "application/json"), ("Server", "uvicorn"), ("Retry-After", "1.9"), ("Date", "Tue")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let sample = ErrorSample { at_seconds: 9.97, status: 423, headers, body: String::new(), body_bytes: 0 };
        let expected = "answered 423 at 9.97 s · Retry-After: 1.9 · Server: uvicorn · content-type: application/json · no body";
        assert_eq!(head(&sample), expected);
    }
}
