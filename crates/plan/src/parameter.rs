//! Parameters: the controls a test declares, and the values a run resolved them to.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    Number {
        min: Option<f64>,
        max: Option<f64>,
    },
    String,
    Boolean,
    /// A length of time; written `"500ms"`, `"1m30s"`.
    Duration,
    Url,
    Choice {
        options: Vec<String>,
    },
    /// A delay distribution; written `"100ms"`, `"loguniform(100ms, 2s)"`.
    Delay,
}

/// A resolved value. Durations are in nanoseconds; a delay keeps its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type", content = "value")]
pub enum ParameterValue {
    Number(f64),
    String(String),
    Boolean(bool),
    DurationNs(u64),
}

/// The source of a value. Later sources win: default < file < environment < command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterOrigin {
    Default,
    File,
    Environment,
    CommandLine,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    pub help: Option<String>,
    /// As a user would type it. Masked when `secret`.
    pub default: Option<String>,
    /// As a user would type it. Masked when `secret`.
    pub value: String,
    pub origin: ParameterOrigin,
    /// The value and default of a secret never leave the process: outputs show `•••`.
    pub secret: bool,
}

impl Parameter {
    /// What every output shows in place of a secret.
    pub const MASK: &'static str = loadstone_secrets::MASK;

    /// The environment variable that sets the parameter: `usersPerSecond` → `LOADSTONE_USERS_PER_SECOND`.
    pub fn environment_name(name: &str) -> String {
        let mut out = String::from("LOADSTONE_");
        let mut previous_lower = false;
        for c in name.chars() {
            if c.is_uppercase() && previous_lower {
                out.push('_');
            }
            previous_lower = c.is_lowercase() || c.is_ascii_digit();
            out.push(if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_names_split_words() {
        for (name, expected) in [
            ("rate", "LOADSTONE_RATE"),
            ("usersPerSecond", "LOADSTONE_USERS_PER_SECOND"),
            ("p99", "LOADSTONE_P99"),
            ("run-time", "LOADSTONE_RUN_TIME"),
        ] {
            assert_eq!(Parameter::environment_name(name), expected);
        }
    }
}
