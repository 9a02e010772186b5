//! Reading an observer's description: `{"kind": "process", "port": 8080, "every": "1s"}`.

use serde_json::{Map, Value};

use crate::ObserveError;

/// The fields of one description. Every field must be taken, so that a misspelt one is found.
pub(crate) struct Description<'a> {
    kind: &'a str,
    fields: &'a Map<String, Value>,
    taken: Vec<&'static str>,
}

impl<'a> Description<'a> {
    pub(crate) fn new(value: &'a Value) -> Result<Self, ObserveError> {
        let wrong = || ObserveError::Shape { found: value.to_string() };
        let fields = value.as_object().ok_or_else(wrong)?;
        let kind = fields.get("kind").and_then(Value::as_str).ok_or_else(wrong)?;
        Ok(Self { kind, fields, taken: vec!["kind"] })
    }

    pub(crate) fn kind(&self) -> &'a str {
        self.kind
    }

    /// An error about this observer.
    pub(crate) fn problem(&self, problem: impl Into<String>) -> ObserveError {
        ObserveError::Observer { kind: self.kind.to_owned(), problem: problem.into() }
    }

    fn field(&mut self, name: &'static str) -> Option<&'a Value> {
        self.taken.push(name);
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, ObserveError> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.problem(format!("{name} must be a text, and is {other}"))),
        }
    }

    pub(crate) fn required_text(&mut self, name: &'static str) -> Result<&'a str, ObserveError> {
        self.text(name)?.ok_or_else(|| self.problem(format!("{name} is missing")))
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, ObserveError> {
        let Some(value) = self.field(name) else { return Ok(Vec::new()) };
        let items = value.as_array().map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>());
        items.flatten().ok_or_else(|| self.problem(format!("{name} must be a list of texts, and is {value}")))
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn number(&mut self, name: &'static str, most: u32) -> Result<Option<u32>, ObserveError> {
        let Some(value) = self.field(name) else { return Ok(None) };
        let number = value.as_u64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64));
        match number {
            Some(number) if (1..=u64::from(most)).contains(&number) => Ok(Some(number as u32)),
            _ => Err(self.problem(format!("{name} must be a whole number from 1 to {most}, and is {value}"))),
        }
    }

    /// A duration as text, in nanoseconds; not below 10 ms.
    pub(crate) fn duration_ns(&mut self, name: &'static str, default_ns: u64) -> Result<u64, ObserveError> {
        let Some(text) = self.text(name)? else { return Ok(default_ns) };
        let ns = units::duration::parse(text).map_err(|error| self.problem(format!("{name}: {error}")))?;
        if ns < 10_000_000 {
            return Err(self.problem(format!("{name} must be at least 10ms, got \"{text}\"")));
        }
        Ok(ns)
    }

    /// # Errors
    /// Names a field that nobody asked for.
    pub(crate) fn finish(&self) -> Result<(), ObserveError> {
        match self.fields.keys().find(|name| !self.taken.contains(&name.as_str())) {
            Some(unknown) => Err(self.problem(format!("it has no option \"{unknown}\"; its options are {}", self.taken[1..].join(", ")))),
            None => Ok(()),
        }
    }
}
