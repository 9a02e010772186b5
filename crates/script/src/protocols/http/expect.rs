//! What a response must be like (`expect`): read once from the options, judged when the response is there.

use std::rc::Rc;

use metrics::Outcome;
use protocol::http::{Exchange, Response};
use rquickjs::{Ctx, Exception, Object, Persistent, Value};

use crate::body::to_js;
use crate::extract::json::{JsonPath, JsonValue};
use crate::protocols::options::duration;
use crate::protocols::pattern::{is_pattern, test};

/// Longest piece of a response that a message shows. Characters.
const SHOWN_MAX: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusPattern {
    Exact(u16),
    /// 2 for `2xx`.
    Class(u16),
}

impl StatusPattern {
    fn holds(self, status: u16) -> bool {
        match self {
            StatusPattern::Exact(exact) => status == exact,
            StatusPattern::Class(class) => status / 100 == class,
        }
    }
}

/// What a text must be like.
pub(crate) enum TextMatcher {
    /// Equal for headers, contained for bodies.
    Text(String),
    Present,
    /// A regular expression, which the script's own engine runs.
    Pattern(Persistent<Object<'static>>),
}

/// A value at a JSON path, and what the script says it must be.
struct ExpectedValue {
    written: String,
    path: Rc<JsonPath>,
    wanted: Persistent<Value<'static>>,
}

#[derive(Default)]
pub(crate) struct Expectation {
    /// Empty: any status below 400.
    status: Vec<StatusPattern>,
    header: Vec<(String, TextMatcher)>,
    text: Option<TextMatcher>,
    json: Vec<ExpectedValue>,
    within_ns: Option<u64>,
}

/// Why a response counts as failed; `None`: it does not.
pub(crate) type Judgement = Option<(Outcome, String)>;

impl Expectation {
    pub(crate) fn read<'js>(
        ctx: &Ctx<'js>,
        options: &Object<'js>,
        path_of: impl Fn(&str) -> rquickjs::Result<Rc<JsonPath>>,
    ) -> rquickjs::Result<Self> {
        let mut expect = Self::default();
        for property in options.props::<String, Value<'js>>() {
            let (key, value) = property?;
            if value.is_undefined() {
                continue;
            }
            match key.as_str() {
                "status" => expect.status = statuses(ctx, &value)?,
                "header" => {
                    for line in object(ctx, &value, "expect.header")?.props::<String, Value<'js>>() {
                        let (name, wanted) = line?;
                        let matcher = matcher(ctx, wanted, "expect.header")?;
                        expect.header.push((name.to_ascii_lowercase(), matcher));
                    }
                }
                "text" => expect.text = Some(matcher(ctx, value, "expect.text")?),
                "json" => {
                    for line in object(ctx, &value, "expect.json")?.props::<String, Value<'js>>() {
                        let (written, wanted) = line?;
                        let path = path_of(&written)?;
                        expect.json.push(ExpectedValue { written, path, wanted: Persistent::save(ctx, wanted) });
                    }
                }
                "within" => expect.within_ns = Some(duration(ctx, &value, "expect.within")?),
                other => {
                    let message = format!("expect has no option `{other}`; its options are: status, header, text, json, within");
                    return Err(Exception::throw_type(ctx, &message));
                }
            }
        }
        Ok(expect)
    }

    /// The first expectation that does not hold.
    pub(crate) fn judge<'js>(&self, ctx: &Ctx<'js>, exchange: &Exchange, response: &Response) -> rquickjs::Result<Judgement> {
        if let Some(failed) = judge_status(&self.status, response.status) {
            return Ok(Some(failed));
        }
        for (name, wanted) in &self.header {
            let value = response.headers.get(name);
            let holds = match (wanted, value) {
                (_, None) => false,
                (TextMatcher::Present, Some(_)) => true,
                (TextMatcher::Text(text), Some(value)) => value == text,
                (TextMatcher::Pattern(pattern), Some(value)) => matches(ctx, pattern, value)?,
            };
            if !holds {
                return Ok(failed(format!(
                    "header {name} {}",
                    value.map_or("is missing".to_owned(), |value| format!("is {}, not as expected", shown(value)))
                )));
            }
        }
        if let Some(wanted) = &self.text {
            let body = String::from_utf8_lossy(&response.body);
            let (holds, what) = match wanted {
                TextMatcher::Present => (!body.is_empty(), "anything".to_owned()),
                TextMatcher::Text(text) => (body.contains(text.as_str()), shown(text)),
                TextMatcher::Pattern(pattern) => (matches(ctx, pattern, &body)?, "a match of the expected pattern".to_owned()),
            };
            if !holds {
                return Ok(failed(format!("the body does not contain {what}")));
            }
        }
        for expected in &self.json {
            if let Some(problem) = judge_json(ctx, expected, &response.body)? {
                return Ok(failed(problem));
            }
        }
        let took_ns = exchange.ended.saturating_sub(exchange.started);
        match self.within_ns {
            Some(within) if took_ns > within => Ok(failed(format!("the response took longer than {}", units::duration::format(within)))),
            _ => Ok(None),
        }
    }
}

