//! `k6/net/grpc`: loads services, and connects clients. `grpc_call` sends their calls. The classes are in TypeScript.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use loadstone_protocol::ClientTls;
use loadstone_protocol::grpc::{GrpcClient, PreparedGrpcCall};
use loadstone_protocol::http::{ClientOptions, Origin};
use loadstone_script::{AccessKind, GuestProtos, read_regular};
use rquickjs::{Ctx, Exception, Function, Object};
use url::Url;

use super::client_tls::{client_tls, network_with};
use super::grpc_call;
use super::grpc_client::{ConnectedClient, ScriptClient, ScriptClients, client_of, metadata_of};
use crate::realm_inputs::RealmInputs;
use crate::turn::Turn;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    let clients = ScriptClients::default();
    let all = Rc::clone(&clients);
    native.set("grpcClient", Function::new(ctx.clone(), move || all.add(Rc::default()))?)?;
    let (all, inputs) = (Rc::clone(&clients), world.clone());
    let load =
        move |ctx: Ctx<'js>, number: u32, imports: Vec<String>, files: Vec<String>| load(&ctx, &all, &inputs, number, &imports, &files);
    native.set("grpcLoad", Function::new(ctx.clone(), load)?)?;
    let (all, inputs) = (Rc::clone(&clients), world.clone());
    let load_set = move |ctx: Ctx<'js>, number: u32, file: String| load_set(&ctx, &all, &inputs, number, &file);
    native.set("grpcLoadSet", Function::new(ctx.clone(), load_set)?)?;
    let all = Rc::clone(&clients);
    native.set(
        "grpcConnect",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, number: u32, call: Object<'js>| connect(&ctx, &all, number, &call))?,
    )?;
    let all = Rc::clone(&clients);
    native.set("grpcClose", Function::new(ctx.clone(), move |number: u32| close(&all, number))?)?;
    grpc_call::install(ctx, native, &clients)
}

/// Compiled files of all VUs, by path and import folders.
fn load<'js>(
    ctx: &Ctx<'js>,
    clients: &ScriptClients,
    world: &RealmInputs,
    number: u32,
    imports: &[String],
    files: &[String],
) -> rquickjs::Result<Vec<Object<'js>>> {
    let (client, folder) = (in_init(ctx, clients, number)?, world.program.folder_path());
    let roots: Vec<PathBuf> = match imports {
        [] => vec![folder.to_owned()],
        imports => imports.iter().map(|import| world.file(folder, import)).collect(),
    };
    let mut methods = Vec::new();
    for file in files {
        let places = || roots.iter().map(|root| world.file(root, file));
        let path = places().find(|path| path.is_file()).unwrap_or_else(|| world.file(&roots[0], file));
        let protos = shared(ctx, world, &path, || GuestProtos::of_file(&path, &roots))?;
        let all: Vec<PathBuf> = roots.iter().cloned().chain(path.parent().map(Path::to_owned)).collect();
        world.note_opened(protos.files(&all).into_iter().chain([path]));
        methods.extend(described(ctx, &protos)?);
        client.services.add(protos);
    }
    Ok(methods)
}

fn load_set<'js>(
    ctx: &Ctx<'js>,
    clients: &ScriptClients,
    world: &RealmInputs,
    number: u32,
    file: &str,
) -> rquickjs::Result<Vec<Object<'js>>> {
    let client = in_init(ctx, clients, number)?;
    let path = world.file(world.program.folder_path(), file);
    let read = || {
        let set = read_regular(&path).map_err(|error| error.to_string()).and_then(|bytes| GuestProtos::of_descriptor_set(&bytes));
        set.map_err(|problem| format!("{}: {problem}", path.display()))
    };
    let protos = shared(ctx, world, &path, read)?;
    world.note_opened([path.clone()]);
    let methods = described(ctx, &protos)?;
    client.services.add(protos);
    Ok(methods)
}

