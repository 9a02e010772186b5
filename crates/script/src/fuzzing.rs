//! The functions that the fuzz targets call. Each reads arbitrary bytes as a body, a data file, a recording or a test.
//!
//! Behind the feature `fuzzing` and in this crate's own tests, so that no parser becomes part of the crate's public API.

use std::path::Path;

use crate::compile;
use crate::data::rows::fuzzing as rows;
use crate::extract::effort::Effort;
use crate::extract::json::JsonPath;
use crate::extract::markup;
use crate::extract::xpath::XPath;
use crate::replay;

/// The longest extraction. Nanoseconds.
const LIMIT_NS: u64 = 1_000_000_000;
/// Values of an extraction.
const VALUES_MAX: usize = 100;

/// The first line is an expression, and the rest a body.
pub fn extract(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (expression, body) = text.split_once('\n').unwrap_or((&text, ""));
    // Every expression or body that cannot be read is an error.
    for path in [expression, "$..a[?@.b > 1]", "$[0].a['b'][-1:]"] {
        if let Ok(path) = JsonPath::parse(path) {
            let _ = (path.first(body.as_bytes()), path.all(body.as_bytes()));
        }
    }
    for selector in [expression, "div > a:not([b])"] {
        if let Ok(selector) = markup::selector(selector) {
            let _ = markup::css(body, &selector, Some("a"), VALUES_MAX, &Effort::limited_to(LIMIT_NS));
        }
    }
    for path in [expression, "//a[@b='c']/text()"] {
        let Ok(path) = XPath::parse(path) else { continue };
        for content_type in ["text/html", "text/xml"] {
            let _ = markup::xpath(body, &path, Some(content_type), VALUES_MAX, &Effort::limited_to(LIMIT_NS));
        }
    }
}

/// Data files: CSV, JSON, and lines of JSON.
pub fn tables(input: &[u8]) {
    rows::table(input);
}

/// A test file.
pub fn typescript(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        for file in ["a.load.ts", "a.mjs", "a.tsx"] {
            compile::fuzzing::file(Path::new(file), text);
        }
    }
}

/// Recordings: access logs, HAR, GoReplay.
pub fn recordings(input: &[u8]) {
    replay::fuzzing::recording(input);
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::damaged;
    use super::*;

    #[test]
    fn damaged_bodies_end_with_an_error() {
        damaged("extract", extract);
    }

    #[test]
    fn damaged_data_files_end_with_an_error() {
        damaged("tables", tables);
    }

    #[test]
    fn damaged_test_files_end_with_an_error() {
        damaged("typescript", typescript);
    }

    #[test]
    fn damaged_recordings_end_with_an_error() {
        damaged("recordings", recordings);
    }
}
