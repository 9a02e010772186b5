//! Expectations on a response (`expect`): read once from the options, evaluated when the response has arrived.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Exchange, Response};
use rquickjs::{Ctx, Exception, Object, Persistent, Value};

use crate::body::to_js;
use crate::extract::json::{JsonPath, JsonValue};
use crate::protocols::options::{duration, each, not_in};
use crate::protocols::pattern::{is_pattern, test, text_of};
use crate::unknown_options::OptionSet;
use crate::{charset, exact_json};

/// The options of `expect`.
pub(super) static EXPECT: OptionSet = OptionSet::new("expect", &["status", "header", "text", "json", "within"]);

/// `Number.MAX_SAFE_INTEGER`.
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;
const BIGINT_EXAMPLE: &str = "9007199254740993n";

/// Maximum length of a piece of a response in a message. Characters.
const SHOWN_MAX: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusPattern {
    Exact(u16),
    /// 2 for `2xx`.
    Class(u16),
}

impl fmt::Display for StatusPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusPattern::Exact(exact) => exact.fmt(f),
            StatusPattern::Class(class) => write!(f, "{class}xx"),
        }
    }
}

impl StatusPattern {
    pub(super) fn holds(self, status: u16) -> bool {
        match self {
            StatusPattern::Exact(exact) => status == exact,
            StatusPattern::Class(class) => status / 100 == class,
        }
    }
}

/// An expectation on a string.
pub(crate) enum TextMatcher {
    /// Equal for headers, contained for bodies.
    Text(String),
    Present,
    /// A regular expression, which the script's engine runs.
    Pattern(Persistent<Object<'static>>),
}

/// A JSON path, and the value that the script expects there.
struct ExpectedValue {
    written: String,
    path: Rc<JsonPath>,
    wanted: Persistent<Value<'static>>,
}

/// One expectation. They are evaluated in this order.
enum ExpectedPart {
    /// Empty: any status below 400.
    Status(Vec<StatusPattern>),
    Header(String, TextMatcher),
    Text(TextMatcher),
    Json(ExpectedValue),
    WithinNs(u64),
}

pub(crate) struct Expectation(Vec<ExpectedPart>);

/// Why a response counts as failed. `None`: it does not.
pub(crate) type Judgement = Option<(Outcome, String)>;

/// One expectation, for the shown exchange.
pub(crate) struct JudgedPart {
    pub(crate) wanted: String,
    pub(crate) found: String,
    pub(crate) judgement: Judgement,
}

impl Expectation {
    pub(crate) fn read<'js>(
        ctx: &Ctx<'js>,
        options: &Object<'js>,
        path_of: impl Fn(&str) -> rquickjs::Result<Rc<JsonPath>>,
    ) -> rquickjs::Result<Self> {
        let mut parts = Vec::new();
        each(ctx, Some(options.as_value()), EXPECT.of, |key, value| {
            match key {
                "status" => parts.push(ExpectedPart::Status(statuses(ctx, &value)?)),
                "header" => {
                    for line in object(ctx, &value, "expect.header")?.props::<String, Value<'js>>() {
                        let (name, wanted) = line?;
                        parts.push(ExpectedPart::Header(name.to_ascii_lowercase(), matcher(ctx, wanted, "expect.header")?));
                    }
                }
                "text" => parts.push(ExpectedPart::Text(matcher(ctx, value, "expect.text")?)),
                "json" => {
                    for line in object(ctx, &value, "expect.json")?.props::<String, Value<'js>>() {
                        let (written, wanted) = line?;
                        let path = path_of(&written)?;
                        parts.push(ExpectedPart::Json(ExpectedValue { written, path, wanted: Persistent::save(ctx, wanted) }));
                    }
                }
                "within" => parts.push(ExpectedPart::WithinNs(duration(ctx, &value, "expect.within")?)),
                other => return Err(not_in(ctx, other, &EXPECT)),
            }
            Ok(())
        })?;
        if !parts.iter().any(|part| matches!(part, ExpectedPart::Status(_))) {
            parts.push(ExpectedPart::Status(Vec::new()));
        }
        parts.sort_by_key(ExpectedPart::rank);
        Ok(Self(parts))
    }

    /// Checks the status alone.
    pub(super) fn judge_status(&self, status: u16) -> Judgement {
        let patterns =
            self.0.iter().find_map(|part| if let ExpectedPart::Status(patterns) = part { Some(patterns.as_slice()) } else { None });
        judge_status(patterns.unwrap_or_default(), status)
    }

    /// The first expectation that fails.
    pub(crate) fn judge(&self, ctx: &Ctx<'_>, exchange: &Exchange, response: &Response) -> rquickjs::Result<Judgement> {
        for part in &self.0 {
            if let Some(failed) = part.judge(ctx, exchange, response)? {
                return Ok(Some(failed));
            }
        }
        Ok(None)
    }

    /// Every expectation of the script, with the actual value. A status below 400 is listed only if it fails.
    pub(crate) fn examine(&self, ctx: &Ctx<'_>, exchange: &Exchange, response: &Response) -> rquickjs::Result<Vec<JudgedPart>> {
        let mut examined = Vec::new();
        for part in &self.0 {
            let judgement = part.judge(ctx, exchange, response)?;
            if judgement.is_some() || !part.is_unasked() {
                examined.push(JudgedPart { wanted: part.wanted(ctx), found: part.found(exchange, response), judgement });
            }
        }
        Ok(examined)
    }
}

