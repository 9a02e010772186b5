//! How iterations end: each with its own promise, whichever user settles the promises it waits for.

use std::time::Duration;

use loadstone_engine::{IterationEnd, VirtualUser};
use loadstone_metrics::{MarkKind, Outcome};

use crate::running::{TestWorker, run};

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);
const THREW: IterationEnd = IterationEnd::Threw(Outcome::Script);

/// A test whose scenario is this function.
fn test_of(top: &str, function: &str) -> String {
    format!(
        "import {{ once, param, scenario, test }} from \"loadstone\";\n{top}\nconst s = scenario(\"S\", {function});\n\
         export default test({{ target: param.url(\"target\"), load: s.run(once()) }});\n"
    )
}

fn messages(worker: &TestWorker) -> Vec<String> {
    worker.drain().errors.iter().map(|error| error.message.to_string()).collect()
}

#[test]
fn a_user_that_waits_for_another_ends_when_the_other_settles_its_promise() {
    let top = "let open: () => void;\nconst gate = new Promise<void>((resolve) => { open = resolve; });";
    // One waits only for the gate. The other races it against a pause that is longer than the test.
    let function = "async (user) => {
  if (user.number === 0) await gate;
  else if (user.number === 1) await Promise.race([gate, user.pause('1h')]);
  else { await user.pause('20ms'); open(); }
}";
    run(&test_of(top, function), async |worker| {
        let ends = tokio::join!(worker.iterate(0), worker.iterate(1), worker.iterate(2));
        assert_eq!(ends, (PASSED, PASSED, PASSED));
        assert!(messages(worker).is_empty());
    });
}

#[test]
fn one_rejection_with_many_waiters_fails_each_of_them_once() {
    let top = "let fail: (error: Error) => void;\nconst gate = new Promise<void>((_, reject) => { fail = reject; });";
    let function = "async (user) => {
  if (user.number === 0) { await user.pause('5ms'); fail(new Error('no gate')); }
  else await gate;
}";
    run(&test_of(top, function), async |worker| {
        // More than the stored number of rejections without a waiter.
        let all = (0..150).map(|number| worker.iterate(number));
        let ends = futures_util::future::join_all(all).await;
        assert_eq!(ends.iter().filter(|end| **end == THREW).count(), 149);
        let errors = worker.drain().errors;
        assert_eq!((errors.len(), errors[0].count), (1, 149));
        assert!(errors[0].message.starts_with("no gate ("), "{}", errors[0].message);
    });
}

#[test]
fn a_scenario_that_awaits_nothing_ends_at_once_and_fails_if_it_throws() {
    run(&test_of("", "async (user) => { if (user.number === 1) throw new Error('at once'); }"), async |worker| {
        assert_eq!((worker.iterate(0).await, worker.iterate(1).await, worker.iterate(2).await), (PASSED, THREW, PASSED));
        assert_eq!(messages(worker), ["at once (t.load.ts:3:76)"]);
    });
}

#[test]
fn a_promise_that_users_share_ends_each_of_their_iterations() {
    let top = "let open: () => void;\nconst gate = new Promise<void>((resolve) => { open = resolve; });";
    // Not an async function: both users return the same promise, and the third user's is already settled.
    let function = "(user) => { if (user.number === 2) open(); return gate; }";
    run(&test_of(top, function), async |worker| {
        let late = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            worker.iterate(2).await
        };
        assert_eq!(tokio::join!(worker.iterate(0), worker.iterate(1), late), (PASSED, PASSED, PASSED));
    });
}

#[test]
fn later_errors_of_an_interrupted_iteration_are_not_reported() {
    let top = "let fail: (error: Error) => void;\nconst gate = new Promise<void>((_, reject) => { fail = reject; });";
    let function = "async (user) => {
  if (user.number === 0) await gate;
  else if (user.number === 1) fail(new Error('too late'));
}";
    run(&test_of(top, function), async |worker| {
        let mut user = worker.user(0);
        let cut = tokio::time::timeout(Duration::from_millis(20), user.iterate(worker.iteration(0, None))).await;
        assert!(cut.is_err());
        drop(user);
        assert_eq!(worker.iterate(1).await, PASSED);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(messages(worker).is_empty());
    });
}

#[test]
fn an_iteration_ends_after_its_requests_that_were_not_awaited() {
    let function = "(user) => { user.get('/a', { name: 'A' }); user.get('/status/500', { name: 'B' }); user.pause('1h'); }";
    run(&test_of("", function), async |worker| {
        let ends = futures_util::future::join_all((0..15).map(|number| worker.iterate(number))).await;
        assert!(ends.iter().all(|end| *end == FAILED), "{ends:?}");
        let snapshot = worker.drain();
        let count = |name: &str| snapshot.series.iter().filter(|series| &*series.key.name == name).map(|series| series.count).sum::<u64>();
        assert_eq!((count("A"), count("B")), (15, 15));
        let [warning] = &snapshot.marks[..] else { panic!("one warning: {:?}", snapshot.marks) };
        assert_eq!(warning.kind, MarkKind::Warning);
        assert!(warning.text.contains("does not await \"") && warning.text.contains("(t.load.ts:3:"), "{}", warning.text);
    });
}

#[test]
fn code_that_outlives_an_iteration_cannot_send_requests() {
    let function = "(user) => { (async () => { await user.get('/a'); await user.get('/b'); })(); }";
    run(&test_of("", function), async |worker| {
        assert_eq!(worker.iterate(0).await, THREW);
        let snapshot = worker.drain();
        assert!(snapshot.errors[0].message.contains("the iteration has ended: await every request"), "{:?}", snapshot.errors);
        assert!(!snapshot.series.iter().any(|series| &*series.key.name == "GET /b"));
    });
}

#[test]
fn an_interruption_also_ends_requests_that_were_not_awaited() {
    run(&test_of("", "(user) => { user.get('/hang', { name: 'H' }); }"), async |worker| {
        let mut user = worker.user(0);
        let cut = tokio::time::timeout(Duration::from_millis(50), user.iterate(worker.iteration(0, None))).await;
        assert!(cut.is_err());
        let snapshot = worker.drain();
        let hanging = snapshot.series.iter().find(|series| &*series.key.name == "H").unwrap();
        assert_eq!(hanging.outcomes, [(Outcome::Interrupted, 1)]);
    });
}
