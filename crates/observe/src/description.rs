//! One observer's description: `{"kind": "process", "port": 8080, "every": "1s"}`, checked against the options of its kind.

use serde_json::{Map, Value};

use crate::error::ObserveError;
use crate::option::{DURATION_MIN_NS, EVERY_OBSERVER, ObserverOption, OptionValue, whole};

/// The fields of one description. Each is declared by its kind and of the right shape, so reading one cannot fail.
pub(crate) struct ObserverDescription<'a> {
    kind: &'static str,
    options: &'static [ObserverOption],
    fields: &'a Map<String, Value>,
}

impl<'a> ObserverDescription<'a> {
    /// # Errors
    /// Names the option that is missing, unknown or of the wrong shape.
    pub(crate) fn new(
        kind: &'static str,
        options: &'static [ObserverOption],
        fields: &'a Map<String, Value>,
    ) -> Result<Self, ObserveError> {
        let description = Self { kind, options, fields };
        let known = || options.iter().chain(EVERY_OBSERVER);
        for (name, value) in fields.iter().filter(|(name, _)| *name != "kind") {
            let Some(option) = known().find(|option| option.name == name) else {
                let known: Vec<&str> = known().map(|option| option.name).collect();
                return Err(description.problem(format!(
                    "there is no option `{name}`{}; known are: {}",
                    loadstone_units::did_you_mean(name, &known),
                    known.join(", ")
                )));
            };
            description.check(option, value)?;
        }
        for option in known().filter(|option| option.takes == OptionValue::RequiredText) {
            if description.field(option.name).is_none() {
                return Err(description.problem(format!("{} is missing", option.name)));
            }
        }
        Ok(description)
    }

    fn check(&self, option: &ObserverOption, value: &Value) -> Result<(), ObserveError> {
        let ObserverOption { name, takes, .. } = *option;
        if value.is_null() {
            return Ok(());
        }
        let expected = || self.problem(format!("{name}: expected {}, got {value}", takes.expected()));
        if !takes.fits(value) {
            return Err(expected());
        }
        match (takes, value) {
            (OptionValue::Duration { .. }, Value::String(text)) => match loadstone_units::duration::parse(text).map_err(|_| expected())? {
                ns if ns < DURATION_MIN_NS => Err(self.problem(format!("{name} must be at least 10ms, got {value}"))),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// An error about this observer.
    pub(crate) fn problem(&self, problem: impl Into<String>) -> ObserveError {
        ObserveError::Observer { kind: self.kind, problem: problem.into() }
    }

    fn field(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// The declared type of the option.
    fn declared(&self, name: &str) -> Option<OptionValue> {
        let option = self.options.iter().chain(EVERY_OBSERVER).find(|option| option.name == name);
        debug_assert!(option.is_some(), "observe.{} asks for `{name}`, which it does not declare", self.kind);
        option.map(|option| option.takes)
    }

    /// A string, or its default.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let default = match self.declared(name) {
            Some(OptionValue::Text { default }) => default,
            _ => None,
        };
        self.field(name).and_then(Value::as_str).or(default)
    }

    pub(crate) fn required_text(&self, name: &str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let items = self.declared(name).and_then(|_| self.field(name)?.as_array());
        items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    pub(crate) fn whole_number(&self, name: &str) -> Option<u32> {
        let default = match self.declared(name) {
            Some(OptionValue::WholeNumber { default, .. }) => default,
            _ => None,
        };
        self.field(name).and_then(whole).and_then(|number| u32::try_from(number).ok()).or(default)
    }

    pub(crate) fn duration_ns(&self, name: &str) -> u64 {
        let default = match self.declared(name) {
            Some(OptionValue::Duration { default }) => default,
            _ => "",
        };
        loadstone_units::duration::parse(self.field(name).and_then(Value::as_str).unwrap_or(default)).unwrap_or(DURATION_MIN_NS)
    }

    /// The number of a flow, from 0.
    pub(crate) fn flow(&self, name: &str) -> Option<u32> {
        let number = self.declared(name).and_then(|_| whole(self.field(name)?.get("flow")?))?;
        u32::try_from(number).ok()?.checked_sub(1)
    }

    /// The number of a flow's stage, from 0.
    pub(crate) fn flow_stage(&self, name: &str) -> Option<u8> {
        self.declared(name).and_then(|_| u8::try_from(whole(self.field(name)?.get("stage")?)?).ok())
    }
}

/// An address as an error may show it.
pub(crate) fn without_credentials(address: &str) -> String {
    let Some(at) = address.rfind('@') else { return address.to_owned() };
    let begin = address.find("://").map_or(0, |scheme| scheme + 3).min(at);
    format!("{}•••{}", &address[..begin], &address[at..])
}
