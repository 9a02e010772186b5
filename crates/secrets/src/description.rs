//! Secrets in JSON that describes an observer or a stub: fields and headers with credential names, and URLs in any string.

use std::borrow::Cow;

use serde_json::Value;

use crate::mask::MASK;
use crate::names::is_credential;
use crate::secrets::Secrets;

impl Secrets {
    /// Learns the credentials in a description, at any depth.
    pub fn learn_description(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.learn_urls(text),
            Value::Array(items) => match &items[..] {
                // A header as a pair: `["Authorization", "Bearer …"]`.
                [Value::String(name), Value::String(text)] if is_credential(name) => self.learn_header(name, text),
                items => items.iter().for_each(|item| self.learn_description(item)),
            },
            Value::Object(fields) => fields.iter().for_each(|(name, field)| match field {
                Value::String(text) if is_credential(name) => self.learn_header(name, text),
                other => self.learn_description(other),
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Hides secrets in all strings of a description, and all values with credential names.
    pub fn hide_in_description(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Array(pair) if matches!(&pair[..], [Value::String(name), Value::String(_)] if is_credential(name)) => {
                pair[1] = Value::String(MASK.to_owned());
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_description(item)),
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    match field {
                        Value::String(text) if is_credential(name) => *text = MASK.to_owned(),
                        other => self.hide_in_description(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_with_credential_names_are_masked_at_any_depth() {
        let mut value = json!({
            "kind": "prometheus",
            "headers": {"Authorization": "Bearer abc", "Accept": "text/plain"},
            "x": [{"api_key": "k"}],
            "more": [["X-Token", "t"], ["Host", "h"]],
        });
        Secrets::default().hide_in_description(&mut value);
        let hidden = json!({
            "kind": "prometheus",
            "headers": {"Authorization": "•••", "Accept": "text/plain"},
            "x": [{"api_key": "•••"}],
            "more": [["X-Token", "•••"], ["Host", "h"]],
        });
        assert_eq!(value, hidden);
    }

    #[test]
    fn credentials_of_a_description_are_learnt() {
        let mut secrets = Secrets::default();
        secrets.learn_description(&json!({
            "url": "postgres://app:hunter2@db/shop",
            "headers": [["Authorization", "Bearer abc.def"], ["Accept", "text/plain"]],
            "nested": {"password": "s3same"},
        }));
        assert_eq!(secrets.hide("hunter2 abc.def s3same text/plain"), "••• ••• ••• text/plain");
    }
}
