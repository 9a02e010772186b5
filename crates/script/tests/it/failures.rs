//! Stored failures, and their causes.

use loadstone_engine::{IterationEnd, VirtualUser};
use loadstone_metrics::{Outcome, SeriesKind, Snapshot};

use crate::running::{run, scenario};

const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);
const THREW: IterationEnd = IterationEnd::Threw(Outcome::Script);

#[test]
fn the_first_failures_of_a_kind_are_stored_with_their_answers() {
    let body = "await user.get('/status/503', { name: 'Down' });
                await user.get('/echo', { name: 'Wrong', expect: { json: { '$.method': 'PUT' } } });
                await user.get('/echo', { name: 'Fine' });
                await user.get('/hang', { name: 'Late', timeout: '5ms' });";
    run(&scenario(body), async |worker| {
        let mut stored = Vec::new();
        for sequence in 0..5 {
            assert_eq!(worker.iterate(sequence).await, FAILED);
            stored.extend(worker.drain().errors.into_iter().map(|error| (error.message.to_string(), error.samples)));
        }
        let of = |message: &str| stored.iter().filter(|(known, _)| known == message).flat_map(|(_, samples)| samples).collect::<Vec<_>>();
        let (down, wrong) = (of("status 503"), of("$.method is \"GET\", expected \"PUT\""));
        assert_eq!((down.len(), wrong.len()), (3, 3), "{stored:?}");
        assert_eq!((down[0].status, wrong[0].status), (503, 200));
        assert!(wrong[0].body.contains("\"method\":\"GET\"") && wrong[0].at > 0);
        assert!(down[0].headers.iter().any(|(name, value)| name == "x-two" && value == "a"), "{:?}", down[0].headers);
        // There was no answer.
        assert!(stored.iter().filter(|(message, _)| message.contains("timed out")).all(|(_, samples)| samples.is_empty()));
        assert!(stored.iter().any(|(message, _)| message.contains("timed out")), "{stored:?}");
    });
}

#[test]
fn an_error_thrown_after_a_failed_request_is_a_consequence() {
    run(&scenario("(await user.get('/status/500', { name: 'Down' })).json('$.gone');"), async |worker| {
        assert_eq!(worker.iterate(0).await, IterationEnd::Threw(Outcome::Step));
        assert!(worker.drain().errors.iter().all(|error| error.outcome != Outcome::Script));
    });
    run(&scenario("await user.get('/echo', { expect: { json: { '$.path': () => { throw new Error('mine'); } } } });"), async |worker| {
        assert_eq!(worker.iterate(0).await, THREW);
    });
}

/// A failure of the target, which the script detected.
#[test]
fn a_declared_failure_is_no_script_error() {
    let errors = |snapshot: &Snapshot| {
        let iterations =
            snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Iteration).map_or(0, |series| series.script_errors);
        (snapshot.errors[0].outcome, snapshot.errors[0].message.to_string(), iterations)
    };
    run(&scenario("user.fail('enough');"), async |worker| {
        assert_eq!(worker.iterate(0).await, IterationEnd::Threw(Outcome::Step));
        let (outcome, message, script_errors) = errors(&worker.drain());
        assert_eq!((outcome, script_errors), (Outcome::Step, 0));
        assert!(message.starts_with("enough (t.load.ts:4:"), "{message}");
    });
    run(&scenario("await user.group('G', async () => { await user.pause('1ms'); user.fail('enough'); });"), async |worker| {
        assert_eq!(worker.iterate(0).await, IterationEnd::Threw(Outcome::Step));
        let snapshot = worker.drain();
        let group = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Group).unwrap();
        assert_eq!(group.outcomes, [(Outcome::Step, 1)]);
    });
    // An exception is one, also in an iteration after a declared failure.
    run(&scenario("if (user.iteration === 0) user.fail('enough'); throw new Error('own');"), async |worker| {
        let mut user = worker.user(0);
        assert_eq!(user.iterate(worker.iteration(0, None)).await, IterationEnd::Threw(Outcome::Step));
        assert_eq!(user.iterate(worker.iteration(1, None)).await, THREW);
        let snapshot = worker.drain();
        let count = |outcome| snapshot.errors.iter().filter(|error| error.outcome == outcome).count();
        assert_eq!((count(Outcome::Step), count(Outcome::Script)), (1, 1));
        assert_eq!(errors(&snapshot).2, 1);
    });
}
