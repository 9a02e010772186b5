//! Swagger 2.0 in the form of OpenAPI 3: servers, request bodies, credentials and schemas of parameters. References keep their targets, because the
//! rest of the document stays as it is.

use serde_json::{Map, Value, json};

use crate::json::{list, text};
use crate::schema::resolved;

pub(super) fn upgraded(document: &Value) -> Value {
    let mut new = document.clone();
    let host = text(document, "host");
    let base = text(document, "basePath");
    let schemes: Vec<&str> = list(document, "schemes").iter().filter_map(Value::as_str).collect();
    // Documents list http and https; the encrypted one is the one that a client should use.
    let scheme = schemes.iter().find(|scheme| **scheme == "https").or(schemes.first()).copied().unwrap_or("http");
    let url = if host.is_empty() { base.to_owned() } else { format!("{scheme}://{host}{base}") };
    new["servers"] = json!([{ "url": url }]);
    let credentials = document.get("securityDefinitions").and_then(Value::as_object);
    let credentials: Map<String, Value> =
        credentials.into_iter().flatten().map(|(name, scheme)| (name.clone(), credential(scheme))).collect();
    new["components"] = json!({ "securitySchemes": credentials });
    for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        let item = resolved(document, item);
        let mut upgraded = item.clone();
        let shared = list(item, "parameters");
        if let Some(members) = upgraded.as_object_mut() {
            members.remove("parameters");
            // Its other objects are operations, or extensions that nobody reads.
            for member in members.values_mut().filter(|member| member.is_object()) {
                *member = operation(document, member, shared);
            }
        }
        new["paths"][path] = upgraded;
    }
    new
}

fn credential(scheme: &Value) -> Value {
    match text(scheme, "type") {
        "basic" => json!({ "type": "http", "scheme": "basic" }),
        _ => scheme.clone(),
    }
}

fn operation(document: &Value, operation: &Value, shared: &[Value]) -> Value {
    let mut new = operation.clone();
    let own: Vec<&Value> = list(operation, "parameters").iter().map(|parameter| resolved(document, parameter)).collect();
    let is_hidden = |parameter: &&Value| {
        own.iter().any(|known| text(known, "name") == text(parameter, "name") && text(known, "in") == text(parameter, "in"))
    };
    let shared: Vec<&Value> =
        shared.iter().map(|parameter| resolved(document, parameter)).filter(|parameter| !is_hidden(parameter)).collect();
    let all: Vec<&Value> = own.iter().copied().chain(shared).collect();
    let consumed = Some(list(operation, "consumes")).filter(|list| !list.is_empty()).unwrap_or(list(document, "consumes"));
    let consumed: Vec<&str> = consumed.iter().filter_map(Value::as_str).collect();
    let plain = all.iter().filter(|parameter| !matches!(text(parameter, "in"), "body" | "formData"));
    new["parameters"] = plain.map(|parameter| self::parameter(parameter)).collect();
    if let Some(body) = all.iter().find(|parameter| text(parameter, "in") == "body") {
        let kind = consumed.iter().find(|kind| kind.contains("json")).or(consumed.first()).copied().unwrap_or("application/json");
        new["requestBody"] = json!({ "content": { kind: { "schema": body.get("schema").cloned().unwrap_or(json!({})) } } });
    }
    let fields: Vec<&Value> = all.iter().copied().filter(|parameter| text(parameter, "in") == "formData").collect();
    if !fields.is_empty() {
        let has_file = fields.iter().any(|field| text(field, "type") == "file");
        let is_multipart = has_file || consumed.iter().any(|kind| kind.starts_with("multipart/"));
        let kind = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
        let required: Vec<&str> =
            fields.iter().filter(|field| field.get("required") == Some(&json!(true))).map(|field| text(field, "name")).collect();
        let properties: Map<String, Value> = fields.iter().map(|field| (text(field, "name").to_owned(), schema(field))).collect();
        let schema = json!({ "type": "object", "required": required, "properties": properties });
        new["requestBody"] = json!({ "content": { kind: { "schema": schema } } });
    }
    new
}

/// A parameter whose schema has its own member.
fn parameter(parameter: &Value) -> Value {
    let mut new = json!({ "name": parameter["name"], "in": parameter["in"], "required": parameter.get("required") });
    new["schema"] = schema(parameter);
    if let Some(example) = parameter.get("x-example") {
        new["example"] = example.clone();
    }
    let is_query = text(parameter, "in") == "query";
    match text(parameter, "collectionFormat") {
        "multi" => new["explode"] = json!(true),
        "ssv" => new["style"] = json!("spaceDelimited"),
        "pipes" => new["style"] = json!("pipeDelimited"),
        // `csv` is the default of Swagger, but not of OpenAPI.
        _ if is_query => new["explode"] = json!(false),
        _ => {}
    }
    new
}

fn schema(parameter: &Value) -> Value {
    let mut schema = parameter.clone();
    if let Some(members) = schema.as_object_mut() {
        for name in ["name", "in", "required", "description", "collectionFormat"] {
            members.remove(name);
        }
    }
    if text(&schema, "type") == "file" {
        schema["type"] = json!("string");
        schema["format"] = json!("binary");
    }
    schema
}
