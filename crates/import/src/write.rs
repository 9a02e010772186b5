//! A journey as TypeScript. The one place that lays out a test.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use crate::steps::{Action, Body, FormPart, Journey, PlannedRequest, Step, pieces};
use crate::text::{camel_case, fresh, in_template, key, quoted, seconds};

/// A test that does one iteration: how much of it, its author will say.
pub(crate) fn write(journey: &Journey) -> String {
    let mut uses = BTreeSet::from(["iterations", "scenario", "test"]);
    let mut taken: HashSet<String> = journey.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    taken.extend(["base", "user", "response", "journey", "iterations", "scenario", "test", "param", "file"].map(str::to_owned));
    let names: Vec<String> = journey.steps.iter().map(|step| fresh(&mut taken, &camel_case(&step.name))).collect();
    let mut steps = String::new();
    for (step, name) in journey.steps.iter().zip(&names) {
        steps.push_str(&function(step, name, &mut uses));
    }
    let mut text = String::new();
    if let Some(base) = &journey.base {
        uses.insert("param");
        text.push_str(&format!("const base = param.url(\"base\", {{ default: {}, help: \"base URL of the system\" }});\n", quoted(base)));
    }
    for parameter in &journey.parameters {
        uses.insert("param");
        let secret = if parameter.secret { ", secret: true" } else { "" };
        let help = if parameter.help.is_empty() { String::new() } else { format!(", help: {}", quoted(&parameter.help)) };
        let (name, default) = (&parameter.name, quoted(&parameter.default));
        text.push_str(&format!("const {name} = param.string({}, {{ default: {default}{secret}{help} }});\n", quoted(name)));
    }
    text.push_str(&steps);
    text.push_str(&scenario(journey, &names));
    let target = if journey.base.is_some() { "  target: base,\n" } else { "" };
    let headers: Vec<String> = journey.headers.iter().map(|(name, value)| format!("{}: {}", key(name), self::text(value))).collect();
    let headers = if headers.is_empty() { String::new() } else { format!("  headers: {{ {} }},\n", headers.join(", ")) };
    let options = if journey.options.is_empty() { String::new() } else { format!("  options: {{ {} }},\n", journey.options.join(", ")) };
    text.push_str(&format!(
        "\nexport default test({{\n{target}{headers}{options}  load: journey.run(iterations(1)), // Set the load here.\n}});\n"
    ));
    if steps.contains("user: User") {
        uses.insert("User");
    }
    let names: Vec<String> = uses.iter().map(|name| if *name == "User" { "type User".to_owned() } else { (*name).to_owned() }).collect();
    format!(
        "// Imported from {}: loadstone import {}.\nimport {{ {} }} from \"loadstone\";\n\n{}",
        journey.file,
        journey.format,
        names.join(", "),
        text.trim_start()
    )
}

fn scenario(journey: &Journey, names: &[String]) -> String {
    let mut lines = String::new();
    for line in journey.comments.iter().flat_map(|comment| comment.lines()) {
        lines.push_str(format!("  // {line}").trim_end());
        lines.push('\n');
    }
    for cookie in &journey.cookies {
        let site = cookie.site.as_ref().map(|site| format!(", {}", quoted(site))).unwrap_or_default();
        // Without its value the cookie is not sent, as if nobody had logged in before.
        let set = format!("user.cookies.set({}, {value}{site})", quoted(&cookie.name), value = cookie.value);
        lines.push_str(&format!("  if ({}) {set};\n", cookie.value));
    }
    for (step, name) in journey.steps.iter().zip(names) {
        lines.push_str(&format!("  await {name}(user);\n"));
        if step.pause > 0.0 {
            lines.push_str(&format!("  await user.pause({});\n", quoted(&seconds(step.pause))));
        }
    }
    format!("\nconst journey = scenario({}, async (user) => {{\n{lines}}});\n", quoted(&journey.title))
}

fn function(step: &Step, name: &str, uses: &mut BTreeSet<&'static str>) -> String {
    let indent = if step.is_group { "    " } else { "  " };
    let mut lines = String::new();
    for action in &step.actions {
        match action {
            Action::Comment(text) => {
                for line in text.lines() {
                    lines.push_str(&format!("{indent}// {line}\n"));
                }
            }
            Action::Assets(urls) => {
                let urls: String = urls.iter().map(|url| format!("{indent}    {},\n", text(url))).collect();
                lines.push_str(&format!(
                    "{indent}await user.group(\"Static resources\", (user) =>\n{indent}  \
                     Promise.all([\n{urls}{indent}  ].map((url) => user.get(url))),\n{indent});\n"
                ));
            }
            Action::Request(request) => lines.push_str(&self::request(request, indent, uses)),
        }
    }
    let body =
        if step.is_group { format!("  await user.group({}, async (user) => {{\n{lines}  }});\n", quoted(&step.name)) } else { lines };
    format!("\nasync function {name}(user: User) {{\n{body}}}\n")
}

/// The beginning of a call. Verbs whose requests normally have no body take none, and `user.request` takes one with any method.
pub(crate) fn called(request: &PlannedRequest) -> String {
    let method = request.method.to_ascii_lowercase();
    let has_verb = match method.as_str() {
        "get" | "head" | "options" => matches!(request.body, Body::None),
        "post" | "put" | "patch" | "delete" => true,
        _ => false,
    };
    if has_verb { format!("user.{method}(") } else { format!("user.request({}, ", quoted(&request.method)) }
}

