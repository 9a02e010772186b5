//! What WebSockets, event streams and UDP sockets have in common: messages arrive whether or not the script is waiting for any.
//!
//! Read `channel` first: an open connection with its one reader, and the bounded queue (`inbox`) of what nobody has asked for yet. Then
//! `wait` (one operation's wait on a channel), `receive` and `sending` (what a script awaits), `matcher` (which message) and `message` (the object of
//! the script). Deliberately absent: what the messages come over, which is the protocol's.

pub(super) mod channel;
pub(super) mod closing;
pub(super) mod inbox;
pub(super) mod matcher;
pub(super) mod message;
pub(super) mod options;
pub(super) mod receive;
pub(super) mod sending;
pub(super) mod wait;
mod waiter;

use rquickjs::{Class, Ctx, Object};

use crate::runtime::capability::{ModuleSource, Natives};
use message::MessageObject;

/// `messages()` of the objects that receive messages.
pub(super) const SOURCES: &[ModuleSource] = &[ModuleSource { id: "loadstone:messages", text: include_str!("messages.ts"), exports: &[] }];

/// Shows the prototype of an object that receives messages to `messages.ts`, and that of the messages to what takes values out of bodies.
pub(super) fn install<'js>(ctx: &Ctx<'js>, natives: &Natives<'js>, source: Option<Object<'js>>) -> rquickjs::Result<()> {
    if let Some(message) = Class::<MessageObject>::prototype(ctx)? {
        natives.extractable(message)?;
    }
    source.map_or(Ok(()), |source| natives.push("messageSources", source))
}
