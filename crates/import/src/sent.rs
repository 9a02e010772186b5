//! The content of imported requests from any source: which headers to keep, how to read a body, and which values must not be written to the test.

use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use crate::steps::{Action, Body, Journey, PlannedRequest, Step, pieces, value};

/// Headers that a client adds by itself, or that only a browser sends.
const BY_ITSELF: [&str; 21] = [
    "host",
    "connection",
    "content-length",
    "cookie",
    "user-agent",
    "origin",
    "referer",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "pragma",
    "dnt",
    "te",
    "priority",
    "upgrade-insecure-requests",
    "if-none-match",
    "if-modified-since",
    "transfer-encoding",
    "expect",
    "keep-alive",
    "x-client-data",
];

/// Whether a header belongs into the test.
pub(crate) fn keeps(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let any = name == "accept" && (value.starts_with("*/*") || value.starts_with("text/html") || value.starts_with("image/"));
    !(any || name.starts_with(':') || name.starts_with("sec-") || name.starts_with("proxy-") || BY_ITSELF.contains(&name.as_str()))
}

/// Sets a header. Credentials and the content type have separate options.
pub(crate) fn set_header(request: &mut PlannedRequest, name: &str, value: &str) {
    if name.eq_ignore_ascii_case("authorization") {
        if let Some(token) = value.strip_prefix("Bearer ") {
            request.auth = Some((token.to_owned(), None));
            return;
        }
        if let Some((user, password)) = value.strip_prefix("Basic ").and_then(basic) {
            request.auth = Some((user, Some(password)));
            return;
        }
    }
    request.headers.push((name.to_ascii_lowercase(), value.to_owned()));
}

fn basic(encoded: &str) -> Option<(String, String)> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

/// A body by its type. What becomes of it makes the header `content-type` needless.
pub(crate) fn set_body(request: &mut PlannedRequest, text: &str) {
    let kind =
        request.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.to_ascii_lowercase()).unwrap_or_default();
    request.body = if text.is_empty() {
        Body::None
    } else if kind.contains("x-www-form-urlencoded") {
        Body::Form(url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    } else if let Some(json) =
        (kind.is_empty() || kind.contains("json")).then(|| serde_json::from_str::<Value>(text).ok()).flatten().filter(survives_javascript)
    {
        Body::Json(json)
    } else {
        Body::Text(text.to_owned())
    };
    let plain = matches!(request.body, Body::Form(_))
        || matches!(request.body, Body::Json(_)) && (kind.is_empty() || kind.starts_with("application/json"));
    if plain {
        request.headers.retain(|(name, _)| name != "content-type");
    }
}

/// Whether a script that contains this value sends it unchanged. Numbers of JavaScript are exact up to 2^53, objects list whole numbers
/// before other names, and `__proto__` in a literal is not a member.
pub(crate) fn survives_javascript(json: &Value) -> bool {
    const EXACT_MAX: u64 = 1 << 53;
    match json {
        Value::Number(number) if number.is_f64() => number.as_f64().is_some_and(|value| value.fract() != 0.0 && value.abs() < 1e21),
        Value::Number(number) => {
            number.as_i64().map_or(number.as_u64(), |value| Some(value.unsigned_abs())).is_some_and(|size| size <= EXACT_MAX)
        }
        Value::Array(items) => items.iter().all(survives_javascript),
        Value::Object(entries) => entries.iter().all(|(name, value)| {
            let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            !is_index && name != "__proto__" && survives_javascript(value)
        }),
        _ => true,
    }
}

/// Scheme, host and port.
pub(crate) fn origin(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.host_str()?;
    Some(url.origin().ascii_serialization()).filter(|origin| origin != "null")
}

/// `http://ann:secret@host/` without its credentials, and these: Loadstone sends none that stand in a URL.
pub(crate) fn with_credentials(url: &str) -> Option<(String, String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.find('/').unwrap_or(rest.len());
    let (credentials, _) = rest[..host].rsplit_once('@')?;
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let plain = format!("{scheme}://{}", &rest[credentials.len() + 1..]);
    Some((plain, user.to_owned(), password.to_owned()))
}

