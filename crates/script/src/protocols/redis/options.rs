//! Reads the options of `user.redis(…)` and of commands.

use loadstone_metrics::Tags;
use rquickjs::{Ctx, Value};

use crate::protocols::options::{duration, each, not_in, switch, text, wrong};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static SERVER: OptionSet = OptionSet::new("a Redis server", &["protocol", "timeout"]);
static COMMAND: OptionSet = OptionSet::new("a command", &["name", "timeout", "bytes", "tags"]);

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "redis", argument: 1, options: &SERVER }];

/// The options of `user.redis`.
#[derive(Default)]
pub(super) struct RedisOptions {
    pub(super) resp3: bool,
    pub(super) timeout_ns: Option<u64>,
}

impl RedisOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: &Value<'js>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, Some(object), "redis(…)", |key, value| {
            match key {
                "protocol" => {
                    options.resp3 = match value.as_number() {
                        Some(2.0) => false,
                        Some(3.0) => true,
                        _ => return Err(wrong(ctx, "protocol: expected 2 or 3")),
                    }
                }
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                other => return Err(not_in(ctx, other, &SERVER)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// How commands are recorded, and the form of their replies.
#[derive(Default)]
pub(super) struct CommandOptions {
    pub(super) name: Option<String>,
    pub(super) timeout_ns: Option<u64>,
    /// Strings are returned as bytes.
    pub(super) as_bytes: bool,
    pub(super) tags: Tags,
}

impl CommandOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, object, "the options of a command", |key, value| {
            match key {
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "bytes" => options.as_bytes = switch(ctx, value, "bytes")?,
                "tags" => options.tags = tags::read(ctx, &value, &COMMAND.of)?,
                other => return Err(not_in(ctx, other, &COMMAND)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}
