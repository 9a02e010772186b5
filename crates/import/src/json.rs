//! Reading JSON and YAML with messages that say where.

use serde_json::Value;

use crate::error::ImportError;

/// The file as JSON.
pub(crate) fn parse(file: &str, text: &str, what: &str) -> Result<Value, ImportError> {
    serde_json::from_str(text)
        .map_err(|error| ImportError::new(file, Some(error.line().max(1)), format!("this is not JSON: {error}"), format!("give {what}")))
}

/// The file as JSON or YAML.
pub(crate) fn parse_or_yaml(file: &str, text: &str, what: &str) -> Result<Value, ImportError> {
    if text.trim_start().starts_with('{') {
        return parse(file, text, what);
    }
    let parsed: Result<serde_yaml_ng::Value, _> = serde_yaml_ng::from_str(text);
    let parsed = parsed.and_then(serde_yaml_ng::from_value::<Value>);
    parsed.map_err(|error| {
        let line = error.location().map(|at| at.line());
        ImportError::new(file, line, format!("this is not YAML: {error}"), format!("give {what}"))
    })
}

/// A text in a member.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The items of a member.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
