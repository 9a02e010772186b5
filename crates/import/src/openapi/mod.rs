//! OpenAPI 3.0 and 3.1 and Swagger 2.0, as JSON or YAML: a function for each operation, with the examples of the document or values that its schemas allow.

mod swagger;

use serde_json::Value;

use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note};
use crate::json::{list, parse_or_yaml, text};
use crate::schema::{resolved, sample};
use crate::sent::{hide, name_of, origin};
use crate::steps::{Action, Body, FormPart, Journey, PlannedRequest, Step, value};
use crate::write::write;

const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let mut document = parse_or_yaml(input.name, input.text, "an OpenAPI document as JSON or YAML")?;
    // YAML without quotes has numbers.
    let plain = |version: &Value| version.as_str().map_or_else(|| version.to_string(), str::to_owned);
    let version = match (document.get("openapi"), document.get("swagger")) {
        (Some(version), _) => plain(version),
        (None, Some(version)) if plain(version).starts_with('2') => {
            document = swagger::upgraded(&document);
            "3.0".to_owned()
        }
        (None, Some(version)) => format!("(Swagger) {}", plain(version)),
        (None, None) => {
            return Err(ImportError::new(
                input.name,
                None,
                "this is not an OpenAPI document: it has no `openapi`",
                "give the document that the API publishes",
            ));
        }
    };
    if !version.starts_with("3.") {
        return Err(ImportError::new(
            input.name,
            None,
            format!("OpenAPI {version} is not known"),
            "convert it to Swagger 2.0, OpenAPI 3.0 or 3.1 first",
        ));
    }
    let server = server(&document);
    let mut notes = Vec::new();
    let base = origin(&server).unwrap_or_else(|| "http://localhost".to_owned());
    if origin(&server).is_none() {
        notes.push(Note::changed("the document names no host: the parameter `base` is http://localhost, set it with -p base=…"));
    }
    let prefix = server.strip_prefix(&base).unwrap_or(&server).trim_end_matches('/').to_owned();
    let mut reader = DescriptionReader {
        document: &document,
        journey: Journey {
            format: "openapi",
            file: input.name.rsplit('/').next().unwrap_or(input.name).to_owned(),
            title: Some(text(&document["info"], "title")).filter(|title| !title.is_empty()).unwrap_or("API").to_owned(),
            base: Some(base),
            ..Journey::default()
        },
        prefix,
        notes,
    };
    for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        let item = resolved(&document, item);
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                reader.operation(path, method, item, operation);
            }
        }
    }
    let DescriptionReader { mut journey, mut notes, .. } = reader;
    if journey.steps.is_empty() {
        return Err(ImportError::new(input.name, None, "the document describes no operation", "give a document with `paths`"));
    }
    hide(&mut journey);
    for parameter in &journey.parameters {
        let kind = if parameter.secret { "the secret parameter" } else { "the parameter" };
        notes.push(Note::changed(format!(
            "{kind} `{0}` replaces a value that the document does not define: set it with -p {0}=…",
            parameter.name
        )));
    }
    Ok(ImportedTest { text: write(&journey), notes })
}

/// The first server, its variables at their defaults.
fn server(document: &Value) -> String {
    let Some(server) = list(document, "servers").first() else { return String::new() };
    let mut url = text(server, "url").to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        url = url.replace(&format!("{{{name}}}"), text(variable, "default"));
    }
    url
}

struct DescriptionReader<'d> {
    document: &'d Value,
    journey: Journey,
    prefix: String,
    notes: Vec<Note>,
}