impl ExpectedPart {
    /// The expectation that every response has.
    fn is_unasked(&self) -> bool {
        matches!(self, Self::Status(patterns) if patterns.is_empty())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Status(_) => 0,
            Self::Header(..) => 1,
            Self::Text(_) => 2,
            Self::Json(_) => 3,
            Self::WithinNs(_) => 4,
        }
    }

    fn judge(&self, ctx: &Ctx<'_>, exchange: &Exchange, response: &Response) -> rquickjs::Result<Judgement> {
        let problem = match self {
            Self::Status(patterns) => return Ok(judge_status(patterns, response.status)),
            Self::Header(name, wanted) => judge_header(ctx, name, wanted, response.headers.get(name))?,
            Self::Text(wanted) => judge_text(ctx, wanted, &charset::text_of(&response.body, || response.headers.get("content-type")))?,
            Self::Json(expected) => judge_json(ctx, expected, &json_of(response))?,
            Self::WithinNs(within_ns) => (elapsed_ns(exchange) > *within_ns)
                .then(|| format!("the response took longer than {}", loadstone_units::duration::format(*within_ns))),
        };
        Ok(problem.map(|problem| (Outcome::Expect, problem)))
    }

    fn wanted(&self, ctx: &Ctx<'_>) -> String {
        match self {
            Self::Status(patterns) => status_wanted(patterns),
            Self::Header(name, wanted) => match wanted {
                TextMatcher::Text(text) => format!("header {name} is {}", shown(text)),
                TextMatcher::Present => format!("header {name} is present"),
                TextMatcher::Pattern(pattern) => format!("header {name} matches {}", written(ctx, pattern)),
            },
            Self::Text(wanted) => match wanted {
                TextMatcher::Text(text) => format!("the body contains {}", shown(text)),
                TextMatcher::Present => "the body is not empty".to_owned(),
                TextMatcher::Pattern(pattern) => format!("the body contains a match of {}", written(ctx, pattern)),
            },
            Self::Json(expected) => format!("{}: {}", expected.written, value_wanted(ctx, &expected.wanted)),
            Self::WithinNs(within_ns) => format!("within {}", loadstone_units::duration::format(*within_ns)),
        }
    }

    fn found(&self, exchange: &Exchange, response: &Response) -> String {
        match self {
            Self::Status(_) => response.status.to_string(),
            Self::Header(name, _) => response.headers.get(name).map_or("missing".to_owned(), shown),
            Self::Text(_) => loadstone_units::bytes(response.body.len() as u64),
            Self::Json(expected) => match expected.path.first(&json_of(response)) {
                Ok(Some(found)) => cut(&found.to_json()),
                _ => "nothing there".to_owned(),
            },
            Self::WithinNs(_) => loadstone_units::seconds(elapsed_ns(exchange) as f64 / 1e9),
        }
    }
}

/// The body as JSON in UTF-8.
fn json_of(response: &Response) -> Cow<'_, [u8]> {
    let decoded = charset::json_in_charset(&response.body, || response.headers.get("content-type"));
    decoded.map_or(Cow::Borrowed(&response.body[..]), |json| Cow::Owned(json.into_bytes()))
}

fn elapsed_ns(exchange: &Exchange) -> u64 {
    exchange.ended.saturating_sub(exchange.started)
}

/// Checks the status. `expected` of 0: any below 400.
pub(crate) fn judge_one(expected: u16, status: u16) -> Judgement {
    let holds = if expected == 0 { status < 400 } else { status == expected };
    (!holds).then(|| judged_status(&patterns_of(expected), status))
}

