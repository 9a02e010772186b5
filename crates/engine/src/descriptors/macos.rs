//! macOS has one table for all threads of a process ([`loadstone_platform::descriptors::CAN_SPLIT`]), so no run asks for separate ones.

use std::io;

pub(super) fn split_off() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "macOS has one descriptor table for all threads"))
}
