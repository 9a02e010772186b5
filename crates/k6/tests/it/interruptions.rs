//! Iterations that are cut off leave nothing behind.

use std::pin::pin;
use std::task::{Context, Waker};

use loadstone_engine::{IterationEnd, UserFactory, VirtualUser};
use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_plan::ScenarioId;

use crate::harness::Bench;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);

#[test]
fn neither_catch_nor_finally_runs_after_an_interruption() {
    let bench = Bench::new(
        r#"import { sleep } from "k6";
        export default function () {
          try { sleep(__ITER === 0 ? 100 : 1); } catch (error) { console.log("caught"); } finally { console.log("finally", __ITER); }
        }"#,
    );
    let mut user = bench.user();
    bench.interrupt_after(&mut user, 1);
    assert_eq!(bench.printed(), [] as [&str; 0]);
    assert_eq!(bench.run(&mut user, 1), PASSED);
    assert_eq!(bench.printed(), ["finally 1"]);
}

#[test]
fn jobs_of_an_interrupted_iteration_do_not_run_in_the_next_one() {
    let bench = Bench::new(
        r#"import { sleep } from "k6";
        export default async function () {
          if (__ITER > 0) { console.log("second"); return; }
          Promise.resolve().then(() => { console.log("left over"); sleep(1); console.log("still there"); });
          setTimeout(() => console.log("timer"), 10);
          sleep(100);
          await null;
          console.log("continued");
        }"#,
    );
    let mut user = bench.user();
    bench.interrupt_after(&mut user, 1);
    bench.clock.advance_to(1_000_000_000);
    assert_eq!(bench.run(&mut user, 1), PASSED);
    assert_eq!(bench.printed(), ["second"]);
}

#[test]
fn timers_of_an_interrupted_iteration_do_not_fire_in_the_next_one() {
    let bench = Bench::new(
        r#"export default async function () {
          if (__ITER > 0) { await new Promise((resolve) => setTimeout(resolve, 50)); console.log("second"); return; }
          setTimeout(() => console.log("left over"), 10);
          await new Promise((resolve) => setTimeout(resolve, 100));
        }"#,
    );
    let mut user = bench.user();
    bench.interrupt_after(&mut user, 2);
    assert_eq!(bench.run(&mut user, 1), PASSED);
    assert_eq!(bench.printed(), ["second"]);
}

#[test]
fn an_interrupted_group_is_recorded_as_interrupted() {
    let bench = Bench::new(
        r#"import { group, sleep } from "k6";
        export default function () { group("outer", () => group("inner", () => sleep(100))); }"#,
    );
    let mut user = bench.user();
    bench.interrupt_after(&mut user, 1);
    let groups: Vec<_> = bench.snapshot().series.into_iter().filter(|series| series.key.kind == SeriesKind::Group).collect();
    let outcomes: Vec<_> = groups.iter().map(|series| (series.key.name.to_string(), series.censored.count())).collect();
    assert_eq!(outcomes, [("inner".to_owned(), 1), ("outer".to_owned(), 1)]);
}

/// Values of JavaScript must drop before their context: QuickJS aborts the process otherwise.
#[test]
fn a_vu_can_be_dropped_in_any_state() {
    let script = r#"import { sleep } from "k6";
        const kept = new Map();
        export default async function () {
          kept.set("self", kept);
          setTimeout(() => kept.clear(), 1000);
          sleep(1);
          await new Promise((resolve) => setTimeout(resolve, 5000));
        }"#;
    for polls in 0..4 {
        let bench = Bench::new(script);
        let mut user = bench.user();
        if polls > 0 {
            bench.interrupt_after(&mut user, polls);
        }
        drop(user);
        let mut ended = bench.user();
        bench.run(&mut ended, 0);
        drop(bench.users);
    }
}

#[test]
fn an_endless_loop_lets_other_vus_run_and_can_be_interrupted() {
    let bench = Bench::new(
        r#"export default function () {
          if (__VU === 1 && __ITER === 0) for (let n = 0; ; n++) n = n % 7;
          console.log(`VU ${__VU}`);
        }"#,
    );
    let (mut endless, mut other) = (bench.user(), bench.user());
    {
        let mut iteration = pin!(endless.iterate(bench.iteration(0)));
        let mut context = Context::from_waker(Waker::noop());
        for round in 0..3 {
            assert!(iteration.as_mut().poll(&mut context).is_pending(), "the loop ended");
            assert_eq!(bench.run(&mut other, round), PASSED);
        }
    }
    assert_eq!(bench.printed(), ["VU 2", "VU 2", "VU 2"]);
    assert_eq!(bench.run(&mut endless, 1), PASSED);
    assert_eq!(bench.printed(), ["VU 1"]);
}

#[test]
fn prepared_vus_are_used_first_and_keep_their_numbers() {
    let bench = Bench::new(
        "export const options = { vus: 2, iterations: 2 };\nconst id = __VU; export default function () { console.log(id, __VU); }",
    );
    bench.users.prepare(2).unwrap();
    let mut users = [0, 1, 2].map(|number| bench.users.new_user(0, ScenarioId(0), number).unwrap());
    users.iter_mut().for_each(|user| _ = bench.run(user, 0));
    assert_eq!(bench.printed(), ["1 1", "2 2", "3 3"]);
}

#[test]
fn a_vu_that_only_fails_waits_after_a_hundred_iterations_until_one_passes() {
    let bench = Bench::new("export default function () { if (__ITER !== 150) throw new Error('no'); }");
    let mut user = bench.user();
    for iteration in 0..99 {
        bench.run(&mut user, iteration);
    }
    assert_eq!(bench.clock.now(), 0, "the first failures cost no time");
    bench.run(&mut user, 99);
    assert_eq!(bench.clock.now(), 100_000_000);
    assert!(bench.printed().iter().any(|line| line.contains("VU 1 has failed 100 iterations in a row")));
    for iteration in 100..150 {
        bench.run(&mut user, iteration);
    }
    assert_eq!(bench.clock.now(), 51 * 100_000_000);
    assert_eq!(bench.run(&mut user, 150), PASSED);
    bench.run(&mut user, 151);
    assert_eq!(bench.clock.now(), 51 * 100_000_000, "a passed iteration ends the wait");
}
