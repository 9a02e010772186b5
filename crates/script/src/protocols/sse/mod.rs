//! Streams of server-sent events: `user.events(…)`, and its stream object (HTML standard, section 9.2).
//!
//! Read `open` (the opening as a measured request), `source` (one connection after another) and `object` (the stream object). Received
//! events wait in a channel: see `messages`. Deliberately absent: the format of events (`loadstone_protocol::sse`).

mod object;
mod open;
mod options;
mod source;

use rquickjs::{Class, Ctx};

use super::messages;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;
use object::EventStreamObject;

pub(crate) struct EventStreams;

impl Capability for EventStreams {
    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn sources(&self) -> &'static [ModuleSource] {
        messages::SOURCES
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<open::OpenEventStream>(ctx, &natives.users)?;
        messages::install(ctx, natives, Class::<EventStreamObject>::prototype(ctx)?)
    }
}
