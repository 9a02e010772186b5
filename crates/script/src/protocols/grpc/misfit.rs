//! Finds the part of an object that does not fit its message. Runs only after encoding has failed.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

/// Maximum number of fields that a message lists.
const LISTED_MAX: usize = 20;

/// Describes the first part of `json` that does not fit `message`. `None` if it is a kind of error that this search does not cover.
pub(super) fn misfit(message: &MessageDescriptor, json: &str) -> Option<String> {
    match serde_json::from_str(json) {
        Ok(value) => in_message(message, &value, "message"),
        // JSON.stringify writes a lone surrogate as an escape, which has no form in UTF-8.
        Err(_) => surrogate(&serde_json::from_str(&marked_surrogates(json)).ok()?, "message"),
    }
}

/// Takes the place of a lone surrogate. No script contains this noncharacter by accident.
const SURROGATE: char = '\u{10ffff}';

/// The JSON with each lone surrogate replaced. `JSON.stringify` escapes no others, and in lower case.
fn marked_surrogates(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let length = if rest[at..].starts_with("\\ud") { 6 } else { 2 };
        out.push_str(&rest[..at]);
        match rest.get(at..at + length) {
            Some(_) if length == 6 => out.push(SURROGATE),
            Some(escape) => out.push_str(escape),
            None => return json.to_owned(),
        }
        rest = &rest[at + length..];
    }
    out + rest
}

/// The first string with half of a character.
fn surrogate(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::String(text) if text.contains(SURROGATE) => {
            Some(format!("{path} has half of a surrogate pair, such as \"\\ud800\", which UTF-8 cannot represent"))
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(index, value)| surrogate(value, &format!("{path}[{index}]"))),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| surrogate(value, &format!("{path}.{name}"))),
        _ => None,
    }
}

fn in_message(message: &MessageDescriptor, value: &Value, path: &str) -> Option<String> {
    // Well-known types have their own formats: "2026-01-31T00:00:00Z", "1.5s".
    if value.is_null() || message.full_name().starts_with("google.protobuf.") {
        return None;
    }
    let Value::Object(object) = value else {
        return Some(format!("{path} is {}, expected an object: {} has fields", shown(value), message.full_name()));
    };
    object.iter().find_map(|(name, value)| {
        let found = message.get_field_by_json_name(name).or_else(|| message.get_field_by_name(name));
        match found {
            Some(field) => in_field(&field, value, &format!("{path}.{name}")),
            None => Some(unknown(message, name, path)),
        }
    })
}

fn unknown(message: &MessageDescriptor, name: &str, path: &str) -> String {
    let fields: Vec<String> = message.fields().map(|field| field.json_name().to_owned()).collect();
    let names: Vec<&str> = fields.iter().map(String::as_str).collect();
    let meant = loadstone_units::did_you_mean(name, &names);
    let more = if names.len() > LISTED_MAX { ", …" } else { "" };
    let listed = names.iter().take(LISTED_MAX).copied().collect::<Vec<_>>().join(", ");
    let has = if listed.is_empty() { "it has none".to_owned() } else { format!("its fields are: {listed}{more}") };
    format!("{path}: {} has no field `{name}`{meant}; {has}", message.full_name())
}

fn in_field(field: &FieldDescriptor, value: &Value, path: &str) -> Option<String> {
    if value.is_null() {
        return None;
    }
    if field.is_map() {
        let Value::Object(entries) = value else {
            return Some(format!("{path} is {}, expected an object of keys and values", shown(value)));
        };
        let kind = field.kind();
        let of_values = kind.as_message()?.map_entry_value_field();
        return entries.iter().find_map(|(key, value)| of_kind(&of_values.kind(), value, &format!("{path}.{key}")));
    }
    if field.is_list() {
        let Value::Array(items) = value else { return Some(format!("{path} is {}, expected a list", shown(value))) };
        return items.iter().enumerate().find_map(|(index, value)| of_kind(&field.kind(), value, &format!("{path}[{index}]")));
    }
    of_kind(&field.kind(), value, path)
}

fn of_kind(kind: &Kind, value: &Value, path: &str) -> Option<String> {
    let expected = match kind {
        Kind::Message(inner) => return in_message(inner, value, path),
        Kind::Enum(values) => {
            let names: Vec<String> = values.values().map(|value| value.name().to_owned()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            match value {
                Value::Number(_) => return None,
                Value::String(name) if names.contains(&name.as_str()) => return None,
                Value::String(name) => {
                    let meant = loadstone_units::did_you_mean(name, &names);
                    return Some(format!("{path} is {}{meant}, expected one of {}", shown(value), names.join(", ")));
                }
                _ => format!("one of {}", names.join(", ")),
            }
        }
        Kind::String if value.is_string() => return None,
        Kind::String => "a string".to_owned(),
        Kind::Bool if value.is_boolean() => return None,
        Kind::Bool => "true or false".to_owned(),
        Kind::Bytes if value.is_string() => return None,
        Kind::Bytes => "bytes (a Uint8Array, or base64)".to_owned(),
        Kind::Float if is_number(value) => return exceeds_float(value, path),
        Kind::Double if is_number(value) => return None,
        Kind::Float | Kind::Double => "a number".to_owned(),
        _ => match whole(value) {
            Some(number) => return exceeds(kind, number.ok(), value, path),
            None => format!("a whole number ({})", integer_name(kind)),
        },
    };
    Some(format!("{path} is {}, expected {expected}", shown(value)))
}

fn is_number(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.parse::<f64>().is_ok())
}

/// A whole number. `Err`: it has more than 127 bits. `None`: the value is something else.
fn whole(value: &Value) -> Option<Result<i128, ()>> {
    let of_digits = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().map_err(|_| ()))
    };
    match value {
        Value::Number(number) => match of_digits(&number.to_string()) {
            Some(whole) => Some(whole),
            None => number.as_f64().filter(|number| number.fract() == 0.0).map(|number| Ok(number as i128)),
        },
        Value::String(text) => of_digits(text),
        _ => None,
    }
}

fn exceeds(kind: &Kind, number: Option<i128>, value: &Value, path: &str) -> Option<String> {
    let (least, most) = match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Kind::Uint32 | Kind::Fixed32 => (0, i128::from(u32::MAX)),
        Kind::Uint64 | Kind::Fixed64 => (0, i128::from(u64::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let fits = number.is_some_and(|number| (least..=most).contains(&number));
    (!fits).then(|| format!("{path} is {}, which does not fit {} ({least} to {most})", shown(value), integer_name(kind)))
}

fn exceeds_float(value: &Value, path: &str) -> Option<String> {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    let fits = !number.is_finite() || (number as f32).is_finite();
    (!fits).then(|| format!("{path} is {}, which does not fit a float (at most {})", shown(value), f32::MAX))
}

fn integer_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "int32",
        Kind::Uint32 | Kind::Fixed32 => "uint32",
        Kind::Uint64 | Kind::Fixed64 => "uint64",
        _ => "int64",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string(),
    }
}
