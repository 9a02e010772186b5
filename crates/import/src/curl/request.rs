//! The requests of one command line.

use super::globs::expanded;
use super::options::{Argument, Meaning, arguments, meaning_of};
use crate::error::ImportError;
use crate::imported::{Input, Note};
use crate::sent::{name_of, origin, set_header, survives_javascript, with_credentials};
use crate::steps::{Body, FormPart, Journey, PlannedRequest, value};
use crate::text::{milliseconds, quoted};

/// What the command lines of one script share.
pub(super) struct Context<'c> {
    pub(super) input: &'c Input<'c>,
    pub(super) line: usize,
    /// What `-d @-` reads.
    pub(super) standard_input: Option<String>,
    pub(super) journey: &'c mut Journey,
    pub(super) notes: &'c mut Vec<Note>,
}

impl Context<'_> {
    pub(super) fn error<T>(&self, message: impl Into<String>, help: &str) -> Result<T, ImportError> {
        Err(ImportError::new(self.input.name, Some(self.line), message, help))
    }

    /// The content of a file, or of standard input.
    fn content(&self, path: &str) -> Result<String, ImportError> {
        if path == "-" {
            return match &self.standard_input {
                Some(text) => Ok(text.clone()),
                None => self.error("the body comes from standard input", "put it in a file, and use --data-binary @file"),
            };
        }
        match (self.input.read)(path) {
            Some(text) => Ok(text),
            None => self.error(format!("cannot read {path:?} as text"), "put the file in the folder of the commands"),
        }
    }

    /// The path of a file from the folder of the test.
    fn path(&self, path: &str) -> String {
        if path.starts_with('/') || self.input.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.input.folder) }
    }

    fn lost(&mut self, text: impl Into<String>) {
        self.notes.push(Note::lost(text).at(self.line));
    }

    /// An option of the whole test. Commands that disagree cannot be in one test.
    fn test_option(&mut self, name: &str, code: &str) -> Result<(), ImportError> {
        let option = format!("{name}: {code}");
        if self.journey.options.contains(&option) {
            return Ok(());
        }
        if self.journey.options.iter().any(|known| known.starts_with(&format!("{name}:"))) {
            return self.error(format!("two commands set `{name}` differently"), "import them to separate tests");
        }
        self.journey.options.push(option);
        Ok(())
    }
}

/// What the options up to `--next` ask for.
#[derive(Default)]
struct CurlTransfer {
    method: Option<String>,
    is_head: bool,
    data_in_query: bool,
    ignores_globs: bool,
    urls: Vec<String>,
    uploads: Vec<String>,
    data: Option<Data>,
    is_json: bool,
    parts: Vec<FormPart>,
    /// As written: `Name: value`, `Name;` or `Name:`.
    headers: Vec<String>,
    credentials: Option<(String, String)>,
    bearer: Option<String>,
    cookies: Vec<String>,
    keeps_cookies: bool,
    agent: Option<String>,
    referer: Option<String>,
    range: Option<String>,
    query: Vec<String>,
    /// `HOST:PORT:ADDRESS`, where curl connects instead.
    addresses: Vec<String>,
    follows: bool,
    redirects: Option<String>,
    is_compressed: bool,
    seconds: Option<String>,
    retry: Retry,
}

#[derive(Default)]
struct Retry {
    times: Option<String>,
    delay: Option<String>,
    all_errors: bool,
}

/// A body: text, or a file that is sent as it is.
enum Data {
    Text(String),
    File(String),
}

/// One request for each URL of a command.
pub(super) fn requests(words: &[String], context: &mut Context<'_>) -> Result<Vec<PlannedRequest>, ImportError> {
    let arguments = match arguments(words) {
        Ok(arguments) => arguments,
        Err(message) => return context.error(message, "check the option with `curl --help all`"),
    };
    let mut requests = Vec::new();
    let mut operation = CurlTransfer::default();
    for argument in arguments {
        match argument {
            Argument::Option("next", _) => requests.extend(std::mem::take(&mut operation).requests(context)?),
            Argument::Option(name, content) => match meaning_of(name) {
                Meaning::Output => {}
                Meaning::Unsupported => {
                    return context.error(format!("--{name} is not supported"), "remove it, and check what curl then sends");
                }
                Meaning::Translated => operation.set(name, content, context)?,
            },
            Argument::Without("keepalive" | "sessionid") => {
                context.lost("the option --no-… : set `keepAlive` and `tlsResumption` in the test")
            }
            Argument::Without("alpn") => context.test_option("http2", "\"off\"")?,
            Argument::Without(_) => {}
            Argument::Url(url) => operation.urls.push(url),
        }
    }
    requests.extend(operation.requests(context)?);
    Ok(requests)
}

