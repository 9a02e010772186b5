//! Threads of a Python process that compute one at a time.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Role, unit};

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::synthetic::{counter, gauge};

/// 40 ms of CPU time per request, of one thread at a time.
const INTERPRETER: System = System { capacity: 25.0, base: 0.04, is_shared: true };

/// What the process shows while its lock is held `held` of the time, `computing` threads want it, and it uses `cores` for each second that it is held.
fn observed(load: Load, held: f64, computing: f64, cores: f64) -> Vec<Finding> {
    let fluid = INTERPRETER.under(load);
    let mut run = fluid.run.clone();
    let share = |second: u64| held * f64::min(1.0, fluid.ended[second as usize] * 0.04);
    gauge("python:80", "gil").role(Role::InterpreterLock).each_second(&mut run, share);
    let threads =
        gauge("python:80", "threads").unit("threads").role(Role::ThreadsOnCpu).label("threads", "worker").label("at", "render page.py");
    threads.each_second(&mut run, |second| f64::min(computing, fluid.open[second as usize]));
    // Some of them are seen where they gave up the lock, as if they waited for something else.
    let waiting = gauge("python:80", "threads_out").unit("threads").role(Role::ThreadsWaitingForOther).label("at", "render page.py");
    waiting.each_second(&mut run, |second| f64::min(2.0 * computing, fluid.open[second as usize] / 2.0));
    counter("process:80", "cpu").unit(unit::SECONDS).role(Role::ProcessCpu).each_second(&mut run, |second| cores * share(second));
    counter("process:80", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 1.2);
    // Other programs with less weight use what is left of the machine.
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.0);
    findings(&run)
}

const RAMP: Load = Load::Ramp(2.0, 50.0, 60);

#[test]
fn threads_that_want_a_lock_that_is_always_held_are_the_limit() {
    for load in [RAMP, Load::Users(1, 30, 60)] {
        let found = observed(load, 0.98, 9.0, 0.95);
        let first = &found[0];
        assert!(first.rule == "interpreter-lock" && first.confidence == Confidence::High, "{load:?}: {}", shown(&found));
        let claim = "The threads of \"python:80\" compute one at a time: one of them has the interpreter's lock 98.0 % of the time while work waits";
        assert!(first.claim.starts_with(claim), "{}", first.claim);
        assert!(first.next.starts_with("Serve the requests with more processes"), "{}", first.next);
        assert!(found.iter().all(|finding| finding.rule != "thread-waits"), "{}", shown(&found));
    }
    // The thread with the lock waits for a core for a fifth of the time.
    let found = observed(RAMP, 0.98, 9.0, 0.78);
    let of_lock = found.iter().find(|finding| finding.rule == "interpreter-lock");
    assert_eq!(of_lock.map(|finding| finding.confidence), Some(Confidence::Medium), "{}", shown(&found));
}

#[test]
fn a_single_thread_or_a_lock_that_is_often_free_is_no_such_limit() {
    for (held, computing) in [(0.98, 1.0), (0.7, 9.0)] {
        let found = observed(RAMP, held, computing, 0.95);
        assert!(found.iter().all(|finding| finding.rule != "interpreter-lock"), "{held} {computing}: {}", shown(&found));
    }
}
