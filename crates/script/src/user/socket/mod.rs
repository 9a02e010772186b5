//! WebSockets and streams of events: `user.ws(…)`, `user.events(…)`, and the objects that they give.
//!
//! Read `cell` first: an open socket with its one reader, which listens for as long as the socket lives, and the bounded queue
//! of what nobody has asked for yet. Then `open` (the handshake), `step` (what a script awaits on a socket), `issue` (under which name
//! that is measured), `conclude` (what becomes of it), `class` and `message` (the objects of the script). `events` opens and reads a stream of
//! events (and opens it again); all else is as with a socket. Deliberately absent: frames and handshakes
//! (`protocol::ws`), opening again after a loss, which is the script's to decide.

mod cell;
mod class;
mod conclude;
mod ear;
mod events;
mod issue;
mod matcher;
mod message;
mod open;
mod options;
mod step;

pub(crate) use cell::{SocketCell, close_all};
pub(crate) use class::Socket;
pub(crate) use conclude::settle;
pub(super) use events::{Events, listen};
pub(crate) use message::Message;
pub(super) use open::open;
pub(crate) use step::{Happened, Pending};
