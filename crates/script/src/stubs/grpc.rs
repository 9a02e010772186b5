//! Stubs of gRPC: their messages encoded, the object that their functions are given, and what these answer.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use loadstone_stub::{GrpcAnswer, GrpcMethodSpec, GrpcSpec, GrpcTurns, Reply};
use prost_reflect::MethodDescriptor;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Array, Ctx, Exception, JsLifetime, Object, Value};
use serde_json::Value as Json;

use super::reply::{delay_ns, pairs};
use super::request::fields_of;
use crate::body::BodyReader;
use crate::extract::cache::Compiled;
use crate::fields::object_of;
use crate::protocols::grpc::json::{answer, decode, of_json};
use crate::protocols::grpc::services::Services;

/// The stub that a description says, with its messages encoded.
///
/// # Errors
/// A method that there is not, or a message that does not fit its type.
pub(super) fn spec(description: Json, services: &Services) -> Result<GrpcSpec, String> {
    let mut spec = GrpcSpec::try_from(description)?;
    for method in &mut spec.methods {
        let found = services.method(&method.method)?;
        if found.is_client_streaming() && found.is_server_streaming() {
            method.turns = GrpcTurns::EachMessage;
        }
        method.messages = messages(method, &found).map_err(|problem| format!("\"{}\": {problem}", method.method))?;
    }
    Ok(spec)
}

fn messages(method: &GrpcMethodSpec, found: &MethodDescriptor) -> Result<Vec<Bytes>, String> {
    let written = method.response.messages.as_deref().unwrap_or_default();
    let encoded = written.iter().map(|message| of_json(&found.output(), &message.to_string()).map(Bytes::from));
    complete(encoded.collect::<Result<_, _>>()?, method.response.status.unwrap_or_default(), found)
}

/// Where one message is due and none was given, it is one of no fields.
fn complete(mut messages: Vec<Bytes>, status: u16, found: &MethodDescriptor) -> Result<Vec<Bytes>, String> {
    if !found.is_server_streaming() && status == 0 && messages.is_empty() {
        messages.push(Bytes::new());
    }
    if !found.is_server_streaming() && status != 0 && !messages.is_empty() {
        return Err("a status that is not OK comes without a message".to_owned());
    }
    Ok(messages)
}

/// What a function of a stub answers for.
pub(super) struct AnsweredMethod {
    name: Rc<str>,
    method: MethodDescriptor,
}

impl AnsweredMethod {
    /// `None`: the method is not declared, which has been said before.
    pub(super) fn of(spec: &GrpcMethodSpec, services: &Services) -> Option<Self> {
        let method = services.method(&spec.method).ok()?;
        Some(Self { name: Rc::from(spec.method.as_str()), method })
    }

    pub(super) fn name(&self) -> &Rc<str> {
        &self.name
    }

    /// What `module/grpc-stubs.ts` made of the function's answer.
    pub(super) fn read<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>, draw: impl FnMut() -> u64) -> rquickjs::Result<Reply> {
        let Some(object) = value.as_object() else { return Ok(Reply::default()) };
        let status = object.get::<_, f64>("status")? as u16;
        let given: Array<'js> = object.get("messages")?;
        let encoded =
            given.iter::<Value<'js>>().map(|message| answer(ctx, &self.method, &self.name, &message?).map(|(_, bytes)| bytes.into()));
        let messages = complete(encoded.collect::<rquickjs::Result<_>>()?, status, &self.method);
        let messages = messages.map_err(|problem| Exception::throw_type(ctx, &format!("the answer of \"{}\": {problem}", self.name)))?;
        let details: Option<String> = object.get("details")?;
        let answer = GrpcAnswer {
            messages,
            pause_ns: every_ns(ctx, object.get("every")?)?,
            status,
            details: details.unwrap_or_default(),
            trailers: pairs(object.get("trailers")?),
        };
        Ok(Reply {
            headers: pairs(object.get("headers")?),
            grpc: Some(answer),
            delay_ns: delay_ns(ctx, object.get("delay")?, draw)?,
            ..Reply::default()
        })
    }
}

fn every_ns(ctx: &Ctx<'_>, every: Option<String>) -> rquickjs::Result<u64> {
    let parsed = every.as_deref().map(loadstone_units::duration::parse).transpose();
    parsed.map(Option::unwrap_or_default).map_err(|error| Exception::throw_range(ctx, &format!("every: {error}")))
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "GrpcCall")]
pub(super) struct GrpcCallObject {
    #[qjs(skip_trace)]
    request: loadstone_stub::StubRequest,
    #[qjs(skip_trace)]
    method: Rc<AnsweredMethod>,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
    /// Of the first message.
    #[qjs(skip_trace)]
    json: OnceCell<Result<String, String>>,
}

impl GrpcCallObject {
    pub(super) fn new(request: loadstone_stub::StubRequest, method: Rc<AnsweredMethod>, compiled: Rc<RefCell<Compiled>>) -> Self {
        Self { request, method, compiled, json: OnceCell::new() }
    }

    fn described(&self) -> String {
        format!("a call of \"{}\"", self.method.name)
    }

    fn unreadable(&self, ctx: &Ctx<'_>, problem: &str) -> rquickjs::Error {
        Exception::throw_message(ctx, &format!("{}: {problem}", self.described()))
    }

    fn body(&self, ctx: &Ctx<'_>) -> rquickjs::Result<&str> {
        let json = self.json.get_or_init(|| match self.request.messages.first() {
            Some(message) => decode(&self.method.method.input(), message.clone()),
            None => Ok(String::new()),
        });
        json.as_deref().map_err(|problem| self.unreadable(ctx, problem))
    }

    fn reading<T>(&self, ctx: &Ctx<'_>, read: impl FnOnce(&BodyReader<'_>) -> rquickjs::Result<T>) -> rquickjs::Result<T> {
        let bytes = self.body(ctx)?.as_bytes();
        let described = || self.described();
        read(&BodyReader { bytes, content_type: &|| None, compiled: &self.compiled, described: &described })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl GrpcCallObject {
    #[qjs(get)]
    fn method(&self) -> String {
        self.method.name.to_string()
    }

    #[qjs(get)]
    fn message<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self.body(&ctx)? {
            "" => Ok(Value::new_undefined(ctx)),
            json => ctx.json_parse(json),
        }
    }

    #[qjs(get)]
    fn messages<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Vec<Value<'js>>> {
        let input = self.method.method.input();
        let read = |message: &Bytes| {
            let json = decode(&input, message.clone()).map_err(|problem| self.unreadable(&ctx, &problem))?;
            ctx.json_parse(json)
        };
        self.request.messages.iter().map(read).collect()
    }

    #[qjs(get)]
    fn metadata<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        object_of(&ctx, fields_of(&self.request.headers))
    }

    fn header(&self, name: String) -> Option<String> {
        self.request.header(&name).map(str::to_owned)
    }

    #[qjs(get)]
    fn text(&self, ctx: Ctx<'_>) -> rquickjs::Result<String> {
        self.body(&ctx).map(str::to_owned)
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(&ctx, |body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.reading(&ctx, |body| body.json_all(&ctx, &path))
    }

    /// For messages of what is written in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
