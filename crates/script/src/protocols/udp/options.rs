//! Reads the options of `user.udp(…)`.

use rquickjs::{Ctx, Value};

use crate::protocols::messages::options::drops_unread;
use crate::protocols::options::{duration, each, not_in, switch, text};
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static SOCKET: OptionSet = OptionSet::new("a UDP socket", &["name", "timeout", "unread", "keep"]);

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "udp", argument: 1, options: &SOCKET }];

/// The options of `user.udp`.
#[derive(Default)]
pub(super) struct UdpOptions {
    pub(super) name: Option<String>,
    pub(super) timeout_ns: Option<u64>,
    pub(super) drops_unread: bool,
    pub(super) keep: bool,
}

impl UdpOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: &Value<'js>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, Some(object), "udp(…)", |key, value| {
            match key {
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "unread" => options.drops_unread = drops_unread(ctx, &value)?,
                "keep" => options.keep = switch(ctx, value, "keep")?,
                other => return Err(not_in(ctx, other, &SOCKET)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}
