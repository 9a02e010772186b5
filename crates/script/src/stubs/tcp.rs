//! Stubs of TCP: the request object that their functions receive, and their answers.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use loadstone_stub::{Reply, Server, StubError, StubRequest, StubWiring, TcpSpec};
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Class, Ctx, JsLifetime, TypedArray, Value};

use super::kind::StubKind;
use super::reply::delay_ns;
use crate::body::BodyReader;
use crate::extract::cache::Compiled;
use crate::globals::bytes::bytes_of;
use crate::inbound::{StubEndpoint, StubProtocol};

/// The call that declares such a stub.
const CALL: &str = "stub.tcp(…)";

pub(super) static KIND: StubKind = StubKind {
    name: "tcp",
    call: CALL,
    read: |description, _, files| {
        let mut spec = TcpSpec::try_from(description)?;
        spec.read_files(files).and_then(|()| spec.check()).map_err(|problem| problem.to_string())?;
        Ok(Box::new(spec))
    },
    prototype: |ctx| Class::<TcpRequestObject>::prototype(ctx),
};

impl StubProtocol for TcpSpec {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn address(&self) -> Result<SocketAddr, StubError> {
        Self::address(self)
    }

    fn has_functions(&self) -> bool {
        self.handler
    }

    fn endpoints(&self) -> Vec<Box<dyn StubEndpoint>> {
        vec![Box::new(TcpEndpoint)]
    }

    fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError> {
        Self::start_at(self, wiring)
    }
}

/// A TCP stub has one endpoint.
struct TcpEndpoint;

impl StubEndpoint for TcpEndpoint {
    fn name(&self) -> &str {
        CALL
    }

    fn received<'js>(&self, ctx: &Ctx<'js>, request: StubRequest, compiled: &Rc<RefCell<Compiled>>) -> rquickjs::Result<Value<'js>> {
        Class::instance(ctx.clone(), TcpRequestObject { request, compiled: Rc::clone(compiled) }).map(Class::into_value)
    }

    /// Reads what `module/tcp-stubs.ts` returns.
    fn read<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>, draw: &mut dyn FnMut() -> u64) -> rquickjs::Result<Reply> {
        let Some(object) = value.as_object() else { return Ok(Reply::default()) };
        let answer: Value<'js> = object.get("answer")?;
        Ok(Reply {
            body: bytes_of(&answer).map(Into::into),
            closes: object.get("close")?,
            delay_ns: delay_ns(ctx, object.get("delay")?, draw)?,
            ..Reply::default()
        })
    }
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "TcpRequest")]
pub(super) struct TcpRequestObject {
    #[qjs(skip_trace)]
    request: StubRequest,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
}

impl TcpRequestObject {
    fn reading<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        let (described, content_type) = (|| self.description(), || None);
        read(&BodyReader { bytes: &self.request.body, content_type: &content_type, compiled: &self.compiled, described: &described })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl TcpRequestObject {
    #[qjs(get)]
    fn text<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<rquickjs::String<'js>> {
        rquickjs::String::from_str(ctx, &String::from_utf8_lossy(&self.request.body))
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, &self.request.body)
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json_all(&ctx, &path))
    }

    /// For messages of code in TypeScript.
    fn description(&self) -> String {
        "a request to the TCP stub".to_owned()
    }
}
