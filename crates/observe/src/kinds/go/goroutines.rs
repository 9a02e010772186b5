//! Goroutines by what they wait for. The profile has no states; the runtime's functions at the top of a parked goroutine show the reason.

use super::error::GoError;
use super::pprof::{GoFunction, Profile};
use crate::stacks::threads::{Doing, ThreadSamples};

/// Functions at the top of a parked goroutine, and what it waits for. The first match counts.
const PARKED: &[(&str, Doing)] = &[
    ("database/sql.(*DB).conn", Doing::Member),
    ("golang.org/x/sync/semaphore.(*Weighted).Acquire", Doing::Member),
    ("sync.runtime_SemacquireMutex", Doing::Lock),
    ("sync.runtime_SemacquireRWMutex", Doing::Lock),
    ("sync.(*Mutex).", Doing::Lock),
    ("sync.(*RWMutex).", Doing::Lock),
    ("internal/poll.runtime_pollWait", Doing::Io),
    ("time.Sleep", Doing::Timer),
];

/// Adds one sample.
///
/// # Errors
/// When the response is not a profile.
pub(super) fn add_to(samples: &mut ThreadSamples, body: &[u8]) -> Result<(), GoError> {
    let profile = Profile::read(body)?;
    samples.begin_sample();
    for stack in profile.stacks() {
        // The runtime's preemption frames are not calls of the program.
        let interrupted = stack.functions.iter().take_while(|function| function.name.starts_with("runtime.asyncPreempt")).count();
        samples.add(doing(&stack.functions), "", &stack.frames()[interrupted..], stack.value(0));
    }
    Ok(())
}

fn doing(functions: &[GoFunction<'_>]) -> Doing {
    let first = functions.first().map_or("", |function| function.name);
    if !matches!(first, "runtime.gopark" | "runtime.goparkunlock") {
        return match first {
            "syscall.Syscall" | "syscall.Syscall6" | "internal/runtime/syscall.Syscall6" | "runtime/internal/syscall.Syscall6" => Doing::Io,
            _ => Doing::Computes,
        };
    }
    let found = PARKED.iter().find(|(part, _)| functions.iter().any(|function| function.name.starts_with(part)));
    found.map_or(Doing::Other, |(_, doing)| *doing)
}
