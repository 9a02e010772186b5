//! VUs on virtual time, and their requests against a server that records them.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod harness;
mod html;
mod interruptions;
mod libraries;
mod requests;
mod scripts;
mod stacks;
