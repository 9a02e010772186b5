//! The Rust half of k6's modules: functions on the hidden object `__k6`, which the TypeScript in `js` uses.

mod client_tls;
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
mod http_response;
mod in_flight;
mod jar;
mod metrics;
mod redis;
mod redis_cluster;
mod redis_servers;
mod secrets;
mod steps;
mod subtle;
mod trace;
mod websocket;

pub(crate) use crypto::bytes_of;
use rquickjs::{Ctx, Exception, Function, Object};

use crate::program_modules::ProgramModules;
use crate::realm_inputs::RealmInputs;

/// Puts `__k6` on the global object. Each VU has its own copy of all that is on it, so the functions of rare modules are added by `__k6.add(part)`.
pub(crate) fn install(ctx: &Ctx<'_>, world: &RealmInputs) -> rquickjs::Result<()> {
    let native = Object::new(ctx.clone())?;
    native.set("load", loader(ctx, world)?)?;
    native.set("add", adder(ctx, world)?)?;
    crypto::install(ctx, &native)?;
    data::install(ctx, &native, world)?;
    native.set("vu", world.id as f64)?;
    files::install(ctx, &native, world)?;
    http::install(ctx, &native)?;
    steps::install(ctx, &native)?;
    ctx.globals().set("__k6", native)
}

/// `__k6.load(id)` evaluates a module. It awaits nothing, so it has been evaluated when this returns.
fn loader<'js>(ctx: &Ctx<'js>, world: &RealmInputs) -> rquickjs::Result<Function<'js>> {
    let modules = ProgramModules::of(world);
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: String| modules.declare(&ctx, &id)?.eval().map(drop))
}

fn adder<'js>(ctx: &Ctx<'js>, world: &RealmInputs) -> rquickjs::Result<Function<'js>> {
    let world = world.clone();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, part: String| {
        let native: Object<'js> = ctx.globals().get("__k6")?;
        match part.as_str() {
            "data" => data::install_arrays(&ctx, &native, &world),
            "digests" => crypto::install_digests(&ctx, &native),
            "execution" => execution::install(&ctx, &native, &world),
            "grpc" => grpc::install(&ctx, &native, &world),
            "html" => html::install(&ctx, &native),
            "http-parts" => http::install_parts(&ctx, &native),
            "metrics" => metrics::install(&ctx, &native, &world),
            "redis" => redis::install(&ctx, &native),
            "secrets" => secrets::install(&ctx, &native, &world),
            "subtle" => subtle::install(&ctx, &native),
            "websocket" => websocket::install(&ctx, &native),
            other => Err(Exception::throw_internal(&ctx, &format!("there is no part {other}"))),
        }
    })
}