/// The same for the shown exchange.
pub(crate) fn examine_one(expected: u16, status: u16) -> Option<JudgedPart> {
    let judgement = judge_one(expected, status);
    let is_shown = expected != 0 || judgement.is_some();
    is_shown.then(|| JudgedPart { wanted: status_wanted(&patterns_of(expected)), found: status.to_string(), judgement })
}

fn patterns_of(expected: u16) -> Vec<StatusPattern> {
    if expected == 0 { Vec::new() } else { vec![StatusPattern::Exact(expected)] }
}

/// Checks the status against the patterns. Without any: below 400.
fn judge_status(patterns: &[StatusPattern], status: u16) -> Judgement {
    let holds = if patterns.is_empty() { status < 400 } else { patterns.iter().any(|pattern| pattern.holds(status)) };
    (!holds).then(|| judged_status(patterns, status))
}

fn judged_status(patterns: &[StatusPattern], status: u16) -> (Outcome, String) {
    let expected = if patterns.is_empty() { String::new() } else { format!(", expected {}", listed(patterns)) };
    (Outcome::Status, format!("status {status}{expected}"))
}

fn status_wanted(patterns: &[StatusPattern]) -> String {
    if patterns.is_empty() { "status below 400".to_owned() } else { format!("status {}", listed(patterns)) }
}

fn listed(patterns: &[StatusPattern]) -> String {
    patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

fn judge_header(ctx: &Ctx<'_>, name: &str, wanted: &TextMatcher, value: Option<&str>) -> rquickjs::Result<Option<String>> {
    let Some(value) = value else { return Ok(Some(format!("header {name} is missing"))) };
    let expected = match wanted {
        TextMatcher::Present => return Ok(None),
        TextMatcher::Text(text) if value == text => return Ok(None),
        TextMatcher::Text(text) => shown(text),
        TextMatcher::Pattern(pattern) if matches(ctx, pattern, value)? => return Ok(None),
        TextMatcher::Pattern(pattern) => format!("a match of {}", written(ctx, pattern)),
    };
    Ok(Some(format!("header {name} is {}, expected {expected}", shown(value))))
}

fn judge_text(ctx: &Ctx<'_>, wanted: &TextMatcher, body: &str) -> rquickjs::Result<Option<String>> {
    let (holds, what) = match wanted {
        TextMatcher::Present => (!body.is_empty(), "anything".to_owned()),
        TextMatcher::Text(text) => (body.contains(text.as_str()), shown(text)),
        TextMatcher::Pattern(pattern) => (matches(ctx, pattern, body)?, format!("a match of {}", written(ctx, pattern))),
    };
    Ok((!holds).then(|| format!("the body does not contain {what}")))
}

fn judge_json(ctx: &Ctx<'_>, expected: &ExpectedValue, body: &[u8]) -> rquickjs::Result<Option<String>> {
    let ExpectedValue { written: at, path, wanted } = expected;
    let found = match path.first(body) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Some(format!("nothing at {at}, expected {}", value_wanted(ctx, wanted)))),
        Err(error) => return Ok(Some(format!("nothing at {at}: {error}"))),
    };
    let holds = holds(ctx, &wanted.clone().restore(ctx)?, &found)?;
    Ok((!holds).then(|| format!("{at} is {}, expected {}", cut(&found.to_json()), value_wanted(ctx, wanted))))
}

fn holds<'js>(ctx: &Ctx<'js>, wanted: &Value<'js>, found: &JsonValue<'_>) -> rquickjs::Result<bool> {
    if let Some(accepts) = wanted.as_function() {
        let accepted: rquickjs::Coerced<bool> = accepts.call((to_js(ctx, found.clone())?,))?;
        return Ok(accepted.0);
    }
    if let Some(pattern) = wanted.as_object().filter(|object| is_pattern(object)) {
        let text = match found {
            JsonValue::Text(text) => text.clone().into_owned(),
            other => other.to_json().into_owned(),
        };
        return test(pattern, &text);
    }
    let wanted = exact_json::stringify(ctx, wanted.clone())?.unwrap_or_default();
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    Ok(same(parse(&wanted).as_ref(), parse(&found.to_json()).as_ref()))
}

/// The expected value: `"PUT"`.
fn value_wanted(ctx: &Ctx<'_>, wanted: &Persistent<Value<'static>>) -> String {
    let Ok(wanted) = wanted.clone().restore(ctx) else { return "another".to_owned() };
    if wanted.is_function() {
        return "a value that the function accepts".to_owned();
    }
    if let Some(pattern) = wanted.as_object().filter(|object| is_pattern(object)) {
        return format!("a match of {}", text_of(pattern));
    }
    let is_rounded = wanted.as_number().is_some_and(|number| number.fract() == 0.0 && number.abs() > SAFE_INTEGER_MAX);
    let json = cut(&exact_json::stringify(ctx, wanted).ok().flatten().unwrap_or_default());
    if is_rounded { format!("{json} (JavaScript rounds this number: write it as a bigint, such as {BIGINT_EXAMPLE})") } else { json }
}

