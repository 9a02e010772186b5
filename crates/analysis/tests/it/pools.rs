//! Pools whose metrics are read: which are the limit, and which are not.

use loadstone_analysis::Confidence;
use loadstone_metrics::{PoolMembers, Role};
use loadstone_run_directory::Run;

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

#[test]
fn a_pool_with_constant_hold_times_is_too_small() {
    // Ten connections of 100 ms.
    let system = System { capacity: 100.0, base: 0.1, is_shared: false };
    let found = findings(&pooled(&system.under(Load::Ramp(5.0, 150.0, 60)), 10.0));
    assert!(found[0].rule == "connection-pool" && found[0].confidence == Confidence::High, "{}", shown(&found));
    assert!(found[0].alternatives[0].text.starts_with("Something slow that keeps them in use for longer. Ruled out"), "{}", shown(&found));
}

/// HikariCP's own tracker calls the threads that wait for a connection `pending_threads`. The observer states what the pool hands out.
#[test]
fn a_pool_is_called_by_what_it_hands_out_and_not_by_the_words_of_a_metric() {
    let system = System { capacity: 100.0, base: 0.1, is_shared: false };
    let mut run = pooled(&system.under(Load::Ramp(5.0, 150.0, 60)), 10.0);
    let rule_of = |run: &Run| findings(run)[0].rule.clone();
    for series in &mut run.signals {
        series.signal.name = series.signal.name.replace("hikaricp_connections_pending", "hikaricp_pending_threads");
        series.signal.members = Some(PoolMembers::Connections);
    }
    assert_eq!(rule_of(&run), "connection-pool");
    run.signals.iter_mut().for_each(|series| series.signal.members = Some(PoolMembers::Threads));
    assert_eq!(rule_of(&run), "workers");
}

/// Two exporters describe one pool. The next limit is another resource, and none at which more requests have ended already.
#[test]
fn the_same_pool_under_a_second_name_is_not_the_next_limit() {
    let fluid = System { capacity: 100.0, base: 0.1, is_shared: false }.under(Load::Ramp(5.0, 150.0, 60));
    let mut run = pooled(&fluid, 10.0);
    let second = |metric, role| gauge("jmx", metric).role(role).part("HikariPool-1");
    second("active", Role::PoolInUse).each_second(&mut run, |at| fluid.open[at as usize].min(10.0));
    second("max", Role::PoolSizeMax).each_second(&mut run, |_| 10.0);
    let found = findings(&run);
    assert!(found[0].rule == "connection-pool" && !shown(&found).contains("would be the next limit"), "{}", shown(&found));
}
