//! Which message is waited for.

use metrics::Outcome;
use rquickjs::{Class, Coerced, Ctx, Exception, Function, Object, Persistent, Value};

use super::message::Message;
use crate::user::expect::{is_pattern, test};

/// Why a message could not be judged.
pub(super) const THREW: (Outcome, &str) = (Outcome::Expect, "`match` threw");

/// The `match` of a message's options.
pub(super) enum Matcher {
    Any,
    /// The message contains this text; looked for without the script's engine.
    Text(String),
    Pattern(Persistent<Object<'static>>),
    Function(Persistent<Function<'static>>),
}

impl Matcher {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Self> {
        if let Some(text) = value.as_string() {
            return Ok(Self::Text(text.to_string()?));
        }
        if let Some(function) = value.as_function() {
            return Ok(Self::Function(Persistent::save(ctx, function.clone())));
        }
        match value.into_object().filter(is_pattern) {
            Some(pattern) => Ok(Self::Pattern(Persistent::save(ctx, pattern))),
            None => Err(Exception::throw_type(ctx, "match: write a text, a regular expression or a function")),
        }
    }

    /// The text that a message must contain, if that is all there is to it.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a message, which contains the text where one is given, is the one.
    pub(super) fn accepts<'js>(&self, ctx: &Ctx<'js>, message: &Class<'js, Message>) -> rquickjs::Result<bool> {
        match self {
            Self::Any | Self::Text(_) => Ok(true),
            Self::Pattern(pattern) => test(&pattern.clone().restore(ctx)?, &message.borrow().body_text()),
            Self::Function(function) => {
                let accepted: Coerced<bool> = function.clone().restore(ctx)?.call((message.clone(),))?;
                Ok(accepted.0)
            }
        }
    }

    /// For messages: what did not come.
    pub(super) fn wanted(&self, ctx: &Ctx<'_>) -> String {
        match self {
            Self::Any => "no message".to_owned(),
            Self::Text(text) => format!("no message with \"{text}\""),
            Self::Pattern(pattern) => {
                let written = pattern.clone().restore(ctx).and_then(|pattern| {
                    let source: String = pattern.get("source")?;
                    let flags: String = pattern.get("flags")?;
                    Ok(format!("no message like /{source}/{flags}"))
                });
                written.unwrap_or_else(|_| "no message that matches".to_owned())
            }
            Self::Function(_) => "no message that `match` accepts".to_owned(),
        }
    }
}
