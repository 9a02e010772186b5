//! Pools whose metrics are read: which are the limit, and which are not.

use loadstone_analysis::Confidence;
use loadstone_metrics::{Outcome, PoolMembers, Role, SeriesKind};
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

/// Six workers of PHP-FPM, each of which waits in a call to a provider.
#[test]
fn busy_workers_are_named_with_their_number_and_what_they_do() {
    let fluid = System { capacity: 20.0, base: 0.3, is_shared: false }.under(Load::Ramp(2.0, 40.0, 60));
    let mut run = fluid.run.clone();
    let busy = |second: u64| fluid.open[second as usize].min(6.0);
    let php = |metric, role| gauge("prometheus", metric).role(role).part("www").members(PoolMembers::Threads);
    php("phpfpm_active_processes", Role::PoolInUse).each_second(&mut run, busy);
    php("phpfpm_idle_processes", Role::PoolIdle).each_second(&mut run, |second| 6.0 - busy(second));
    php("phpfpm_total_processes", Role::PoolSize).each_second(&mut run, |_| 6.0);
    php("phpfpm_listen_queue", Role::PoolWaiting).each_second(&mut run, |second| (fluid.open[second as usize] - 6.0).max(0.0).floor());
    let unknown = findings(&run);
    assert!(unknown[0].rule == "workers" && unknown[0].claim.starts_with("All 6 workers of \"www\" are in use"), "{}", shown(&unknown));
    gauge("stub:provider", "in_flight").role(Role::CallsInFlight).each_second(&mut run, |second| 0.95 * busy(second));
    gauge("stub:provider", "hold").role(Role::CallHold).each_second(&mut run, |_| 0.285);
    let found = findings(&run);
    assert!(
        found[0].rule == "workers" && found[0].claim.ends_with("of them are in a call to \"provider\" on average"),
        "{}",
        shown(&found)
    );
    assert!(found[0].next.starts_with("Shorten the calls to \"provider\""), "{}", found[0].next);
    // One call at a time is not what six workers do.
    gauge("stub:provider", "in_flight").role(Role::CallsInFlight).each_second(&mut run, |_| 1.0);
    assert!(!findings(&run)[0].claim.contains("provider"), "{}", shown(&findings(&run)));
}

/// Go's `sql.DBStats` by a service of which only the count of waits shows that requests wait: it has few requests.
#[test]
fn a_growing_count_of_waits_is_waiting() {
    let fluid = System { capacity: 20.0, base: 0.1, is_shared: false }.under(Load::Ramp(18.0, 18.0, 60));
    let observed = |waits_each: f64| {
        let mut run = fluid.run.clone();
        let pool = |metric, role| gauge("prometheus", metric).role(role).part("shop_db");
        pool("shop_db_connections_in_use", Role::PoolInUse).each_second(&mut run, |_| 2.0);
        pool("shop_db_open_connections", Role::PoolSize).each_second(&mut run, |_| 2.0);
        pool("shop_db_connections_idle", Role::PoolIdle).each_second(&mut run, |_| 0.0);
        pool("shop_db_connections_wait_count", Role::PoolWaits).each_second(&mut run, |second| waits_each * second as f64);
        findings(&run)
    };
    let found = observed(240.0);
    let claim = "All 2 connections of the pool \"shop_db\" are in use, and 240/s operations have to wait for one";
    assert!(found.first().is_some_and(|first| first.claim == claim), "{}", shown(&found));
    assert!(observed(0.0).iter().all(|finding| finding.rule != "connection-pool"), "{}", shown(&observed(0.0)));
}

/// SQLAlchemy opens connections beyond its size, so the size is not the limit.
#[test]
fn a_pool_with_connections_beyond_its_size_has_as_many_as_were_ever_in_use() {
    let fluid = System { capacity: 100.0, base: 0.1, is_shared: false }.under(Load::Ramp(5.0, 150.0, 60));
    let used = |second: u64| fluid.open[second as usize].min(15.0).floor();
    let observed = |idle: f64| {
        let mut run = fluid.run.clone();
        let pool = |metric, role| gauge("prometheus", metric).role(role).part("sqlalchemy_pool");
        pool("sqlalchemy_pool_checked_out", Role::PoolInUse).each_second(&mut run, used);
        pool("sqlalchemy_pool_checkedin", Role::PoolIdle).each_second(&mut run, |second| if used(second) < 15.0 { 1.0 } else { idle });
        pool("sqlalchemy_pool_size", Role::PoolSize).each_second(&mut run, |_| 5.0);
        findings(&run)
    };
    let found = observed(0.0);
    assert!(found[0].claim.starts_with("All 15 connections of the pool \"sqlalchemy_pool\" are in use"), "{}", shown(&found));
    assert!(observed(2.0).iter().all(|finding| finding.rule != "connection-pool"), "{}", shown(&observed(2.0)));
}

/// Keycloak with two connections: Agroal counts the requests that wait, and a few of them time out.
#[test]
fn requests_that_time_out_behind_a_full_pool_are_its_symptom() {
    let fluid = System { capacity: 20.0, base: 0.1, is_shared: false }.under(Load::Ramp(2.0, 40.0, 60));
    let mut run = fluid.run.clone();
    let pool = |metric, role| gauge("prometheus", metric).role(role).part("default").members(PoolMembers::Connections);
    let waiting = |second: u64| (fluid.open[second as usize] - 2.0).max(0.0).floor();
    pool("agroal_active_count", Role::PoolInUse).each_second(&mut run, |second| fluid.open[second as usize].min(2.0));
    pool("agroal_available_count", Role::PoolIdle).each_second(&mut run, |second| (2.0 - fluid.open[second as usize]).max(0.0));
    pool("agroal_awaiting_count", Role::PoolWaiting).each_second(&mut run, waiting);
    for slice in run.slices.iter_mut().skip(50) {
        for series in slice.series.iter_mut().filter(|series| series.key.kind == SeriesKind::Request && series.count > 1) {
            let passed = series.outcomes.iter_mut().find(|(outcome, _)| *outcome == Outcome::Passed);
            if let Some((_, count)) = passed.filter(|(_, count)| *count > 1) {
                *count -= 1;
                series.outcomes.push((Outcome::Timeout, 1));
            }
        }
    }
    let found = findings(&run);
    let claim = "All 2 connections of the pool \"default\" are in use";
    assert!(found[0].rule == "connection-pool" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert!(found.iter().skip(1).any(|one| one.rule == "failures"), "{}", shown(&found));
}
