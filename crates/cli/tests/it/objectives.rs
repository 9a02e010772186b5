//! Thresholds, load profiles and their numbers, compared with independently known values.

use std::time::Duration;

use crate::harness::raw::{Raw, Step, send};
use crate::harness::{Ended, Folder, fairly, server};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Runs a test with this load and these thresholds. Its scenario sends one request.
fn run(target: &str, load: &str, thresholds: &str) -> Ended {
    let script = format!(
        r#"import {{ test, scenario, arrivals, users, iterations, once, atOnce, sequence, requests,
           failures, responseTime, iterationCount, checks }} from "loadstone";
const s = scenario("S", async (user) => {{ user.check("ok", (await user.get("/", {{ name: "R" }})).ok); }});
export default test({{ target: "{target}", load: {load}, thresholds: [{thresholds}] }});
"#
    );
    Folder::new().file("a.load.ts", &script).run(&["run", "a.load.ts"])
}

#[test]
fn thresholds_that_hold_pass_and_those_that_do_not_have_their_exit_code() {
    let hold = "requests().count.equals(20), failures().rate.equals(0), responseTime().max.below(\"5s\"), \
                iterationCount(\"S\").count.atLeast(20), iterations(\"S\").failed.count.equals(0), \
                checks().failed.count.equals(0), checks().passed.rate.equals(1)";
    run(server::nginx(), "s.run(arrivals(20).for(\"1s\"))", hold).passes();
    let ended = run(server::nginx(), "s.run(arrivals(20).for(\"1s\"))", "requests().count.atLeast(21)").fails_a_threshold();
    assert_eq!(ended.summary()["verdict"]["thresholds"][0]["state"], "failed", "{}", ended.everything());
    run(server::nginx(), "s.run(arrivals(20).for(\"1s\"))", "responseTime(\"Nothing of that name\").p99.below(\"1s\")").fails_a_threshold();
}

