//! Postman collections, v2.0 and v2.1: folders are groups, variables are parameters, simple tests are checks.

mod scripts;

use std::collections::HashMap;

use serde_json::Value;

use self::scripts::{Statement, statements};

use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note};
use crate::json::{list, parse, text};
use crate::sent::{hide, keeps, name_of, origin, relative, set_body, set_header, with_credentials};
use crate::steps::{Action, Body, FormPart, Journey, PlannedRequest, Step, value};
use crate::text::camel_case;
use crate::write::write;

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let collection = parse(input.name, input.text, "a collection, exported as v2.1")?;
    let collection = collection.get("collection").unwrap_or(&collection).clone();
    let schema = text(&collection["info"], "schema");
    if !(schema.contains("/v2.1") || schema.contains("/v2.0")) || collection.get("item").is_none() {
        let found = if schema.is_empty() {
            "this is not a Postman collection: `info.schema` is missing".to_owned()
        } else {
            format!("the schema {schema} is not known")
        };
        return Err(ImportError::new(input.name, None, found, "export the collection as v2.1 (Export, Collection v2.1)"));
    }
    let mut reader = CollectionReader {
        journey: Journey {
            format: "postman",
            file: input.name.rsplit('/').next().unwrap_or(input.name).to_owned(),
            title: Some(text(&collection["info"], "name")).filter(|name| !name.is_empty()).unwrap_or("Collection").to_owned(),
            ..Journey::default()
        },
        variables: variables(&collection),
        read: HashMap::new(),
        notes: Vec::new(),
        is_secret: false,
    };
    reader.journey.base = first_url(&collection, &reader.variables).and_then(|url| origin(&url));
    let scripts = reader.scripts_around(&collection, "the collection");
    reader.journey.comments = scripts;
    reader.items(&collection, None, collection.get("auth"));
    if reader.journey.steps.iter().all(|step| step.actions.is_empty()) {
        return Err(ImportError::new(input.name, None, "the collection contains no request", "export a collection with requests"));
    }
    let CollectionReader { mut journey, mut notes, .. } = reader;
    hide(&mut journey);
    for parameter in &journey.parameters {
        let what = if parameter.secret { "the secret parameter" } else { "the parameter" };
        notes.push(Note::changed(format!("a variable or credential became {what} `{0}`: set it with -p {0}=…", parameter.name)));
    }
    Ok(ImportedTest { text: write(&journey), notes })
}

