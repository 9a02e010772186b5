//! One resource means the same to all who read it: the limit that comes next, the table beside the findings.

use analysis::{ResourceKind, conclude};
use metrics::Role;
use run_directory::Run;

use crate::fluid::{Load, System};
use crate::made::{counter, gauge};
use crate::told::findings;

/// Three places of 40 ms for "Register".
const POOL: System = System { capacity: 75.0, base: 0.04, is_shared: false };

fn machine(run: &mut Run, cores: f64) {
    gauge("host", "cores").role(Role::MachineCores).each_second(run, |_| cores);
}

/// Some metrics of a pool only tell how many wait for it.
#[test]
fn a_pool_of_which_only_those_who_wait_are_known_was_observed() {
    let fluid = POOL.under(Load::Ramp(4.0, 120.0, 60));
    let mut run = fluid.run.clone();
    let waiting = gauge("app", "db_pool_waiting").role(Role::PoolWaiting).part("db_pool");
    waiting.each_second(&mut run, |second| (fluid.open[second as usize] - 3.0).max(0.0));
    let rows = conclude(&run).resources;
    let pools: Vec<_> = rows.iter().filter(|row| row.kind == ResourceKind::Pool).collect();
    assert!(pools.len() == 1 && pools[0].name == "db_pool", "{pools:?}");
    assert!(pools[0].high.unwrap().waiting > Some(10.0) && pools[0].low.unwrap().waiting < Some(1.0), "{pools:?}");
}

/// One core of a process takes 40 ms for each registration; the machine's eight take 60 ms for each, and as much again they wait for a disk.
#[test]
fn the_limit_after_this_one_is_reached_by_work_and_not_by_waiting() {
    let fluid = System { capacity: 25.0, base: 0.04, is_shared: false }.under(Load::Ramp(2.0, 60.0, 60));
    let mut run = fluid.run.clone();
    let ended = |second: u64| fluid.ended[second as usize];
    machine(&mut run, 8.0);
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| 8.0 - 0.12 * ended(second));
    gauge("host", "iowait").role(Role::MachineIoWait).each_second(&mut run, |second| 0.06 * ended(second));
    counter("app", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.04 * ended(second));
    gauge("app", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| 0.04 * ended(second));
    let found = findings(&run);
    let evidence: String = found[0].evidence.iter().map(|evidence| format!("{}\n", evidence.text)).collect();
    // Both kinds of requests count: 8 cores over 30 ms each.
    assert!(evidence.contains("the 8 cores of the machine would be the limit, at about 26"), "{evidence}");
}