/// The status against one that is expected; 0: any below 400.
pub(crate) fn judge_one(expected: u16, status: u16) -> Judgement {
    let holds = if expected == 0 { status < 400 } else { status == expected };
    (!holds).then(|| (Outcome::Status, format!("status {status}")))
}

/// The status against the patterns; without any, below 400.
fn judge_status(patterns: &[StatusPattern], status: u16) -> Judgement {
    let holds = if patterns.is_empty() { status < 400 } else { patterns.iter().any(|pattern| pattern.holds(status)) };
    (!holds).then(|| (Outcome::Status, format!("status {status}")))
}

fn failed(problem: String) -> Judgement {
    Some((Outcome::Expect, problem))
}

fn judge_json(ctx: &Ctx<'_>, expected: &ExpectedValue, body: &[u8]) -> rquickjs::Result<Option<String>> {
    let ExpectedValue { written, path, wanted } = expected;
    let found = match path.first(body) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Some(format!("nothing at {written}"))),
        Err(error) => return Ok(Some(format!("nothing at {written}: {error}"))),
    };
    let wanted = wanted.clone().restore(ctx)?;
    let missed = || format!("the value at {written} is {}, not as expected", shown(&found.to_json()));
    if let Some(accepts) = wanted.as_function() {
        let value = to_js(ctx, found.clone())?;
        let accepted: rquickjs::Coerced<bool> = accepts.call((value,))?;
        return Ok((!accepted.0).then(missed));
    }
    if let Some(pattern) = wanted.as_object().filter(|object| is_pattern(object)) {
        let text = match &found {
            JsonValue::Text(text) => text.clone().into_owned(),
            other => other.to_json().into_owned(),
        };
        return Ok((!test(pattern, &text)?).then(missed));
    }
    let wanted = ctx.json_stringify(wanted)?.map(|text| text.to_string()).transpose()?.unwrap_or_default();
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    Ok((!same(parse(&wanted).as_ref(), parse(&found.to_json()).as_ref())).then(missed))
}

/// Equal as JavaScript sees it: 1 and 1.0 are one number, the order of keys does not matter.
fn same(a: Option<&serde_json::Value>, b: Option<&serde_json::Value>) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Some(Number(a)), Some(Number(b))) => a.as_f64() == b.as_f64(),
        (Some(Array(a)), Some(Array(b))) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b))),
        (Some(Object(a)), Some(Object(b))) => a.len() == b.len() && a.iter().all(|(key, a)| same(Some(a), b.get(key))),
        (a, b) => a == b,
    }
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

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
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
        assert!(judge_status(&[StatusPattern::Exact(201)], 200).is_some());
    }

    #[test]
    fn numbers_and_key_order_compare_as_in_javascript() {
        let parse = |text: &str| serde_json::from_str(text).unwrap();
        let (a, b): (serde_json::Value, serde_json::Value) = (parse(r#"{"a":1,"b":[2.0]}"#), parse(r#"{"b":[2],"a":1.0}"#));
        assert!(same(Some(&a), Some(&b)));
        assert!(!same(Some(&a), Some(&parse(r#"{"b":[2]}"#))));
    }
}
