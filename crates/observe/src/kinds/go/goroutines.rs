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
    // Another goroutine reads or writes the same file or connection.
    ("internal/poll.runtime_Semacquire", Doing::Lock),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goroutine_that_waits_for_another_ones_write_waits_for_a_lock() {
        let parked = |names: &[&'static str]| {
            let all = std::iter::once(&"runtime.gopark").chain(names);
            doing(&all.map(|name| GoFunction { name, file: "" }).collect::<Vec<_>>())
        };
        let write = ["runtime.semacquire1", "internal/poll.runtime_Semacquire", "internal/poll.(*fdMutex).rwlock", "os.(*File).Write"];
        assert_eq!(parked(&write), Doing::Lock);
        assert_eq!(parked(&["runtime.netpollblock", "internal/poll.runtime_pollWait", "net.(*conn).Read"]), Doing::Io);
        assert_eq!(parked(&["runtime.chanrecv1"]), Doing::Other);
        let system_call = GoFunction { name: "internal/runtime/syscall.Syscall6", file: "" };
        assert_eq!(doing(&[system_call]), Doing::Io);
    }
}
