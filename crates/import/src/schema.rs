//! A value that a JSON schema (of OpenAPI 3.0 or 3.1) allows: what it gives as an example, or else the smallest that fits.

pub(crate) mod pattern;

use serde_json::{Map, Value, json};

/// How deep objects in objects go.
const DEPTH_MAX: usize = 8;

/// A list that must be longer is shorter.
const ITEMS_MAX: u64 = 100;

/// What a `$ref` of the same document points to, through further ones.
pub(crate) fn resolved<'d>(document: &'d Value, mut value: &'d Value) -> &'d Value {
    for _ in 0..DEPTH_MAX {
        let Some(target) = value.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#')) else { break };
        match document.pointer(target) {
            Some(found) => value = found,
            None => break,
        }
    }
    value
}

/// A value that the schema allows.
pub(crate) fn sample(document: &Value, schema: &Value) -> Value {
    sample_within(document, schema, 0)
}

fn sample_within(document: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolved(document, schema);
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    let listed = |name: &str| schema.get(name).and_then(Value::as_array).and_then(|list| list.first()).cloned();
    let given = schema.get("example").cloned().or_else(|| listed("examples")).or_else(|| schema.get("const").cloned());
    if let Some(given) = given.or_else(|| schema.get("default").cloned().filter(|value| !value.is_null())).or_else(|| listed("enum")) {
        return given;
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        return merged(document, schema, parts, depth);
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) =
            schema.get(choice).and_then(Value::as_array).and_then(|list| list.iter().find(|one| one.get("type") != Some(&json!("null"))))
        {
            return sample_within(document, first, depth + 1);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    };
    match kind {
        "object" => object(document, schema, depth),
        "array" => {
            let item = schema.get("items").map_or(json!("text"), |items| sample_within(document, items, depth + 1));
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, ITEMS_MAX);
            Value::Array((0..least).map(|index| distinct(&item, index)).collect())
        }
        "integer" => number(schema, true),
        "number" => number(schema, false),
        "boolean" => json!(true),
        "null" => Value::Null,
        _ => json!(string(schema)),
    }
}

/// The number nearest to 1 that the bounds and the factor allow. In 3.0, `exclusiveMinimum` is a flag; in 3.1, a bound.
fn number(schema: &Value, is_integer: bool) -> Value {
    let of = |name: &str| schema.get(name).and_then(Value::as_f64);
    let flag = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(true);
    let step = of("multipleOf").filter(|step| *step > 0.0).unwrap_or(if is_integer { 1.0 } else { 0.0 });
    let beyond = if step > 0.0 && !is_integer { step } else { 1.0 };
    let least = of("exclusiveMinimum").or(of("minimum").filter(|_| flag("exclusiveMinimum")));
    let most = of("exclusiveMaximum").or(of("maximum").filter(|_| flag("exclusiveMaximum")));
    let (minimum, maximum) = (of("minimum").unwrap_or(f64::NEG_INFINITY), of("maximum").unwrap_or(f64::INFINITY));
    let mut value = 1_f64.max(minimum).min(maximum);
    if least.is_some_and(|least| value <= least) {
        value = least.unwrap_or(value) + beyond;
    }
    if most.is_some_and(|most| value >= most) {
        value = most.unwrap_or(value) - beyond;
        // Between two bounds that exclude each other's neighbours.
        if !is_integer && let Some(least) = least.filter(|least| value <= *least) {
            value = f64::midpoint(least, most.unwrap_or(least));
        }
    }
    if step > 0.0 {
        let up = (value / step).ceil() * step;
        value = if up > maximum || most.is_some_and(|most| up >= most) { (value / step).floor() * step } else { up };
    }
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// The same item again, or its neighbour: some lists must not repeat an item.
fn distinct(item: &Value, index: u64) -> Value {
    match item.as_i64() {
        Some(number) => json!(number + index as i64),
        None => item.clone(),
    }
}

fn object(document: &Value, schema: &Value, depth: usize) -> Value {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).map_or(Vec::new(), |names| names.iter().filter_map(Value::as_str).collect());
    let mut object = Map::new();
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let read_only = resolved(document, inner).get("readOnly").and_then(Value::as_bool) == Some(true);
        // Far down only what must be there: schemas may hold themselves.
        if !read_only && (depth < 3 || required.contains(&name.as_str())) {
            object.insert(name.clone(), sample_within(document, inner, depth + 1));
        }
    }
    Value::Object(object)
}

fn merged(document: &Value, schema: &Value, parts: &[Value], depth: usize) -> Value {
    let mut whole = Map::new();
    let own = schema.get("properties").map(|_| object(document, schema, depth));
    for value in parts.iter().map(|part| sample_within(document, part, depth + 1)).chain(own) {
        match value {
            Value::Object(entries) => whole.extend(entries),
            other if parts.len() == 1 => return other,
            _ => {}
        }
    }
    Value::Object(whole)
}

fn string(schema: &Value) -> String {
    if let Some(matching) = schema.get("pattern").and_then(Value::as_str).and_then(pattern::matching) {
        return matching;
    }
    let text = match schema.get("format").and_then(Value::as_str).unwrap_or("") {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00",
        "uuid" => "00000000-0000-4000-8000-000000000001",
        "email" => "somebody@example.com",
        "uri" | "url" => "https://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0) as usize;
    let most = schema.get("maxLength").and_then(Value::as_u64).map_or(usize::MAX, |most| most as usize);
    let filled = if text.len() < least { text.chars().cycle().take(least.min(10_000)).collect() } else { text.to_owned() };
    filled.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_the_schema_gives_or_the_smallest_that_fits() {
        let document =
            json!({ "defs": { "node": { "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#/defs/node" } } } } });
        for (schema, expected) in [
            (json!({ "type": "string", "example": "Ada" }), json!("Ada")),
            (json!({ "type": ["null", "integer"], "minimum": 5 }), json!(5)),
            (json!({ "type": "string", "minLength": 6, "maxLength": 6 }), json!("textte")),
            (json!({ "type": "integer", "minimum": 10, "exclusiveMinimum": true }), json!(11)),
            (json!({ "type": "integer", "exclusiveMinimum": 10, "multipleOf": 7 }), json!(14)),
            (json!({ "type": "integer", "maximum": -3 }), json!(-3)),
            (json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }), json!(0.5)),
            (json!({ "type": "integer", "minimum": -9.223_372_036_854_776e18 }), json!(1)),
            (json!({ "type": "string", "pattern": "^[A-Z]{3}-\\d+$" }), json!("AAA-0")),
            (json!({ "type": "array", "minItems": 2, "items": { "type": "integer" } }), json!([1, 2])),
            (json!({ "enum": ["red", "blue"] }), json!("red")),
            (json!({ "anyOf": [{ "type": "null" }, { "const": 7 }] }), json!(7)),
            (
                json!({ "allOf": [{ "properties": { "a": { "type": "boolean" } } }, { "properties": { "b": { "items": {} } } }] }),
                json!({ "a": true, "b": ["text"] }),
            ),
            (json!({ "properties": { "id": { "readOnly": true }, "on": { "format": "date" } } }), json!({ "on": "2026-01-31" })),
        ] {
            assert_eq!(sample(&document, &schema), expected, "{schema}");
        }
        assert!(sample(&document, &json!({ "$ref": "#/defs/node" })).is_object(), "a schema that holds itself ends");
    }
}
