//! What workers share grows with time and their number, not with requests.

use std::collections::HashSet;

use super::*;

const WORKERS: u32 = 64;

fn users(count: u64, needs_numbers: bool) -> LoadCase {
    let stages = vec![ClosedStage { from: count, to: count, duration_ns: 3 * S }];
    LoadCase { needs_numbers, ..LoadCase::new(LoadProfile::Closed { stages }, |_| 20 * MS) }
}

#[test]
fn the_coordinator_receives_as_many_messages_for_twenty_times_the_requests() {
    let reports = |case: &LoadCase| {
        let (snapshot, _) = measured(case, WORKERS);
        (iterations(&snapshot).count, case.reports.get())
    };
    let (few, sent_for_few) = reports(&users(64, false));
    let (many, sent_for_many) = reports(&users(20 * 64, false));
    assert_eq!((few, many), (64 * 150, 20 * 64 * 150));
    assert_eq!(sent_for_few, sent_for_many);
}

#[test]
fn iterations_are_numbered_over_all_workers_only_for_users_that_need_it() {
    let case = users(128, true);
    measured(&case, WORKERS);
    let mut numbers = case.numbers.take();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..128 * 150));
    let case = users(128, false);
    measured(&case, WORKERS);
    let numbers = case.numbers.take();
    assert_eq!(numbers.len(), 128 * 150);
    assert!(numbers.iter().copied().collect::<HashSet<_>>().into_iter().all(|number| number < 300), "each worker counts its own");
}

#[test]
fn open_load_sends_as_many_messages_for_twenty_times_the_arrivals() {
    let reports = |per_second: f64| {
        let case = LoadCase::new(rate(per_second, 3), |_| 5 * MS);
        let (snapshot, _) = measured(&case, WORKERS);
        (iterations(&snapshot).count, case.reports.get())
    };
    let ((few, sent_for_few), (many, sent_for_many)) = (reports(640.0), reports(12_800.0));
    assert_eq!((few, many), (1_920, 38_400));
    assert_eq!(sent_for_few, sent_for_many);
}
