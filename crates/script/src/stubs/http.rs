//! Stubs of HTTP: the request object that their functions receive, and their answers.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::rc::Rc;

use loadstone_stub::{Reply, Server, StubError, StubRequest, StubSpec, StubWiring};
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Class, Ctx, Exception, JsLifetime, Object, TypedArray, Value};

use super::kind::StubKind;
use super::reply::{delay_ns, fields_of, pairs};
use crate::body::BodyReader;
use crate::extract::cache::Compiled;
use crate::fields::{define, object_of};
use crate::inbound::{StubEndpoint, StubProtocol};

pub(super) static KIND: StubKind = StubKind {
    name: "http",
    call: "stub.http(…)",
    read: |description, _, files| {
        let mut spec = StubSpec::try_from(description)?;
        spec.read_files(files).and_then(|()| spec.check()).map_err(|problem| problem.to_string())?;
        Ok(Box::new(spec))
    },
    prototype: |ctx| Class::<StubRequestObject>::prototype(ctx),
};

impl StubProtocol for StubSpec {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn address(&self) -> Result<SocketAddr, StubError> {
        Self::address(self)
    }

    fn has_functions(&self) -> bool {
        self.routes.iter().any(|route| route.handler)
    }

    fn endpoints(&self) -> Vec<Box<dyn StubEndpoint>> {
        let endpoint = |route: &str| Box::new(HttpEndpoint { route: Rc::from(route) }) as Box<dyn StubEndpoint>;
        self.routes.iter().map(|route| endpoint(&route.route)).collect()
    }

    fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError> {
        Self::start_at(self, wiring)
    }
}

struct HttpEndpoint {
    route: Rc<str>,
}

impl StubEndpoint for HttpEndpoint {
    fn name(&self) -> &str {
        &self.route
    }

    fn received<'js>(&self, ctx: &Ctx<'js>, request: StubRequest, compiled: &Rc<RefCell<Compiled>>) -> rquickjs::Result<Value<'js>> {
        let object = StubRequestObject { request, route: Rc::clone(&self.route), compiled: Rc::clone(compiled) };
        Class::instance(ctx.clone(), object).map(Class::into_value)
    }

    /// Reads what `module/stubs.ts` returns.
    fn read<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>, draw: &mut dyn FnMut() -> u64) -> rquickjs::Result<Reply> {
        let Some(object) = value.as_object() else { return Ok(Reply::default()) };
        let status = object.get::<_, Option<f64>>("status")?;
        if let Some(status) = status.filter(|status| !(200.0..=999.0).contains(status) || status.fract() != 0.0) {
            return Err(Exception::throw_range(ctx, &format!("a status of {status} cannot be answered: use 200 to 999")));
        }
        Ok(Reply {
            status: status.map(|status| status as u16),
            headers: pairs(object.get("headers")?),
            body: object.get::<_, Option<String>>("body")?.map(Into::into),
            delay_ns: delay_ns(ctx, object.get("delay")?, draw)?,
            ..Reply::default()
        })
    }
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "StubRequest")]
pub(super) struct StubRequestObject {
    #[qjs(skip_trace)]
    request: StubRequest,
    #[qjs(skip_trace)]
    route: Rc<str>,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
}

impl StubRequestObject {
    fn described(&self) -> String {
        format!("a request to \"{}\"", self.route)
    }

    fn reading<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        let described = || self.described();
        let content_type = || self.request.header("content-type");
        read(&BodyReader { bytes: &self.request.body, content_type: &content_type, compiled: &self.compiled, described: &described })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl StubRequestObject {
    #[qjs(get)]
    fn method(&self) -> String {
        self.request.method.clone()
    }

    #[qjs(get)]
    fn path(&self) -> String {
        self.request.path.clone()
    }

    #[qjs(get)]
    fn route(&self) -> String {
        self.route.to_string()
    }

    #[qjs(get)]
    fn parameters<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx)?;
        for (name, value) in &self.request.parameters {
            define(&object, name, value.as_str())?;
        }
        Ok(object)
    }

    #[qjs(get)]
    fn query<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx)?;
        let mut seen = HashSet::new();
        for (name, value) in url::form_urlencoded::parse(self.request.query.as_bytes()) {
            // The first of several values, like `URLSearchParams.get`.
            if seen.insert(name.clone()) {
                define(&object, &name, &*value)?;
            }
        }
        Ok(object)
    }

    #[qjs(get)]
    fn headers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        object_of(&ctx, fields_of(&self.request.headers))
    }

    fn header(&self, name: String) -> Option<String> {
        self.request.header(&name).map(str::to_owned)
    }

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
        self.described()
    }
}
