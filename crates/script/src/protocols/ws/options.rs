//! Reads the options of `user.ws(…)`.

use rquickjs::{Array, Ctx, FromJs, Value};

use crate::protocols::http::options::{AUTH, RequestOptions, authorization, source};
use crate::protocols::messages::options::drops_unread;
use crate::protocols::options::{duration, each, headers, not_in, switch, text, wrong};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static SOCKET: OptionSet = OptionSet {
    of: "a WebSocket",
    known: &["name", "headers", "auth", "timeout", "protocols", "compression", "unread", "keep", "tags", "source"],
    within: &[("auth", &AUTH)],
};

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "ws", argument: 1, options: &SOCKET }];

/// The options of `user.ws`.
#[derive(Default)]
pub(super) struct WebSocketOptions {
    /// Name, tags, headers, credentials and time limit of the handshake.
    pub(super) request: RequestOptions,
    pub(super) protocols: Vec<String>,
    pub(super) compression: bool,
    pub(super) drops_unread: bool,
    pub(super) keep: bool,
}

impl WebSocketOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, object, "ws(…)", |key, value| {
            match key {
                "name" => options.request.name = Some(text(ctx, &value, "name")?),
                "headers" => options.request.headers = headers(ctx, &value, "headers")?,
                "auth" => options.request.authorization = Some(authorization(ctx, &value)?),
                "timeout" => options.request.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "protocols" => options.protocols = protocols(ctx, &value)?,
                "compression" => options.compression = switch(ctx, value, "compression")?,
                "keep" => options.keep = switch(ctx, value, "keep")?,
                "source" => options.request.source = Some(source(ctx, &value)?),
                "tags" => options.request.tags = tags::read(ctx, &value, &SOCKET.of)?,
                "unread" => options.drops_unread = drops_unread(ctx, &value)?,
                other => return Err(not_in(ctx, other, &SOCKET)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

fn protocols<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<String>> {
    let list = Array::from_js(ctx, value.clone()).map_err(|_| wrong(ctx, "protocols: expected a list of names"))?;
    // RFC 6455, section 4.1: each is a token.
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    list.iter::<Value<'js>>()
        .map(|item| {
            let name = text(ctx, &item?, "protocols")?;
            if name.is_empty() || !name.bytes().all(token) {
                return Err(wrong(ctx, &format!("protocols: \"{name}\" is not the name of a sub-protocol")));
            }
            Ok(name)
        })
        .collect()
}
