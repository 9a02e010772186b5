//! Values of a script as a statement takes them.

use protocol::sql::SqlParameter;
use rquickjs::{Array, Coerced, Ctx, FromJs, Type, Value};

use crate::globals::bytes::bytes_of;
use crate::protocols::options::wrong;

/// As the protocol counts them.
const PARAMETERS_MAX: usize = u16::MAX as usize;
/// Lists within lists; PostgreSQL's own limit.
const DEPTH_MAX: usize = 6;

/// `[id, "name", null]`.
pub(super) fn read<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>) -> rquickjs::Result<Vec<SqlParameter>> {
    let Some(given) = given.filter(|given| !given.is_undefined()) else { return Ok(Vec::new()) };
    let list = given.as_array().ok_or_else(|| wrong(ctx, "the values of a statement are a list, such as [7, \"name\"]"))?;
    if list.len() > PARAMETERS_MAX {
        return Err(wrong(ctx, &format!("a statement takes at most {PARAMETERS_MAX} values, not {}", list.len())));
    }
    let numbered = list.iter::<Value<'js>>().enumerate();
    numbered.map(|(place, value)| parameter(ctx, &value?, place + 1)).collect()
}

fn parameter<'js>(ctx: &Ctx<'js>, value: &Value<'js>, place: usize) -> rquickjs::Result<SqlParameter> {
    match value.type_of() {
        Type::Null => Ok(SqlParameter::Null),
        Type::Array => list(ctx, value, place, 1).map(SqlParameter::Text),
        Type::String => Ok(SqlParameter::Text(plain(ctx, value)?)),
        _ => match bytes_of(value) {
            Some(bytes) => Ok(SqlParameter::Bytes(bytes)),
            None => scalar(ctx, value, place).map(SqlParameter::Text),
        },
    }
}

fn plain<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<String> {
    Coerced::<String>::from_js(ctx, value.clone()).map(|text| text.0)
}

/// A number, a boolean, a date, or an object as JSON.
fn scalar<'js>(ctx: &Ctx<'js>, value: &Value<'js>, place: usize) -> rquickjs::Result<String> {
    if value.is_number() || value.is_bool() || value.type_of() == Type::BigInt {
        return plain(ctx, value);
    }
    let written = if value.is_object() && !value.is_function() { ctx.json_stringify(value.clone())? } else { None };
    let Some(json) = written else {
        let remedy = if value.is_undefined() { ": write null where there is none" } else { "" };
        return Err(wrong(ctx, &format!("the value of ${place} is {}{remedy}", value.type_name())));
    };
    let json = json.to_string()?;
    // A date writes itself as a text.
    Ok(match serde_json::from_str(&json) {
        Ok(serde_json::Value::String(text)) => text,
        _ => json,
    })
}

/// `{1,2,"three"}`, as a server reads arrays (PostgreSQL, "Array Value Input").
fn list<'js>(ctx: &Ctx<'js>, value: &Value<'js>, place: usize, depth: usize) -> rquickjs::Result<String> {
    let list: &Array<'js> = value
        .as_array()
        .filter(|_| depth <= DEPTH_MAX)
        .ok_or_else(|| wrong(ctx, &format!("the value of ${place} holds lists within lists, more than {DEPTH_MAX} deep")))?;
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter::<Value<'js>>() {
        let item = item?;
        items.push(match item.type_of() {
            Type::Null => "NULL".to_owned(),
            Type::Array => self::list(ctx, &item, place, depth + 1)?,
            Type::String => quoted(&plain(ctx, &item)?),
            _ => match bytes_of(&item) {
                Some(bytes) => quoted(&format!("\\x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())),
                None => quoted(&scalar(ctx, &item, place)?),
            },
        });
    }
    Ok(format!("{{{}}}", items.join(",")))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
