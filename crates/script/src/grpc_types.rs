//! TypeScript types of `.proto` files for the editor: `loadstone types`.
//!
//! Each message becomes two interfaces: `Product`, with all its fields, for messages that are received, and `ProductInput` for messages
//! that are sent.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use crate::data::protos::{ProtoSource, compile};
use crate::error::ScriptError;

/// TypeScript declarations for all services of a `.proto` file, or of a folder of them.
///
/// # Errors
/// A file that cannot be read or compiled.
pub fn grpc_types(path: &Path, imports: &[PathBuf]) -> Result<String, ScriptError> {
    let source = ProtoSource { path: path.to_owned(), imports: imports.to_vec() };
    let pool = compile(&source).map_err(|error| ScriptError::new(error.to_string()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(declarations(&pool, &name))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

fn declarations(pool: &DescriptorPool, name: &str) -> String {
    let mut out = format!(
        "// Types of {name} for `user.grpc`, `user.grpcStream` and `stub.grpc`. Written by `loadstone types`.\n\ndeclare module \"loadstone\" {{\n"
    );
    out.push_str("  interface GrpcMethods {\n");
    for method in pool.services().flat_map(|service| service.methods().collect::<Vec<_>>()) {
        let (input, output) = (method.input(), method.output());
        let service = method.parent_service();
        let _ = writeln!(out, "    \"{}/{}\": {{", service.full_name(), method.name());
        // For calls, then for stubs.
        for (name, message, direction) in [
            ("request", &input, Direction::Sent),
            ("response", &output, Direction::Received),
            ("received", &input, Direction::Received),
            ("answer", &output, Direction::Sent),
        ] {
            let _ = writeln!(out, "      {name}: {};", of_message(message, direction));
        }
        out.push_str("    };\n");
    }
    out.push_str("  }\n}\n");
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    for message in pool.all_messages().filter(|message| !message.is_map_entry() && known(message, Direction::Sent).is_none()) {
        let text = packages.entry(message.package_name().to_owned()).or_default();
        interface(&message, Direction::Received, text);
        interface(&message, Direction::Sent, text);
    }
    for (package, text) in packages {
        let _ = write!(out, "\nexport namespace {} {{\n{text}}}\n", namespace(&package));
    }
    out
}

/// Files without a package have a namespace too, so that their names do not collide with others.
fn namespace(package: &str) -> &str {
    if package.is_empty() { "proto" } else { package }
}

fn interface(message: &MessageDescriptor, direction: Direction, out: &mut String) {
    let _ = writeln!(out, "  interface {} {{", own_name(message, direction));
    for field in message.fields() {
        let optional = direction == Direction::Sent || field.supports_presence();
        let _ = writeln!(out, "    {}{}: {};", property(field.json_name()), if optional { "?" } else { "" }, of_field(&field, direction));
    }
    out.push_str("  }\n");
}

fn property(name: &str) -> String {
    let plain = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    if plain && !name.starts_with(|first: char| first.is_ascii_digit()) { name.to_owned() } else { format!("\"{name}\"") }
}

/// `Outer_Inner`, with `Input` at the end for messages that are sent.
fn own_name(message: &MessageDescriptor, direction: Direction) -> String {
    let full = message.full_name();
    let local = full.strip_prefix(message.package_name()).map_or(full, |rest| rest.trim_start_matches('.')).replace('.', "_");
    if direction == Direction::Sent { format!("{local}Input") } else { local }
}

fn of_message(message: &MessageDescriptor, direction: Direction) -> String {
    known(message, direction)
        .map_or_else(|| format!("{}.{}", namespace(message.package_name()), own_name(message, direction)), str::to_owned)
}

/// Messages with a special JSON form ("ProtoJSON Format").
fn known(message: &MessageDescriptor, direction: Direction) -> Option<&'static str> {
    let is_sent = direction == Direction::Sent;
    Some(match message.full_name().strip_prefix("google.protobuf.")? {
        "Timestamp" | "Duration" | "FieldMask" | "StringValue" => "string",
        "DoubleValue" | "FloatValue" | "Int32Value" | "UInt32Value" => "number",
        "Int64Value" | "UInt64Value" if is_sent => "number | bigint | string",
        "BytesValue" if is_sent => "Uint8Array | string",
        "Int64Value" | "UInt64Value" | "BytesValue" => "string",
        "BoolValue" => "boolean",
        "ListValue" => "any[]",
        "Value" => "any",
        _ => "Record<string, any>",
    })
}

fn of_field(field: &FieldDescriptor, direction: Direction) -> String {
    if field.is_map() {
        let kind = field.kind();
        let value = kind.as_message().map(|entry| of_kind(&entry.map_entry_value_field().kind(), direction)).unwrap_or_default();
        return format!("Record<string, {value}>");
    }
    let one = of_kind(&field.kind(), direction);
    match (field.is_list(), direction) {
        (false, _) => one,
        (true, Direction::Sent) => format!("readonly ({one})[]"),
        (true, Direction::Received) => format!("({one})[]"),
    }
}

fn of_kind(kind: &Kind, direction: Direction) -> String {
    let is_sent = direction == Direction::Sent;
    match kind {
        Kind::Message(message) => return of_message(message, direction),
        Kind::Enum(values) => {
            let mut names: Vec<String> = values.values().map(|value| format!("\"{}\"", value.name())).collect();
            if is_sent {
                names.push("number".to_owned());
            }
            return names.join(" | ");
        }
        Kind::Bool => "boolean",
        Kind::String => "string",
        Kind::Bytes if is_sent => "Uint8Array | string",
        Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64 if is_sent => "number | bigint | string",
        Kind::Bytes | Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64 => "string",
        _ => "number",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_and_received_messages_have_separate_types() {
        let text = grpc_types(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grpc/shop.proto")), &[]).unwrap();
        for line in [
            "    \"shop.v1.Shop/GetProduct\": {",
            "      request: shop.v1.ProductRequestInput;",
            "      response: shop.v1.Product;",
            "      received: shop.v1.ProductRequest;",
            "      answer: shop.v1.ProductInput;",
            "export namespace shop.v1 {",
            "  interface Product {",
            "    state: \"UNKNOWN\" | \"IN_STOCK\" | \"SOLD_OUT\";",
            "    metadata: Record<string, string>;",
            "  interface EverythingInput {",
            "    big?: number | bigint | string;",
            "    raw?: Uint8Array | string;",
            "    products?: readonly (shop.v1.ProductInput)[];",
            "    products: (shop.v1.Product)[];",
            "    at?: string;",
            "    productId?: number;",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains("google"), "{text}");
    }
}