impl CurlTransfer {
    fn set(&mut self, name: &str, content: String, context: &mut Context<'_>) -> Result<(), ImportError> {
        match name {
            "request" => self.method = Some(content),
            "header" => match content.strip_prefix('@') {
                Some(path) => self.headers.extend(context.content(path)?.lines().map(str::to_owned).filter(|line| !line.is_empty())),
                None => self.headers.push(content),
            },
            "data" | "data-ascii" | "data-raw" | "data-binary" | "data-urlencode" | "json" => self.data(name, &content, context)?,
            "form" => {
                let part = part(&content, context)?;
                self.parts.push(part);
            }
            "form-string" => {
                let (name, text) = content.split_once('=').unwrap_or((&content, ""));
                self.parts.push(FormPart::text(name, text));
            }
            "user" => {
                let Some((user, password)) = content.split_once(':') else {
                    return context.error("-u without a password asks for it", "add a colon: -u name:");
                };
                self.credentials = Some((user.to_owned(), password.to_owned()));
            }
            "oauth2-bearer" => self.bearer = Some(content),
            "cookie" if content.contains('=') => self.cookies.push(content),
            // A file of cookies that is empty or missing only switches the engine on.
            "cookie" if content.is_empty() || (context.input.read)(&content).is_none() => self.keeps_cookies = true,
            "cookie" => return context.error(format!("the file of cookies {content:?} is not read"), "use -b 'name=value'"),
            "cookie-jar" => self.keeps_cookies = true,
            "head" => self.is_head = true,
            "get" => self.data_in_query = true,
            "insecure" => context.test_option("insecure", "true")?,
            "url" => self.urls.push(content),
            "url-query" => self.query.push(encoded_data(&content, context)?),
            "upload-file" => self.uploads.push(content),
            "user-agent" => self.agent = Some(content),
            "referer" => self.referer = Some(content),
            "range" => self.range = Some(content),
            "location" => self.follows = true,
            "max-redirs" => self.redirects = Some(content),
            "compressed" => self.is_compressed = true,
            "max-time" => self.seconds = Some(content),
            "retry" => self.retry.times = Some(content),
            "retry-delay" => self.retry.delay = Some(content),
            "retry-all-errors" => self.retry.all_errors = true,
            "globoff" => self.ignores_globs = true,
            "http2" => context.test_option("http2", "\"auto\"")?,
            "http1.1" => context.test_option("http2", "\"off\"")?,
            "http2-prior-knowledge" => context.test_option("http2", "\"only\"")?,
            "proxy" if content.contains("://") => context.test_option("proxy", &quoted(&content))?,
            "proxy" => context.test_option("proxy", &quoted(&format!("http://{content}")))?,
            "cacert" => context.test_option("roots", &format!("[{}]", quoted(&context.path(&content))))?,
            "cert" | "key" | "pass" => context.lost(format!("--{name}: set `clientCertificate` in `options` of the test")),
            "noproxy" => context.lost("--noproxy: set `noProxy` of `proxy` in `options` of the test"),
            "resolve" | "connect-to" => self.addresses.push(content),
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, name: &str, content: &str, context: &Context<'_>) -> Result<(), ImportError> {
        self.is_json |= name == "json";
        let file = content.strip_prefix('@').filter(|_| !matches!(name, "data-raw" | "data-urlencode"));
        let more = match (name, file) {
            ("data-urlencode", _) => encoded_data(content, context)?,
            ("data-binary" | "json", Some(path)) if path != "-" && self.data.is_none() => {
                self.data = Some(Data::File(path.to_owned()));
                return Ok(());
            }
            ("data-binary" | "json", Some(path)) => context.content(path)?,
            // `-d` and `--data-ascii` drop line ends and zeros of files.
            (_, Some(path)) => context.content(path)?.replace(['\r', '\n', '\0'], ""),
            (_, None) => content.to_owned(),
        };
        let before = match self.data.take() {
            None => None,
            Some(Data::Text(text)) => Some(text),
            Some(Data::File(path)) => Some(context.content(&path)?),
        };
        self.data = Some(Data::Text(match before {
            None => more,
            Some(before) if name == "json" => before + &more,
            Some(before) => format!("{before}&{more}"),
        }));
        Ok(())
    }

    fn requests(self, context: &mut Context<'_>) -> Result<Vec<PlannedRequest>, ImportError> {
        if self.urls.is_empty() {
            return context.error("the command has no URL", "give the complete command");
        }
        let mut requests = Vec::new();
        for (index, written) in self.urls.iter().enumerate() {
            let urls = if self.ignores_globs { Ok(vec![written.clone()]) } else { expanded(written) };
            let urls = match urls {
                Ok(urls) => urls,
                Err(message) => return context.error(message, "write one command for each URL"),
            };
            for url in urls {
                requests.push(self.request(&url, self.uploads.get(index), context)?);
            }
        }
        Ok(requests)
    }

    fn request(&self, url: &str, upload: Option<&String>, context: &mut Context<'_>) -> Result<PlannedRequest, ImportError> {
        let mut request = PlannedRequest { url: complete(url), ..PlannedRequest::default() };
        if let Some((plain, user, password)) = with_credentials(&request.url) {
            request.url = plain;
            request.auth = Some((decoded(&user), Some(decoded(&password))));
        }
        if let Some((user, password)) = &self.credentials {
            request.auth = Some((user.clone(), Some(password.clone())));
        }
        if let Some(token) = &self.bearer {
            request.auth = Some((token.clone(), None));
        }
        let data_in_query = self.data.as_ref().filter(|_| self.data_in_query);
        for pairs in data_in_query.map(|data| data_text(data, context)).transpose()?.iter().chain(&self.query) {
            let sign = if request.url.contains('?') { '&' } else { '?' };
            request.url = format!("{}{sign}{pairs}", request.url.split('#').next().unwrap_or_default());
        }
        if let Some(path) = upload {
            self.upload(path, &mut request, context)?;
        }
        if !request.url.starts_with('\u{E000}') && origin(&request.url).is_none() {
            return context.error(format!("{:?} is not a URL", request.url), "give the complete URL");
        }
        let host = url::Url::parse(&request.url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let of_host =
            |address: &&String| address.trim_start_matches('+').split(':').next().is_some_and(|name| [&host, "*", ""].contains(&name));
        if let Some(address) = self.addresses.iter().find(of_host) {
            context
                .lost(format!("the address in {address:?}: pass it with -p base=… and set the header `host`, or add it to the hosts file"));
        }
        let has_body = self.data.is_some() && !self.data_in_query || !self.parts.is_empty();
        let method = if self.is_head {
            "HEAD"
        } else if upload.is_some() {
            "PUT"
        } else if has_body {
            "POST"
        } else {
            "GET"
        };
        request.method = self.method.clone().unwrap_or_else(|| method.to_owned());
        self.headers(&mut request, has_body && self.parts.is_empty());
        if !self.parts.is_empty() {
            request.headers.retain(|(name, _)| name != "content-type");
            request.body = Body::Multipart(self.parts.clone());
            is_in_order(self.parts.iter().map(|part| part.name.as_str()), context);
        } else if has_body && let Some(data) = &self.data {
            body(data, &mut request, context);
        }
        self.settings(&mut request, context)?;
        request.name = name_of(&request.method, &request.url);
        Ok(request)
    }

    fn upload(&self, path: &str, request: &mut PlannedRequest, context: &Context<'_>) -> Result<(), ImportError> {
        if matches!(path, "-" | ".") {
            request.body = Body::Text(context.content("-")?);
            return Ok(());
        }
        // A URL that ends with a slash is a folder: the file's name follows.
        if request.url.ends_with('/') && !request.url.contains('?') {
            request.url.push_str(path.rsplit('/').next().unwrap_or(path));
        }
        request.body = Body::File(context.path(path));
        Ok(())
    }

    /// The headers that curl sends, in lower case: its own, unless the command replaces or removes them, then those of the command.
    fn headers(&self, request: &mut PlannedRequest, is_form: bool) {
        let mut own = vec![("accept", "*/*".to_owned())];
        // curl requests compression only with an option, and Loadstone by default.
        if !self.is_compressed {
            own.push(("accept-encoding", "identity".to_owned()));
        }
        own.extend(self.agent.iter().map(|agent| ("user-agent", agent.clone())));
        own.extend(self.referer.iter().map(|referer| ("referer", referer.trim_end_matches(";auto").to_owned())));
        own.extend(self.range.iter().map(|range| ("range", format!("bytes={range}"))));
        if self.is_json {
            own[0].1 = "application/json".to_owned();
            own.push(("content-type", "application/json".to_owned()));
        } else if is_form {
            own.push(("content-type", "application/x-www-form-urlencoded".to_owned()));
        }
        let written = self.headers.iter().map(|line| header(line));
        let replaced: Vec<String> = written.clone().map(|(name, _)| name).collect();
        // An empty value of -A or -e removes the header.
        own.retain(|(name, value)| !value.is_empty() && !replaced.iter().any(|known| known == name));
        for (name, value) in own {
            request.headers.push((name.to_owned(), value));
        }
        for (name, value) in written {
            let Some(value) = value else { continue };
            match name.as_str() {
                // Loadstone computes these from the body and the connection.
                "content-length" | "transfer-encoding" | "expect" => {}
                "connection" if value.eq_ignore_ascii_case("keep-alive") => {}
                "host" if origin(&request.url).is_some_and(|origin| origin.ends_with(&format!("://{value}"))) => {}
                "cookie" => request.headers.push((name, value)),
                _ if name.starts_with(':') => {}
                _ => set_header(request, &name, &value),
            }
        }
        if !self.cookies.is_empty() && !replaced.iter().any(|name| name == "cookie") {
            request.headers.push(("cookie".to_owned(), self.cookies.join("; ")));
        }
    }

    /// Redirects, cookies, time limit and retries. Without options, curl follows no redirect and stores no cookie.
    fn settings(&self, request: &mut PlannedRequest, context: &mut Context<'_>) -> Result<(), ImportError> {
        match (&self.redirects, self.follows) {
            (_, false) => request.options.push("redirects: 0".to_owned()),
            (Some(most), true) if most.parse::<u8>().is_ok() => request.options.push(format!("redirects: {most}")),
            (_, true) => {}
        }
        if self.follows && self.method.as_deref().is_some_and(|method| !matches!(method, "GET" | "HEAD")) {
            let method = self.method.clone().unwrap_or_default();
            context.notes.push(
                Note::changed(format!(
                    "with -X {method}, curl repeats {method} at the target of a redirect; Loadstone sends GET after 301, 302 and 303"
                ))
                .at(context.line),
            );
        }
        if !self.keeps_cookies {
            request.options.push("cookies: false".to_owned());
        }
        if let Some(seconds) = &self.seconds {
            match seconds.parse::<f64>() {
                Ok(seconds) if seconds > 0.0 => request.options.push(format!("timeout: {}", quoted(&milliseconds(seconds * 1000.0)))),
                _ => return context.error(format!("--max-time {seconds} is not a number"), "give seconds"),
            }
        }
        if let Some(times) = &self.retry.times {
            let Ok(times) = times.parse::<u32>() else { return context.error(format!("--retry {times} is not a number"), "give a number") };
            let on = if self.retry.all_errors {
                "\"connection\", \"timeout\", \"4xx\", \"5xx\""
            } else {
                "\"timeout\", 408, 429, 500, 502, 503, 504"
            };
            let wait = self.retry.delay.as_deref().unwrap_or("1");
            if times > 0 {
                request.options.push(format!("retry: {{ times: {}, on: [{on}], wait: \"{wait}s\" }}", times.min(10)));
            }
        }
        Ok(())
    }
}

/// `Name: value`; `Name;` has an empty value, and `Name:` removes the header that curl would add.
fn header(line: &str) -> (String, Option<String>) {
    match line.split_once(':') {
        Some((name, content)) => (name.trim().to_ascii_lowercase(), Some(content.trim().to_owned()).filter(|content| !content.is_empty())),
        None => match line.strip_suffix(';') {
            Some(name) => (name.trim().to_ascii_lowercase(), Some(String::new())),
            None => (line.trim().to_ascii_lowercase(), None),
        },
    }
}

fn body(data: &Data, request: &mut PlannedRequest, context: &mut Context<'_>) {
    let text = match data {
        Data::File(path) => {
            request.body = Body::File(context.path(path));
            return;
        }
        Data::Text(text) => text,
    };
    let kind = request.headers.iter().find(|(name, _)| name == "content-type").map(|(_, kind)| kind.as_str());
    if kind == Some("application/x-www-form-urlencoded")
        && let Some(fields) = fields(text)
    {
        request.body = Body::Form(fields);
    } else if kind == Some("application/json")
        && let Some(json) = serde_json::from_str::<serde_json::Value>(text).ok().filter(survives_javascript)
        && serde_json::to_string(&json).is_ok_and(|written| written == *text)
    {
        request.body = Body::Json(json);
    } else {
        request.body = Body::Text(text.clone());
    }
    if matches!(request.body, Body::Form(_) | Body::Json(_)) {
        request.headers.retain(|(name, _)| name != "content-type");
    }
}

/// The fields of a form, if Loadstone sends the same bytes for them.
fn fields(text: &str) -> Option<Vec<(String, String)>> {
    let fields: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let again = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
    (again == text && repeats_are_adjacent(fields.iter().map(|(name, _)| name.as_str()))).then_some(fields)
}

/// Whether an object that lists the values of a name together keeps the order. Whole numbers would be listed before other names.
fn repeats_are_adjacent<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || name == "__proto__" || seen.contains(&name) && seen.last() != Some(&name) {
            return false;
        }
        seen.push(name);
    }
    true
}

