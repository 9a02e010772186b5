//! Results that are independent of the number of workers: numbers, draws, thresholds. Feeders and names are in `data`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::harness::raw::{Raw, Step, send};
use crate::harness::{Ended, Folder};

const WORKERS: [&str; 3] = ["1", "2", "3"];

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const BUSY: &str = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

/// Runs a scenario with this body.
fn run(workers: &str, target: &Raw, load: &str, body: &str, thresholds: &str) -> Ended {
    let script = format!(
        r#"import {{ arrivals, atOnce, failures, iterationCount, iterations, requests, responseTime, scenario, test, users }} from "loadstone";
const s = scenario("S", async (user) => {{ {body} }});
export default test({{ target: "{}", load: s.run({load}), thresholds: [{thresholds}] }});
"#,
        target.address
    );
    Folder::new().file("a.load.ts", &script).run(&["run", "a.load.ts", "--workers", workers])
}

#[test]
fn iterations_are_numbered_without_gaps() {
    let raw = Raw::answering(vec![send(OK)]);
    // Numbers of users that no number of workers divides.
    for load in ["iterations(90).users(7)", "iterations(9).users(7).perUser()", "users(7).for(\"1s\")", "arrivals(60).for(\"1s\")"] {
        for workers in WORKERS {
            let ended =
                run(workers, &raw, load, r#"console.log("row", user.iteration); user.check("ran", true); await user.pause("30ms");"#, "")
                    .passes();
            let mut numbers: Vec<u64> = ended.printed().iter().map(|number| number.parse().expect("a number")).collect();
            numbers.sort_unstable();
            let iterations = ended.summary()["totals"]["iterations"].as_u64().expect("a count");
            assert!(numbers.iter().copied().eq(0..iterations), "{load} on {workers} workers: {numbers:?}\n{}", ended.everything());
            assert!(iterations > 7, "{load} on {workers} workers\n{}", ended.everything());
        }
    }
}

#[test]
fn draws_do_not_depend_on_the_number_of_workers() {
    let raw = Raw::answering(vec![send(OK)]);
    for load in ["iterations(8).users(7).perUser()", "arrivals(60).for(\"1s\")", "atOnce(40)"] {
        let draws = |workers| {
            let body = r#"console.log("row", user.random.integer(0, 1e9)); user.check("ran", true); await user.pause("20ms");"#;
            let mut draws = run(workers, &raw, load, body, "").passes().printed();
            draws.sort();
            draws
        };
        let [one, two, three] = WORKERS.map(draws);
        assert!(BTreeSet::from_iter(&one).len() >= 40, "{load}: {one:?}");
        assert_eq!(one, two, "{load}");
        assert_eq!(one, three, "{load}");
    }
}

#[test]
fn thresholds_are_judged_over_all_workers() {
    // Each of 30 users sends ten requests, of which one fails and one takes a second.
    let raw = Raw::by_request(|request| match request {
        3 => vec![send(BUSY)],
        9 => vec![Step::Wait(Duration::from_secs(1)), send(OK)],
        _ => vec![send(OK)],
    });
    let (load, body) = ("iterations(10).users(30).perUser()", r#"await user.get("/");"#);
    let hold = r#"requests().count.equals(300), iterationCount().count.equals(300), failures().count.equals(30), failures().rate.equals(0.1),
        responseTime().p50.below("990ms"), responseTime().percentile(95).atLeast("990ms")"#;
    let fail = r#"requests().count.above(300), failures().count.below(30), responseTime().p50.atLeast("990ms"), responseTime().p95.below("990ms")"#;
    for workers in WORKERS {
        let ended = run(workers, &raw, load, body, hold).passes();
        let thresholds = &ended.summary()["verdict"]["thresholds"];
        let measured: Vec<f64> = (0..4).map(|at| thresholds[at]["measured"].as_f64().expect("a value")).collect();
        assert_eq!(measured, [300.0, 300.0, 30.0, 0.1], "{workers} workers\n{}", ended.everything());

        let ended = run(workers, &raw, load, body, fail).fails_a_threshold();
        let thresholds = ended.summary()["verdict"]["thresholds"].as_array().expect("a list").clone();
        // The last threshold is implicit: no script errors.
        assert_eq!(thresholds.len(), 5);
        assert!(thresholds[..4].iter().all(|threshold| threshold["state"] == "failed"), "{workers} workers\n{}", ended.everything());
    }
}

#[test]
fn a_hopeless_threshold_ends_the_run_early() {
    let raw = Raw::answering(vec![Step::Wait(Duration::from_millis(50)), send(BUSY)]);
    for threshold in [r#"failures().count.atMost(40).abortEarly()"#, r#"responseTime().p50.below("40ms").over("1s").abortEarly()"#] {
        for workers in ["1", "3"] {
            let ended = run(workers, &raw, "users(6).for(\"60s\")", r#"await user.get("/");"#, threshold).fails_a_threshold();
            let seconds = ended.summary()["totals"]["duration_seconds"].as_f64().expect("a time");
            assert!(seconds < 30.0, "{threshold} on {workers} workers: {seconds} s\n{}", ended.everything());
        }
    }
}

/// Two users on one worker: while one computes, the other's response has arrived and waits. It is always the same user's.
#[test]
fn a_script_that_computes_delays_reads_and_the_run_reports_it() {
    let raw = Raw::answering(vec![send(OK)]);
    let body = r#"await user.get("/"); const end = Date.now() + 6; while (Date.now() < end);"#;
    let ended = run("1", &raw, "iterations(400).users(2)", body, "");
    let summary = ended.summary();
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("a list of checks");
    let check = |id: &str| checks.iter().find(|check| check["id"] == id).expect("the check");
    assert_ne!(check("uncertainty")["grade"], "valid", "{}", check("uncertainty"));
    let check = check("read-lag");
    // For some percentile above the median: the kernel starts timestamping with a delay.
    let evidence = check["evidence"].as_str().expect("a string");
    assert!(evidence.starts_with("p9") && evidence.contains(" of the time that responses waited to be read was "), "{evidence}");
}
