//! A body for people: JSON indented, text unchanged, anything else as its size.

use loadstone_secrets::exchange as mask;

use crate::terminal::{Paint, Style, tame};

const LINES_MAX: usize = 40;
/// Longer lines (minified pages, data URLs) are shortened.
const LINE_CHARS_MAX: usize = 400;
/// Larger bodies are not parsed; only their beginning is shown.
const PARSE_BYTES_MAX: usize = 1 << 20;

/// The body below a blank line, indented. Empty if the body is empty.
pub(super) fn render(body: &[u8], headers: &[(String, String)], style: &Style) -> String {
    if body.is_empty() {
        return String::new();
    }
    let size = loadstone_units::bytes(body.len() as u64);
    let Some(text) = readable(body, headers) else {
        return format!("\n  {}\n\n", style.paint(Paint::Dim, &format!("({size} of binary data)")));
    };
    let mut out = String::from("\n");
    let mut lines = text.lines();
    for line in lines.by_ref().take(LINES_MAX) {
        let cut: String = line.chars().take(LINE_CHARS_MAX).collect();
        let more = if cut.len() < line.len() { "…" } else { "" };
        out.push_str(format!("  {}{more}", tame(&cut)).trim_end());
        out.push('\n');
    }
    let left = lines.count();
    if left > 0 {
        out.push_str(&format!(
            "  {}\n",
            style.paint(Paint::Dim, &format!("… {} more ({size} in all)", loadstone_units::counted(left as u64, "line")))
        ));
    }
    out.push('\n');
    out
}

/// The text to show; `None` if the body is binary.
fn readable(body: &[u8], headers: &[(String, String)]) -> Option<String> {
    let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type")).map_or("", |(_, value)| value.as_str());
    let kind = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let looks_like_json = matches!(body.first(), Some(b'{' | b'['));
    if body.len() <= PARSE_BYTES_MAX
        && (kind.ends_with("json") || looks_like_json)
        && let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(body)
    {
        mask::json(&mut value);
        return serde_json::to_string_pretty(&value).ok();
    }
    let text = match std::str::from_utf8(body) {
        Ok(text) => text.to_owned(),
        // Text in an older encoding is still worth showing. Other binary data is not.
        Err(_) if kind.starts_with("text/") => String::from_utf8_lossy(body).into_owned(),
        Err(_) => return None,
    };
    if text.chars().take(1000).any(|c| c.is_control() && !c.is_whitespace()) && !kind.starts_with("text/") {
        return None;
    }
    Some(if kind == "application/x-www-form-urlencoded" { mask::form(&text) } else { text })
}