fn is_in_order<'n>(names: impl Iterator<Item = &'n str>, context: &mut Context<'_>) {
    if !repeats_are_adjacent(names) {
        context.lost("the order of the fields: parts of one name are sent together, and numbered names first");
    }
}

fn data_text(data: &Data, context: &Context<'_>) -> Result<String, ImportError> {
    match data {
        Data::Text(text) => Ok(text.clone()),
        Data::File(path) => context.content(path),
    }
}

/// `--data-urlencode`: `content`, `=content`, `name=content`, `@file` or `name@file`. As curl encodes it, a space is `+`.
fn encoded_data(content: &str, context: &Context<'_>) -> Result<String, ImportError> {
    let at = content.find(['=', '@']);
    let (name, text) = match at {
        Some(at) if content[at..].starts_with('@') => (&content[..at], context.content(&content[at + 1..])?),
        Some(at) => (&content[..at], content[at + 1..].to_owned()),
        None => ("", content.to_owned()),
    };
    let text = crate::steps::pieces(&text)
        .into_iter()
        .map(|(piece, is_value)| if is_value { value(&format!("encodeURIComponent({piece})")) } else { encoded(&piece) })
        .collect::<String>();
    Ok(if name.is_empty() { text } else { format!("{name}={text}") })
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            _ if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// `-F name=content`, `name=@file` or `name=<file`, with `;type=` and `;filename=`.
fn part(written: &str, context: &Context<'_>) -> Result<FormPart, ImportError> {
    let (name, content) = written.split_once('=').unwrap_or((written, ""));
    let (source, content) = match content.chars().next() {
        Some(c @ ('@' | '<')) => (Some(c), &content[1..]),
        _ => (None, content),
    };
    let mut settings = content.split(';').peekable();
    let mut content = settings.next().unwrap_or_default().to_owned();
    let mut part = FormPart { name: name.to_owned(), ..FormPart::default() };
    for setting in settings {
        match setting.trim_start().split_once('=') {
            // The type may have parameters: `type=text/plain;charset=utf-8`.
            Some(("type", kind)) => part.media_type = Some(kind.to_owned()),
            Some(("filename", name)) => part.file_name = Some(name.trim_matches('"').to_owned()),
            Some((name @ ("headers" | "encoder"), _)) => return context.error(format!(";{name}= of -F is not supported"), "remove it"),
            _ => match &mut part.media_type {
                Some(kind) => *kind = format!("{kind};{setting}"),
                None => content = format!("{content};{setting}"),
            },
        }
    }
    let content = content.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(&content).to_owned();
    match source {
        None => part.content = content,
        Some('<') => part.content = context.content(&content)?,
        Some(_) if content.contains(',') => return context.error("several files in one -F are not supported", "use one -F for each file"),
        Some(_) => {
            let file_name = content.rsplit('/').next().unwrap_or(&content).to_owned();
            part.media_type = Some(part.media_type.unwrap_or_else(|| media_type_of(&file_name).to_owned()));
            part.file_name = Some(part.file_name.unwrap_or(file_name));
            part.content = context.path(&content);
            part.is_file = true;
        }
    }
    Ok(part)
}

/// The media type that curl gives a file by its name (`lib/mime.c`, `Curl_mime_contenttype`).
fn media_type_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
        Some("gif") => "image/gif",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain",
        Some("htm" | "html") => "text/html",
        Some("pdf") => "application/pdf",
        Some("xml") => "application/xml",
        _ => "application/octet-stream",
    }
}

/// A URL with its scheme.
fn complete(url: &str) -> String {
    if url.contains("://") || url.starts_with('\u{E000}') { url.to_owned() } else { format!("http://{url}") }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
