//! Keeps secrets off the disk: values of secret parameters, passwords in URLs, and what is named like a credential.

use std::borrow::Cow;
use std::sync::Arc;

use metrics::{SeriesKey, Snapshot};
use plan::{Parameter, TestPlan};
use serde_json::Value;

/// A secret shorter than this is not searched for inside other texts: masking every `1` would destroy more than it hides.
const SEARCHED_LENGTH_MIN: usize = 4;

/// Words in the name of a field whose text is a credential.
const CREDENTIAL_NAMES: [&str; 9] =
    ["password", "passwd", "secret", "token", "authorization", "cookie", "apikey", "credential", "privatekey"];

/// What must not be seen, gathered from a plan.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    /// Learns the values of the plan's secret parameters, also as they appear percent-encoded in a URL.
    pub fn of(plan: &TestPlan) -> Self {
        let mut secrets = Vec::new();
        for parameter in plan.parameters.iter().filter(|parameter| parameter.secret) {
            for text in std::iter::once(&parameter.value).chain(&parameter.default) {
                if text.len() >= SEARCHED_LENGTH_MIN && text != Parameter::MASK {
                    secrets.push(text.clone());
                    secrets.push(percent_encoded(text));
                }
            }
        }
        // Longest first, so that a secret that contains another is masked whole.
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without secrets and without passwords in URLs.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for secret in &self.secrets {
            if out.contains(secret.as_str()) {
                out = Cow::Owned(out.replace(secret.as_str(), Parameter::MASK));
            }
        }
        if out.contains("://") && out.contains(['@', '=']) {
            let masked = without_url_passwords(&out);
            if masked != *out {
                out = Cow::Owned(masked);
            }
        }
        out
    }

    /// The plan as every output may show it.
    pub fn plan(&self, plan: &TestPlan) -> TestPlan {
        let mut shown = plan.clone();
        for parameter in &mut shown.parameters {
            if parameter.secret {
                parameter.value = Parameter::MASK.to_owned();
                parameter.default = parameter.default.as_ref().map(|_| Parameter::MASK.to_owned());
            } else {
                parameter.value = self.text(&parameter.value).into_owned();
                parameter.default = parameter.default.as_deref().map(|text| self.text(text).into_owned());
            }
        }
        shown.name = self.text(&shown.name).into_owned();
        shown.target = shown.target.as_deref().map(|target| self.text(target).into_owned());
        for scenario in &mut shown.scenarios {
            scenario.name = self.text(&scenario.name).into_owned();
        }
        for threshold in &mut shown.thresholds {
            threshold.label = self.text(&threshold.label).into_owned();
        }
        for flow in &mut shown.flows {
            flow.name = self.text(&flow.name).into_owned();
        }
        shown.stubs.iter_mut().for_each(|stub| self.value(stub));
        shown.observers.iter_mut().for_each(|observer| self.value(observer));
        shown
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            // A header as a pair: `["Authorization", "Bearer …"]`.
            Value::Array(pair) if matches!(&pair[..], [Value::String(name), Value::String(_)] if is_credential(name)) => {
                pair[1] = Value::String(Parameter::MASK.to_owned());
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    match field {
                        Value::String(text) if is_credential(name) => *text = Parameter::MASK.to_owned(),
                        other => self.value(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The snapshot as disks and other receivers may hold it: names and error messages may quote what was sent.
    pub fn snapshot<'a>(&self, snapshot: Cow<'a, Snapshot>) -> Cow<'a, Snapshot> {
        let texts = |snapshot: &Snapshot| {
            let keys = snapshot.series.iter().map(|series| &series.key).chain(snapshot.slow.iter().map(|slow| &slow.key));
            let keys = keys.chain(snapshot.errors.iter().map(|error| &error.key)).any(|key| self.key(key).is_some());
            keys || snapshot.errors.iter().any(|error| self.arc(&error.message).is_some())
                || snapshot.marks.iter().any(|mark| matches!(self.text(&mark.text), Cow::Owned(_)))
        };
        if !texts(&snapshot) {
            return snapshot;
        }
        let mut masked = snapshot.into_owned();
        let set = |key: &mut SeriesKey| {
            if let Some(clean) = self.key(key) {
                *key = clean;
            }
        };
        masked.series.iter_mut().for_each(|series| set(&mut series.key));
        masked.slow.iter_mut().for_each(|slow| set(&mut slow.key));
        for error in &mut masked.errors {
            set(&mut error.key);
            if let Some(message) = self.arc(&error.message) {
                error.message = message;
            }
        }
        for mark in &mut masked.marks {
            mark.text = self.text(&mark.text).into_owned();
        }
        Cow::Owned(masked)
    }

    fn key(&self, key: &SeriesKey) -> Option<SeriesKey> {
        let (group, name) = (self.arc(&key.group), self.arc(&key.name));
        (group.is_some() || name.is_some()).then(|| SeriesKey {
            group: group.unwrap_or_else(|| key.group.clone()),
            name: name.unwrap_or_else(|| key.name.clone()),
            ..key.clone()
        })
    }

    fn arc(&self, text: &Arc<str>) -> Option<Arc<str>> {
        match self.text(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked.into()),
        }
    }
}

fn is_credential(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    CREDENTIAL_NAMES.iter().any(|word| plain.contains(word))
}

/// `scheme://user:password@host/?token=abc` → `scheme://user:•••@host/?token=•••`, wherever it stands in the text.
fn without_url_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'')).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@').and_then(|(login, host)| Some((login.split_once(':')?.0, host))) {
            Some((user, host)) => out.push_str(&format!("{user}:{}@{host}", Parameter::MASK)),
            None => out.push_str(authority),
        }
        let end = tail.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(tail.len());
        let (path, after) = tail.split_at(end);
        match path.split_once('?') {
            Some((path, query)) => out.push_str(&format!("{path}?{}", without_query_credentials(query))),
            None => out.push_str(path),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn without_query_credentials(query: &str) -> String {
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_credential(name) => format!("{name}={}", Parameter::MASK),
        _ => pair.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_leave_urls_and_nothing_else_does() {
        for (text, shown) in [
            ("postgres://app:hunter2@db:5432/shop?sslmode=on", "postgres://app:•••@db:5432/shop?sslmode=on"),
            ("see http://a:b@c/ and https://d:e@f", "see http://a:•••@c/ and https://d:•••@f"),
            ("redis://:pa@ss@host", "redis://:•••@host"),
            ("http://user@host/x", "http://user@host/x"),
            ("http://host/mail@example.org:80", "http://host/mail@example.org:80"),
            ("postgres://db/shop?user=app&password=hunter2&x=1 failed", "postgres://db/shop?user=app&password=•••&x=1 failed"),
            ("\"http://host/metrics?api_key=k\" and a=b", "\"http://host/metrics?api_key=•••\" and a=b"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(Mask::default().text(text), shown);
        }
    }

    #[test]
    fn fields_named_like_credentials_are_masked_at_any_depth() {
        let mut value = serde_json::json!({"kind": "prometheus", "headers": {"Authorization": "Bearer abc", "Accept": "text/plain"}, "x": [{"api_key": "k"}], "more": [["X-Token", "t"], ["Host", "h"]]});
        Mask::default().value(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"kind": "prometheus", "headers": {"Authorization": "•••", "Accept": "text/plain"}, "x": [{"api_key": "•••"}], "more": [["X-Token", "•••"], ["Host", "h"]]})
        );
    }
}
