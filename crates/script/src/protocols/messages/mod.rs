//! Common parts of WebSockets, event streams and UDP sockets: messages arrive whether or not the script waits for them.
//!
//! Read `channel` first: an open connection with its single reader, and the bounded queue of unread messages (`inbox`). Then `wait` (one
//! operation's wait on a channel), `receive` and `sending` (the steps of a script), `matcher` (the message to wait for) and `message` (the
//! script's object). Deliberately absent: the connection, which is the protocol's.

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

/// Passes the prototype of an object that receives messages to `messages.ts`, and marks the prototype of messages as extractable.
pub(super) fn install<'js>(ctx: &Ctx<'js>, natives: &Natives<'js>, source: Option<Object<'js>>) -> rquickjs::Result<()> {
    if let Some(message) = Class::<MessageObject>::prototype(ctx)? {
        natives.extractable(message)?;
    }
    source.map_or(Ok(()), |source| natives.push("messageSources", source))
}
