//! Reads the options of a script's calls.

use rquickjs::{Coerced, Ctx, Exception, FromJs, Object, Type, Value};

use crate::unknown_options::{OptionSet, report_unknown};

/// Calls `take` for each option of `what`. Options that are `undefined` count as absent.
pub(super) fn each<'js>(
    ctx: &Ctx<'js>,
    options: Option<&Value<'js>>,
    what: &str,
    mut take: impl FnMut(&str, Value<'js>) -> rquickjs::Result<()>,
) -> rquickjs::Result<()> {
    let Some(options) = options.filter(|value| !value.is_undefined()) else { return Ok(()) };
    let object: &Object<'js> = options.as_object().ok_or_else(|| wrong(ctx, &format!("{what}: expected an object of options")))?;
    for property in object.props::<String, Value<'js>>() {
        let (key, value) = property?;
        if !value.is_undefined() {
            take(&key, value)?;
        }
    }
    Ok(())
}

/// The error for an option that `what` does not have.
pub(super) fn unknown(ctx: &Ctx<'_>, what: &str, option: &str, known: &[&str]) -> rquickjs::Error {
    wrong(ctx, &report_unknown(ctx, what, option, known))
}

/// The error for an option that is not in the set.
pub(super) fn not_in(ctx: &Ctx<'_>, option: &str, set: &OptionSet) -> rquickjs::Error {
    unknown(ctx, set.of, option, set.known)
}

/// An error in the script's arguments.
pub(super) fn wrong(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, message)
}

pub(super) fn text<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<String> {
    value.as_string().ok_or_else(|| wrong(ctx, &format!("{what}: expected a string")))?.to_string()
}

pub(super) fn switch<'js>(ctx: &Ctx<'js>, value: Value<'js>, what: &str) -> rquickjs::Result<bool> {
    value.as_bool().ok_or_else(|| wrong(ctx, &format!("{what}: expected true or false")))
}

/// A duration's nanoseconds.
pub(super) fn duration<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<u64> {
    let written = value.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default();
    loadstone_units::duration::parse(&written).map_err(|problem| wrong(ctx, &format!("{what}: {problem}")))
}

/// Names and values of an object. A list yields several values of one name; `null` and `undefined` are omitted.
pub(super) fn pairs<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<Vec<(String, String)>> {
    let mut list = Vec::new();
    named_values(ctx, value, what, |name, value| {
        if !value.is_null() && !value.is_undefined() {
            list.push((name.to_owned(), value_text(ctx, &value, &format!("{what}.{name}"))?));
        }
        Ok(())
    })?;
    Ok(list)
}

/// Header names and values. A list yields several lines. `null` and `undefined` are errors: a header that is missing by mistake changes the test.
pub(super) fn headers<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<Vec<(String, String)>> {
    let mut list = Vec::new();
    named_values(ctx, value, what, |name, value| {
        list.push((name.to_owned(), value_text(ctx, &value, &format!("{what}[\"{name}\"]"))?));
        Ok(())
    })?;
    Ok(list)
}

/// Calls `take` with each name and value of an object, and with each item of its lists.
pub(super) fn named_values<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    what: &str,
    mut take: impl FnMut(&str, Value<'js>) -> rquickjs::Result<()>,
) -> rquickjs::Result<()> {
    let object = value.as_object().filter(|object| !object.is_array());
    let object = object.ok_or_else(|| wrong(ctx, &format!("{what}: expected an object of names and values")))?;
    for property in object.props::<String, Value<'js>>() {
        let (name, value) = property?;
        match value.as_array() {
            Some(items) => items.iter::<Value<'js>>().try_for_each(|item| take(&name, item?))?,
            None => take(&name, value)?,
        }
    }
    Ok(())
}

/// The text of a string, number, bigint or boolean. Other values have no obvious text, and are errors.
pub(super) fn value_text<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<String> {
    let is_plain = value.is_string() || value.is_bool() || value.type_of() == Type::BigInt || value.as_number().is_some_and(f64::is_finite);
    if is_plain {
        return Ok(Coerced::<String>::from_js(ctx, value.clone())?.0);
    }
    let found = match value.as_number() {
        Some(number) if number.is_nan() => "NaN",
        Some(_) => "an infinite number",
        None if value.is_null() => "null",
        None if value.is_undefined() => "undefined",
        None if value.is_function() => "a function",
        None if value.is_array() => "a list",
        None if value.is_object() => "an object",
        None => value.type_name(),
    };
    Err(wrong(ctx, &format!("{what}: expected a string, number or boolean, but it is {found}")))
}
