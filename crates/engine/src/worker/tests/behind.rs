//! A generator that falls behind, by a stall or permanently. It must not open a connection for each arrival that it is late for.

use super::*;

const US: u64 = 1_000;

/// A generator that starts at most 50,000 iterations per second. Creating a user costs more than three iterations.
fn costly(profile: LoadProfile, response_ns: fn(Nanos) -> u64) -> LoadCase {
    let generator = Generator { iteration_ns: 20 * US, user_ns: 70 * US, ..Generator::default() };
    LoadCase { generator, ..LoadCase::new(profile, response_ns) }
}

#[test]
fn a_stall_of_the_generator_does_not_become_a_burst_of_users() {
    let asked = costly(rate(10_000.0, 3), |_| 300 * US);
    asked.generator.stall.set(Some((S, S / 2)));
    let (all, _) = measured(&asked, 1);
    let leaf = &all.leaves[0];
    assert_eq!((leaf.arrivals_due, leaf.ended, leaf.waiting), (30_000, 30_000, 0));
    // 3 users serve the rate; 15 keep this generator busy with this target.
    assert!(asked.users_created.get() <= 25, "{} users", asked.users_created.get());
    assert!(leaf.held_back >= 4_900, "{} arrivals were held back", leaf.held_back);
    assert!(leaf.held_back < 15_000, "the backlog of a stall drains: {} arrivals were held back", leaf.held_back);
}

#[test]
fn an_overloaded_generator_runs_at_full_speed_with_few_users() {
    let mut asked = costly(rate(200_000.0, 2), |_| 300 * US);
    asked.graceful_stop_ns = 0;
    let (all, _) = measured(&asked, 1);
    let leaf = &all.leaves[0];
    assert!(leaf.ended >= 90_000, "{} of the 100,000 that it can generate", leaf.ended);
    assert!(asked.users_created.get() <= 60, "{} users, where 15 keep it busy", asked.users_created.get());
    assert!(leaf.held_back + 1_000 >= leaf.started, "{} of {} were held back", leaf.held_back, leaf.started);
    assert_eq!(leaf.waiting, 0, "no arrival waited because the pool was saturated");
}

/// A target that serves requests one after another, in order, 80,000 per second.
fn full(now: Nanos) -> u64 {
    thread_local!(static FREE_AT: Cell<Nanos> = const { Cell::new(0) });
    let ends = FREE_AT.get().max(now) + 12_500;
    FREE_AT.set(ends);
    ends - now
}

#[test]
fn an_overloaded_generator_does_not_open_connections_to_a_saturated_target() {
    let mut asked = LoadCase::new(rate(200_000.0, 2), full);
    asked.generator = Generator { iteration_ns: 7 * US, user_ns: 70 * US, ..Generator::default() };
    asked.graceful_stop_ns = 0;
    let (all, _) = measured(&asked, 1);
    assert!(all.leaves[0].ended >= 144_000, "{} of the 160,000 that the target can serve", all.leaves[0].ended);
    assert!(asked.users_created.get() <= 200, "{} users", asked.users_created.get());
}

#[test]
fn a_saturated_target_receives_the_whole_load_if_the_generator_keeps_up() {
    // The generator can generate 140,000 per second, so requests that the target cannot serve wait at the target.
    let mut asked = LoadCase::new(rate(90_000.0, 2), full);
    asked.generator = Generator { iteration_ns: 7 * US, user_ns: 7 * US, ..Generator::default() };
    asked.generator.stall.set(Some((S / 2, 5 * MS)));
    asked.graceful_stop_ns = 0;
    let (all, slices) = measured(&asked, 1);
    let second = slices.iter().find(|slice| slice.slice == 1).unwrap();
    assert!(second.leaves[0].users_active >= 19_000, "{} of 20,000 wait at the target", second.leaves[0].users_active);
    assert!(all.leaves[0].started >= 179_000, "{} started of 180,000", all.leaves[0].started);
}

#[test]
fn an_absurd_rate_ends_on_time() {
    let mut asked = costly(LoadProfile::rate(50e6, S / 10), |_| 300 * US);
    asked.graceful_stop_ns = S / 10;
    let (all, slices) = measured(&asked, 1);
    let leaf = &all.leaves[0];
    assert!(leaf.ended >= 9_000, "{} of the 10,000 that it can generate", leaf.ended);
    assert!(slices.iter().filter(|slice| slice.end > S).all(|slice| slice.leaves.iter().all(|leaf| leaf.started == 0)));
}

#[test]
fn users_are_created_as_fast_as_arrivals_come_due_if_the_target_is_slow() {
    let asked = costly(rate(5_000.0, 3), |_| S);
    let (all, _) = measured(&asked, 1);
    assert_eq!((all.leaves[0].ended, all.leaves[0].held_back), (15_000, 0));
    let series = iterations(&all);
    assert!(series.lag.max() < MS, "an arrival was {} late", units_of(series.lag.max()));
    assert!((5_000..5_100).contains(&asked.users_created.get()), "{} users", asked.users_created.get());
}

#[test]
fn a_target_that_hangs_when_the_generator_stalls_still_gets_its_load() {
    // Requests in the second second are answered at its end. The generator stalls for 5 ms at its beginning.
    let asked = costly(rate(2_000.0, 3), |now| if (S..2 * S).contains(&now) { 2 * S - now + 300 * US } else { 300 * US });
    asked.generator.stall.set(Some((S, 5 * MS)));
    let (all, slices) = measured(&asked, 1);
    let hung = slices.iter().find(|slice| slice.slice == 1).unwrap();
    assert!(hung.leaves[0].users_active >= 1_990, "{} users in flight of 2,000", hung.leaves[0].users_active);
    assert_eq!(all.leaves[0].ended, 6_000);
}

#[test]
fn a_busy_leaf_does_not_prevent_another_from_creating_users() {
    // The closed leaf next to it keeps the worker busy all the time, with the turns of its 100 users.
    let closed = LoadProfile::Closed { stages: vec![ClosedStage { from: 100, to: 100, duration_ns: 4 * S }] };
    let mut asked = costly(closed, |_| 300 * US);
    asked.second_leaf = Some((rate(100.0, 4), S));
    let (all, _) = measured(&asked, 1);
    let open = all.leaves.iter().find(|leaf| leaf.leaf == 1).unwrap();
    assert_eq!((open.arrivals_due, open.ended), (400, 400));
    assert!(open.users_peak >= 95, "{} users at once", open.users_peak);
}

#[test]
fn a_burst_starts_completely_even_if_users_are_expensive() {
    let asked = costly(LoadProfile::burst(5_000), |_| 300 * US);
    let (all, _) = measured(&asked, 1);
    assert_eq!((all.leaves[0].ended, asked.users_created.get()), (5_000, 5_000));
}

fn units_of(ns: u64) -> String {
    format!("{} µs", ns / US)
}
