//! One request of a simulation: `http("Home").get("/").headers(headers_0).check(status.is(404))`.

use super::expressions::{ChainCall, Expression};
use super::simulation::{Simulation, saved};
use crate::imported::Note;
use crate::sent::{keeps, name_of, relative, set_body, set_header};
use crate::steps::{Body, FormPart, PlannedRequest};
use crate::text::quoted;

/// Reads one request.
pub(super) struct RequestReader<'s, 'i> {
    pub(super) simulation: &'s mut Simulation<'i>,
    pub(super) line: usize,
}

impl RequestReader<'_, '_> {
    /// The request, or why it cannot be kept.
    pub(super) fn read(&mut self, calls: &[ChainCall]) -> Result<PlannedRequest, String> {
        let mut request = PlannedRequest {
            headers: self.simulation.protocol.headers.clone(),
            auth: self.simulation.protocol.auth.clone(),
            ..PlannedRequest::default()
        };
        let name = calls[0].arguments.as_ref().and_then(|all| self.simulation.text(all.first()?));
        let mut fields = Vec::new();
        let mut query = Vec::new();
        let mut body = None;
        for call in &calls[1..] {
            let arguments = call.arguments.as_deref().unwrap_or_default();
            let text = |index: usize| arguments.get(index).and_then(|argument| self.simulation.text(argument));
            match call.name.as_str() {
                "get" | "post" | "put" | "patch" | "delete" | "head" | "options" => {
                    request.method = call.name.to_ascii_uppercase();
                    request.url = text(0).ok_or("its URL is computed at run time")?;
                }
                "httpRequest" => {
                    request.method = text(0).ok_or("its method is not a literal")?.to_ascii_uppercase();
                    request.url = text(1).ok_or("its URL is computed at run time")?;
                }
                "headers" => {
                    let pairs = arguments.first().and_then(|pairs| self.simulation.pairs(pairs));
                    for (name, value) in pairs.ok_or("its headers are computed at run time")? {
                        header(&mut request, &name, &value);
                    }
                }
                "header" => match (text(0), text(1)) {
                    (Some(name), Some(value)) => header(&mut request, &name, &value),
                    _ => self.left(call, "its value is computed at run time"),
                },
                "formParam" => match (text(0), text(1)) {
                    (Some(name), Some(value)) => fields.push(FormPart::text(name, value)),
                    _ => self.left(call, "its value is computed at run time"),
                },
                "formUpload" => match (text(0), text(1)) {
                    (Some(name), Some(path)) => fields.push(FormPart::file(name, path)),
                    _ => self.left(call, "its value is computed at run time"),
                },
                "queryParam" => match (text(0), text(1)) {
                    (Some(name), Some(value)) => query.push((name, value)),
                    _ => self.left(call, "its value is computed at run time"),
                },
                "basicAuth" => request.auth = text(0).map(|user| (user, Some(text(1).unwrap_or_default()))),
                "body" => body = arguments.first().cloned(),
                "bodyPart" => self.left(call, "a body part: use `multipart` of a request"),
                "asJson" | "asJSON" => header(&mut request, "content-type", "application/json"),
                "asFormUrlEncoded" | "asMultipartForm" | "resources" | "silent" | "notSilent" => {}
                "check" => arguments.iter().for_each(|check| self.check(&mut request, check, call)),
                _ => self.left(call, "it has no counterpart in one request"),
            }
        }
        if request.method.is_empty() {
            return Err("it has no method".into());
        }
        let name = name.filter(|name| !is_counted(name));
        Ok(self.finish(request, name, fields, query, body))
    }

    /// Puts what was collected into the request, and names it.
    fn finish(
        &mut self,
        mut request: PlannedRequest,
        name: Option<String>,
        fields: Vec<FormPart>,
        query: Vec<(String, String)>,
        body: Option<Expression>,
    ) -> PlannedRequest {
        if !query.is_empty() {
            let sign = if request.url.contains('?') { '&' } else { '?' };
            let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
            request.url = format!("{}{sign}{}", request.url, pairs.join("&"));
        }
        if !request.url.contains("://") && !request.url.starts_with(['/', '\u{E000}']) {
            request.url.insert(0, '/');
        }
        request.url = relative(&request.url, self.simulation.protocol.base.as_deref());
        match body {
            Some(body) => self.body(&mut request, &body),
            None if fields.iter().any(|part| part.is_file) => request.body = Body::Multipart(fields),
            None if !fields.is_empty() => request.body = Body::Form(fields.into_iter().map(|part| (part.name, part.content)).collect()),
            None => {}
        }
        if !matches!(request.body, Body::Json(_) | Body::Text(_)) {
            request.headers.retain(|(name, _)| name != "content-type");
        }
        request.name = name.unwrap_or_else(|| name_of(&request.method, &request.url));
        request
    }

