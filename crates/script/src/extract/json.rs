//! Values by JSON path (RFC 9535).
//!
//! Read [`JsonPath`]. Most paths in tests consist of members and indices (`$.items[0].id`). One scan of the bytes finds these. For others
//! (filters, slices, wildcards, descendants), `serde_json_path` evaluates a tree.

use std::borrow::Cow;

use serde_json::Value;

use super::scan::{self, PathStep};
use super::{ExtractError, nesting};
use crate::charset::without_mark;
use crate::exact_json::is_unsafe_integer;

/// A compiled path.
#[derive(Debug, Clone)]
pub(crate) struct JsonPath {
    form: PathForm,
}

#[derive(Debug, Clone)]
enum PathForm {
    Simple(Vec<PathStep>),
    Full(serde_json_path::JsonPath),
}

/// A value that was found, for a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonValue<'a> {
    Null,
    Boolean(bool),
    Number(f64),
    /// An integer that a double may round, as written.
    BigInteger(Cow<'a, str>),
    Text(Cow<'a, str>),
    /// JSON of an object, of a list, or of a string with escapes.
    Json(Cow<'a, str>),
}

impl JsonPath {
    pub(crate) fn parse(path: &str) -> Result<Self, ExtractError> {
        nesting::check("JSON path", path)?;
        let form = match simple(path) {
            Some(steps) => PathForm::Simple(steps),
            None => PathForm::Full(serde_json_path::JsonPath::parse(path).map_err(|error| ExtractError::Expression {
                kind: "JSON path",
                expression: path.to_owned(),
                problem: error.to_string(),
            })?),
        };
        Ok(Self { form })
    }

    /// The first value that the path finds in a body.
    pub(crate) fn first<'a>(&self, body: &'a [u8]) -> Result<Option<JsonValue<'a>>, ExtractError> {
        let body = without_mark(body);
        match &self.form {
            PathForm::Simple(steps) => {
                let text = utf8(body)?;
                let place = scan::locate(body, steps).map_err(|error| ExtractError::Body(error.to_string()))?;
                Ok(place.map(|place| JsonValue::from_text(&text[place])))
            }
            PathForm::Full(path) => {
                let tree = parse(body)?;
                Ok(path.query(&tree).first().map(|value| JsonValue::from_tree(value).into_owned()))
            }
        }
    }

    /// All values that the path finds in a body, as a JSON list.
    pub(crate) fn all(&self, body: &[u8]) -> Result<String, ExtractError> {
        match &self.form {
            PathForm::Simple(_) => Ok(self.first(body)?.map_or_else(|| "[]".to_owned(), |value| format!("[{}]", value.to_json()))),
            PathForm::Full(path) => {
                let tree = parse(without_mark(body))?;
                let found: Vec<String> = path.query(&tree).iter().map(|value| value.to_string()).collect();
                Ok(format!("[{}]", found.join(",")))
            }
        }
    }
}

/// Member names and indices only, or `None`.
fn simple(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii())).unwrap_or(after.len());
            if end == 0 || after.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            steps.push(PathStep::Name(after[..end].into()));
            rest = &after[end..];
        } else {
            let (inner, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(bracket(inner)?);
            rest = after;
        }
    }
    Some(steps)
}

/// The content of `[0]`, `['name']` or `["name"]`.
fn bracket(inner: &str) -> Option<PathStep> {
    let quoted = |quote: char| inner.strip_prefix(quote)?.strip_suffix(quote).filter(|name| !name.contains([quote, '\\']));
    if let Some(name) = quoted('\'').or_else(|| quoted('"')) {
        return (!name.contains(|c: char| c < ' ')).then(|| PathStep::Name(name.into()));
    }
    let canonical = inner == "0" || !inner.starts_with('0');
    let digits = !inner.is_empty() && inner.len() <= 9 && inner.bytes().all(|byte| byte.is_ascii_digit());
    (canonical && digits).then(|| inner.parse().ok().map(PathStep::Index)).flatten()
}

fn utf8(body: &[u8]) -> Result<&str, ExtractError> {
    std::str::from_utf8(body).map_err(|_| ExtractError::Body("not JSON: the body is not UTF-8".to_owned()))
}

fn parse(body: &[u8]) -> Result<Value, ExtractError> {
    serde_json::from_slice(body).map_err(|error| ExtractError::Body(format!("not JSON: {error}")))
}

impl<'a> JsonValue<'a> {
    /// From a string that is known to be one JSON value without surrounding space.
    fn from_text(text: &'a str) -> Self {
        match text.as_bytes().first() {
            Some(b'n') => JsonValue::Null,
            Some(b't') => JsonValue::Boolean(true),
            Some(b'f') => JsonValue::Boolean(false),
            Some(b'"') if !text.contains('\\') => JsonValue::Text(Cow::Borrowed(&text[1..text.len() - 1])),
            Some(b'"' | b'{' | b'[') | None => JsonValue::Json(Cow::Borrowed(text)),
            Some(_) if is_unsafe_integer(text) => JsonValue::BigInteger(Cow::Borrowed(text)),
            // Rust parses every JSON number, and rounds it as JavaScript does.
            Some(_) => text.parse().map_or_else(|_| JsonValue::Json(Cow::Borrowed(text)), JsonValue::Number),
        }
    }

    fn from_tree(value: &'a Value) -> Self {
        match value {
            Value::Null => JsonValue::Null,
            Value::Bool(value) => JsonValue::Boolean(*value),
            Value::Number(number) if is_unsafe_integer(&number.to_string()) => JsonValue::BigInteger(Cow::Owned(number.to_string())),
            Value::Number(number) => JsonValue::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => JsonValue::Text(Cow::Borrowed(text)),
            Value::Array(_) | Value::Object(_) => JsonValue::Json(Cow::Owned(value.to_string())),
        }
    }

    pub(crate) fn into_owned(self) -> JsonValue<'static> {
        match self {
            JsonValue::Null => JsonValue::Null,
            JsonValue::Boolean(value) => JsonValue::Boolean(value),
            JsonValue::Number(value) => JsonValue::Number(value),
            JsonValue::BigInteger(digits) => JsonValue::BigInteger(Cow::Owned(digits.into_owned())),
            JsonValue::Text(text) => JsonValue::Text(Cow::Owned(text.into_owned())),
            JsonValue::Json(text) => JsonValue::Json(Cow::Owned(text.into_owned())),
        }
    }

    /// JSON.
    pub(crate) fn to_json(&self) -> Cow<'_, str> {
        match self {
            JsonValue::Null => Cow::Borrowed("null"),
            JsonValue::Boolean(true) => Cow::Borrowed("true"),
            JsonValue::Boolean(false) => Cow::Borrowed("false"),
            JsonValue::Number(number) => Cow::Owned(number.to_string()),
            JsonValue::Text(text) => Cow::Owned(Value::String(text.clone().into_owned()).to_string()),
            JsonValue::BigInteger(text) | JsonValue::Json(text) => Cow::Borrowed(text),
        }
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
