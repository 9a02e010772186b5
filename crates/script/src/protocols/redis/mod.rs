//! Redis: `user.redis(…)`, commands on it, and their replies.
//!
//! Read `object` (what a script has of a server), then `command` (commands as a measured request) and `reply`. `state` has the connections
//! of a user. Deliberately absent: the format on the wire (`loadstone_protocol::redis`).

mod command;
mod conclude;
mod object;
mod open;
mod options;
mod reply;
mod state;
pub(crate) mod value;

use rquickjs::Ctx;

use crate::known_verbs::AddressOfVerb;
use crate::runtime::capability::{Capability, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;

pub(crate) struct RedisServers;

impl Capability for RedisServers {
    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn addresses(&self) -> &'static [AddressOfVerb] {
        std::slice::from_ref(&open::ADDRESS)
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<open::OpenRedis>(ctx, &natives.users)
    }
}