/// The URL from the base on, where it begins with it.
pub(crate) fn relative(url: &str, base: Option<&str>) -> String {
    match base.and_then(|base| url.strip_prefix(base)) {
        Some("") => "/".to_owned(),
        Some(rest) if rest.starts_with('?') => format!("/{rest}"),
        Some(rest) if rest.starts_with('/') => rest.split('#').next().unwrap_or(rest).to_owned(),
        _ => url.split('#').next().unwrap_or(url).to_owned(),
    }
}

/// `GET /api/orders/17/lines` is "Get orders lines", `GET /api/orders/17` is "Get order".
pub(crate) fn name_of(method: &str, url: &str) -> String {
    let path = Url::parse(url).map_or_else(|_| url.split('?').next().unwrap_or("").to_owned(), |url| url.path().to_owned());
    let mut words: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && !is_identifier(part)).collect();
    let is_version = |word: &str| word.len() < 4 && word.starts_with('v') && word[1..].parse::<u32>().is_ok();
    words.retain(|word| !matches!(*word, "api" | "rest") && !is_version(word));
    let last = words.len().saturating_sub(2);
    let mut letters = method.chars();
    let verb = letters.next().map_or(String::new(), |c| c.to_uppercase().to_string() + &letters.as_str().to_lowercase());
    if words.is_empty() {
        return format!("{verb} start page");
    }
    let mut words: Vec<String> = words[last..].iter().map(|word| word.replace(['-', '_', '.'], " ")).collect();
    let of_one = path.rsplit('/').find(|part| !part.is_empty()).is_some_and(is_identifier);
    if let Some(word) = words.last_mut().filter(|_| of_one) {
        *word = singular(word);
    }
    format!("{verb} {}", words.join(" "))
}

/// What a request is about, one of them: `GET /api/orders?page=3` and `GET /orders/17` are about an "order".
pub(crate) fn noun_of(url: &str) -> String {
    let path = Url::parse(url).map_or_else(|_| url.split('?').next().unwrap_or("").to_owned(), |url| url.path().to_owned());
    let noun = path.rsplit('/').find(|part| !part.is_empty() && !is_identifier(part)).unwrap_or("");
    singular(&noun.replace(['-', '_', '.'], " "))
}

/// "orders" is many an "order". What does not look like many stays.
fn singular(word: &str) -> String {
    match word {
        _ if word.len() < 4 || ["ss", "us", "is", "news", "series"].iter().any(|end| word.ends_with(end)) => word.to_owned(),
        _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if ["sses", "xes", "ches", "shes"].iter().any(|end| word.ends_with(end)) => word[..word.len() - 2].to_owned(),
        _ => word.strip_suffix('s').unwrap_or(word).to_owned(),
    }
}

/// Whether a part of a path stands for one thing among many.
fn is_identifier(part: &str) -> bool {
    let digits = part.chars().filter(char::is_ascii_digit).count();
    part.chars().any(|c| c == '\u{E000}' || c == '%')
        || digits == part.len()
        || digits * 3 >= part.len() && part.len() >= 6
        || part.len() > 24
}

/// Puts parameters in place of credentials that are written out, so that none stands in the test.
pub(crate) fn hide(journey: &mut Journey) {
    let mut hidden = Hidden(HashMap::new());
    let mut steps = std::mem::take(&mut journey.steps);
    for step in &mut steps {
        hidden.step(journey, step);
    }
    journey.steps = steps;
}

/// Parameters by the values that they stand for.
struct Hidden(HashMap<String, String>);

impl Hidden {
    fn step(&mut self, journey: &mut Journey, step: &mut Step) {
        for action in &mut step.actions {
            let Action::Request(request) = action else { continue };
            for (name, text) in &mut request.headers {
                if name.eq_ignore_ascii_case("cookie") {
                    self.cookies(journey, text);
                } else if loadstone_secrets::is_credential(name) {
                    self.text(journey, name, text);
                }
            }
            match &mut request.auth {
                Some((user, Some(password))) => {
                    self.text(journey, "username", user);
                    self.text(journey, "password", password);
                }
                Some((token, None)) => self.text(journey, "token", token),
                None => {}
            }
            self.query(journey, &mut request.url);
            match &mut request.body {
                Body::Json(json) => self.json(journey, json),
                Body::Form(fields) => fields
                    .iter_mut()
                    .filter(|(name, _)| loadstone_secrets::is_credential(name))
                    .for_each(|(name, text)| self.text(journey, name, text)),
                Body::Multipart(fields) => {
                    fields
                        .iter_mut()
                        .filter(|part| !part.is_file && loadstone_secrets::is_credential(&part.name))
                        .for_each(|part| self.text(journey, &part.name, &mut part.content));
                }
                Body::Text(body) => self.raw(journey, body),
                Body::None | Body::File(_) => {}
            }
        }
    }

