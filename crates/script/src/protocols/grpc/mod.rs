//! gRPC: `user.grpc(…)` for calls with one message and one response, `user.grpcStream(…)` for the others, and their results.
//!
//! Read `methods` (the callable methods), `codec`, `direct` and `json` (objects to messages and back), `call` (a unary call) and `conclude`
//! (its response is judged and recorded); then `stream`. Services are declared with `proto(…)`, which is data (`data::protos`), or
//! described by the server (`reflection`, through `lookup`). `answers` checks the answers of stubs, and `stubs::grpc` sends them.
//! Deliberately absent: the format on the wire (`loadstone_protocol::grpc`).

mod answers;
mod build;
mod call;
mod codec;
mod conclude;
mod direct;
mod expect;
pub(crate) mod json;
pub(crate) mod known;
mod lookup;
mod methods;
mod misfit;
mod options;
pub(crate) mod reflection;
mod replacer;
mod response;
pub(crate) mod services;
mod state;
mod stream;

use loadstone_metrics::Nanos;
use rquickjs::{Class, Ctx, Value};

use super::messages;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::parts::StateParts;
use crate::runtime::verb;
use methods::GrpcRealm;
use response::GrpcResponseObject;
use stream::object::GrpcStreamObject;

pub(crate) struct Grpc;

impl Capability for Grpc {
    fn sources(&self) -> &'static [ModuleSource] {
        messages::SOURCES
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        answers::install(ctx, &natives.native)?;
        verb::install::<call::CallUnary>(ctx, &natives.users)?;
        verb::install::<call::CallStepped>(ctx, &natives.users)?;
        verb::install::<stream::open::OpenGrpcStream>(ctx, &natives.users)?;
        if let Some(prototype) = Class::<GrpcResponseObject>::prototype(ctx)? {
            natives.extractable(prototype)?;
        }
        messages::install(ctx, natives, Class::<GrpcStreamObject>::prototype(ctx)?)
    }

    fn open_realm(&self, ctx: &Ctx<'_>, parts: &mut StateParts) -> rquickjs::Result<()> {
        parts.insert(GrpcRealm::new(ctx)?);
        Ok(())
    }

    fn due_of(&self, value: &Value<'_>) -> Option<Nanos> {
        Class::<GrpcResponseObject>::from_value(value).ok().map(|response| response.borrow().due())
    }
}
