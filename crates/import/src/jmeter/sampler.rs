//! HTTP samplers: the request, what is expected of it, and what is read from the response.

use super::checks::{expectation, extraction};
use super::output::GroupOutput;
use super::scope::SamplerScope;
use super::timers::pause;
use super::tree::PlanNode;
use super::values::Values;
use crate::sent::{name_of, set_body, set_header};
use crate::steps::{Body, FormPart, PlannedRequest, pieces, value};
use crate::text::{indented, milliseconds, quoted};
use crate::write::{called, options, text};

/// The code of a sampler.
pub(super) fn sampler(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let mut code = String::new();
    for timer in &scope.timers {
        code.push_str(&pause(timer, output));
    }
    let request = request(node, scope, output);
    let call = called(&request);
    let options = options(&request, output.uses);
    let mut reads = String::new();
    for extractor in &scope.extractors {
        reads.push_str(&extraction(extractor, output.values));
    }
    let assigned = if reads.is_empty() && output.on_error.is_empty() { "" } else { "const response = " };
    let one = format!("{assigned}await {call}{}, {{ {} }});\n", text(&request.url), options.join(", "));
    let sent = if one.chars().count() <= 130 && !one.trim_end().contains('\n') {
        one
    } else {
        let lines: String = options.iter().map(|option| format!("  {},\n", option.replace('\n', "\n  "))).collect();
        format!("{assigned}await {call}{}, {{\n{lines}}});\n", text(&request.url))
    };
    if assigned.is_empty() {
        code.push_str(&sent);
    } else {
        let on_error = if output.on_error.is_empty() { String::new() } else { format!("if (!response.ok) {}\n", output.on_error) };
        code.push_str(&format!("{{\n{}}}\n", indented(&format!("{sent}{reads}{on_error}"), 1)));
    }
    code
}

