//! What makes a test of the command line three lines long.
//!
//! Start at [`Folder`]: a folder of the user's files, in which [`Folder::run`] runs the binary to its end and gives back
//! what it [`Ended`] with. [`server`] holds the systems under test, [`raw`] a server that misbehaves as it is told.

mod ended;
mod folder;
pub(crate) mod nats;
pub(crate) mod network_namespace;
pub(crate) mod raw;
pub(crate) mod server;
mod shared_server;

pub(crate) use ended::{Ended, fairly};
pub(crate) use folder::{Folder, Running, once, once_with};
