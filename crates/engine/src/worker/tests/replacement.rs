//! A worker whose lease has ended, others that take over its share, and a worker whose lease is renewed.

use super::*;
use crate::handover::Handover;

/// At 5 s, all workers but the last learn that they take over its share from 6 s on. The last worker may start nothing from 4 s on.
fn with_one_lost(profile: LoadProfile, workers: u32) -> LoadCase {
    let mut asked = LoadCase::new(profile, |_| 50 * MS);
    let firsts: Vec<u32> = (0..workers).collect();
    let left: Vec<u32> = (0..workers - 1).collect();
    let handover = Handover::of_agents(&firsts, workers, workers - 1, &left, 6 * S, true);
    asked.commands = vec![(5 * S, WorkerCommand::HandOver(handover))];
    asked.lost = Some((workers - 1, 4 * S));
    asked
}

#[test]
fn each_arrival_starts_once_except_those_due_before_the_handover() {
    let asked = with_one_lost(rate(100.0, 10), 4);
    let (all, _) = measured(&asked, 4);
    let mut numbers = asked.numbers.take();
    numbers.sort_unstable();
    // Arrival k is due at k / 100 s, and every fourth belongs to the lost worker.
    let expected: Vec<u64> = (0..1_000).filter(|number| number % 4 != 3 || !(400..600).contains(number)).collect();
    assert_eq!(numbers, expected);
    assert_eq!((all.leaves[0].started, all.leaves[0].ended), (950, 950));
    assert_eq!(iterations(&all).lag.max(), 0, "nothing was late");
}

#[test]
fn a_late_handover_leads_to_fewer_arrivals_and_never_to_duplicates() {
    let mut asked = with_one_lost(rate(100.0, 10), 2);
    asked.commands[0].0 = 8 * S + 1;
    let (all, _) = measured(&asked, 2);
    let mut numbers = asked.numbers.take();
    numbers.sort_unstable();
    // The last own arrival before that was number 800.
    let expected: Vec<u64> = (0..1_000).filter(|number| number % 2 == 0 || !(400..800).contains(number)).collect();
    assert_eq!((numbers, all.leaves[0].started), (expected, 800));
}

#[test]
fn users_of_a_lost_worker_are_replaced_and_start_nothing() {
    let stages = vec![ClosedStage { from: 12, to: 12, duration_ns: 10 * S }];
    let asked = with_one_lost(LoadProfile::Closed { stages }, 3);
    let (_, slices) = measured(&asked, 3);
    let active =
        |second: u64| slices.iter().filter(|slice| slice.start == second * S).map(|slice| slice.leaves[0].users_active).sum::<u64>();
    assert_eq!((active(2), active(4), active(7)), (12, 8, 12));
    let mut numbers = asked.numbers.take();
    numbers.sort_unstable();
    let count = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "each iteration has its own number");
}

#[test]
fn arrivals_due_without_a_lease_start_when_the_lease_is_renewed() {
    // Also if its profile has ended in the meantime.
    for renewed in [7 * S, 12 * S] {
        let mut asked = LoadCase::new(rate(10.0, 10), |_| MS);
        asked.commands = vec![(0, WorkerCommand::Lease { until: 4 * S }), (renewed, WorkerCommand::Lease { until: 100 * S })];
        let (all, slices) = measured(&asked, 2);
        assert_eq!((all.leaves[0].arrivals_due, all.leaves[0].ended), (100, 100));
        let started =
            |second: u64| slices.iter().filter(|slice| slice.start == second * S).map(|slice| slice.leaves[0].started).sum::<u64>();
        assert_eq!((started(3), started(4), started(6)), (10, 0, 0));
        assert!(started(renewed / S) >= 30, "{}", started(renewed / S));
    }
}

#[test]
fn replacement_users_complete_a_shared_count() {
    let asked = with_one_lost(LoadProfile::Iterations { users: 4, count: 1_000, split: IterationSplit::Shared, duration_max_ns: None }, 2);
    let (all, slices) = measured(&asked, 2);
    assert_eq!(all.leaves[0].started, 1_000);
    let active =
        |second: u64| slices.iter().filter(|slice| slice.start == second * S).map(|slice| slice.leaves[0].users_active).sum::<u64>();
    assert_eq!((active(2), active(4), active(7)), (4, 2, 4));
}
