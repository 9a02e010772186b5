//! Converts a call of the script to a request.

use std::rc::Rc;

use loadstone_metrics::span::RequestLabel;
use loadstone_protocol::grpc::{GrpcRequest, PreparedGrpcCall};
use loadstone_protocol::http::{Origin, basic_authorization, path_prefix, resolve};
use rquickjs::{Ctx, Exception};
use url::Url;

use super::methods::{GrpcMethod, LastCall};
use super::options::{GrpcOptions, is_reserved};
use super::state::GrpcUser;
use crate::protocols::http::state::HttpScenario;
use crate::runtime::user::UserState;

/// A unary call with its time limit for the server. A call without options other than its message reuses the previous request.
pub(super) fn prepared(
    ctx: &Ctx<'_>,
    user: &UserState,
    client: &GrpcUser,
    method: &GrpcMethod,
    options: &GrpcOptions,
    timeout_ns: u64,
) -> rquickjs::Result<Rc<PreparedGrpcCall>> {
    let is_plain =
        options.metadata.is_empty() && options.authorization.is_none() && options.target.is_none() && !client.client.makes_traces();
    let settings = (timeout_ns, options.gzip);
    if is_plain
        && let Some(kept) = &*method.prepared.borrow()
        && Rc::ptr_eq(&kept.scenario, &user.scenario)
        && kept.settings == settings
    {
        return Ok(Rc::clone(&kept.call));
    }
    let request = request(ctx, user, client, (&method.path, &method.name), options, Some(timeout_ns))?;
    let call = Rc::new(PreparedGrpcCall::new(request, timeout_ns));
    if is_plain {
        *method.prepared.borrow_mut() = Some(LastCall { scenario: Rc::clone(&user.scenario), settings, call: Rc::clone(&call) });
    }
    Ok(call)
}

/// The URL and metadata of a call. `timeout_ns`: the time limit for the server.
pub(super) fn request(
    ctx: &Ctx<'_>,
    user: &UserState,
    client: &GrpcUser,
    (path, shown): (&Rc<str>, &str),
    options: &GrpcOptions,
    timeout_ns: Option<u64>,
) -> rquickjs::Result<GrpcRequest> {
    let scenario = HttpScenario::of(user);
    let mut of_target = None;
    let origin = match (&options.target, &scenario.base) {
        (Some(target), _) => {
            let url = resolve(None, target).map_err(|error| Exception::throw_message(ctx, &format!("target: {error}")))?;
            of_target = basic_authorization(&url);
            bare(ctx, shown, &url)?;
            Rc::new(Origin::of(&url))
        }
        (None, Some(base)) => {
            bare(ctx, shown, &base.url)?;
            Rc::clone(&base.origin)
        }
        (None, None) => {
            let problem = format!("{}: there is no target to call: set `target`, such as \"http://127.0.0.1:50051\"", shown);
            return Err(Exception::throw_message(ctx, &problem));
        }
    };
    let at_base = scenario.base.as_ref().is_some_and(|base| base.origin == origin);
    let authorization = match &options.authorization {
        Some(own) => own.as_deref(),
        None => of_target.as_deref().or(scenario.authorization.as_deref().filter(|_| at_base)),
    };
    let is_set = |name: &str| options.metadata.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let common = scenario.headers.iter().filter(|(name, _)| !is_reserved(&name.to_ascii_lowercase()) && !is_set(name)).cloned();
    let mut metadata: Vec<(String, String)> = common.collect();
    if let Some(value) = authorization.filter(|_| !is_set("authorization")) {
        metadata.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        metadata.push(("authorization".to_owned(), value.to_owned()));
    }
    metadata.extend(options.metadata.iter().cloned());
    user.worker.learnt.of_request(&user.worker.loaded.plan.secrets, &metadata, "", b"");
    let name = options.name.as_deref().unwrap_or(shown);
    let label = if client.client.makes_traces() { RequestLabel::of(&user.scenario.name, name) } else { RequestLabel::default() };
    Ok(GrpcRequest {
        origin,
        path: Rc::clone(path),
        metadata,
        timeout_ns,
        gzip: options.gzip,
        message_bytes_max: scenario.body_bytes_max,
        label,
        source: options.source,
    })
}

/// The path of a call is that of its method.
fn bare(ctx: &Ctx<'_>, shown: &str, target: &Url) -> rquickjs::Result<()> {
    let prefix = path_prefix(target);
    if prefix.is_empty() {
        return Ok(());
    }
    let origin = target.origin().ascii_serialization();
    let problem =
        format!("{shown}: the target has the path `{prefix}`, which a gRPC call cannot have: set the call's option `target: \"{origin}\"`");
    Err(Exception::throw_message(ctx, &problem))
}

/// For display: `http://host:port/package.Service/Method`.
pub(super) fn address(request: &GrpcRequest) -> String {
    let Origin { tls, host, port } = &*request.origin;
    let scheme = if *tls { "https" } else { "http" };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    format!("{scheme}://{host}:{port}{}", request.path)
}