fn request(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> PlannedRequest {
    let method = Some(scope.text(node, "HTTPSampler.method")).filter(|method| !method.is_empty()).unwrap_or("GET").to_ascii_uppercase();
    let mut url = address(node, scope, output);
    let mut request = PlannedRequest { method: method.clone(), ..PlannedRequest::default() };
    for (name, content) in &scope.headers {
        match name.as_str() {
            "content-length" | "host" | "connection" => {}
            "cookie" => request.headers.push((name.clone(), content.clone())),
            _ => set_header(&mut request, name, content),
        }
    }
    let arguments = node.inner("HTTPsampler.Arguments").map_or_else(Vec::new, |inner| inner.items("Arguments.arguments"));
    let inherited = scope.defaults.iter().filter_map(|defaults| defaults.inner("HTTPsampler.Arguments"));
    let inherited: Vec<PlanNode> = inherited.flat_map(|inner| inner.items("Arguments.arguments")).collect();
    let arguments: Vec<PlanNode> = inherited.into_iter().chain(arguments).collect();
    let files = node.inner("HTTPsampler.Files").map_or_else(Vec::new, |inner| inner.items("HTTPFileArgs.files"));
    let files: Vec<PlanNode> = files.into_iter().filter(|file| !file.text("File.path").is_empty()).collect();
    // JMeter 5.6 sends the arguments of DELETE in the query and in the body, and none of HEAD.
    let is_raw = node.is_true("HTTPSampler.postBodyRaw")
        || !arguments.is_empty() && arguments.iter().all(|argument| argument.text("Argument.name").is_empty());
    let has_body = !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
    if matches!(method.as_str(), "GET" | "DELETE" | "OPTIONS") && !is_raw {
        let pairs: Vec<String> = arguments.iter().map(|argument| pair(argument, output.values)).collect();
        if !pairs.is_empty() {
            url = format!("{url}{}{}", if has_query(&url) { '&' } else { '?' }, pairs.join("&"));
        }
    }
    if is_raw {
        // JMeter joins the values, and sends no type unless a header states it.
        let body: String = arguments.iter().map(|argument| output.values.filled(argument.text("Argument.value"))).collect();
        raw_body(&mut request, &body);
    } else if let [file] = &files[..]
        && file.text("File.paramname").is_empty()
        && arguments.is_empty()
    {
        request.body = Body::File(path_of(file, output.values));
        if !file.text("File.mimetype").is_empty() {
            request.headers.push(("content-type".into(), file.text("File.mimetype").into()));
        }
    } else if !files.is_empty() || node.is_true("HTTPSampler.DO_MULTIPART_POST") {
        request.headers.retain(|(name, _)| name != "content-type");
        request.body = Body::Multipart(parts(&arguments, &files, output.values));
    } else if has_body && (!arguments.is_empty() || method == "POST") {
        let pairs: Vec<String> = arguments.iter().map(|argument| field(argument, output.values)).collect();
        if !request.headers.iter().any(|(name, _)| name == "content-type") {
            request.headers.push(("content-type".into(), "application/x-www-form-urlencoded; charset=UTF-8".into()));
        }
        form(&mut request, &pairs.join("&"));
    }
    request.url = url;
    settings(node, scope, &mut request, output);
    request.name = Some(node.name().to_owned()).filter(|name| !name.contains("${")).unwrap_or_else(|| name_of(&method, &request.url));
    request
}

/// The URL: relative if its origin is the target's.
fn address(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let origin = origin_of(node, scope, output.values);
    let path = output.values.filled(scope.text(node, "HTTPSampler.path"));
    if path.contains("://") {
        return path;
    }
    let path = if path.starts_with('/') || path.starts_with('\u{E000}') { path } else { format!("/{path}") };
    match origin {
        Some(origin) if Some(&origin) == output.target.as_ref() => path,
        Some(origin) => format!("{origin}{path}"),
        None => {
            output.values.lost(format!("\"{}\" has no server name", node.name()));
            path
        }
    }
}

/// Scheme, server and port with marks.
pub(super) fn origin_of(node: &PlanNode, scope: &SamplerScope, values: &mut Values) -> Option<String> {
    let server = values.filled(scope.text(node, "HTTPSampler.domain"));
    if server.is_empty() {
        return None;
    }
    if server.contains("://") {
        return Some(server.trim_end_matches('/').to_owned());
    }
    let scheme = Some(values.filled(scope.text(node, "HTTPSampler.protocol"))).filter(|scheme| !scheme.is_empty());
    let port = values.filled(scope.text(node, "HTTPSampler.port"));
    let scheme = scheme.map_or_else(|| "http".to_owned(), |scheme| scheme.trim_end_matches("://").to_ascii_lowercase());
    let is_default = port.is_empty() || (scheme == "http" && port == "80") || (scheme == "https" && port == "443");
    Some(if is_default { format!("{scheme}://{server}") } else { format!("{scheme}://{server}:{port}") })
}

/// Whether the text outside of expressions contains a query.
fn has_query(url: &str) -> bool {
    pieces(url).iter().any(|(piece, is_value)| !is_value && piece.contains('?'))
}

/// `name=value` of a query. Arguments that are not to be encoded are sent as they are.
fn pair(argument: &PlanNode, values: &mut Values) -> String {
    let encodes = argument.is_true("HTTPArgument.always_encode");
    let mut part = |name: &str, credential: &str| {
        let filled = values.filled_for(credential, argument.text(name));
        if encodes { encoded(&filled, false, values) } else { filled }
    };
    let (name, content) = (part("Argument.name", ""), part("Argument.value", argument.text("Argument.name")));
    if content.is_empty() && argument.is_false("HTTPArgument.use_equals") { name } else { format!("{name}={content}") }
}

/// `name=value` of a form. JMeter decodes arguments that are encoded already, and encodes all.
fn field(argument: &PlanNode, values: &mut Values) -> String {
    let is_encoded = !argument.is_true("HTTPArgument.always_encode");
    let mut part = |name: &str, credential: &str| {
        let filled = values.filled_for(credential, argument.text(name));
        encoded(&filled, is_encoded, values)
    };
    let (name, content) = (part("Argument.name", ""), part("Argument.value", argument.text("Argument.name")));
    format!("{name}={content}")
}

/// A string as Java's `URLEncoder` writes it, perhaps after its `URLDecoder`.
fn encoded(text: &str, is_encoded: bool, values: &mut Values) -> String {
    let mut out = String::new();
    for (piece, is_value) in pieces(text) {
        if is_value {
            values.helpers.insert("encoded");
            let plain = if is_encoded { format!("decodeURIComponent({piece})") } else { piece };
            out.push_str(&value(&format!("encoded({plain})")));
        } else {
            let plain = if is_encoded {
                let spaced = piece.replace('+', " ");
                percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
            } else {
                piece
            };
            out.extend(url::form_urlencoded::byte_serialize(plain.as_bytes()));
        }
    }
    out
}

fn parts(arguments: &[PlanNode], files: &[PlanNode], values: &mut Values) -> Vec<FormPart> {
    let mut parts: Vec<FormPart> = arguments
        .iter()
        .map(|argument| {
            FormPart::text(
                argument.text("Argument.name"),
                values.filled_for(argument.text("Argument.name"), argument.text("Argument.value")),
            )
        })
        .collect();
    for file in files {
        let media_type = Some(file.text("File.mimetype").to_owned()).filter(|kind| !kind.is_empty());
        let path = path_of(file, values);
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let part = FormPart { file_name: Some(name), ..FormPart::file(file.text("File.paramname"), path) };
        parts.push(FormPart { media_type: media_type.or(Some("application/octet-stream".into())), ..part });
    }
    parts
}

/// The path of a file, which is read when the test loads.
fn path_of(file: &PlanNode, values: &mut Values) -> String {
    let path = file.text("File.path");
    if path.contains("${") {
        values.lost(format!("the file {path}, whose name is a variable"));
    }
    path.to_owned()
}

/// A body as its text. Without a header, JMeter sends it without a type.
fn raw_body(request: &mut PlannedRequest, body: &str) {
    let kind = request.headers.iter().find(|(name, _)| name == "content-type").map(|(_, kind)| kind.clone());
    let is_json = kind.as_deref().is_some_and(|kind| kind.starts_with("application/json"));
    let written = serde_json::from_str::<serde_json::Value>(body).and_then(|json| serde_json::to_string(&json));
    let is_compact = written.is_ok_and(|written| written == body);
    if is_json && is_compact && !body.contains('\u{E000}') {
        set_body(request, body);
    } else if !body.is_empty() {
        request.body = Body::Text(body.to_owned());
        if kind.is_none() {
            request.headers.push(("content-type".into(), "text/plain; charset=UTF-8".into()));
        }
    }
}

/// The fields of a form, if they give the same bytes; else its text.
fn form(request: &mut PlannedRequest, pairs: &str) {
    let fields: Vec<(String, String)> = url::form_urlencoded::parse(pairs.as_bytes()).into_owned().collect();
    let again = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if pairs.is_empty() {
        return;
    }
    let is_plain = again == pairs && names.len() == fields.len() && !pairs.contains('\u{E000}');
    request.body = if is_plain { Body::Form(fields) } else { Body::Text(pairs.to_owned()) };
}

fn settings(node: &PlanNode, scope: &SamplerScope, request: &mut PlannedRequest, output: &mut GroupOutput<'_>) {
    if let Some((_, user, password)) = scope.credentials.iter().find(|(url, ..)| url.is_empty() || covers(url, request, output))
        && request.auth.is_none()
    {
        request.auth = Some((user.clone(), Some(password.clone())));
    }
    if !node.is_true("HTTPSampler.follow_redirects") && !node.is_true("HTTPSampler.auto_redirects") {
        request.options.push("redirects: 0".to_owned());
    }
    if !scope.has_cookies && !request.headers.iter().any(|(name, _)| name == "cookie") {
        request.options.push("cookies: false".to_owned());
    }
    let limit = scope.text(node, "HTTPSampler.response_timeout");
    match limit.parse::<f64>() {
        Ok(limit) if limit > 0.0 => request.options.push(format!("timeout: {}", quoted(&milliseconds(limit)))),
        _ if limit.is_empty() => {}
        _ => output.values.lost(format!("the time limit {limit} of \"{}\"", node.name())),
    }
    if scope.text(node, "HTTPSampler.image_parser") == "true" {
        output.values.lost(format!("\"{}\" also fetches the resources that the page embeds", node.name()));
    }
    if !scope.text(node, "HTTPSampler.proxyHost").is_empty() {
        output.values.lost(format!("the proxy of \"{}\": set `proxy` in `options` of the test", node.name()));
    }
    if node.is_false("HTTPSampler.use_keepalive") {
        request.headers.push(("connection".into(), "close".into()));
    }
    if let Some(expected) = expectation(&scope.assertions, output.values) {
        request.options.push(format!("expect: {expected}"));
    }
}

/// Whether an entry of the authorization manager is for this request.
fn covers(prefix: &str, request: &PlannedRequest, output: &GroupOutput<'_>) -> bool {
    let whole = if request.url.contains("://") {
        request.url.clone()
    } else {
        format!("{}{}", output.target.as_deref().unwrap_or(""), request.url)
    };
    whole.starts_with(prefix)
}
