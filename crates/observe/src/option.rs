//! The options of a kind of observer: the type, default and purpose of each.
//!
//! Each option is declared once. Descriptions are checked against the declaration, and the table in docs/observers.md is generated from it.

use std::fmt;

use serde_json::Value;

/// One option, by the name that a script gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObserverOption {
    pub(crate) name: &'static str,
    pub(crate) takes: OptionValue,
    /// For people, as Markdown.
    pub(crate) help: &'static str,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionValue {
    /// Any string; required.
    RequiredText,
    Text {
        default: Option<&'static str>,
    },
    /// A list of strings. Default: empty.
    Texts,
    /// From 1 to `max`.
    WholeNumber {
        max: u32,
        default: Option<u32>,
    },
    /// A string such as `"500ms"`, at least [`DURATION_MIN_NS`].
    Duration {
        default: &'static str,
    },
    /// A flow of the test, as `{"flow": n}` with numbers from 1.
    Flow,
    /// A stage of a flow, as `{"flow": n, "stage": m}` with flows from 1 and stages from 0.
    FlowStage,
}

/// No observer reads more often. Nanoseconds.
pub(crate) const DURATION_MIN_NS: u64 = 10_000_000;

/// Options of every observer.
pub(crate) const EVERY_OBSERVER: &[ObserverOption] = &[
    ObserverOption { name: "name", takes: OptionValue::Text { default: None }, help: "prefix of its signal names; by default its kind" },
    ObserverOption { name: "every", takes: OptionValue::Duration { default: "1s" }, help: "time between readings" },
];

/// The first argument of a kind's builder, where it takes an address.
pub(crate) const ADDRESS: ObserverOption =
    ObserverOption { name: "url", takes: OptionValue::RequiredText, help: "the first argument: the address to read" };

impl OptionValue {
    /// The expected value, for error messages.
    pub(crate) fn expected(self) -> String {
        match self {
            OptionValue::RequiredText | OptionValue::Text { .. } => "a string".to_owned(),
            OptionValue::Texts => "a list of strings".to_owned(),
            OptionValue::WholeNumber { max, .. } => format!("a whole number from 1 to {max}"),
            OptionValue::Duration { .. } => "a duration such as \"500ms\" or \"1s\"".to_owned(),
            OptionValue::Flow => "a flow".to_owned(),
            OptionValue::FlowStage => "a list of a flow and the name of its stage".to_owned(),
        }
    }

    /// Whether a value has the right shape. The kind checks the content of strings.
    pub(crate) fn fits(self, value: &Value) -> bool {
        match self {
            OptionValue::RequiredText | OptionValue::Text { .. } | OptionValue::Duration { .. } => value.is_string(),
            OptionValue::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            OptionValue::WholeNumber { max, .. } => whole(value).is_some_and(|number| (1..=u64::from(max)).contains(&number)),
            OptionValue::Flow => value.get("flow").and_then(whole).is_some() && value.get("stage").is_none(),
            OptionValue::FlowStage => ["flow", "stage"].iter().all(|part| value.get(part).and_then(whole).is_some()),
        }
    }
}

/// A whole number that is not negative, also one that JSON writes with a fraction of zero.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0).map(|number| number as u64))
}

/// As in the table of the documentation, with the default.
impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::RequiredText => f.write_str("string, required"),
            OptionValue::Text { default: None } => f.write_str("string"),
            OptionValue::Text { default: Some(default) } => write!(f, "string; `\"{default}\"`"),
            OptionValue::Texts => f.write_str("list of strings; none"),
            // A process id, which has no documented bound.
            OptionValue::WholeNumber { max, default: None } if *max >= i32::MAX as u32 => f.write_str("whole number"),
            OptionValue::WholeNumber { max, default: None } => write!(f, "1 to {max}"),
            OptionValue::WholeNumber { max, default: Some(default) } => write!(f, "1 to {max}; {default}"),
            OptionValue::Duration { default } => write!(f, "duration, at least 10ms; `\"{default}\"`"),
            OptionValue::Flow => f.write_str("flow"),
            OptionValue::FlowStage => f.write_str("[flow, name of the stage]"),
        }
    }
}
