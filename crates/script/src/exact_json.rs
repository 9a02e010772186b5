//! JSON with integers of any size, as bigints.
//!
//! JavaScript's own `JSON` rounds integers beyond 2^53 − 1 and refuses bigints. Here [`parse`] reads such integers as bigints, and [`stringify`] writes
//! bigints as integers. Both mark them as strings on the way through the engine. JSON without such integers takes the engine's direct path.

use std::cell::Cell;
use std::rc::Rc;

use rquickjs::{Coerced, Ctx, FromJs, Function, IntoJs, Object, Type, Value};

/// Begins a marked integer. The control character is escaped in JSON, so that no ordinary text looks like a mark.
const MARK: &str = "\u{0}bigint:";
/// The same within JSON.
const MARK_IN_JSON: &str = "\\u0000bigint:";
/// A shorter integer is always exact.
const UNSAFE_DIGITS_MIN: usize = 16;
/// `Number.MAX_SAFE_INTEGER`.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// Like `JSON.parse`, but integers that a number would round are bigints.
///
/// # Errors
/// It is not JSON.
pub(crate) fn parse<'js>(ctx: &Ctx<'js>, text: &[u8]) -> rquickjs::Result<Value<'js>> {
    let Some(marked) = marked(text) else { return ctx.json_parse(text) };
    let json: Object<'js> = ctx.globals().get("JSON")?;
    let parse: Function<'js> = json.get("parse")?;
    let revive = Function::new(ctx.clone(), |ctx: Ctx<'js>, _key: Value<'js>, value: Value<'js>| -> rquickjs::Result<Value<'js>> {
        let text = value.as_string().and_then(|text| text.to_string().ok());
        match text.as_deref().and_then(|text| text.strip_prefix(MARK)) {
            Some(digits) => big_int(&ctx, digits),
            None => Ok(value),
        }
    })?;
    parse.call((marked, revive))
}

/// Like `JSON.stringify`, but bigints are integers.
///
/// # Errors
/// What `JSON.stringify` throws for other values.
pub(crate) fn stringify<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Option<String>> {
    if let Ok(json) = ctx.json_stringify(value.clone()) {
        return json.map(|json| json.to_string()).transpose();
    }
    // It throws for a bigint, and for other reasons, for which it throws again.
    ctx.catch();
    let found = Rc::new(Cell::new(false));
    let seen = Rc::clone(&found);
    let replacer = Function::new(ctx.clone(), move |ctx: Ctx<'js>, _key: Value<'js>, value: Value<'js>| -> rquickjs::Result<Value<'js>> {
        if value.type_of() != Type::BigInt {
            return Ok(value);
        }
        seen.set(true);
        format!("{MARK}{}", Coerced::<String>::from_js(&ctx, value)?.0).into_js(&ctx)
    })?;
    let json = ctx.json_stringify_replacer(value, replacer)?.map(|json| json.to_string()).transpose()?;
    Ok(if found.get() { json.map(|json| unmarked(&json)) } else { json })
}

/// A bigint with these digits.
pub(crate) fn big_int<'js>(ctx: &Ctx<'js>, digits: &str) -> rquickjs::Result<Value<'js>> {
    let big_int: Function<'js> = ctx.globals().get("BigInt")?;
    big_int.call((digits,))
}

/// Whether a JSON number is an integer that a double may round.
pub(crate) fn is_unsafe_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= UNSAFE_DIGITS_MIN
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse::<u64>().map_or(true, |number| number > SAFE_MAX)
}

/// The JSON with marks. `None`: it has no such integers, or cannot be marked.
fn marked(text: &[u8]) -> Option<String> {
    let is_long_run = |run: &[u8]| run.len() >= UNSAFE_DIGITS_MIN;
    if !text.split(|byte| !byte.is_ascii_digit()).any(is_long_run) {
        return None;
    }
    let text = std::str::from_utf8(text).ok().filter(|text| !text.contains(MARK_IN_JSON))?;
    let (bytes, mut at, mut copied) = (text.as_bytes(), 0, 0);
    let mut out = String::with_capacity(text.len() + 64);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                if is_unsafe_integer(&text[start..at]) {
                    out.extend([&text[copied..start], "\"", MARK_IN_JSON, &text[start..at], "\""]);
                    copied = at;
                }
            }
            _ => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    (copied > 0).then_some(out)
}

/// The place after the string that begins here.
fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn unmarked(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let mark = format!("\"{MARK_IN_JSON}");
    while let Some((before, after)) = rest.split_once(&mark) {
        let Some((digits, behind)) = after.split_once('"') else { break };
        out.push_str(before);
        out.push_str(digits);
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Runtime};

    use super::*;

    fn with_script(test: impl FnOnce(&Ctx<'_>)) {
        let runtime = Runtime::new().unwrap();
        Context::full(&runtime).unwrap().with(|ctx| test(&ctx));
    }

    #[test]
    fn integers_keep_all_their_digits() {
        with_script(|ctx| {
            for json in [
                r#"{"id":2733382000000000049,"list":[-9007199254740993,18446744073709551615,1],"text":"9007199254740993"}"#,
                "123456789012345678901234567890",
                r#"{"a\"9007199254740993":9007199254740993}"#,
                r#"[9007199254740991,1.5,"\\",9007199254740993]"#,
            ] {
                let value = parse(ctx, json.as_bytes()).unwrap();
                assert_eq!(stringify(ctx, value).unwrap().as_deref(), Some(json));
            }
            let id = parse(ctx, b"[2733382000000000049]").unwrap();
            ctx.globals().set("list", id).unwrap();
            let written: String = ctx.eval("`${typeof list[0]} ${list[0]}`").unwrap();
            assert_eq!(written, "bigint 2733382000000000049");
        });
    }

    #[test]
    fn other_json_is_that_of_the_engine() {
        with_script(|ctx| {
            // A number with a fraction or an exponent is a number, however long; a mark in the text is text.
            for json in ["[9007199254740991,1234567890123456.5,1e400]", r#"["\u0000bigint:1",1e21,12345678901234567e0]"#, "{\"a\":0.1}"] {
                let value = parse(ctx, json.as_bytes()).unwrap();
                let expected = ctx.json_parse(json).unwrap();
                assert_eq!(stringify(ctx, value).unwrap(), ctx.json_stringify(expected).unwrap().map(|json| json.to_string().unwrap()));
            }
            assert!(parse(ctx, b"{9007199254740993}").is_err());
            ctx.catch();
            let circular: Value<'_> = ctx.eval("const a = { n: 1n }; a.a = a; a").unwrap();
            assert!(stringify(ctx, circular).is_err());
            ctx.catch();
            assert_eq!(stringify(ctx, Value::new_undefined(ctx.clone())).unwrap(), None);
        });
    }

    #[test]
    fn only_integers_beyond_the_safe_ones_are_unsafe() {
        for (number, is_unsafe) in [
            ("9007199254740991", false),
            ("9007199254740992", true),
            ("-9007199254740992", true),
            ("18446744073709551616", true),
            ("0000000000000000000", false),
            ("1234567890123456.0", false),
        ] {
            assert_eq!(is_unsafe_integer(number), is_unsafe, "{number}");
        }
    }
}
