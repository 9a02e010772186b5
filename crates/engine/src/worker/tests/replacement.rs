//! A worker that may start nothing any more, and others that make its part; and one that may again.

use super::*;
use crate::handover::Handover;

/// All but the last worker are told at 5 s that they make its part from 6 s on; it may start nothing from 4 s on.
fn with_one_lost(profile: LoadProfile, workers: u32) -> Asked {
    let mut asked = Asked::new(profile, |_| 50 * MS);
    let firsts: Vec<u32> = (0..workers).collect();
    let left: Vec<u32> = (0..workers - 1).collect();
    let handover = Handover::of_agents(&firsts, workers, workers - 1, &left, 6 * S, true);
    asked.commands = vec![(5 * S, WorkerCommand::HandOver(handover))];
    asked.lost = Some((workers - 1, 4 * S));
    asked
}

#[test]
fn each_arrival_is_made_once_but_those_that_were_due_between() {
    let asked = with_one_lost(rate(100.0, 10), 4);
    let (all, _) = measured(&asked, 4);
    let mut numbers = asked.numbers.take();
    numbers.sort_unstable();
    // Arrival k is due at k / 100 s, and every fourth is the lost one's.
    let expected: Vec<u64> = (0..1_000).filter(|number| number % 4 != 3 || !(400..600).contains(number)).collect();
    assert_eq!(numbers, expected);
    assert_eq!((all.leaves[0].started, all.leaves[0].ended), (950, 950));
    assert_eq!(iterations(&all).lag.max(), 0, "nothing was late");
}

#[test]
fn who_hears_late_of_a_loss_makes_less_and_never_more() {
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
fn users_of_a_lost_worker_are_replaced_and_its_own_start_nothing() {
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
    assert_eq!(numbers.len(), count, "each iteration has a number of its own");
}

#[test]
fn what_comes_due_while_a_worker_may_start_nothing_is_made_when_it_may_again() {
    // Also where its profile has ended meanwhile.
    for renewed in [7 * S, 12 * S] {
        let mut asked = Asked::new(rate(10.0, 10), |_| MS);
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
fn a_shared_count_is_run_to_its_end_by_users_that_take_the_place_of_the_lost() {
    let asked = with_one_lost(LoadProfile::Iterations { users: 4, count: 1_000, split: IterationSplit::Shared, duration_max_ns: None }, 2);
    let (all, slices) = measured(&asked, 2);
    assert_eq!(all.leaves[0].started, 1_000);
    let active =
        |second: u64| slices.iter().filter(|slice| slice.start == second * S).map(|slice| slice.leaves[0].users_active).sum::<u64>();
    assert_eq!((active(2), active(4), active(7)), (4, 2, 4));
}