impl<'d> DescriptionReader<'d> {
    fn operation(&mut self, path: &str, method: &str, item: &'d Value, operation: &'d Value) {
        let id = text(operation, "operationId");
        let named = [text(operation, "summary"), id].into_iter().find(|name| !name.is_empty() && name.chars().count() <= 60);
        let name = named.map_or_else(|| name_of(method, path), |name| name.trim_end_matches('.').to_owned());
        if operation.get("deprecated").and_then(Value::as_bool) == Some(true) {
            self.notes.push(Note::left_out(format!("{} {path}: it is deprecated", method.to_uppercase())));
            return;
        }
        let mut request = PlannedRequest { name: name.clone(), method: method.to_uppercase(), ..PlannedRequest::default() };
        let mut url = format!("{}{path}", self.prefix);
        let (mut query, mut cookies) = (Vec::new(), Vec::new());
        for parameter in self.parameters(item, operation) {
            let name = text(parameter, "name");
            let required = parameter.get("required").and_then(Value::as_bool) == Some(true);
            let example = self.example(parameter);
            let plain = plain_text(&example);
            match text(parameter, "in") {
                "path" => {
                    if matches!(text(parameter, "style"), "label" | "matrix") {
                        self.notes
                            .push(Note::lost(format!("the style of `{name}` in {path}: pass it in the form that the server expects")));
                    }
                    let parameter = self.journey.parameter(name, &plain, false, &format!("of {path}"));
                    url = url.replace(&format!("{{{name}}}"), &value(&parameter));
                }
                "query" if required => query.extend(query_pairs(parameter, name, &example)),
                "header" if required => request.headers.push((name.to_ascii_lowercase(), plain)),
                "cookie" if required => cookies.push(format!("{name}={}", encoded(&plain))),
                _ => {}
            }
            if required && has_pattern(resolved(self.document, parameter.get("schema").unwrap_or(&Value::Null))) {
                self.notes
                    .push(Note::changed(format!("`{name}` of \"{}\" has a pattern: replace its value by one that matches", request.name)));
            }
        }
        if !cookies.is_empty() {
            request.headers.push(("cookie".into(), cookies.join("; ")));
        }
        self.security(operation, &mut request, &mut query);
        if !query.is_empty() {
            url = format!("{url}?{}", query.join("&"));
        }
        request.url = url;
        if let Some(body) = operation.get("requestBody") {
            self.body(resolved(self.document, body), &mut request);
        }
        let answers = operation.get("responses").and_then(Value::as_object);
        let good: Vec<u16> = answers
            .into_iter()
            .flatten()
            .filter_map(|(status, _)| status.parse().ok())
            .filter(|status| (200..300).contains(status))
            .collect();
        if let [one] = good[..] {
            request.status = Some(one);
        }
        let step = if id.is_empty() { name } else { id.to_owned() };
        self.journey.steps.push(Step { name: step, is_group: false, actions: vec![Action::Request(Box::new(request))], pause: 0.0 });
    }

