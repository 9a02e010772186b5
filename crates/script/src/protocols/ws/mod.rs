//! WebSockets: `user.ws(…)`, and its socket object.
//!
//! Read `open` (the handshake as a measured request), then `steps` (a script's steps on a socket) and `object` (the socket object).
//! Received messages wait in a channel: see `messages`. Deliberately absent: frames and handshakes (`loadstone_protocol::ws`), and opening
//! again after a loss, which the script decides.

mod connection;
mod object;
mod open;
mod options;
mod steps;

use rquickjs::{Class, Ctx};

use super::messages;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;
use object::WebSocketObject;

pub(crate) struct WebSockets;

impl Capability for WebSockets {
    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn sources(&self) -> &'static [ModuleSource] {
        messages::SOURCES
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<open::OpenWebSocket>(ctx, &natives.users)?;
        messages::install(ctx, natives, Class::<WebSocketObject>::prototype(ctx)?)
    }
}
