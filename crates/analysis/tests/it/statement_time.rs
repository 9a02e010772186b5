//! Which statement takes a database's time, and which functions take a process's CPU time.

use loadstone_analysis::Finding;
use loadstone_metrics::Role;

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::synthetic::{counter, gauge};

/// Dropped indexes: samples of sessions rarely see a statement of a few milliseconds, and the database has its total time.
#[test]
fn the_statement_whose_total_time_grew_is_named_where_sessions_compute() {
    let fluid = System { capacity: 20.0, base: 0.2, is_shared: false }.under(Load::Ramp(2.0, 40.0, 60));
    let observed = |issues: f64, users: f64| {
        let mut run = fluid.run.clone();
        let busy = |second: u64| fluid.open[second as usize].min(4.0);
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| busy(second) + 0.1);
        gauge("postgres", "sessions").role(Role::SessionsOnCpu).label("wait", "CPU").each_second(&mut run, busy);
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 4.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| 4.0 - busy(second));
        for (statement, part) in [("SELECT * FROM issues WHERE project_id = $1", issues), ("SELECT * FROM users WHERE id = $1", users)] {
            let time = counter("postgres", "statement_seconds").label("statement", statement).role(Role::StatementTime);
            time.each_second(&mut run, |second| part * busy(second));
        }
        findings(&run)
    };
    let has =
        |found: &[Finding], text: &str| found.first().is_some_and(|first| first.rule == "database-waits" && first.claim.contains(text));
    let found = observed(0.8, 0.1);
    assert!(has(&found, "active sessions run `SELECT * FROM issues WHERE project_id = $1`, which takes CPU time"), "{}", shown(&found));
    // Two statements that share the time, or statements that hardly take any.
    assert!(!has(&observed(0.4, 0.41), "issues") && !has(&observed(0.1, 0.01), "issues"), "{}", shown(&observed(0.1, 0.01)));
}

/// A large table without its index, read by parallel workers: no single wait is most of the sessions' time, and the statement is the same.
#[test]
fn a_statement_that_reads_and_computes_by_turns_is_named() {
    let fluid = System { capacity: 6.0, base: 0.3, is_shared: true }.under(Load::Users(1, 16, 60));
    let observed = |events: f64| {
        let mut run = fluid.run.clone();
        let active = |second: u64| fluid.open[second as usize].min(12.0);
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| active(second) + 0.1);
        let by_turns = [
            ("CPU", Role::SessionsOnCpu, 0.25),
            ("IO:DataFileRead", Role::SessionsWaitingForRead, 0.25),
            ("IPC:MessageQueueReceive", Role::SessionsWaitingForOther, 0.3),
            ("LWLock:BufferMapping", Role::SessionsWaitingForOther, 0.2),
        ];
        for (wait, role, part) in by_turns {
            gauge("postgres", "sessions").role(role).label("wait", wait).each_second(&mut run, |second| part * active(second));
        }
        let running = gauge("postgres", "sessions_by_statement").role(Role::SessionsByStatement);
        let running = running.label("statement", "SELECT * FROM event_logs WHERE run_id = $1");
        running.each_second(&mut run, |second| events * active(second));
        // Threads of the service that wait for it.
        let threads = gauge("python", "threads").unit("threads").role(Role::ThreadsWaitingForOther).label("at", "execute base.py");
        threads.each_second(&mut run, active);
        findings(&run)
    };
    let found = observed(0.9);
    let claim = "active sessions run `SELECT * FROM event_logs WHERE run_id = $1`, which computes and reads data";
    assert!(found[0].rule == "database-waits" && found[0].claim.ends_with(claim), "{}", shown(&found));
    // Many different statements.
    let found = observed(0.1);
    assert!(found.iter().all(|finding| finding.rule != "database-waits"), "{}", shown(&found));
}

/// Threads that a sampler sees in a native function, such as a driver's call, may wait there. The process used a fifth of what they would.
#[test]
fn functions_of_blocked_threads_are_no_cpu_time() {
    let fluid = System { capacity: 20.0, base: 0.2, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60));
    let observed = |cpu_each: f64| {
        let mut run = fluid.run.clone();
        let part = |second: u64| fluid.ended[second as usize] / 20.0;
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| 2.0 - 1.94 * part(second));
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| cpu_each * part(second));
        counter("process:80", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| 2.0 * part(second));
        let at = gauge("python", "threads").role(Role::ThreadsOnCpu).label("at", "do_execute").unit("threads");
        at.each_second(&mut run, |second| 1.9 * part(second));
        let function =
            gauge("python", "function_cpu").role(Role::FunctionCpu).label("function", "do_execute").label("under", "search runs.py:40");
        function.each_second(&mut run, |second| 1.9 * part(second));
        shown(&findings(&run))
    };
    let blocked = observed(0.39);
    assert!(!blocked.contains("of them in") && !blocked.contains("stack samples"), "{blocked}");
    assert!(observed(1.85).contains("do_execute"), "{}", observed(1.85));
}
