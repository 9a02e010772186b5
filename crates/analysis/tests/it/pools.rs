//! Pools that are not the limit, though all of their members are in use or one of their signals is misread.

use loadstone_metrics::Role;

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::limits::pooled;
use crate::synthetic::gauge;

/// A service with one core: its threads hold connections while they wait for that core, and the database has nothing to do.
#[test]
fn a_pool_whose_holders_wait_for_a_core_is_not_reported() {
    let fluid = System { capacity: 100.0, base: 0.1, is_shared: false }.under(Load::Ramp(5.0, 150.0, 60));
    let observed = |run_delay: f64, sessions: f64| {
        let mut run = pooled(&fluid, 10.0);
        let waiting = |second: u64| fluid.open[second as usize].min(10.0) / 10.0;
        gauge("app", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| run_delay * waiting(second));
        gauge("db", "active").role(Role::SessionsActive).each_second(&mut run, |second| sessions * waiting(second));
        findings(&run).iter().any(|finding| finding.rule == "connection-pool")
    };
    assert!(!observed(24.4, 0.03));
    // The threads wait for no core, or the database works for the holders.
    assert!(observed(0.2, 0.03) && observed(24.4, 8.0));
}

/// A counter that an exporter declares as a gauge, and whose name reads as a maximum, once gave a use of 1,200 %.
#[test]
fn more_members_in_use_than_a_size_disprove_the_size() {
    let system = System { capacity: 100.0, base: 0.1, is_shared: false };
    let fluid = system.under(Load::Ramp(5.0, 150.0, 60));
    let mut run = pooled(&fluid, 10.0);
    run.signals.retain(|series| matches!(series.signal.role, Some(Role::PoolInUse | Role::PoolWaiting)));
    gauge("app", "closed_connections").role(Role::PoolSize).part("shop").each_second(&mut run, |_| 4.0);
    let found = findings(&run);
    assert!(found.iter().all(|finding| !finding.claim.contains("All 4 ")), "{}", shown(&found));
}
