//! Reading JSON and YAML with messages that say where.

use serde::de::{Deserialize, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::Value;

use crate::error::ImportError;

/// The file as JSON.
pub(crate) fn parse(file: &str, text: &str, what: &str) -> Result<Value, ImportError> {
    serde_json::from_str(text)
        .map_err(|error| ImportError::new(file, Some(error.line().max(1)), format!("this is not JSON: {error}"), format!("give {what}")))
}

/// The file as JSON or YAML.
pub(crate) fn parse_or_yaml(file: &str, text: &str, what: &str) -> Result<Value, ImportError> {
    if text.trim_start().starts_with('{') {
        return parse(file, text, what);
    }
    // `n` and `yes` are names in YAML 1.2, not booleans. The error's line is enough: the file is at hand.
    let options = serde_saphyr::options! { strict_booleans: true, leading_zero_numbers_as_strings: true, with_snippet: false };
    let parsed = serde_saphyr::from_str_with_options::<Loose>(text, options).map(|Loose(value)| value);
    parsed.map_err(|error| {
        let line = error.location().map(|at| usize::try_from(at.line()).unwrap_or(usize::MAX));
        ImportError::new(file, line, format!("this is not YAML: {error}"), format!("give {what}"))
    })
}

/// YAML as JSON: integers beyond 64 bits become the nearest number, keys become strings, and tags are ignored.
struct Loose(Value);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor).map(Loose)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::from(value as f64))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::from(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Loose(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = serde_json::Map::new();
        while let Some((Loose(key), Loose(value))) = entries.next_entry()? {
            let key = match key {
                Value::String(key) => key,
                other => other.to_string(),
            };
            // A merge key has the members of another mapping; the mapping's own win.
            match (key.as_str(), value) {
                ("<<", Value::Object(merged)) => {
                    for (name, value) in merged {
                        map.entry(name).or_insert(value);
                    }
                }
                (_, value) => {
                    map.insert(key, value);
                }
            }
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (Loose(_), content) = tagged.variant()?;
        content.newtype_variant::<Loose>().map(|Loose(value)| value)
    }
}

/// A text in a member.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The items of a member.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
