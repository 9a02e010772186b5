//! Reads the options of `user.grpc(…)` and `user.grpcStream(…)`.

use std::net::IpAddr;

use base64::Engine;
use loadstone_metrics::Tags;
use rquickjs::{Ctx, Value};

use super::expect::GrpcExpectation;
use crate::fields::define;
use crate::globals::bytes::bytes_of;
use crate::protocols::http::options::{authorization, source};
use crate::protocols::messages::options::drops_unread;
use crate::protocols::options::{duration, each, pairs, text, unknown, wrong};
use crate::runtime::user::UserState;
use crate::tags;

const UNARY: &[&str] = &["name", "metadata", "auth", "timeout", "expect", "compression", "target", "tags", "source"];
const STREAM: &[&str] = &["name", "metadata", "auth", "timeout", "expect", "compression", "target", "tags", "source", "unread"];

/// The options of a call, in addition to its message.
#[derive(Default)]
pub(super) struct GrpcOptions {
    pub(super) name: Option<String>,
    pub(super) metadata: Vec<(String, String)>,
    /// `Some(None)`: no limit.
    pub(super) authorization: Option<Option<String>>,
    pub(super) timeout_ns: Option<u64>,
    pub(super) expect: GrpcExpectation,
    pub(super) gzip: bool,
    pub(super) target: Option<String>,
    pub(super) source: Option<IpAddr>,
    pub(super) tags: Tags,
    pub(super) drops_unread: bool,
}

impl GrpcOptions {
    pub(super) fn of_call<'js>(ctx: &Ctx<'js>, user: &UserState, object: &Value<'js>) -> rquickjs::Result<Self> {
        Self::read(ctx, user, object, "a call", UNARY)
    }

    pub(super) fn of_stream<'js>(ctx: &Ctx<'js>, user: &UserState, object: &Value<'js>) -> rquickjs::Result<Self> {
        Self::read(ctx, user, object, "a stream", STREAM)
    }

    fn read<'js>(ctx: &Ctx<'js>, user: &UserState, object: &Value<'js>, what: &str, known: &[&str]) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, Some(object), what, |key, value| {
            match key {
                key if !known.contains(&key) => return Err(unknown(ctx, what, key, known)),
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "metadata" => options.metadata = metadata(ctx, &value)?,
                "auth" => options.authorization = Some(authorization(ctx, &value)?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "expect" => options.expect = GrpcExpectation::read(ctx, user, &value)?,
                "compression" => match text(ctx, &value, "compression")?.as_str() {
                    "gzip" => options.gzip = true,
                    "none" => options.gzip = false,
                    _ => return Err(wrong(ctx, "compression: expected \"gzip\" or \"none\"")),
                },
                "target" => options.target = Some(text(ctx, &value, "target")?),
                "source" => options.source = Some(source(ctx, &value)?),
                "tags" => options.tags = tags::read(ctx, &value, &what)?,
                _ => options.drops_unread = drops_unread(ctx, &value)?,
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// Names and values. Values are bytes if the name ends in `-bin` (specification, "Custom-Metadata").
pub(super) fn metadata<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<(String, String)>> {
    let object = value.as_object().ok_or_else(|| wrong(ctx, "metadata: expected an object of names and values"))?;
    let mut lines = Vec::new();
    for property in object.props::<String, Value<'js>>() {
        let (name, value) = property?;
        let name = name.to_ascii_lowercase();
        if is_reserved(&name) {
            return Err(wrong(ctx, &format!("metadata: `{name}` is set by gRPC")));
        }
        let is_binary = name.ends_with("-bin");
        let bytes = if value.is_string() { None } else { value.as_object().and_then(|_| bytes_of(&value)) };
        match bytes {
            Some(bytes) if is_binary => lines.push((name, base64::engine::general_purpose::STANDARD_NO_PAD.encode(bytes))),
            Some(_) => return Err(wrong(ctx, &format!("metadata: `{name}` must be text; only names that end in -bin hold bytes"))),
            None if is_binary => return Err(wrong(ctx, &format!("metadata: `{name}` ends in -bin, so its value must be a Uint8Array"))),
            None => {
                let one = rquickjs::Object::new(ctx.clone())?;
                define(&one, &name, value)?;
                lines.extend(pairs(ctx, one.as_value(), "metadata")?);
            }
        }
    }
    Ok(lines)
}

/// Names that are not metadata.
pub(super) fn is_reserved(name: &str) -> bool {
    name.starts_with("grpc-")
        || name.starts_with(':')
        || matches!(name, "te" | "content-type" | "content-length" | "accept-encoding" | "host")
}
