//! Durations of options.

use serde_json::Value;

use super::option_error::{OptionError, wrong};

/// A duration as k6 writes it: `"1m30s"`, or a number of milliseconds. Nanoseconds.
pub(crate) fn duration(option: &str, value: &Value) -> Result<u64, OptionError> {
    let help = "write a duration such as \"30s\" or \"1m30s\", or a number of milliseconds";
    match value {
        Value::Number(ms) => match ms.as_f64() {
            Some(ms) if ms >= 0.0 => Ok((ms * 1e6) as u64),
            _ => Err(wrong(option, format!("{option}: {ms} is not a duration"), help)),
        },
        Value::String(text) if text == "0" => Ok(0),
        Value::String(text) => {
            if let Ok(ms) = text.parse::<f64>() {
                return duration(option, &serde_json::json!(ms));
            }
            loadstone_units::duration::parse(text).map_err(|problem| wrong(option, format!("{option}: {problem}"), help))
        }
        other => Err(wrong(option, format!("{option}: {other} is not a duration"), help)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_strings_or_milliseconds() {
        for (written, ns) in [(json!("1m30s"), 90_000_000_000), (json!(500), 500_000_000), (json!("0s"), 0), (json!("250"), 250_000_000)] {
            assert_eq!(duration("d", &written), Ok(ns), "{written}");
        }
        assert!(duration("d", &json!("soon")).is_err() && duration("d", &json!(null)).is_err());
    }
}
