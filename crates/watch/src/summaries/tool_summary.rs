//! The percentiles that a tool states, and what their readers have in common.

use serde_json::{Deserializer, Value};

/// Lines at which a JSON document may begin that are tried.
const JSON_STARTS_MAX: usize = 16;

/// Percentiles of all requests by one tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSummary {
    /// As the formats of records name it.
    pub(crate) tool: &'static str,
    /// The tool's name for these times.
    pub(crate) metric: &'static str,
    /// Quantile and nanoseconds, ascending.
    pub(crate) percentiles: Vec<(f64, u64)>,
}

/// Text that a tool printed.
pub(super) struct PrintedText {
    /// Without colours.
    pub(super) text: String,
    /// The last JSON object that begins a line.
    pub(super) json: Option<Value>,
}

impl PrintedText {
    pub(super) fn new(text: &str) -> Self {
        let text = without_colors(text);
        Self { json: last_json(&text), text }
    }
}

impl ToolSummary {
    pub(super) fn new(tool: &'static str, metric: &'static str, percentiles: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let mut percentiles: Vec<(f64, u64)> = percentiles.into_iter().filter(|(quantile, _)| (0.0..=1.0).contains(quantile)).collect();
        percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Self { tool, metric, percentiles }
    }
}

/// The quantile that a tool names `50`, `p99.9`, `p97_5`, `95th`, `99%`, `median` or `max`.
pub(super) fn quantile(name: &str) -> Option<f64> {
    let name = name.trim();
    match name {
        "max" | "Max" => return Some(1.0),
        "med" | "median" => return Some(0.5),
        _ => {}
    }
    let name = name.strip_prefix('p').unwrap_or(name);
    let number = name.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').replace('_', ".");
    number.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(|percent| percent / 100.0)
}

/// Nanoseconds of a number of milliseconds or seconds.
pub(super) fn scaled(value: f64, unit_ns: f64) -> Option<u64> {
    (value.is_finite() && value >= 0.0).then(|| (value * unit_ns).round() as u64)
}

/// The percentiles among the fields of a JSON object whose values have this unit.
pub(super) fn fields_of(object: &Value, unit_ns: f64) -> impl Iterator<Item = (f64, u64)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter_map(move |(name, value)| Some((quantile(name)?, scaled(value.as_f64()?, unit_ns)?)))
}

fn last_json(text: &str) -> Option<Value> {
    let starts = text.match_indices('{').filter(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n');
    let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    let objects = starts.iter().rev().take(JSON_STARTS_MAX).filter_map(|at| Deserializer::from_str(&text[*at..]).into_iter().next());
    objects.filter_map(Result::ok).next()
}

/// Without the escape sequences that colour text (ECMA-48, SGR).
fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain.push_str(rest);
    plain
}