#[test]
fn a_run_whose_every_request_fails_fails_without_a_threshold() {
    let raw = Raw::answering(vec![send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")]);
    for arrivals in [1, 10] {
        let ended = run(&raw.address, &format!("s.run(arrivals({arrivals}).for(\"1s\"))"), "").fails_a_threshold();
        assert_eq!(ended.outcomes("status"), arrivals, "{}", ended.everything());
        ended.says("some requests pass (implied)");
    }
    run(&raw.address, "s.run(arrivals(10).for(\"1s\"))", "failures().rate.below(\"1%\")").fails_a_threshold();
}

/// Runs a test whose scenario has this body.
fn run_body(body: &str, thresholds: &str) -> Ended {
    run_body_in(Folder::new(), body, thresholds).0
}

fn run_body_in(folder: Folder, body: &str, thresholds: &str) -> (Ended, Folder) {
    let script = format!(
        r#"import {{ test, scenario, arrivals, scriptErrors, iterations }} from "loadstone";
const s = scenario("S", async (user) => {{ {body} }});
export default test({{ target: "{}", load: s.run(arrivals(20).for("1s")){thresholds} }});
"#,
        server::nginx()
    );
    let folder = folder.file("a.load.ts", &script);
    (folder.run(&["run", "a.load.ts", "--junit", "junit.xml"]), folder)
}

#[test]
fn a_script_that_throws_fails_the_run_unless_the_test_allows_it() {
    let thrown = r#"await user.get("/"); if (user.iteration % 4 === 0) throw new Error("broken"); user.check("there", true);"#;
    let (ended, folder) = run_body_in(Folder::new(), thrown, "");
    let ended = ended.fails_a_threshold().says("no script errors (implied)");
    let threshold = &ended.summary()["verdict"]["thresholds"][0];
    assert_eq!((&threshold["state"], &threshold["measured"]), (&"failed".into(), &5.0.into()), "{}", ended.everything());
    let junit = std::fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(junit.contains("no script errors (implied)") && junit.contains("<failure"), "{junit}");
    run_body(thrown, r#", thresholds: [scriptErrors().rate.below("30%"), iterations("S").failed.count.equals(5)]"#).passes();
    run_body(thrown, r#", thresholds: [scriptErrors("S").rate.below("20%")]"#).fails_a_threshold();
    // Neither an iteration that the script declares failed, nor a failed request, is an error of the script.
    run_body(r#"await user.get("/"); user.fail("by choice");"#, r#", thresholds: [iterations().failed.rate.equals(1)]"#).passes();
    run_body(r#"await user.get("/none"); await user.get("/");"#, "").passes();
}

#[test]
fn a_run_without_requests_is_invalid() {
    run_body(r#"throw new Error("at once");"#, "").code(4).says("no request was sent; 20 script errors occurred");
    run_body(r#"await user.pause("1ms");"#, "").code(4).says("none sent a request");
    run_body(r#"user.check("nothing to ask for", true);"#, "").passes();
}

#[test]
fn the_share_of_checks_names_the_checks() {
    let script = r#"import { test, scenario, once, checks } from "loadstone";
const s = scenario("S", async (user) => {});
export default test({ load: s.run(once()), thresholds: [checks().rate.equals(0)] });
"#;
    Folder::new().file("a.load.ts", script).run(&["run", "a.load.ts"]).code(2).says("checks().failed.rate").says("a.load.ts:3");
}

#[test]
fn a_hopeless_threshold_can_end_the_run_early() {
    let raw = Raw::answering(vec![send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")]);
    let ended = run(&raw.address, "s.run(arrivals(20).for(\"60s\"))", "failures().count.atMost(5).abortEarly()").fails_a_threshold();
    let seconds = ended.summary()["totals"]["duration_seconds"].as_f64().unwrap();
    assert!(seconds < 20.0, "{seconds} s");
}

#[test]
fn every_arrival_of_an_open_profile_is_started() {
    for (load, arrivals) in [
        ("s.run(arrivals(50).for(\"2s\"))", 100),
        ("s.run(arrivals.ramp(0, 100).for(\"2s\"))", 100),
        ("s.run(arrivals.steps([10, 20, 30]).each(\"1s\"))", 60),
        ("s.run(arrivals(\"600/m\").for(\"1s\").then(arrivals(20).for(\"1s\")))", 30),
        ("s.run(atOnce(37))", 37),
        ("sequence(s.run(once()), [s.run(arrivals(10).for(\"1s\")), s.run(iterations(7))], s.run(once()))", 19),
        ("s.run(iterations(5).users(4).perUser())", 20),
    ] {
        let ended = run(server::nginx(), load, "").passes();
        assert_eq!(ended.summary()["totals"]["iterations"], arrivals, "{load}\n{}", ended.everything());
        assert_eq!(ended.outcomes("passed"), arrivals, "{load}\n{}", ended.everything());
    }
}

#[test]
fn a_limit_on_users_makes_arrivals_wait_and_loses_none() {
    // One user at a time, 200 ms each: 20 arrivals within one second take four seconds.
    let raw = Raw::answering(vec![Step::Wait(Duration::from_millis(200)), send(OK)]);
    let ended = run(&raw.address, "s.run(arrivals(20).for(\"1s\").maxUsers(1))", "");
    let totals = &ended.summary()["totals"];
    assert_eq!((&totals["arrivals_due"], &totals["arrivals_started"]), (&20.into(), &20.into()), "{}", ended.everything());
    assert_eq!(ended.outcomes("passed"), 20, "{}", ended.everything());
    // The last arrival was due at 0.95 s and ended at 4 s at the earliest.
    let row = &ended.summary()["requests"][0];
    assert!(row["response"]["max"].as_f64().unwrap() >= 3.0, "{row}");
    assert!(row["service"]["max"].as_f64().unwrap() < 2.0, "{row}");
    assert!(row["lag"]["max"].as_f64().unwrap() >= 2.8, "{row}");
}

#[test]
fn a_stall_shows_in_full_in_open_load() {
    // Every request waits while the first one takes 2 s: with maxUsers(1) the excess decreases linearly.
    let ended = fairly(|| {
        let raw = Raw::by_request(|n| if n == 0 { vec![Step::Wait(Duration::from_secs(2)), send(OK)] } else { vec![send(OK)] });
        run(&raw.address, "s.run(arrivals(50).for(\"5s\").maxUsers(1))", "")
    });
    let median = ended.summary()["response"]["percentiles"][0]["value"].as_f64().unwrap();
    // R_q = max(0, D - (1 - q) T) with D = 2 s, T = 5 s: R_0.5 = 0, also for any D up to 2.5 s, and R_0.75 = 0.75 s.
    let p75 = ended.summary()["response"]["percentiles"][1]["value"].as_f64().unwrap();
    assert!(median < 0.3, "median {median}\n{}", ended.everything());
    assert!((0.5..1.3).contains(&p75), "p75 {p75}\n{}", ended.everything());
}

#[test]
fn iterations_may_finish_within_the_graceful_stop_and_are_cut_off_after_it() {
    let slow = Raw::answering(vec![Step::Wait(Duration::from_secs(2)), send(OK)]);
    let ended = fairly(|| run(&slow.address, "s.run(users(2).for(\"1s\").gracefulStop(\"20s\"))", ""));
    assert_eq!(ended.outcomes("passed"), 2, "{}", ended.everything());
    let ended = fairly(|| run(&slow.address, "s.run(users(2).for(\"1s\").gracefulStop(\"0s\"))", ""));
    let totals = &ended.summary()["totals"];
    assert_eq!(totals["iterations_interrupted"], 2, "{}", ended.everything());
    assert_eq!(totals["requests_failed"], 0, "cut off is not failed\n{}", ended.everything());
}