fn variables(collection: &Value) -> HashMap<String, String> {
    let pair = |variable: &Value| {
        let name = if text(variable, "key").is_empty() { text(variable, "id") } else { text(variable, "key") };
        let content = match variable.get("value") {
            Some(Value::String(content)) => content.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        (name.to_owned(), content)
    };
    list(collection, "variable").iter().filter(|variable| variable.get("disabled").is_none()).map(pair).collect()
}

fn first_url(item: &Value, variables: &HashMap<String, String>) -> Option<String> {
    if let Some(request) = item.get("request") {
        return Some(with_hosts(&raw_url(request), variables)).filter(|url| origin(url).is_some());
    }
    list(item, "item").iter().find_map(|inner| first_url(inner, variables))
}

fn raw_url(request: &Value) -> String {
    match request {
        Value::String(url) => url.clone(),
        _ => match request.get("url") {
            Some(Value::String(url)) => url.clone(),
            Some(url) => text(url, "raw").to_owned(),
            None => String::new(),
        },
    }
}

/// Puts in the variables that are URLs: what they stand for is the test's base.
fn with_hosts(url: &str, variables: &HashMap<String, String>) -> String {
    let mut url = url.to_owned();
    for (name, content) in variables.iter().filter(|(_, content)| content.contains("://")) {
        url = url.replace(&format!("{{{{{name}}}}}"), content.trim_end_matches('/'));
    }
    if url.is_empty() || url.contains("://") {
        return url;
    }
    if url.starts_with("{{") {
        // The host is a variable that the collection does not hold: an environment does.
        let rest = url.split_once("}}").map_or("", |(_, rest)| rest);
        return format!("http://localhost{rest}");
    }
    format!("http://{url}")
}

struct CollectionReader {
    journey: Journey,
    variables: HashMap<String, String>,
    /// Variables that scripts set from answers, and the expressions that hold them.
    read: HashMap<String, String>,
    notes: Vec<Note>,
    /// Whether variables are read for credentials.
    is_secret: bool,
}

impl CollectionReader {
    /// The requests of a folder become one function, those of its folders others.
    fn items(&mut self, of: &Value, folder: Option<&str>, auth: Option<&Value>) {
        for item in list(of, "item") {
            let name = text(item, "name");
            let own = item.get("auth").or(auth);
            if item.get("item").is_some() {
                let path = folder.map_or_else(|| name.to_owned(), |folder| format!("{folder} {name}"));
                self.journey.steps.push(Step { name: path.clone(), is_group: true, actions: Vec::new(), pause: 0.0 });
                let at = self.journey.steps.len() - 1;
                let comments = self.scripts_around(item, &format!("the folder \"{name}\""));
                self.journey.steps[at].actions.extend(comments.into_iter().map(Action::Comment));
                self.items(item, Some(&path), own);
                if self.journey.steps[at].actions.is_empty() {
                    self.journey.steps.remove(at);
                }
            } else if let Some(request) = item.get("request") {
                let mut actions = self.request(item, request, own);
                let group = self.journey.steps.last_mut().filter(|step| step.is_group && folder == Some(step.name.as_str()));
                match group {
                    Some(step) => step.actions.append(&mut actions),
                    None => self.journey.steps.push(Step { name: name.to_owned(), is_group: false, actions, pause: 0.0 }),
                }
            }
        }
    }

    /// Scripts that run before or after each request of a folder, as comments.
    fn scripts_around(&mut self, of: &Value, whose: &str) -> Vec<String> {
        let mut comments = Vec::new();
        for event in list(of, "event") {
            let lines = lines_of(event);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let when = if text(event, "listen") == "test" { "after" } else { "before" };
            if lines.iter().any(|line| !is_comment(line)) {
                self.notes.push(Note::lost(format!("the script of {whose} that runs {when} each request")));
                comments.push(format!("Not translated: this script runs {when} each request.\n{}", lines.join("\n")));
            }
        }
        comments
    }

    fn request(&mut self, item: &Value, source: &Value, auth: Option<&Value>) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut url = with_hosts(&with_enabled_query(raw_url(source), source), &self.variables);
        if let Some(variables) = source.get("url").map(|url| list(url, "variable")) {
            for variable in variables {
                let of = Some(text(variable, "value")).filter(|content| !content.is_empty()).unwrap_or("1");
                url = url.replace(&format!("/:{}", text(variable, "key")), &format!("/{of}"));
            }
        }
        let own = with_credentials(&url);
        if let Some((plain, ..)) = &own {
            url.clone_from(plain);
        }
        let method = Some(text(source, "method")).filter(|method| !method.is_empty()).unwrap_or("GET").to_owned();
        let base = self.journey.base.clone();
        let name = Some(text(item, "name"))
            .filter(|name| !name.is_empty() && !name.contains("://"))
            .map_or_else(|| name_of(&method, &url), str::to_owned);
        let mut request = PlannedRequest { name, method, url: self.filled(&relative(&url, base.as_deref())), ..PlannedRequest::default() };
        request.auth = own.map(|(_, user, password)| (user, Some(password)));
        for header in list(source, "header").iter().filter(|header| header.get("disabled").and_then(Value::as_bool) != Some(true)) {
            let (name, content) = (text(header, "key"), self.filled(text(header, "value")));
            if keeps(name, &content) {
                set_header(&mut request, name, &content);
            }
        }
        let own = source.get("auth").filter(|auth| !auth.is_null()).or(auth);
        if let Some(auth) = own {
            self.auth(auth, &mut request);
        }
        if let Some(body) = source.get("body") {
            self.body(body, &mut request);
        }
        for event in list(item, "event") {
            let lines = lines_of(event);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            if text(event, "listen") == "test" {
                self.tests(&lines, &mut request, &mut actions);
            } else {
                self.not_translated(&lines, &request.name, "write it as TypeScript before the request", &mut actions);
            }
        }
        actions.push(Action::Request(Box::new(request)));
        actions
    }

    /// `{{name}}` in a string: a value that an answer gave, or a parameter.
    fn filled(&mut self, source: &str) -> String {
        let mut out = String::new();
        let mut rest = source;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, behind)) = after.split_once("}}") else { break };
            out.push_str(before);
            out.push_str(&self.variable(name.trim()));
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    fn variable(&mut self, name: &str) -> String {
        match name {
            "$guid" | "$randomUUID" => return value("user.random.uuid()"),
            "$timestamp" => return value("Math.floor(Date.now() / 1000)"),
            "$randomInt" => return value("user.random.integer(0, 1000)"),
            _ if name.starts_with('$') => {
                self.notes.push(Note::changed(format!("`{{{{{name}}}}}` became a random string")));
                return value("user.random.string(8)");
            }
            _ => {}
        }
        if let Some(read) = self.read.get(name) {
            return value(read);
        }
        let content = self.variables.get(name).cloned().unwrap_or_default();
        let secret = self.is_secret || loadstone_secrets::is_credential(name);
        let default = if secret { "" } else { &content };
        value(&self.journey.parameter(name, default, secret, ""))
    }

    fn auth(&mut self, auth: &Value, request: &mut PlannedRequest) {
        let kind = text(auth, "type");
        let entries = auth.get(kind);
        self.is_secret = true;
        let of = |name: &str| match entries {
            Some(Value::Array(list)) => list.iter().find(|entry| text(entry, "key") == name).map(|entry| text(entry, "value").to_owned()),
            Some(object) => object.get(name).and_then(Value::as_str).map(str::to_owned),
            None => None,
        };
        match kind {
            "bearer" => request.auth = of("token").map(|token| (self.filled(&token), None)),
            "basic" => {
                request.auth = of("username").map(|user| (self.filled(&user), Some(self.filled(&of("password").unwrap_or_default()))))
            }
            "apikey" => {
                let (key, content) = (of("key").unwrap_or_default(), self.filled(&of("value").unwrap_or_default()));
                if of("in").as_deref() == Some("query") {
                    let sign = if request.url.contains('?') { '&' } else { '?' };
                    request.url = format!("{}{sign}{key}={content}", request.url);
                } else {
                    request.headers.push((key.to_ascii_lowercase(), content));
                }
            }
            "noauth" | "" => {}
            other => self.notes.push(Note::lost(format!("authentication `{other}` of \"{}\": set the header in the test", request.name))),
        }
        self.is_secret = false;
    }

    fn body(&mut self, body: &Value, request: &mut PlannedRequest) {
        let enabled = |entries: &'static str| {
            list(body, entries)
                .iter()
                .filter(|entry| entry.get("disabled").and_then(Value::as_bool) != Some(true))
                .cloned()
                .collect::<Vec<_>>()
        };
        match text(body, "mode") {
            "raw" => {
                let raw = text(body, "raw");
                let kind = match text(&body["options"]["raw"], "language") {
                    "json" => "application/json",
                    "xml" => "application/xml",
                    "html" => "text/html",
                    "javascript" => "application/javascript",
                    _ => "text/plain",
                };
                if !request.headers.iter().any(|(name, _)| name == "content-type") {
                    request.headers.push(("content-type".into(), kind.into()));
                }
                // Postman puts the values into the text: quotes around a variable decide its type.
                match raw.contains("{{") {
                    true => request.body = Body::Text(self.filled(raw)),
                    false => set_body(request, raw),
                }
            }
            "urlencoded" => {
                request.headers.retain(|(name, _)| name != "content-type");
                request.body = Body::Form(
                    enabled("urlencoded").iter().map(|entry| (text(entry, "key").to_owned(), self.filled(text(entry, "value")))).collect(),
                );
            }
            "formdata" => {
                request.headers.retain(|(name, _)| name != "content-type");
                let mut fields = Vec::new();
                for entry in enabled("formdata") {
                    if text(&entry, "type") == "file" {
                        let sources = match &entry["src"] {
                            Value::Array(sources) => sources.iter().filter_map(Value::as_str).collect(),
                            source => source.as_str().into_iter().collect::<Vec<_>>(),
                        };
                        if sources.is_empty() {
                            let field = text(&entry, "key");
                            self.notes.push(Note::lost(format!("the file of `{field}` in \"{}\": use `file(path)`", request.name)));
                        }
                        fields.extend(sources.iter().map(|source| FormPart::file(text(&entry, "key"), *source)));
                    } else {
                        fields.push(FormPart::text(text(&entry, "key"), self.filled(text(&entry, "value"))));
                    }
                }
                request.body = Body::Multipart(fields);
            }
            "graphql" => {
                let graphql = &body["graphql"];
                let variables = text(graphql, "variables");
                if variables.contains("{{") {
                    let query = Value::from(self.filled(text(graphql, "query")));
                    request.body = Body::Text(format!("{{\"query\":{query},\"variables\":{}}}", self.filled(variables)));
                    request.headers.push(("content-type".into(), "application/json".into()));
                } else {
                    let variables = serde_json::from_str(variables).unwrap_or(Value::Null);
                    request.body = Body::Json(serde_json::json!({ "query": self.filled(text(graphql, "query")), "variables": variables }));
                }
            }
            "file" if !text(&body["file"], "src").is_empty() => request.body = Body::File(text(&body["file"], "src").to_owned()),
            "" => {}
            other => self.notes.push(Note::lost(format!("the body `{other}` of \"{}\"", request.name))),
        }
    }

    /// Statuses, comparisons, and values that are kept for later; what else there is becomes a comment.
    fn tests(&mut self, lines: &[&str], request: &mut PlannedRequest, actions: &mut Vec<Action>) {
        let (found, rest) = statements(lines);
        for statement in found {
            match statement {
                Statement::Status(title, status) => {
                    let title = title.unwrap_or_else(|| format!("status is {status}"));
                    request.checks.push((title, format!("response.status === {status}")));
                    if status >= 400 {
                        request.status = Some(status);
                    }
                }
                Statement::Equals(title, path, literal) => {
                    let title = title.unwrap_or_else(|| format!("{path} is {literal}"));
                    request.checks.push((title, format!("response.json({}, undefined) === {literal}", crate::text::quoted(&path))));
                }
                Statement::Kept(variable, path) => {
                    let state = camel_case(&variable);
                    request.extracted.push((state.clone(), format!(".json({})", crate::text::quoted(&path))));
                    self.read.insert(variable, format!("user.state.{state}"));
                }
            }
        }
        self.not_translated(&rest, &request.name.clone(), "only status checks, comparisons and stored values are translated", actions);
    }

    fn not_translated(&mut self, lines: &[&str], name: &str, reason: &str, actions: &mut Vec<Action>) {
        if lines.iter().all(|line| is_comment(line)) {
            return;
        }
        self.notes.push(Note::lost(format!("a script of \"{name}\": {reason}")));
        actions.push(Action::Comment(format!("Not translated: {reason}.\n{}", lines.join("\n"))));
    }
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with("//")
}

/// The lines of a script.
fn lines_of(event: &Value) -> Vec<String> {
    match &event["script"]["exec"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).flat_map(str::lines).map(str::to_owned).collect(),
        Value::String(text) => text.lines().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// The URL without the query parameters that are switched off.
fn with_enabled_query(url: String, source: &Value) -> String {
    let is_off = |parameter: &Value| parameter.get("disabled").and_then(Value::as_bool) == Some(true);
    let query = source.get("url").map_or(&[][..], |url| list(url, "query"));
    if !query.iter().any(is_off) {
        return url;
    }
    let pair = |parameter: &Value| match parameter.get("value").and_then(Value::as_str) {
        Some(value) => format!("{}={value}", text(parameter, "key")),
        None => text(parameter, "key").to_owned(),
    };
    let pairs: Vec<String> = query.iter().filter(|parameter| !is_off(parameter)).map(pair).collect();
    let path = url.split('?').next().unwrap_or_default();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}
