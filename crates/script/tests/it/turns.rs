//! Turns of the event loop: a user that keeps it busy leaves turns to the others.

use loadstone_engine::VirtualUser as _;

use crate::running::{PASSED, run, scenario};

#[test]
fn a_long_chain_of_settled_promises_ends_and_others_run_in_between() {
    let text = scenario(
        "if (user.number === 1) { await user.pause('1ms'); console.log('between'); return; }\n\
         for (let i = 0; i < 300_000; i++) await null;\nconsole.log('end');",
    );
    run(&text, async |worker| {
        let (mut long, mut short) = (worker.user(0), worker.user(1));
        let ends = futures_util::future::join(long.iterate(worker.iteration(0, None)), short.iterate(worker.iteration(1, None))).await;
        assert_eq!(ends, (PASSED, PASSED));
        assert_eq!(worker.texts(), ["between", "end"]);
    });
}
