//! Selects the message that a step waits for.

use loadstone_metrics::Outcome;
use rquickjs::{Class, Coerced, Ctx, Exception, Function, Object, Persistent, Value};

use super::message::MessageObject;
use crate::protocols::pattern::{is_pattern, test, text_of};

/// Why a message could not be matched.
pub(in crate::protocols) const THREW: (Outcome, &str) = (Outcome::Script, "`match` threw");

/// The `match` of a message's options.
pub(in crate::protocols) enum MessageMatcher {
    Any,
    /// The message contains this string. Found without the script's engine.
    Text(String),
    Pattern(Persistent<Object<'static>>),
    Function(Persistent<Function<'static>>),
}

impl MessageMatcher {
    pub(in crate::protocols) fn read<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Self> {
        if let Some(text) = value.as_string() {
            return Ok(Self::Text(text.to_string()?));
        }
        if let Some(function) = value.as_function() {
            return Ok(Self::Function(Persistent::save(ctx, function.clone())));
        }
        match value.into_object().filter(is_pattern) {
            Some(pattern) => Ok(Self::Pattern(Persistent::save(ctx, pattern))),
            None => Err(Exception::throw_type(ctx, "match: expected a string, a regular expression or a function")),
        }
    }

    /// The string that a message must contain, if that is the only condition.
    pub(in crate::protocols) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a message matches. It contains the string if there is one.
    pub(in crate::protocols) fn accepts<'js>(&self, ctx: &Ctx<'js>, message: &Class<'js, MessageObject>) -> rquickjs::Result<bool> {
        match self {
            Self::Any | Self::Text(_) => Ok(true),
            Self::Pattern(pattern) => test(&pattern.clone().restore(ctx)?, &message.borrow().body_text()),
            Self::Function(function) => {
                let accepted: Coerced<bool> = function.clone().restore(ctx)?.call((message.clone(),))?;
                Ok(accepted.0)
            }
        }
    }

    /// For messages: what was not received.
    pub(in crate::protocols) fn wanted(&self, ctx: &Ctx<'_>) -> String {
        match self {
            Self::Any => "no message".to_owned(),
            Self::Text(text) => format!("no message with \"{text}\""),
            Self::Pattern(pattern) => {
                let written = pattern.clone().restore(ctx).map(|pattern| format!("no message like {}", text_of(&pattern)));
                written.unwrap_or_else(|_| "no message that matches".to_owned())
            }
            Self::Function(_) => "no message that `match` accepts".to_owned(),
        }
    }
}
