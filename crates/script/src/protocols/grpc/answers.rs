//! The answers of gRPC stubs in test files, checked against the types of their methods.

use loadstone_protocol::grpc::GrpcStatus;
use prost_reflect::MethodDescriptor;
use rquickjs::{Ctx, Exception, Function, Object, Value};

use super::json::answer;
use super::options::metadata;
use super::services::Services;

/// Puts `grpcMethod(name)`, `grpcMessage(name, message)`, `grpcMetadata(values)` and the names of the statuses, by code, on the native object.
pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("grpcStatuses", GrpcStatus::NAMES.to_vec())?;
    native.set("grpcMethod", Function::new(ctx.clone(), streams)?)?;
    native.set("grpcMessage", Function::new(ctx.clone(), message)?)?;
    native.set("grpcMetadata", Function::new(ctx.clone(), fields)?)
}

/// The sides of a method that stream: `[requests, responses]`.
fn streams(ctx: Ctx<'_>, name: String) -> rquickjs::Result<Vec<bool>> {
    let method = declared(&ctx, &name)?;
    Ok(vec![method.is_client_streaming(), method.is_server_streaming()])
}

/// An answer's message as JSON.
fn message<'js>(ctx: Ctx<'js>, name: String, value: Value<'js>) -> rquickjs::Result<String> {
    let method = declared(&ctx, &name)?;
    answer(&ctx, &method, &name, &value).map(|(json, _)| json)
}

fn fields<'js>(ctx: Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Vec<Vec<String>>> {
    Ok(metadata(&ctx, &value)?.into_iter().map(|(name, value)| vec![name, value]).collect())
}

fn declared(ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<MethodDescriptor> {
    Services::declared(ctx).method(name).map_err(|problem| Exception::throw_type(ctx, &problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `stub` uses no other crate of this project and has its own list. Equal codes must be equal statuses in both.
    #[test]
    fn clients_and_stubs_use_the_same_status_names() {
        assert_eq!(GrpcStatus::NAMES, loadstone_stub::GRPC_STATUSES);
    }
}
