//! Records and their places as text for display.

use bytes::Bytes;
use loadstone_protocol::kafka::{KafkaPacking, KafkaPlace, KafkaRecord, KafkaWriting};
use serde_json::{Map, Value};

use super::options::{acks_shown, packing_shown};

/// The topic, then a line of JSON for each record.
pub(super) fn records(topic: &str, records: &[KafkaRecord], writing: KafkaWriting) -> String {
    let lines = records.iter().map(|record| {
        let mut line = Map::new();
        if let Some(partition) = record.partition {
            line.insert("partition".to_owned(), partition.into());
        }
        if record.key.is_some() {
            line.insert("key".to_owned(), part(record.key.as_ref()));
        }
        line.insert("value".to_owned(), part(record.value.as_ref()));
        if !record.headers.is_empty() {
            let headers: Vec<Value> =
                record.headers.iter().map(|(name, value)| Value::from(vec![name.as_str().into(), part(value.as_ref())])).collect();
            line.insert("headers".to_owned(), headers.into());
        }
        format!("\n{}", Value::Object(line))
    });
    let packed = match writing.packing {
        KafkaPacking::Plain => String::new(),
        packing => format!(", {}", packing_shown(packing)),
    };
    format!("produce {topic}, acks {}{packed}{}", acks_shown(writing.acks), lines.collect::<String>())
}

/// JSON values are shown as they are.
fn part(bytes: Option<&Bytes>) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    let Ok(text) = std::str::from_utf8(bytes) else { return format!("({} bytes)", bytes.len()).into() };
    match serde_json::from_str(text) {
        Ok(json @ (Value::Object(_) | Value::Array(_))) => json,
        _ => text.into(),
    }
}

/// A line for each record.
pub(super) fn places(places: &[KafkaPlace]) -> String {
    let line = |place: &KafkaPlace| match place.offset {
        Some(offset) => format!("partition {}, offset {offset}", place.partition),
        None => format!("partition {}, not acknowledged", place.partition),
    };
    places.iter().map(line).collect::<Vec<_>>().join("\n")
}