fn request(request: &PlannedRequest, indent: &str, uses: &mut BTreeSet<&'static str>) -> String {
    let called = called(request);
    let options = options(request, uses);
    let read = !request.extracted.is_empty() || !request.checks.is_empty();
    let mut lines = String::new();
    let (open, indent) = if read { (format!("{indent}{{\n"), format!("{indent}  ")) } else { (String::new(), indent.to_owned()) };
    lines.push_str(&open);
    let assigned = if read { "const response = " } else { "" };
    let one = format!("{indent}{assigned}await {called}{}, {{ {} }});", text(&request.url), options.join(", "));
    if one.chars().count() <= 140 && !one.contains('\n') {
        lines.push_str(&one);
        lines.push('\n');
    } else {
        lines.push_str(&format!("{indent}{assigned}await {called}{}, {{\n", text(&request.url)));
        for option in options {
            lines.push_str(&format!("{indent}  {},\n", option.replace('\n', &format!("\n{indent}  "))));
        }
        lines.push_str(&format!("{indent}}});\n"));
    }
    for (name, read) in &request.extracted {
        lines.push_str(&format!("{indent}user.state.{name} = response{read};\n"));
    }
    for (name, holds) in &request.checks {
        lines.push_str(&format!("{indent}user.check({}, {holds});\n", quoted(name)));
    }
    if read {
        lines.push_str(&format!("{}}}\n", &indent[2..]));
    }
    lines
}

pub(crate) fn options(request: &PlannedRequest, uses: &mut BTreeSet<&'static str>) -> Vec<String> {
    let mut options = vec![format!("name: {}", quoted(&request.name))];
    let entries = |pairs: &[(String, String)]| {
        pairs.iter().map(|(name, value)| format!("{}: {}", key(name), text(value))).collect::<Vec<_>>().join(", ")
    };
    if !request.headers.is_empty() {
        options.push(format!("headers: {{ {} }}", entries(&request.headers)));
    }
    match &request.auth {
        Some((user, Some(password))) => options.push(format!("auth: {{ username: {}, password: {} }}", text(user), text(password))),
        Some((token, None)) => options.push(format!("auth: {{ bearer: {} }}", text(token))),
        None => {}
    }
    match &request.body {
        Body::None => {}
        Body::Json(value) => options.push(format!("json: {}", json(value))),
        Body::Form(fields) => options.push(format!("form: {{ {} }}", repeated(fields))),
        Body::Multipart(parts) => {
            let fields: Vec<(String, String)> = parts.iter().map(|part| (part.name.clone(), multipart_value(part, uses))).collect();
            options.push(format!("multipart: {{ {} }}", grouped(&fields)));
        }
        Body::Text(body) => options.push(format!("body: {}", text(body))),
        Body::File(path) => {
            uses.insert("file");
            // A file brings its media type, bytes have none.
            let bytes = if request.headers.iter().any(|(name, _)| name == "content-type") { "" } else { ".bytes" };
            options.push(format!("body: file({}){bytes}", quoted(path)));
        }
    }
    if let Some(status) = request.status {
        options.push(format!("expect: {{ status: {status} }}"));
    }
    options.extend(request.options.iter().cloned());
    options
}

/// Fields of a form; those of one name are a list.
fn repeated(fields: &[(String, String)]) -> String {
    grouped(&fields.iter().map(|(name, value)| (name.clone(), text(value))).collect::<Vec<_>>())
}

/// A value or file of a multipart body, as code.
fn multipart_value(part: &FormPart, uses: &mut BTreeSet<&'static str>) -> String {
    let content = if part.is_file {
        uses.insert("file");
        format!("file({})", quoted(&part.content))
    } else {
        text(&part.content)
    };
    if part.file_name.is_none() && part.media_type.is_none() {
        return content;
    }
    let more = [("filename", &part.file_name), ("contentType", &part.media_type)];
    let more = more.iter().filter_map(|(name, value)| Some(format!(", {name}: {}", quoted(value.as_deref()?))));
    format!("{{ content: {content}{} }}", more.collect::<String>())
}

/// Names and code; values of one name are a list.
fn grouped(fields: &[(String, String)]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in fields {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let entry = |name: &&str| {
        let values: Vec<&str> = fields.iter().filter(|(known, _)| known == *name).map(|(_, value)| value.as_str()).collect();
        match &values[..] {
            [one] => format!("{}: {one}", key(name)),
            many => format!("{}: [{}]", key(name), many.join(", ")),
        }
    };
    names.iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// A text with the values in it.
pub(crate) fn text(source: &str) -> String {
    match &pieces(source)[..] {
        [] => "\"\"".to_owned(),
        [(literal, false)] => quoted(literal),
        [(expression, true)] => expression.clone(),
        many => {
            let inner = many.iter().map(|(piece, is_value)| if *is_value { format!("${{{piece}}}") } else { in_template(piece) });
            format!("`{}`", inner.collect::<String>())
        }
    }
}

/// JSON with the values in it; on several lines where it is long.
fn json(value: &Value) -> String {
    let short = inline(value);
    if short.chars().count() <= 80 { short } else { spread(value, "") }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            format!(
                "{{ {} }}",
                entries.iter().map(|(name, value)| format!("{}: {}", key(name), inline(value))).collect::<Vec<_>>().join(", ")
            )
        }
        plain => plain.to_string(),
    }
}

fn spread(value: &Value, indent: &str) -> String {
    let deeper = format!("{indent}  ");
    let nested = |value: &Value| {
        let short = inline(value);
        if short.chars().count() <= 80 { short } else { spread(value, &deeper) }
    };
    match value {
        Value::Array(items) => {
            format!("[\n{}{indent}]", items.iter().map(|item| format!("{deeper}{},\n", nested(item))).collect::<String>())
        }
        Value::Object(entries) => {
            let lines = entries.iter().map(|(name, value)| format!("{deeper}{}: {},\n", key(name), nested(value)));
            format!("{{\n{}{indent}}}", lines.collect::<String>())
        }
        plain => inline(plain),
    }
}
