//! Stubs of gRPC: their messages encoded, the object that their functions receive, and what these answer.

use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_stub::{GrpcAnswer, GrpcMethodSpec, GrpcSpec, GrpcTurns, Reply, Server, StubError, StubRequest, StubWiring};
use prost_reflect::{DescriptorPool, MethodDescriptor};
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Array, Class, Ctx, Exception, JsLifetime, Object, Value};
use serde_json::Value as Json;

use super::kind::StubKind;
use super::reflection;
use super::reply::{delay_ns, fields_of, pairs};
use crate::body::BodyReader;
use crate::extract::cache::Compiled;
use crate::fields::object_of;
use crate::inbound::{StubEndpoint, StubProtocol};
use crate::protocols::grpc::json::{answer, decode, of_json};
use crate::protocols::grpc::services::Services;

pub(super) static KIND: StubKind = StubKind {
    name: "grpc",
    call: "stub.grpc(…)",
    read: |description, services, files| {
        let mut stub = GrpcStub::read(description, services)?;
        stub.spec.read_files(files).and_then(|()| stub.spec.check()).map_err(|problem| problem.to_string())?;
        Ok(Box::new(stub))
    },
    prototype: |ctx| Class::<GrpcCallObject>::prototype(ctx),
};

/// A stub with its messages encoded.
#[derive(Debug)]
struct GrpcStub {
    spec: GrpcSpec,
    /// Of the methods of the specification, in their order.
    methods: Vec<MethodDescriptor>,
    /// The services that it describes.
    pools: Vec<DescriptorPool>,
}

impl GrpcStub {
    /// # Errors
    /// A method does not exist, or a message does not fit its type.
    fn read(description: Json, services: &Services) -> Result<Self, String> {
        let mut spec = GrpcSpec::try_from(description)?;
        let mut methods = Vec::with_capacity(spec.methods.len());
        for method in &mut spec.methods {
            let found = services.method(&method.method)?;
            if found.is_client_streaming() && found.is_server_streaming() {
                method.turns = GrpcTurns::EachMessage;
            }
            method.messages = messages(method, &found).map_err(|problem| format!("\"{}\": {problem}", method.method))?;
            methods.push(found);
        }
        Ok(Self { spec, methods, pools: services.pools() })
    }
}

impl StubProtocol for GrpcStub {
    fn name(&self) -> Option<&str> {
        self.spec.name.as_deref()
    }

    fn address(&self) -> Result<SocketAddr, StubError> {
        self.spec.address()
    }

    fn has_functions(&self) -> bool {
        self.spec.methods.iter().any(|method| method.handler)
    }

    fn endpoints(&self) -> Vec<Box<dyn StubEndpoint>> {
        let methods = self.spec.methods.iter().zip(&self.methods);
        let answered = methods.map(|(spec, method)| AnsweredMethod { name: Rc::from(spec.method.as_str()), method: method.clone() });
        answered.map(|method| Box::new(GrpcEndpoint(Rc::new(method))) as Box<dyn StubEndpoint>).collect()
    }

    fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError> {
        self.spec.start_at(StubWiring { grpc_methods: reflection::methods(&self.pools, &self.spec.methods), ..wiring })
    }
}

fn messages(method: &GrpcMethodSpec, found: &MethodDescriptor) -> Result<Vec<Bytes>, String> {
    let written = method.response.messages.as_deref().unwrap_or_default();
    let encoded = written.iter().map(|message| of_json(&found.output(), &message.to_string()).map(Bytes::from));
    complete(encoded.collect::<Result<_, _>>()?, method.response.status.unwrap_or_default(), found)
}

/// If one message is required and there is none, it is a message without fields.
fn complete(mut messages: Vec<Bytes>, status: u16, found: &MethodDescriptor) -> Result<Vec<Bytes>, String> {
    if !found.is_server_streaming() && status == 0 && messages.is_empty() {
        messages.push(Bytes::new());
    }
    if !found.is_server_streaming() && status != 0 && !messages.is_empty() {
        return Err("a status other than OK has no message".to_owned());
    }
    Ok(messages)
}

/// A method that a function of a stub may answer.
struct AnsweredMethod {
    name: Rc<str>,
    method: MethodDescriptor,
}

struct GrpcEndpoint(Rc<AnsweredMethod>);

impl StubEndpoint for GrpcEndpoint {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn received<'js>(&self, ctx: &Ctx<'js>, request: StubRequest, compiled: &Rc<RefCell<Compiled>>) -> rquickjs::Result<Value<'js>> {
        let object = GrpcCallObject { request, method: Rc::clone(&self.0), compiled: Rc::clone(compiled), json: OnceCell::new() };
        Class::instance(ctx.clone(), object).map(Class::into_value)
    }

    /// Reads what `module/grpc-stubs.ts` returns.
    fn read<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>, draw: &mut dyn FnMut() -> u64) -> rquickjs::Result<Reply> {
        let Some(object) = value.as_object() else { return Ok(Reply::default()) };
        let AnsweredMethod { name, method } = &*self.0;
        let status = object.get::<_, f64>("status")? as u16;
        let written: Array<'js> = object.get("messages")?;
        let encoded = written.iter::<Value<'js>>().map(|message| answer(ctx, method, name, &message?).map(|(_, bytes)| bytes.into()));
        let messages = complete(encoded.collect::<rquickjs::Result<_>>()?, status, method);
        let messages = messages.map_err(|problem| Exception::throw_type(ctx, &format!("the answer of \"{name}\": {problem}")))?;
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
    request: StubRequest,
    #[qjs(skip_trace)]
    method: Rc<AnsweredMethod>,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
    /// Of the first message.
    #[qjs(skip_trace)]
    json: OnceCell<Result<String, String>>,
}

impl GrpcCallObject {
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

    /// For messages of code in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