    fn text(&mut self, journey: &mut Journey, name: &str, text: &mut String) {
        if text.is_empty() || text.contains('\u{E000}') {
            return;
        }
        let known = self.0.get(text).cloned().unwrap_or_else(|| {
            let taken = self.0.values().filter(|known| known.starts_with(&crate::text::camel_case(name))).count();
            let wanted = if taken == 0 { name.to_owned() } else { format!("{name}{}", taken + 1) };
            journey.parameter(&wanted, "", true, "not stored in the test: set it with -p or in the environment")
        });
        self.0.insert(text.clone(), known.clone());
        *text = value(&known);
    }

    /// Credentials in a body that is sent as it is: values of JSON, or of fields.
    fn raw(&mut self, journey: &mut Journey, body: &mut String) {
        if let Ok(mut json) = serde_json::from_str::<Value>(&quoted_values(body)) {
            let mut found = Vec::new();
            credentials(&mut json, &mut |name, text| found.push((name.to_owned(), text.clone())));
            for (name, mut text) in found {
                let literal = Value::from(text.as_str()).to_string();
                self.text(journey, &name, &mut text);
                if let [(parameter, true)] = &pieces(&text)[..] {
                    *body = body.replace(&literal, &value(&format!("JSON.stringify({parameter})")));
                }
            }
        } else if !body.contains(['\n', '\u{E000}']) && body.contains('=') {
            *body = self.pairs(journey, body);
        }
    }

    /// `name=value; …`: every value, because the name of a session's cookie is arbitrary.
    fn cookies(&mut self, journey: &mut Journey, cookies: &mut String) {
        if cookies.contains('\u{E000}') {
            return;
        }
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, text)) => {
                let mut text = text.to_owned();
                self.text(journey, &format!("{name} cookie"), &mut text);
                format!("{name}={text}")
            }
            None => pair.to_owned(),
        };
        *cookies = cookies.split(';').map(str::trim).map(pair).collect::<Vec<_>>().join("; ");
    }

    fn query(&mut self, journey: &mut Journey, url: &mut String) {
        let Some((path, query)) = url.split_once('?') else { return };
        *url = format!("{path}?{}", self.pairs(journey, query));
    }

    /// `name=value&…` without the values of credentials.
    fn pairs(&mut self, journey: &mut Journey, pairs: &str) -> String {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, text)) if loadstone_secrets::is_credential(name) => {
                let mut text = text.to_owned();
                self.text(journey, name, &mut text);
                format!("{name}={text}")
            }
            _ => pair.to_owned(),
        };
        pairs.split('&').map(pair).collect::<Vec<_>>().join("&")
    }

    fn json(&mut self, journey: &mut Journey, json: &mut Value) {
        credentials(json, &mut |name, text| self.text(journey, name, text));
    }
}

/// Expressions outside of quotes in quotes, so that the text around them can be read as JSON.
fn quoted_values(json: &str) -> String {
    let (mut out, mut inside) = (String::new(), false);
    for c in json.chars() {
        match c {
            '"' => inside = !inside,
            '\u{E000}' if !inside => out.push('"'),
            _ => {}
        }
        out.push(c);
        if c == '\u{E001}' && !inside {
            out.push('"');
        }
    }
    out
}

/// Calls for each value of JSON whose name is that of a credential.
fn credentials(json: &mut Value, found: &mut dyn FnMut(&str, &mut String)) {
    match json {
        Value::Object(entries) => {
            for (name, inner) in entries {
                match inner {
                    Value::String(text) if loadstone_secrets::is_credential(name) => found(name, text),
                    inner => credentials(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| credentials(item, found)),
        _ => {}
    }
}
