//! Correlation: a value that an answer gave and a later request sends is taken out of the answer when the test runs.
//!
//! What counts is where values stand, not what they look like: a leaf of a JSON answer, or the value of a form's field in HTML, that turns up
//! as a whole (a part of a path, a query's value, a header's value, a field, a leaf of a JSON body) and in no request before. Short words and
//! small numbers turn up by chance, so they count only where the name says that they identify something.

use std::collections::HashSet;

use serde_json::Value;

use crate::sent::noun_of;
use crate::steps::{Body, PlannedRequest, value};
use crate::text::{camel_case, quoted};

/// A request with what answered it.
pub(crate) struct Answered {
    pub(crate) request: PlannedRequest,
    pub(crate) answer: Option<String>,
}

/// A value that an answer holds.
struct Candidate {
    /// How the response is asked for it.
    read: String,
    name: String,
    text: String,
}

/// Connects values in answers with later requests that send them. Returns a description of each connection.
pub(crate) fn correlate(exchanges: &mut [Answered]) -> Vec<String> {
    let mut connections = Vec::new();
    let mut sent: HashSet<String> = HashSet::new();
    let mut taken: HashSet<String> = HashSet::new();
    for index in 0..exchanges.len() {
        sent.extend(values(&exchanges[index].request));
        let about = noun_of(&exchanges[index].request.url);
        let candidates = exchanges[index].answer.as_deref().map(|answer| candidates(answer, &about)).unwrap_or_default();
        let mut known = HashSet::new();
        for candidate in candidates {
            if sent.contains(&candidate.text) || !known.insert(candidate.text.clone()) {
                continue;
            }
            let uses = exchanges[index + 1..].iter().filter(|later| values(&later.request).contains(&candidate.text)).count();
            if uses == 0 {
                continue;
            }
            let name = (1..)
                .map(|n| if n == 1 { candidate.name.clone() } else { format!("{}{n}", candidate.name) })
                .find(|name| taken.insert(name.clone()));
            let name = name.unwrap_or_default();
            let from = exchanges[index].request.name.clone();
            let sent = if uses == 1 { "1 later request".to_owned() } else { format!("{uses} later requests") };
            connections.push(format!("`{name}` is read from the answer to \"{from}\" and sent by {sent}"));
            exchanges[index].request.extracted.push((name.clone(), candidate.read));
            for later in &mut exchanges[index + 1..] {
                replace(&mut later.request, &candidate.text, &value(&format!("user.state.{name}")));
            }
        }
    }
    connections
}

/// `about` is what the request is about: an `id` is one of that.
fn candidates(answer: &str, about: &str) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Ok(json) = serde_json::from_str::<Value>(answer) {
        leaves(&json, "$", "value", &mut found);
        for candidate in found.iter_mut().filter(|candidate| candidate.name == "id" && !about.is_empty()) {
            candidate.name = camel_case(&format!("{about} id"));
        }
    } else {
        inputs(answer, &mut found);
    }
    found
}

