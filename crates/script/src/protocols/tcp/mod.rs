//! Raw TCP: `user.tcp(…)`, and its connection object.
//!
//! Read `open` (connecting as a measured request), then `connection` (the state of a connection) and `steps` (the steps on it).
//! Deliberately absent: reading in the background, since only the script knows where an answer ends.

mod connection;
mod object;
mod open;
mod options;
mod steps;

use rquickjs::Ctx;

use crate::runtime::capability::{Capability, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;

pub(crate) struct TcpConnections;

impl Capability for TcpConnections {
    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<open::OpenTcp>(ctx, &natives.users)
    }
}
