//! What a function of a stub answers for: the object that it is given, and how its answer is read.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_stub::{Reply, StubRequest};
use rquickjs::{Class, Ctx, Value};

use super::grpc::{AnsweredMethod, GrpcCallObject};
use super::kind::StubKind;
use super::reply;
use super::request::StubRequestObject;
use super::tcp::TcpRequestObject;
use crate::extract::cache::Compiled;
use crate::protocols::grpc::services::Services;
use crate::runtime::capability::Natives;

/// An endpoint of a stub.
#[derive(Clone)]
pub(super) enum AnsweredEndpoint {
    Route(Rc<str>),
    Method(Rc<AnsweredMethod>),
    Tcp,
}

impl AnsweredEndpoint {
    /// The endpoints of a stub, in their order.
    pub(super) fn all(kind: &StubKind, services: &Services) -> Vec<Self> {
        match kind {
            StubKind::Http(spec) => spec.routes.iter().map(|route| Self::Route(Rc::from(route.route.as_str()))).collect(),
            StubKind::Grpc(spec, _) => spec
                .methods
                .iter()
                .filter_map(|method| AnsweredMethod::of(method, services))
                .map(|method| Self::Method(Rc::new(method)))
                .collect(),
            StubKind::Tcp(_) => vec![Self::Tcp],
        }
    }

    /// Lets scripts take the texts of what they are given apart.
    pub(super) fn install<'js>(ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        let prototypes = [
            Class::<StubRequestObject>::prototype(ctx)?,
            Class::<GrpcCallObject>::prototype(ctx)?,
            Class::<TcpRequestObject>::prototype(ctx)?,
        ];
        prototypes.into_iter().flatten().try_for_each(|prototype| natives.extractable(prototype))
    }

    /// For messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Route(route) => route,
            Self::Method(method) => method.name(),
            Self::Tcp => "stub.tcp(…)",
        }
    }

    /// What the function is given.
    pub(super) fn received<'js>(
        &self,
        ctx: &Ctx<'js>,
        request: StubRequest,
        compiled: &Rc<RefCell<Compiled>>,
    ) -> rquickjs::Result<Value<'js>> {
        let compiled = Rc::clone(compiled);
        match self {
            Self::Route(route) => {
                Class::instance(ctx.clone(), StubRequestObject::new(request, Rc::clone(route), compiled)).map(Class::into_value)
            }
            Self::Method(method) => {
                Class::instance(ctx.clone(), GrpcCallObject::new(request, Rc::clone(method), compiled)).map(Class::into_value)
            }
            Self::Tcp => Class::instance(ctx.clone(), TcpRequestObject::new(request, compiled)).map(Class::into_value),
        }
    }

    /// What a function's module of TypeScript made of its answer.
    pub(super) fn read<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>, draw: impl FnMut() -> u64) -> rquickjs::Result<Reply> {
        match self {
            Self::Route(_) => reply::of_http(ctx, value, draw),
            Self::Method(method) => method.read(ctx, value, draw),
            Self::Tcp => reply::of_tcp(ctx, value, draw),
        }
    }
}
