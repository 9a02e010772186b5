//! The option `systemTags`: which tags are added to values without the script.

use std::collections::BTreeSet;

use serde_json::Value;

use super::option_error::{OptionError, wrong};

/// Those of k6's default.
const DEFAULT: [&str; 14] = [
    "check",
    "error",
    "error_code",
    "expected_response",
    "group",
    "method",
    "name",
    "proto",
    "scenario",
    "service",
    "status",
    "subproto",
    "tls_version",
    "url",
];
/// The others. As in k6, values cannot be selected by `iter`, `vu` and `ocsp_status`.
const SELECTABLE: [&str; 1] = ["ip"];
const NOT_SELECTABLE: [&str; 3] = ["iter", "vu", "ocsp_status"];

pub(super) fn default() -> BTreeSet<String> {
    DEFAULT.map(str::to_owned).into()
}

/// A list, or as in a variable, one string with commas. As in k6, unknown names are ignored: the note lists them.
pub(super) fn read(value: &Value) -> Result<(BTreeSet<String>, Option<String>), OptionError> {
    let refuse =
        || wrong("systemTags", format!("systemTags: {value} is not a list of names"), "write systemTags: [\"status\", \"method\"]");
    let names: Vec<&str> = match value {
        Value::String(text) => text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
        Value::Array(list) => list.iter().map(|name| name.as_str().ok_or_else(refuse)).collect::<Result<_, _>>()?,
        _ => return Err(refuse()),
    };
    let (known, others): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| DEFAULT.contains(name) || SELECTABLE.contains(name));
    let unknown: Vec<&str> = others.into_iter().filter(|name| !NOT_SELECTABLE.contains(name)).collect();
    let note = (!unknown.is_empty()).then(|| format!("systemTags: there is no system tag {}", unknown.join(", ")));
    Ok((known.into_iter().map(str::to_owned).collect(), note))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_a_list_and_unknown_ones_are_noted() {
        let (tags, note) = read(&json!(["status", "vu", "ip", "nonsense"])).unwrap();
        assert_eq!(
            (tags.into_iter().collect::<Vec<_>>(), note.unwrap().contains("nonsense")),
            (vec!["ip".to_owned(), "status".to_owned()], true)
        );
        assert_eq!(read(&json!("url, name")).unwrap().0.len(), 2);
        assert_eq!(read(&json!([])).unwrap(), (BTreeSet::new(), None));
        assert!(read(&json!(["status", 5])).is_err() && read(&json!(true)).is_err());
    }
}
