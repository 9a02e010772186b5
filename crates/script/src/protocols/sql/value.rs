//! Rows as values of the script, and statements and rows as text for display.

use loadstone_protocol::sql::{SqlAnswer, SqlParameter, SqlRow, SqlStatement, SqlValue};
use rquickjs::object::Property;
use rquickjs::{Array, Ctx, IntoJs, Object, TypedArray, Value};

use crate::exact_json;

/// A double represents all integers up to this one exactly.
const INTEGER_MAX: u64 = (1 << 53) - 1;

pub(super) fn rows<'js>(ctx: &Ctx<'js>, answer: &SqlAnswer, as_arrays: bool) -> rquickjs::Result<Value<'js>> {
    let list = Array::new(ctx.clone())?;
    for (place, found) in answer.rows().enumerate() {
        list.set(place, row(ctx, found, as_arrays)?)?;
    }
    Ok(list.into_value())
}

pub(super) fn row<'js>(ctx: &Ctx<'js>, row: SqlRow<'_>, as_arrays: bool) -> rquickjs::Result<Value<'js>> {
    if as_arrays {
        let list = Array::new(ctx.clone())?;
        for (place, (_, found)) in row.values().enumerate() {
            list.set(place, value(ctx, found)?)?;
        }
        return Ok(list.into_value());
    }
    let object = Object::new(ctx.clone())?;
    for (column, found) in row.values() {
        // Defined, not set: a column may be called `__proto__`.
        object.prop(&*column.name, Property::from(value(ctx, found)?).writable().enumerable().configurable())?;
    }
    Ok(object.into_value())
}

pub(super) fn value<'js>(ctx: &Ctx<'js>, value: SqlValue<'_>) -> rquickjs::Result<Value<'js>> {
    match value {
        SqlValue::Null => Ok(Value::new_null(ctx.clone())),
        SqlValue::Boolean(boolean) => Ok(Value::new_bool(ctx.clone(), boolean)),
        SqlValue::Integer(number) if number.unsigned_abs() <= INTEGER_MAX => Ok(Value::new_number(ctx.clone(), number as f64)),
        SqlValue::Integer(number) => number.to_string().into_js(ctx),
        SqlValue::Number(number) => Ok(Value::new_number(ctx.clone(), number)),
        SqlValue::Json(text) => exact_json::parse(ctx, text.as_bytes()),
        SqlValue::Bytes(bytes) => TypedArray::new_copy(ctx.clone(), bytes).map(TypedArray::into_value),
        SqlValue::Text(text) => text.into_js(ctx),
    }
}

/// The statement, and its values.
pub(super) fn statement_shown(statement: &SqlStatement) -> String {
    let shown = |parameter: &SqlParameter| match parameter {
        SqlParameter::Null => "null".to_owned(),
        SqlParameter::Boolean(value) => value.to_string(),
        // As sent, with all its digits.
        SqlParameter::Number(text) => text.clone(),
        SqlParameter::Text(text) | SqlParameter::Time(text) | SqlParameter::List(text) => {
            serde_json::Value::from(text.as_str()).to_string()
        }
        SqlParameter::Bytes(bytes) => format!("({} bytes)", bytes.len()),
    };
    let text = statement.preamble.iter().fold(String::new(), |text, preamble| format!("{text}{preamble}\n")) + &statement.text;
    if statement.parameters.is_empty() {
        return text;
    }
    let values: Vec<String> = statement.parameters.iter().map(shown).collect();
    format!("{text}\n[{}]", values.join(","))
}

/// Rows as JSON, one per line, followed by their number, or why there are none.
pub(super) fn answer_shown(answer: &SqlAnswer) -> String {
    let mut lines: Vec<String> = answer
        .rows()
        .map(|row| row.values().map(|(column, value)| (column.name.to_string(), json(value))).collect::<serde_json::Value>().to_string())
        .collect();
    lines.extend(match &answer.refusal {
        Some(refusal) => Some(refusal.text.clone()),
        None => answer.count.map(|count| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }),
    });
    lines.join("\n")
}

fn json(value: SqlValue<'_>) -> serde_json::Value {
    match value {
        SqlValue::Null => serde_json::Value::Null,
        SqlValue::Boolean(boolean) => boolean.into(),
        SqlValue::Integer(number) => number.into(),
        SqlValue::Number(number) => number.into(),
        SqlValue::Json(text) => serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned().into()),
        SqlValue::Bytes(bytes) => format!("({} bytes)", bytes.len()).into(),
        SqlValue::Text(text) => text.into_owned().into(),
    }
}
