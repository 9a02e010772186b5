//! UDP: `user.udp(…)`, and its socket object.
//!
//! Read `open`, then `connection` (the sender and the reader) and `object`. Received datagrams wait in a channel, as with WebSockets: see
//! `messages`. A request whose answer is lost ends with its time limit. Deliberately absent: retransmission, which the script decides.

mod connection;
mod object;
mod open;
mod options;

use rquickjs::{Class, Ctx};

use super::messages;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;
use object::UdpObject;

pub(crate) struct UdpSockets;

impl Capability for UdpSockets {
    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn sources(&self) -> &'static [ModuleSource] {
        messages::SOURCES
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<open::OpenUdp>(ctx, &natives.users)?;
        messages::install(ctx, natives, Class::<UdpObject>::prototype(ctx)?)
    }
}