/// Descriptors that the first VU reads for all. The problem names the file.
fn shared(
    ctx: &Ctx<'_>,
    world: &RealmInputs,
    path: &Path,
    read: impl FnOnce() -> Result<GuestProtos, String>,
) -> rquickjs::Result<GuestProtos> {
    world.access.check(AccessKind::Read, path).map_err(|refused| Exception::throw_message(ctx, &refused.to_string()))?;
    let key = path.display().to_string();
    let shared = Arc::clone(&world.shared);
    let Ok(mut known) = shared.protos.lock() else { return Err(Exception::throw_message(ctx, "another VU failed to load the file")) };
    if let Some(protos) = known.get(&key) {
        return Ok(protos.clone());
    }
    let protos = read().map_err(|problem| Exception::throw_message(ctx, &problem))?;
    known.insert(key, protos.clone());
    Ok(protos)
}

/// k6's description of each method.
fn described<'js>(ctx: &Ctx<'js>, protos: &GuestProtos) -> rquickjs::Result<Vec<Object<'js>>> {
    let object = |(name, streams_requests, streams_responses): (String, bool, bool)| {
        let (service, method) = name.split_once('/').unwrap_or((&name, ""));
        let (package, service) = service.rsplit_once('.').unwrap_or(("", service));
        let object = Object::new(ctx.clone())?;
        object.set("package", package)?;
        object.set("service", service)?;
        object.set("fullMethod", format!("/{name}"))?;
        object.set("name", method)?;
        object.set("isClientStream", streams_requests)?;
        object.set("isServerStream", streams_responses)?;
        Ok(object)
    };
    protos.methods().into_iter().map(object).collect()
}

fn in_init(ctx: &Ctx<'_>, clients: &ScriptClients, number: u32) -> rquickjs::Result<Rc<ScriptClient>> {
    if Turn::is_running(ctx) {
        return Err(Exception::throw_message(ctx, "load must be called in the init context (the top level of the script)"));
    }
    client_of(ctx, clients, number)
}

/// Connects, and throws if the server cannot be reached.
fn connect<'js>(ctx: &Ctx<'js>, clients: &ScriptClients, number: u32, call: &Object<'js>) -> rquickjs::Result<()> {
    let mut turn = Turn::running(ctx, "connect of a gRPC client")?;
    let script_client = client_of(ctx, clients, number)?;
    let address: String = call.get("address")?;
    let plain: bool = call.get("plaintext")?;
    let refuse = |problem: &str| Exception::throw_message(ctx, &format!("connect(\"{address}\"): {problem}"));
    let written =
        if address.contains("://") { return Err(refuse("write HOST:PORT, without a scheme")) } else { format!("https://{address}") };
    let url = Url::parse(&written).map_err(|error| refuse(&error.to_string()))?;
    let origin = Rc::new(Origin { tls: !plain, ..Origin::of(&url) });
    let timeout_ns = (call.get::<_, f64>("timeout")? * 1e6) as u64;
    let limit: Option<f64> = call.get("maxReceiveSize")?;
    let sent_limit: Option<f64> = call.get("maxSendSize")?;
    let authority: Option<String> = call.get("authority")?;
    let server_name = match &authority {
        Some(authority) => {
            let url =
                Url::parse(&format!("https://{authority}")).map_err(|error| refuse(&format!("authority \"{authority}\": {error}")))?;
            Some(Origin::of(&url).host)
        }
        None => None,
    };
    let tls = ClientTls { server_name, ..client_tls(call.get("tls")?)? };
    let network = network_with(ctx, &turn.vu().worker.network, &tls)?;
    let connected = ConnectedClient {
        client: GrpcClient::new(network, ClientOptions::default()),
        origin,
        authority,
        reflects: call.get("reflect")?,
        reflection_metadata: metadata_of(call.get("reflectMetadata")?),
        message_bytes_max: limit.map_or(turn.vu().worker.test.plan.options.body_bytes_max, |bytes| bytes.max(0.0) as u64),
        sent_bytes_max: sent_limit.map(|bytes| bytes as u64).filter(|bytes| *bytes > 0),
    };
    let probe = PreparedGrpcCall::new(connected.request("/", Vec::new(), Some(timeout_ns)), timeout_ns);
    if turn.vu().worker.network.limits_connections() {
        turn.wait(ctx, connected.client.admit(&probe))?;
    }
    turn.wait(ctx, connected.client.connect(&probe))?.map_err(|failure| refuse(&failure.message))?;
    *script_client.connected.borrow_mut() = Some(Rc::new(connected));
    Ok(())
}

fn close(clients: &ScriptClients, number: u32) {
    if let Some(connected) = clients.get(number).and_then(|client| client.connected.take()) {
        connected.client.close();
    }
}
