//! What a stub of gRPC answers, as its test file gives it: held against the types of its method where it is written.

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

/// Which sides of a method stream: `[requests, responses]`.
fn streams(ctx: Ctx<'_>, name: String) -> rquickjs::Result<Vec<bool>> {
    let method = declared(&ctx, &name)?;
    Ok(vec![method.is_client_streaming(), method.is_server_streaming()])
}

/// An answer's message as JSON.
fn message<'js>(ctx: Ctx<'js>, name: String, given: Value<'js>) -> rquickjs::Result<String> {
    let method = declared(&ctx, &name)?;
    answer(&ctx, &method, &name, &given).map(|(json, _)| json)
}

fn fields<'js>(ctx: Ctx<'js>, given: Value<'js>) -> rquickjs::Result<Vec<Vec<String>>> {
    Ok(metadata(&ctx, &given)?.into_iter().map(|(name, value)| vec![name, value]).collect())
}

fn declared(ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<MethodDescriptor> {
    Services::declared(ctx).method(name).map_err(|problem| Exception::throw_type(ctx, &problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `stub` uses none of our crates and has a list of its own; a code of one must be the same status in the other.
    #[test]
    fn clients_and_stubs_call_the_statuses_the_same() {
        assert_eq!(GrpcStatus::NAMES, loadstone_stub::GRPC_STATUSES);
    }
}