    /// Those of the operation hide those of the path.
    fn parameters(&self, item: &'d Value, operation: &'d Value) -> Vec<&'d Value> {
        let mut all: Vec<&Value> = list(operation, "parameters").iter().map(|parameter| resolved(self.document, parameter)).collect();
        for parameter in list(item, "parameters").iter().map(|parameter| resolved(self.document, parameter)) {
            let same = |known: &&Value| text(known, "name") == text(parameter, "name") && text(known, "in") == text(parameter, "in");
            if !all.iter().any(same) {
                all.push(parameter);
            }
        }
        all
    }

    /// The example of a parameter or of a media type, or what its schema allows.
    fn example(&self, of: &Value) -> Value {
        if let Some(example) = of.get("example") {
            return example.clone();
        }
        let first = of.get("examples").and_then(Value::as_object).and_then(|examples| examples.values().next());
        if let Some(example) = first.map(|example| resolved(self.document, example)).and_then(|example| example.get("value")) {
            return example.clone();
        }
        of.get("schema").map_or(Value::from("text"), |schema| sample(self.document, schema))
    }

    fn body(&mut self, body: &Value, request: &mut PlannedRequest) {
        let kinds: Vec<(&String, &Value)> = body.get("content").and_then(Value::as_object).into_iter().flatten().collect();
        let of = |wanted: &str| kinds.iter().find(|(kind, _)| kind.contains(wanted)).copied();
        if let Some((kind, media)) = of("json") {
            request.body = Body::Json(self.example(media));
            if !kind.starts_with("application/json") {
                request.headers.push(("content-type".into(), kind.clone()));
            }
        } else if let Some((_, media)) = of("x-www-form-urlencoded") {
            request.body = Body::Form(self.fields(media));
        } else if let Some((_, media)) = of("multipart/form-data") {
            let properties = media.get("schema").map(|schema| resolved(self.document, schema)).and_then(|schema| schema.get("properties"));
            let is_file = |name: &str| {
                let schema = properties.and_then(|properties| properties.get(name)).map(|schema| resolved(self.document, schema));
                schema.is_some_and(|schema| text(schema, "format") == "binary" || schema.get("contentMediaType").is_some())
            };
            let parts: Vec<FormPart> = self
                .fields(media)
                .into_iter()
                .map(|(name, text)| {
                    let file_name = is_file(&name).then(|| format!("{name}.txt"));
                    let media_type = file_name.as_ref().map(|_| "text/plain".to_owned());
                    FormPart { file_name, media_type, ..FormPart::text(name, text) }
                })
                .collect();
            if parts.iter().any(|part| part.file_name.is_some()) {
                self.notes.push(Note::changed(format!(
                    "file fields of \"{}\" contain placeholder text: use `content: file(path)`",
                    request.name
                )));
            }
            request.body = Body::Multipart(parts);
        } else if let Some((kind, media)) = kinds.first() {
            request.headers.push(("content-type".into(), (*kind).clone()));
            request.body = Body::Text(plain_text(&self.example(media)));
        }
    }

    fn fields(&self, media: &Value) -> Vec<(String, String)> {
        match self.example(media) {
            Value::Object(entries) => entries.iter().map(|(name, value)| (name.clone(), plain_text(value))).collect(),
            _ => Vec::new(),
        }
    }

    /// The first of the ways in that the operation, or the whole document, asks for.
    fn security(&mut self, operation: &Value, request: &mut PlannedRequest, query: &mut Vec<String>) {
        let document = self.document;
        let asked = operation.get("security").or_else(|| document.get("security")).and_then(Value::as_array);
        let Some(schemes) = asked.and_then(|list| list.first()).and_then(Value::as_object) else { return };
        for name in schemes.keys() {
            let scheme = resolved(document, &document["components"]["securitySchemes"][name.as_str()]);
            let mut secret = |wanted: &str| value(&self.journey.parameter(wanted, "", true, &format!("credential \"{name}\"")));
            match (text(scheme, "type"), text(scheme, "scheme").to_ascii_lowercase().as_str(), text(scheme, "in")) {
                ("http", "basic", _) => request.auth = Some((secret("username"), Some(secret("password")))),
                ("http", "bearer", _) | ("oauth2" | "openIdConnect", ..) => request.auth = Some((secret("token"), None)),
                ("apiKey", _, "header") => request.headers.push((text(scheme, "name").to_ascii_lowercase(), secret(name))),
                ("apiKey", _, "query") => query.push(format!("{}={}", text(scheme, "name"), secret(name))),
                ("apiKey", _, "cookie") => request.headers.push(("cookie".into(), format!("{}={}", text(scheme, "name"), secret(name)))),
                (kind, ..) => self.notes.push(Note::lost(format!("credential \"{name}\" of the kind `{kind}`"))),
            }
        }
    }
}

/// A value as a path, a query or a form has it.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain_text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A query parameter in its style (<https://spec.openapis.org/oas/v3.1.0#style-values>).
fn query_pairs(parameter: &Value, name: &str, example: &Value) -> Vec<String> {
    let style = Some(text(parameter, "style")).filter(|style| !style.is_empty()).unwrap_or("form");
    let explodes = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    let pair = |name: &str, value: &str| format!("{}={}", encoded(name), encoded(value));
    match example {
        Value::Array(items) if explodes => items.iter().map(|item| pair(name, &plain_text(item))).collect(),
        Value::Array(items) => {
            let separator = match style {
                "spaceDelimited" => "%20",
                "pipeDelimited" => "|",
                _ => ",",
            };
            vec![format!("{}={}", encoded(name), items.iter().map(|item| encoded(&plain_text(item))).collect::<Vec<_>>().join(separator))]
        }
        Value::Object(entries) if style == "deepObject" => {
            entries.iter().map(|(key, value)| format!("{}[{}]={}", encoded(name), encoded(key), encoded(&plain_text(value)))).collect()
        }
        Value::Object(entries) if explodes => entries.iter().map(|(key, value)| pair(key, &plain_text(value))).collect(),
        Value::Object(entries) => {
            let list = entries.iter().flat_map(|(key, value)| [encoded(key), encoded(&plain_text(value))]).collect::<Vec<_>>();
            vec![format!("{}={}", encoded(name), list.join(","))]
        }
        plain => vec![pair(name, &plain_text(plain))],
    }
}

/// Whether a string must match a pattern for which no value is known.
fn has_pattern(schema: &Value) -> bool {
    let is_hard = schema.get("pattern").and_then(Value::as_str).is_some_and(|pattern| crate::schema::pattern::matching(pattern).is_none());
    is_hard && ["example", "examples", "default", "enum", "const"].iter().all(|name| schema.get(name).is_none())
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