    /// `StringBody("…")`, or `RawFileBody("…")`, whose file the recorder put among the resources.
    fn body(&mut self, request: &mut PlannedRequest, body: &Expression) {
        let text = match body {
            Expression::Chain(calls) => {
                let given =
                    calls.last().and_then(|call| Some((call.name.as_str(), self.simulation.text(call.arguments.as_ref()?.first()?)?)));
                match given {
                    Some(("StringBody", text)) => text,
                    Some(("RawFileBody" | "ElFileBody" | "RawFileBodyPart", path)) => match self.resource(&path) {
                        Some(text) => text,
                        None => {
                            let reason =
                                format!("the body of line {}: {path} was not found next to the simulation or in `resources`", self.line);
                            return self.simulation.notes.push(Note { line: Some(self.line), ..Note::lost(reason) });
                        }
                    },
                    _ => return self.no_body(),
                }
            }
            _ => match self.simulation.text(body) {
                Some(text) => text,
                None => return self.no_body(),
            },
        };
        set_body(request, &text);
    }

    fn no_body(&mut self) {
        let reason = "a body that is computed at run time: use `body` or `json` of a request".to_owned();
        self.simulation.notes.push(Note { line: Some(self.line), ..Note::lost(reason) });
    }

    /// Where Gatling looks for it: among the resources of the project, or in the folder of bodies of older versions.
    fn resource(&self, path: &str) -> Option<String> {
        let up = |levels: usize| "../".repeat(levels);
        let places = (0..12).flat_map(|levels| {
            ["", "resources/", "bodies/", "user-files/resources/"].map(|folder| format!("{}{folder}{path}", up(levels)))
        });
        places.into_iter().find_map(|place| (self.simulation.input.read)(&place))
    }

    /// What must hold, and what is saved for later requests.
    fn check(&mut self, request: &mut PlannedRequest, check: &Expression, within: &ChainCall) {
        let Expression::Chain(calls) = check else { return self.left(within, "a check that is a function") };
        let Some(first) = calls.first() else { return };
        let arguments = |call: &ChainCall| call.arguments.clone().unwrap_or_default();
        let text = |index: usize| arguments(first).get(index).and_then(|argument| self.simulation.text(argument));
        if first.name == "status" {
            match calls.get(1).map(|call| (call.name.as_str(), arguments(call))) {
                Some(("is" | "shouldBe", of)) if matches!(of[..], [Expression::Number(_)]) => {
                    let Expression::Number(status) = of[0] else { return };
                    if (300.0..400.0).contains(&status) {
                        return self.left(within, "redirects are followed; to check a redirect's own response, set `redirects: 0`");
                    }
                    request.status = Some(status as u16);
                }
                _ => self.left(within, "`expect: { status: [200, 201] }` of a request"),
            }
            return;
        }
        let as_name = calls.iter().find(|call| call.name == "saveAs");
        let as_name = as_name.and_then(|call| arguments(call).first().and_then(|name| self.simulation.plain(name, 0)));
        let read = match (first.name.as_str(), text(0), text(1)) {
            ("jsonPath", Some(path), _) => format!(".json({})", quoted(&path)),
            ("regex", Some(pattern), _) => format!(".regex(new RegExp({}))[1]", quoted(&pattern)),
            ("css", Some(selector), Some(attribute)) => format!(".css({}, {{ attribute: {} }})", quoted(&selector), quoted(&attribute)),
            ("css", Some(selector), None) => format!(".css({})", quoted(&selector)),
            ("xpath", Some(path), _) => format!(".xpath({})", quoted(&path)),
            ("header", Some(name), _) => format!(".header({})", quoted(&name)),
            ("bodyString", ..) => ".text".to_owned(),
            _ => return self.left(within, "this check has no counterpart: see `expect` and `user.check`"),
        };
        match as_name {
            Some(name) if saved(&name).starts_with("user.state.") => request.extracted.push((name, read)),
            _ => self.left(within, "its value is not saved: see `expect` and `user.check`"),
        }
    }

    fn left(&mut self, call: &ChainCall, reason: &str) {
        self.simulation.notes.push(Note { line: Some(call.line), ..Note::lost(format!("`{}`: {reason}", call.name)) });
    }
}

/// Whether the recorder counted a name up: `request_4`.
fn is_counted(name: &str) -> bool {
    let number = name.strip_prefix("request_").or(name.strip_prefix("resource_"));
    number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit())) || name.contains('\u{E000}')
}

/// A header of the request wins over that of all.
fn header(request: &mut PlannedRequest, name: &str, value: &str) {
    if keeps(name, value) {
        request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        set_header(request, name, value);
    }
}

/// A value of a query; what stands for a value of later stays.
fn escaped(value: &str) -> String {
    if value.contains('\u{E000}') { value.to_owned() } else { url::form_urlencoded::byte_serialize(value.as_bytes()).collect() }
}
