//! The Rust half of k6's modules: functions on the hidden object `__k6`, which the TypeScript in `js` uses.

mod crypto;
mod data;
mod error_code;
mod execution;
mod files;
mod grpc;
mod grpc_call;
mod grpc_client;
mod html;
mod http;
mod in_flight;
mod metrics;
mod redis;
mod secrets;
mod steps;
mod subtle;
mod trace;
mod websocket;

pub(crate) use crypto::bytes_of;
use rquickjs::{Ctx, Object};

use crate::realm_inputs::RealmInputs;

/// Puts `__k6` on the global object.
pub(crate) fn install(ctx: &Ctx<'_>, world: &RealmInputs) -> rquickjs::Result<()> {
    let native = Object::new(ctx.clone())?;
    crypto::install(ctx, &native)?;
    data::install(ctx, &native, world)?;
    execution::install(ctx, &native, world)?;
    files::install(ctx, &native, world)?;
    grpc::install(ctx, &native, world)?;
    html::install(ctx, &native, world)?;
    http::install(ctx, &native)?;
    metrics::install(ctx, &native, world)?;
    redis::install(ctx, &native)?;
    secrets::install(ctx, &native, world)?;
    steps::install(ctx, &native)?;
    subtle::install(ctx, &native)?;
    websocket::install(ctx, &native)?;
    ctx.globals().set("__k6", native)
}
