//! Reads the options of messages, and those that every channel takes.

use loadstone_metrics::Tags;
use rquickjs::{Ctx, Value};

use super::matcher::MessageMatcher;
use crate::protocols::options::{duration, each, text, unknown, wrong};
use crate::tags;

/// The message to wait for, its name and tags, and the time limit.
pub(in crate::protocols) struct MessageOptions {
    pub(in crate::protocols) name: Option<String>,
    pub(in crate::protocols) matcher: MessageMatcher,
    pub(in crate::protocols) within_ns: Option<u64>,
    pub(in crate::protocols) tags: Tags,
}

impl MessageOptions {
    /// The options of `what`, whose names are `known`.
    pub(in crate::protocols) fn read<'js>(
        ctx: &Ctx<'js>,
        object: Option<&Value<'js>>,
        what: &str,
        known: &[&str],
    ) -> rquickjs::Result<Self> {
        let mut options = Self { name: None, matcher: MessageMatcher::Any, within_ns: None, tags: Tags::default() };
        each(ctx, object, what, |key, value| {
            match key {
                key if !known.contains(&key) => {
                    return Err(unknown(ctx, what, key, known));
                }
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "within" => options.within_ns = Some(duration(ctx, &value, "within")?),
                "tags" => options.tags = tags::read(ctx, &value, &what)?,
                _ => options.matcher = MessageMatcher::read(ctx, value)?,
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// `unread`: whether messages that no step waits for are discarded.
pub(in crate::protocols) fn drops_unread<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<bool> {
    match text(ctx, value, "unread")?.as_str() {
        "keep" => Ok(false),
        "drop" => Ok(true),
        _ => Err(wrong(ctx, "unread: expected \"keep\" or \"drop\"")),
    }
}
