//! Reads the options of `user.tcp(…)` and of the steps on a connection.

use loadstone_metrics::Tags;
use loadstone_protocol::raw::ReadUntil;
use rquickjs::{Ctx, Value};

use crate::globals::bytes::bytes_of;
use crate::protocols::options::{duration, each, not_in, switch, text, wrong};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static CONNECTION: OptionSet = OptionSet::new("a TCP connection", &["name", "tls", "timeout", "keep", "tags"]);
static READ: OptionSet = OptionSet::new("a read", &["name", "until", "length", "toEnd", "timeout", "tags"]);

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "tcp", argument: 1, options: &CONNECTION }];

/// The options of `user.tcp`.
#[derive(Default)]
pub(super) struct TcpOptions {
    pub(super) name: Option<String>,
    pub(super) tls: bool,
    pub(super) timeout_ns: Option<u64>,
    pub(super) keep: bool,
    pub(super) tags: Tags,
}

impl TcpOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: &Value<'js>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, Some(object), "tcp(…)", |key, value| {
            match key {
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "tls" => options.tls = switch(ctx, value, "tls")?,
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "keep" => options.keep = switch(ctx, value, "keep")?,
                "tags" => options.tags = tags::read(ctx, &value, &CONNECTION.of)?,
                other => return Err(not_in(ctx, other, &CONNECTION)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// Where an answer ends, and how it is recorded.
pub(super) struct TcpReadOptions {
    pub(super) name: Option<String>,
    pub(super) until: ReadUntil,
    pub(super) timeout_ns: Option<u64>,
    pub(super) tags: Tags,
}

impl TcpReadOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self { name: None, until: ReadUntil::Arrival, timeout_ns: None, tags: Tags::default() };
        let mut ends = 0;
        each(ctx, object, "read(…)", |key, value| {
            let until = match key {
                "until" => Some(ReadUntil::Delimiter(delimiter(ctx, &value)?)),
                "length" => Some(ReadUntil::Length(length(ctx, &value)?)),
                "toEnd" => switch(ctx, value.clone(), "toEnd")?.then_some(ReadUntil::Close),
                _ => None,
            };
            if let Some(until) = until {
                (options.until, ends) = (until, ends + 1);
            }
            match key {
                "until" | "length" | "toEnd" => {}
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "tags" => options.tags = tags::read(ctx, &value, &READ.of)?,
                other => return Err(not_in(ctx, other, &READ)),
            }
            Ok(())
        })?;
        if ends > 1 {
            return Err(wrong(ctx, "a read has only one end: use one of `until`, `length` and `toEnd`"));
        }
        Ok(options)
    }
}

fn delimiter<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<u8>> {
    let bytes = bytes_of(value).filter(|bytes| !bytes.is_empty());
    bytes.ok_or_else(|| wrong(ctx, "until: expected the end of the answer as a string or bytes, such as \"\\r\\n\""))
}

fn length<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<usize> {
    let number = value.as_number().filter(|number| number.fract() == 0.0 && *number >= 1.0 && *number <= f64::from(u32::MAX));
    number.map(|number| number as usize).ok_or_else(|| wrong(ctx, "length: expected a whole number of bytes, at least 1"))
}
