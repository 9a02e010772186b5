//! The response to a failed request, in a few lines: the same in the terminal, in Markdown and in JUnit.

use loadstone_analysis::{ErrorRow, ErrorSample};

const BODY_LINES_MAX: usize = 3;
const LINE_CHARS_MAX: usize = 200;
/// Headers that often explain a failure.
const TELLING: [&str; 4] = ["content-type", "retry-after", "location", "server"];

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
    let is_telling = |name: &str| TELLING.iter().any(|telling| name.eq_ignore_ascii_case(telling));
    parts.extend(sample.headers.iter().filter(|(name, _)| is_telling(name)).map(|(name, value)| format!("{name}: {value}")));
    let body = match (sample.body_bytes, sample.body.is_empty()) {
        (0, _) => "no body".to_owned(),
        (bytes, true) => format!("{} of binary data", loadstone_units::bytes(bytes)),
        (bytes, false) => loadstone_units::bytes(bytes),
    };
    parts.push(body);
    parts.join(" · ")
}
