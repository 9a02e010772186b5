//! Native code in any language: CPU time by function, from the kernel's stack samples of a process.
//!
//! Read [`event`] first (one thread, one ring), then [`samples`]. No code runs in the service and nothing stops it: the kernel samples a thread's stack
//! while that thread uses CPU time. Stacks are unwound by frame pointers, and names come from the symbols of the files that the process has mapped.
//! Deliberately absent: debug information (inlined code counts for the function that contains it) and unwinding by tables.

#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod event;
#[cfg(all(target_os = "linux", any(test, feature = "fuzzing")))]
pub(super) mod fuzzing {
    use super::{maps, name, records, symbols};

    pub(in crate::kinds) fn records(input: &[u8]) {
        records::each(input, |_| {});
        let text = String::from_utf8_lossy(input);
        text.lines().for_each(|line| drop((name::readable(line), maps::label_of(line))));
    }

    pub(in crate::kinds) fn elf(input: &[u8]) {
        symbols::names_of(input);
    }
}
#[cfg(target_os = "linux")]
mod maps;
#[cfg(target_os = "linux")]
mod name;
#[cfg(target_os = "linux")]
mod observer;
#[cfg(target_os = "linux")]
mod records;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
mod samples;
#[cfg(target_os = "linux")]
mod symbols;
#[cfg(target_os = "linux")]
mod threads;

use super::process::which::{PID, PORT};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::reader::SignalReader;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "native",
    watches: "a service in C, C++, Rust, Go or another compiled language",
    example: "observe.native({ port: 8080 })",
    alternatives: ", by `pid`, or by the `name` of its command",
    reports: "`function_cpu{function=…,under=…}`",
    options: &[
        PORT,
        PID,
        ObserverOption {
            name: "profileHz",
            takes: OptionValue::WholeNumber { max: 200, default: Some(49) },
            help: "samples per second of CPU time",
        },
    ],
    on_macos: MacSupport::Refused("it has no perf events; use `observe.process` with the tool `sample`, or observe the service on Linux"),
    make,
};

#[cfg(target_os = "linux")]
fn make(description: &ObserverDescription<'_>) -> Result<Box<dyn SignalReader>, ObserveError> {
    Ok(Box::new(observer::Native::from_description(description)?))
}

/// Not reached: [`KIND`] refuses macOS.
#[cfg(target_os = "macos")]
fn make(description: &ObserverDescription<'_>) -> Result<Box<dyn SignalReader>, ObserveError> {
    Err(description.problem("not on macOS"))
}
