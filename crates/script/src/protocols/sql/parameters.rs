//! Values of a script as parameters of a statement.

use loadstone_protocol::sql::{SqlDialect, SqlParameter};
use rquickjs::{Array, Coerced, Ctx, FromJs, Type, Value};

use crate::exact_json;
use crate::globals::bytes::bytes_of;
use crate::protocols::options::wrong;

/// The protocol's limit.
const PARAMETERS_MAX: usize = u16::MAX as usize;
/// Maximum depth of nested lists, as in PostgreSQL.
const DEPTH_MAX: usize = 6;

/// `[id, "name", null]`.
pub(super) fn read<'js>(ctx: &Ctx<'js>, values: Option<&Value<'js>>, dialect: SqlDialect) -> rquickjs::Result<Vec<SqlParameter>> {
    let Some(values) = values.filter(|values| !values.is_undefined()) else { return Ok(Vec::new()) };
    let list = values.as_array().ok_or_else(|| wrong(ctx, "the values of a statement are a list, such as [7, \"name\"]"))?;
    if list.len() > PARAMETERS_MAX {
        return Err(wrong(ctx, &format!("a statement has at most {PARAMETERS_MAX} values, not {}", list.len())));
    }
    let numbered = list.iter::<Value<'js>>().enumerate();
    numbered.map(|(place, value)| parameter(ctx, &value?, place + 1, dialect)).collect()
}

fn parameter<'js>(ctx: &Ctx<'js>, value: &Value<'js>, place: usize, dialect: SqlDialect) -> rquickjs::Result<SqlParameter> {
    match value.type_of() {
        Type::Null => Ok(SqlParameter::Null),
        Type::Array if dialect == SqlDialect::MySql => {
            let remedy = "MySQL has no lists: write a `?` for each of its values, or pass JSON.stringify(list)";
            Err(wrong(ctx, &format!("the value of `?` number {place} is a list: {remedy}")))
        }
        Type::Array => list(ctx, value, place, 1).map(SqlParameter::List),
        Type::String => plain(ctx, value).map(SqlParameter::Text),
        _ => match bytes_of(value) {
            Some(bytes) => Ok(SqlParameter::Bytes(bytes)),
            None => scalar(ctx, value, place),
        },
    }
}

fn plain<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<String> {
    Coerced::<String>::from_js(ctx, value.clone()).map(|text| text.0)
}

/// A number, a boolean, a date, or an object as JSON.
fn scalar<'js>(ctx: &Ctx<'js>, value: &Value<'js>, place: usize) -> rquickjs::Result<SqlParameter> {
    if let Some(value) = value.as_bool() {
        return Ok(SqlParameter::Boolean(value));
    }
    if value.is_number() || value.type_of() == Type::BigInt {
        return plain(ctx, value).map(SqlParameter::Number);
    }
    let written = if value.is_object() && !value.is_function() { exact_json::stringify(ctx, value.clone())? } else { None };
    let Some(json) = written else {
        let remedy = if value.is_undefined() { ": use null for a missing value" } else { "" };
        return Err(wrong(ctx, &format!("the value number {place} is {}{remedy}", value.type_name())));
    };
    // A date converts itself to a string, and other objects may do so.
    Ok(match serde_json::from_str(&json) {
        Ok(serde_json::Value::String(text)) if is_date(ctx, value)? => SqlParameter::Time(text),
        Ok(serde_json::Value::String(text)) => SqlParameter::Text(text),
        _ => SqlParameter::Text(json),
    })
}

fn is_date<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<bool> {
    let date: Value<'js> = ctx.globals().get("Date")?;
    Ok(value.as_object().is_some_and(|object| object.is_instance_of(&date)))
}

/// `{1,2,"three"}`, the server's format of arrays (PostgreSQL, "Array Value Input").
fn list<'js>(ctx: &Ctx<'js>, value: &Value<'js>, place: usize, depth: usize) -> rquickjs::Result<String> {
    let list: &Array<'js> = value
        .as_array()
        .filter(|_| depth <= DEPTH_MAX)
        .ok_or_else(|| wrong(ctx, &format!("the value number {place} nests lists more than {DEPTH_MAX} deep")))?;
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter::<Value<'js>>() {
        let item = item?;
        items.push(match item.type_of() {
            Type::Null => "NULL".to_owned(),
            Type::Array => self::list(ctx, &item, place, depth + 1)?,
            Type::String => quoted(&plain(ctx, &item)?),
            _ => match bytes_of(&item) {
                Some(bytes) => quoted(&format!("\\x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())),
                None => quoted(scalar(ctx, &item, place)?.text().unwrap_or_default()),
            },
        });
    }
    Ok(format!("{{{}}}", items.join(",")))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
