//! What the developers' programs share: where this checkout and its target folder are, running other programs, facts about the machine.
//!
//! Start with [`Workspace`]. Deliberately absent: checks (see xtask) and measurements (see trials).
#![expect(clippy::print_stderr, reason = "a developer's tool: the terminal is its only output")]

pub mod archive;
pub mod image;
pub mod machine;
pub mod process;
pub mod system_packages;
mod workspace;

pub use workspace::Workspace;
