//! What the operating system provides and standard libraries do not: one module for each facility, with one file for Linux and one for macOS.
//!
//! - [`clock`]: the clock of all measurements, and CPU time.
//! - [`descriptors`]: how many this process may open.
//! - [`files`], [`memory`], [`signals`]: named pipes, pages of a mapping, inherited dispositions.
//! - [`wake_timer`]: wakes an event loop at an instant, to the microsecond.
//! - [`threads`]: what a thread requests from the scheduler.
//! - [`tcp`]: what the kernel knows of a connection: when bytes arrived, and which are not acknowledged.
//! - [`processes`], [`machine`] and [`sysctl`] exist on macOS only. On Linux, readers parse text files of `/proc` and `/sys` themselves.
//!
//! A facility that macOS lacks returns `None` there, so that its users can report that they did not examine it. Deliberately absent: whatever `std`,
//! tokio and rustix provide on both systems.
//!
//! The files for macOS were compiled and linked. They were never run on a Mac.

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("Loadstone supports Linux and macOS. On Windows, build it in WSL2, which is Linux.");

pub mod clock;
pub mod descriptors;
pub mod files;
#[cfg(target_os = "macos")]
pub mod machine;
pub mod memory;
#[cfg(target_os = "macos")]
pub mod processes;
pub mod signals;
#[cfg(target_os = "macos")]
pub mod sysctl;
pub mod tcp;
pub mod threads;
pub mod wake_timer;

/// The operating system, as sentences name it.
pub const NAME: &str = if cfg!(target_os = "macos") { "macOS" } else { "Linux" };

/// Whether the kernel counts how long threads wait for a core, how long the hypervisor and CPU limits hold them back, and which TCP segments it sends
/// again.
pub const COUNTS_WAITS: bool = cfg!(target_os = "linux");
