//! Recursion on a coroutine's stack.

use loadstone_engine::IterationEnd;
use loadstone_metrics::Outcome;

use crate::harness::Bench;

#[test]
fn endless_recursion_is_an_error_of_the_script_also_after_a_suspension() {
    let bench = Bench::new(
        r#"import { sleep } from "k6";
        function endless(n) { return 1 + endless(n + 1); }
        function attempt() { try { endless(0); } catch (error) { return error.message; } }
        export default function () {
          const before = attempt();
          sleep(1);
          console.log(before, attempt() === before);
        }"#,
    );
    let mut user = bench.user();
    for sequence in 0..2 {
        assert_eq!(bench.run(&mut user, sequence), IterationEnd::Ended(Outcome::Passed));
        let printed = bench.printed();
        assert!(printed[0].contains("stack") && printed[0].ends_with("true"), "{printed:?}");
    }
}

#[test]
fn a_vu_suspends_deep_in_a_recursion() {
    let bench = Bench::new(
        r#"import { sleep } from "k6";
        function deep(n) { if (n === 0) { sleep(1); return 0; } return 1 + deep(n - 1); }
        export default function () { console.log(deep(5000)); }"#,
    );
    let mut users = [bench.user(), bench.user()];
    for user in &mut users {
        assert_eq!(bench.run(user, 0), IterationEnd::Ended(Outcome::Passed));
    }
    assert_eq!(bench.printed(), ["5000", "5000"]);
}