fn leaves(json: &Value, path: &str, name: &str, found: &mut Vec<Candidate>) {
    match json {
        Value::Object(entries) => {
            for (key, value) in entries {
                let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !key.starts_with(|c: char| c.is_ascii_digit());
                let path = if plain { format!("{path}.{key}") } else { format!("{path}['{}']", key.replace('\'', "\\'")) };
                leaves(value, &path, key, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate().take(20) {
                leaves(item, &format!("{path}[{index}]"), name, found);
            }
        }
        Value::String(text) if is_distinctive(text, name) => found.push(candidate(path, name, text)),
        Value::Number(number) if is_distinctive(&number.to_string(), name) => found.push(candidate(path, name, &number.to_string())),
        _ => {}
    }
}

fn candidate(path: &str, name: &str, text: &str) -> Candidate {
    Candidate { read: format!(".json({})", quoted(path)), name: camel_case(name), text: text.to_owned() }
}

/// Whether a value is distinctive enough that a second occurrence is no coincidence.
fn is_distinctive(text: &str, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let identifies = lower == "id"
        || lower.ends_with("id")
        || loadstone_secrets::is_credential(name)
        || lower.contains("csrf")
        || lower.contains("uuid");
    let mixed = text.len() >= 8 && text.chars().any(|c| c.is_ascii_digit()) && !text.contains(' ');
    !text.is_empty() && (identifies || mixed)
}

/// `<input name="csrf" value="…">`.
fn inputs(html: &str, found: &mut Vec<Candidate>) {
    let starts = html.match_indices('<').filter(|(at, _)| html.get(at + 1..at + 6).is_some_and(|name| name.eq_ignore_ascii_case("input")));
    for (at, _) in starts {
        let tag = &html[at + 6..];
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        if let (Some(name), Some(text)) = (attribute(tag, "name"), attribute(tag, "value"))
            && is_distinctive(text, name)
        {
            let read = format!(".css({}, {{ attribute: \"value\" }})", quoted(&format!("input[name='{name}']")));
            found.push(Candidate { read, name: camel_case(name), text: text.to_owned() });
        }
    }
}

/// The value of an attribute, in quotes of either kind or in none: <https://html.spec.whatwg.org/#attributes-2>.
fn attribute<'t>(tag: &'t str, wanted: &str) -> Option<&'t str> {
    let mut rest = tag.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c == '/' || c.is_whitespace()).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let Some(value) = behind.trim_start().strip_prefix('=').map(str::trim_start) else {
            // No value: on to the next one, past the slash that may close the tag.
            rest = behind.trim_start().trim_start_matches('/').trim_start();
            continue;
        };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (text, behind) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(if quote.is_none() { text.trim_end_matches('/') } else { text });
        }
        rest = behind.trim_start();
    }
    None
}

/// All that a request sends, value by value.
fn values(request: &PlannedRequest) -> HashSet<String> {
    let mut all = HashSet::new();
    let (path, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
    all.extend(path.split('/').map(str::to_owned));
    all.extend(query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.to_owned()));
    all.extend(request.headers.iter().map(|(_, value)| value.clone()));
    if let Some((token, password)) = &request.auth {
        all.insert(token.clone());
        all.extend(password.clone());
    }
    match &request.body {
        Body::Json(json) => json_values(json, &mut all),
        Body::Form(fields) => all.extend(fields.iter().map(|(_, value)| value.clone())),
        Body::Multipart(parts) => all.extend(parts.iter().map(|part| part.content.clone())),
        Body::None | Body::Text(_) | Body::File(_) => {}
    }
    all
}

fn json_values(json: &Value, all: &mut HashSet<String>) {
    match json {
        Value::Object(entries) => entries.values().for_each(|value| json_values(value, all)),
        Value::Array(items) => items.iter().for_each(|value| json_values(value, all)),
        Value::String(text) => {
            all.insert(text.clone());
        }
        Value::Number(number) => {
            all.insert(number.to_string());
        }
        _ => {}
    }
}

fn replace(request: &mut PlannedRequest, text: &str, by: &str) {
    let whole = |known: &mut String| {
        if known == text {
            by.clone_into(known);
        }
    };
    let (path, query) = match request.url.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (request.url.clone(), None),
    };
    let path: Vec<&str> = path.split('/').map(|part| if part == text { by } else { part }).collect();
    request.url = path.join("/");
    if let Some(query) = query {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, known)) if known == text => format!("{name}={by}"),
            _ => pair.to_owned(),
        };
        request.url.push('?');
        request.url.push_str(&query.split('&').map(pair).collect::<Vec<_>>().join("&"));
    }
    request.headers.iter_mut().for_each(|(_, value)| whole(value));
    if let Some((token, password)) = &mut request.auth {
        whole(token);
        password.iter_mut().for_each(whole);
    }
    match &mut request.body {
        Body::Json(json) => replace_json(json, text, by),
        Body::Form(fields) => fields.iter_mut().for_each(|(_, value)| whole(value)),
        Body::Multipart(parts) => parts.iter_mut().for_each(|part| whole(&mut part.content)),
        Body::None | Body::Text(_) | Body::File(_) => {}
    }
}

fn replace_json(json: &mut Value, text: &str, by: &str) {
    match json {
        Value::Object(entries) => entries.values_mut().for_each(|value| replace_json(value, text, by)),
        Value::Array(items) => items.iter_mut().for_each(|value| replace_json(value, text, by)),
        Value::String(known) if known == text => by.clone_into(known),
        Value::Number(number) if number.to_string() == text => *json = Value::from(by),
        _ => {}
    }
}