/// Equal as in JavaScript: 1 and 1.0 are the same number, and the order of keys does not matter.
fn same(a: Option<&serde_json::Value>, b: Option<&serde_json::Value>) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Some(Number(a)), Some(Number(b))) => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Some(Array(a)), Some(Array(b))) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b))),
        (Some(Object(a)), Some(Object(b))) => a.len() == b.len() && a.iter().all(|(key, a)| same(Some(a), b.get(key))),
        (a, b) => a == b,
    }
}

/// The exact value of an integer.
fn integer(number: &serde_json::Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn statuses<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<StatusPattern>> {
    if let Some(list) = value.as_array() {
        return list.iter::<Value<'js>>().map(|item| status(ctx, &item?)).collect();
    }
    Ok(vec![status(ctx, value)?])
}

fn status<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<StatusPattern> {
    if let Some(number) = value.as_number().filter(|number| (100.0..=999.0).contains(number) && number.fract() == 0.0) {
        return Ok(StatusPattern::Exact(number as u16));
    }
    let text = value.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default();
    match text.as_bytes() {
        [class @ b'1'..=b'5', b'x', b'x'] => Ok(StatusPattern::Class(u16::from(class - b'0'))),
        _ => Err(Exception::throw_type(ctx, "expect.status: expected a status such as 200, a class such as \"2xx\", or a list of them")),
    }
}

fn matcher<'js>(ctx: &Ctx<'js>, value: Value<'js>, what: &str) -> rquickjs::Result<TextMatcher> {
    if let Some(text) = value.as_string() {
        return Ok(TextMatcher::Text(text.to_string()?));
    }
    if value.as_bool() == Some(true) {
        return Ok(TextMatcher::Present);
    }
    match value.into_object().filter(is_pattern) {
        Some(pattern) => Ok(TextMatcher::Pattern(Persistent::save(ctx, pattern))),
        None => Err(Exception::throw_type(ctx, &format!("{what}: expected a string, a regular expression or true"))),
    }
}

fn object<'v, 'js>(ctx: &Ctx<'js>, value: &'v Value<'js>, what: &str) -> rquickjs::Result<&'v Object<'js>> {
    value.as_object().ok_or_else(|| Exception::throw_type(ctx, &format!("{what}: expected an object of names and expected values")))
}

fn matches(ctx: &Ctx<'_>, pattern: &Persistent<Object<'static>>, text: &str) -> rquickjs::Result<bool> {
    test(&pattern.clone().restore(ctx)?, text)
}

/// The pattern as written in the script.
fn written(ctx: &Ctx<'_>, pattern: &Persistent<Object<'static>>) -> String {
    pattern.clone().restore(ctx).map_or_else(|_| "the expected pattern".to_owned(), |pattern| text_of(&pattern))
}

fn shown(text: &str) -> String {
    format!("\"{}\"", cut(text))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_passes_below_400_or_as_expected() {
        assert_eq!(judge_status(&[], 302), None);
        assert_eq!(judge_status(&[], 404), Some((Outcome::Status, "status 404".to_owned())));
        assert_eq!(judge_status(&[StatusPattern::Exact(404), StatusPattern::Class(2)], 404), None);
        assert_eq!(judge_status(&[StatusPattern::Exact(404), StatusPattern::Class(2)], 204), None);
        let failed = judge_status(&[StatusPattern::Exact(201), StatusPattern::Class(3)], 200);
        assert_eq!(failed, Some((Outcome::Status, "status 200, expected 201 or 3xx".to_owned())));
        assert_eq!(judge_one(201, 200), Some((Outcome::Status, "status 200, expected 201".to_owned())));
    }

    #[test]
    fn numbers_and_key_order_compare_as_in_javascript() {
        let parse = |text: &str| serde_json::from_str(text).unwrap();
        let (a, b): (serde_json::Value, serde_json::Value) = (parse(r#"{"a":1,"b":[2.0]}"#), parse(r#"{"b":[2],"a":1.0}"#));
        assert!(same(Some(&a), Some(&b)));
        assert!(!same(Some(&a), Some(&parse(r#"{"b":[2]}"#))));
    }
}
