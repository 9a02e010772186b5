//! The binary `loadstone`: flags, settings, wiring, exit codes.
//!
//! Read `args` first (the command line as typed), then `commands` (a file each) and `session` (one run from start to verdict).
//! Deliberately absent: anything measured or concluded; that is in the library crates.

mod args;
mod commands;
mod conclusions;
mod console;
mod exit;
mod interrupt;
mod journeys;
mod live_page;
mod machine;
mod objective;
mod outgoing;
mod preflight;
mod room;
mod session;
mod signals;
mod starter;
mod stub_signals;
mod ui;
mod url_plan;
mod url_users;

/// Also for QuickJS, through the C library's own names: see ARCHITECTURE.md, decisions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    commands::main()
}
