//! Observers during a load: their signals reach the run directory, thresholds and report. A failing observer is a warning.

use std::fs;

use serde_json::Value;

use crate::harness::{Ended, Folder, server};

/// Observers, thresholds and the duration of a run against nginx.
fn watched(observe: &str, thresholds: &str, seconds: u32) -> (Folder, Ended) {
    watched_with(&[], server::nginx(), observe, thresholds, seconds)
}

fn watched_with(flags: &[&str], target: &str, observe: &str, thresholds: &str, seconds: u32) -> (Folder, Ended) {
    let script = format!(
        r#"import {{ arrivals, observe, scenario, signal, test }} from "loadstone";
const visit = scenario("Visit", (user) => user.get("/data.json"));
export default test({{ target: "{target}", load: visit.run(arrivals(20).for("{seconds}s")), observe: [{observe}], thresholds: [{thresholds}] }});
"#
    );
    let folder = Folder::new().file("watched.load.ts", &script);
    let ended = folder.run(&[&["run", "watched.load.ts"], flags].concat());
    (folder, ended)
}

fn check<'a>(summary: &'a Value, id: &str) -> &'a Value {
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("a list of checks");
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check {id}"))
}

#[test]
fn signals_are_stored_judged_and_shown() {
    let port = server::nginx().rsplit(':').next().expect("an address with its port");
    let database = &server::shop().database;
    let (folder, ended) = watched(
        &format!("observe.process({{ port: {port} }}), observe.host(), observe.postgres({database:?}, {{ name: \"shop\", sampleHz: 20 }})"),
        &format!(
            r#"signal("process:{port}/threads").min.atLeast(1), signal("shop/connections_limit").last.atLeast(1),
            signal("shop/sessions{{wait=Lock:none}}").max.below(1), signal("host/memory_total").max.below(1)"#
        ),
        4,
    );
    let summary = ended.summary();
    let states: Vec<&Value> = summary["verdict"]["thresholds"].as_array().expect("a list").iter().map(|result| &result["state"]).collect();
    assert_eq!(states, ["passed", "passed", "passed", "failed", "passed"], "{}", ended.everything());
    // On a busy machine, an observer may miss a reading.
    assert!(check(&summary, "observers")["grade"].is_string(), "{}", ended.everything());
    let run = folder.runs().remove(0);
    let signals = fs::read_to_string(run.join("signals.jsonl")).expect("signals.jsonl");
    for name in ["/cpu\"", "\"host/runnable\"", "\"shop/commits\"", "\"observe/cpu\""] {
        assert!(signals.contains(name), "{name}");
    }
    let page = fs::read_to_string(run.join("report.html")).expect("the report");
    assert!(page.contains("signal/shop/commits"));
}

#[test]
fn an_observer_that_fails_is_a_warning_and_its_password_stays_secret() {
    let nobody = server::free_port("127.0.0.1");
    let (folder, ended) = watched(&format!("observe.redis(\"redis://:hunter2@127.0.0.1:{nobody}/\")"), "", 3);
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", ended.everything());
    let ended = ended.says("warning: redis cannot read: cannot connect").does_not_say("hunter2");
    let summary = ended.summary();
    assert_eq!(summary["totals"]["requests_failed"], 0, "{}", ended.everything());
    let check = check(&summary, "observers");
    assert_eq!(check["grade"], "valid");
    assert!(check["advice"].as_str().expect("a sentence").contains("The observer's values during the gap are unknown"), "{check}");
    assert!(check["evidence"].as_str().expect("a sentence").starts_with("redis was silent from 0 s to "), "{check}");
    for entry in fs::read_dir(folder.runs().remove(0)).expect("the run's folder") {
        let path = entry.expect("a file").path();
        assert!(!fs::read_to_string(&path).expect("a string").contains("hunter2"), "{}", path.display());
    }
}

#[test]
fn a_wrong_observer_is_found_before_the_load_and_its_password_stays_secret() {
    for (observer, expected) in [
        ("observe.process({ port: 70000 })", "observe.process: port: expected a whole number from 1 to 65535, got 70000"),
        ("observe.prometheus(\"https://app:hunter2@127.0.0.1/metrics\")", "must begin with http://"),
        ("observe.statsd({ listen: \"everywhere\" })", "\"everywhere\" is not an address"),
        // At its line, which is the third.
        (
            "observe.mainframe()",
            "no observer `observe.mainframe`; known are: process, host, cgroup, node, jvm, go, python, native, postgres, mysql, redis, kafka, sql, prometheus",
        ),
        ("observe.process({ prot: 1 })", "watched.load.ts:3"),
        (
            "observe.process({ prot: 1 })",
            "observe.process: there is no option `prot` (did you mean `port`?); known are: port, pid, name, every",
        ),
        ("observe.postgres()", "observe.postgres: url is missing"),
        ("observe.host({ every: 5 })", "observe.host: every: expected a duration such as \"500ms\" or \"1s\", got 5"),
    ] {
        let (folder, ended) = watched(observer, "", 3);
        ended.code(2).says(expected).does_not_say("hunter2");
        assert!(folder.runs().is_empty());
    }
}

#[test]
fn brokers_that_the_test_does_not_name_are_observed_with_allow_net() {
    // The broker reports its address as 127.0.0.1, which neither the target nor the observer names.
    let by_name = |address: &str| address.replace("127.0.0.1", "localhost");
    let (target, observer) = (by_name(server::nginx()), format!("observe.kafka({{ brokers: \"{}\" }})", by_name(server::kafka())));
    let signals = |folder: &Folder| fs::read_to_string(folder.runs().remove(0).join("signals.jsonl")).unwrap_or_default();

    let (folder, refused) = watched_with(&[], &target, &observer, "", 4);
    refused.says("the cluster reports brokers that the test may not connect to: 127.0.0.1").says("`--allow-net HOST`");
    assert!(!signals(&folder).contains("lag{"), "{}", signals(&folder));

    let (folder, permitted) = watched_with(&["--allow-net", "127.0.0.1"], &target, &observer, "", 4);
    permitted.does_not_say("may not connect to");
    assert!(signals(&folder).contains("lag{"), "{}", signals(&folder));
}
