//! `loadstone run URL`: load without a script.

use crate::harness::raw::{Raw, send};
use crate::harness::{Folder, server};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_rate_makes_exactly_its_arrivals() {
    let ended = Folder::new().run(&["run", server::nginx(), "--rate", "100", "--for", "2s"]).passes();
    let totals = &ended.summary()["totals"];
    assert_eq!(totals["requests"], 200, "{}", ended.everything());
    assert_eq!((&totals["arrivals_due"], &totals["arrivals_started"]), (&200.into(), &200.into()));
    ended.says("200");
}

#[test]
fn users_keep_one_connection_each() {
    let raw = Raw::answering(vec![send(OK)]);
    let ended = Folder::new().run(&["run", &raw.address, "--users", "7", "--for", "1s"]).passes();
    assert_eq!(raw.connections(), 7, "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["connections_opened"], 7, "{}", ended.everything());
    let requests = ended.outcomes("passed");
    assert!(requests > 7, "{requests}");
    assert_eq!(ended.summary()["totals"]["bytes_received"], requests * OK.len() as u64, "{}", ended.everything());
}

/// Every reset by the target is a failure of the run, on kept-alive connections too.
#[test]
fn resets_are_failures_and_are_not_sent_again() {
    let behaviour = loadstone_stub::Behaviour::new().fault(0.1, loadstone_stub::Fault::Reset);
    let target = loadstone_stub::Server::builder().route("* /", behaviour).start().expect("a server");
    for method in ["GET", "PUT"] {
        let before = target.recording().routes[0].clone();
        let ended = Folder::new().run(&["run", &target.url("/"), "-X", method, "--rate", "250", "--for", "2s"]).passes();
        let seen = target.recording().routes[0].clone();
        let resets = |seen: &loadstone_stub::RouteCounts| seen.statuses.get(&0).copied().unwrap_or(0);
        let reset = resets(&seen) - resets(&before);
        assert!(reset > 0);
        assert_eq!((seen.requests - before.requests, ended.outcomes("reset")), (500, reset), "{}", ended.everything());
        assert_eq!(ended.summary()["totals"]["retried"], 0, "{}", ended.everything());
    }
}

#[test]
fn users_may_open_a_connection_for_every_request() {
    let raw = Raw::answering(vec![send(OK)]);
    let ended = Folder::new().run(&["run", &raw.address, "--rate", "20", "--for", "1s", "--no-keep-alive"]).passes();
    assert_eq!(raw.connections(), 20, "{}", ended.everything());
}

#[test]
fn method_headers_and_body_arrive() {
    let url = format!("{}/anything", server::httpbin());
    let json = Folder::new().file("body.json", r#"{"a":1}"#);
    // The echo server always responds with 200. /post would respond with 405 to a wrong method.
    json.run(&[
        "run",
        &url,
        "-d",
        "@body.json",
        "-H",
        "Content-Type: application/json",
        "--rate",
        "5",
        "--for",
        "1s",
        "--expect-status",
        "200",
    ])
    .passes();
    let post = format!("{}/post", server::httpbin());
    let ended = json.run(&["run", &post, "-d", "a=1", "--rate", "5", "--for", "1s"]).passes();
    assert_eq!(ended.outcomes("passed"), 5, "a body makes it a POST\n{}", ended.everything());
    let ended = json.run(&["run", &post, "-X", "GET", "--rate", "5", "--for", "1s"]).fails_a_threshold();
    assert_eq!(ended.outcomes("status"), 5, "/post answers GET with 405\n{}", ended.everything());
    let bearer = format!("{}/bearer", server::httpbin());
    let ended = json.run(&["run", &bearer, "-H", "Authorization: Bearer x", "--rate", "5", "--for", "1s"]).passes();
    assert_eq!(ended.outcomes("passed"), 5, "{}", ended.everything());
    let basic = format!("{}/basic-auth/us/pw", server::httpbin().replace("://", "://us:pw@"));
    let ended = json.run(&["run", &basic, "--rate", "5", "--for", "1s"]).passes();
    assert_eq!(ended.outcomes("passed"), 5, "{}", ended.everything());
}

#[test]
fn an_expected_status_judges() {
    let url = format!("{}/status/404", server::httpbin());
    let ended = Folder::new().run(&["run", &url, "--rate", "5", "--for", "1s", "--expect-status", "404"]).passes();
    assert_eq!(ended.outcomes("passed"), 5, "{}", ended.everything());
    let ended = Folder::new().run(&["run", &url, "--rate", "5", "--for", "1s", "--threshold", "failures<1%"]).fails_a_threshold();
    assert_eq!(ended.outcomes("status"), 5, "{}", ended.everything());
}

#[test]
fn objectives_on_the_command_line_decide_the_exit_code() {
    let with = |objective: &str| Folder::new().run(&["run", server::nginx(), "--rate", "20", "--for", "1s", "--threshold", objective]);
    with("p50<5s").passes();
    with("count>=20").passes();
    with("count>20").fails_a_threshold();
    with("failures=0").passes();
    with("max<1us").fails_a_threshold();
}

#[test]
fn results_can_go_to_files_and_to_standard_output() {
    let folder = Folder::new();
    let ended = folder
        .run(&[
            "run",
            server::nginx(),
            "--rate",
            "20",
            "--for",
            "1s",
            "--json",
            "--quiet",
            "--junit",
            "j.xml",
            "--html",
            "h.html",
            "--markdown",
            "m.md",
            "--threshold",
            "p50<5s",
        ])
        .passes();
    let printed: serde_json::Value = serde_json::from_str(&ended.stdout).expect("nothing but JSON on standard output");
    assert_eq!(printed, ended.summary());
    assert_eq!(printed["schema"], 2);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(read("j.xml").contains("<testsuite"));
    assert!(read("h.html").contains("<html"));
    assert!(read("m.md").contains('|'));
}

#[test]
fn no_files_are_written_without_a_request() {
    let folder = Folder::new();
    let ended = folder.run(&["run", server::nginx(), "--rate", "20", "--for", "1s", "--no-save", "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&ended.stdout).expect("the summary all the same");
    assert_eq!(printed["totals"]["requests"], 20);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_pipe_gets_no_control_characters() {
    let ended = Folder::new().run(&["run", server::nginx(), "--rate", "20", "--for", "2s"]).passes();
    assert!(!ended.stdout.contains('\u{1b}') && !ended.stderr.contains('\u{1b}'), "{:?}\n{:?}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains('\r'), "{:?}", ended.stderr);
}

#[test]
fn http2_only_against_a_server_of_http1_is_no_valid_run() {
    let raw = Raw::answering(vec![send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")]);
    let ended = Folder::new().run(&["run", &raw.address, "--http2=only", "--rate", "20", "--for", "1s"]);
    let summary = ended.code(4).says("the server speaks HTTP/1.1, not HTTP/2").summary();
    // Nothing was measured of the target, so nothing is counted or found about it.
    assert_eq!((&summary["totals"]["requests"], &summary["totals"]["requests_failed"]), (&0.into(), &0.into()));
    assert_eq!(summary["verdict"]["findings"]["findings"].as_array().map(Vec::len), Some(0), "{}", summary["verdict"]);
}

#[test]
fn a_class_of_statuses_can_be_expected() {
    let raw = Raw::answering(vec![send("HTTP/1.1 204 None\r\n\r\n")]);
    let run = |expected: &str| Folder::new().run(&["run", &raw.address, "--rate", "10", "--for", "1s", "--expect-status", expected]);
    assert_eq!(run("2xx").passes().summary()["totals"]["requests_failed"], 0);
    assert_ne!(run("3xx").summary()["totals"]["requests_failed"], 0);
    run("many").code(2).says("write a status such as 204, or a class such as 2xx");
}

#[test]
fn a_url_whose_every_request_fails_does_not_pass_without_a_threshold() {
    let raw = Raw::answering(vec![send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")]);
    for rate in ["5", "20"] {
        Folder::new().run(&["run", &raw.address, "--rate", rate, "--for", "1s"]).fails_a_threshold().says("some requests pass (implied)");
    }
    // A threshold that allows failures decides instead.
    Folder::new().run(&["run", &raw.address, "--rate", "20", "--for", "1s", "--threshold", "failures<=100%"]).passes();
}

/// The flags are those of `watch`.
#[test]
fn flags_observe_the_system_of_a_url() {
    let target = server::nginx();
    let port = target.rsplit(':').next().expect("an address with its port");
    let folder = Folder::new().file("own.load.ts", "export default {};").file("own.js", "import \"k6\";\nexport default function () {}");
    let ended = folder.run(&["run", target, "--rate", "20", "--for", "3s", "--process", port, "--host"]).passes();
    let signals = std::fs::read_to_string(folder.runs().remove(0).join("signals.jsonl")).expect("signals.jsonl");
    for name in [format!("\"process:{port}/cpu\""), "\"host/runnable\"".to_owned()] {
        assert!(signals.contains(&name), "{name}\n{}", ended.everything());
    }
    folder.run(&["run", target, "--postgres", "mysql://app:hunter2@h/"]).code(2).says("postgres").does_not_say("hunter2");
    folder.run(&["capacity", target, "--objective", "p99<1s", "--redis", "nonsense"]).code(2).says("redis");
    folder.run(&["run", "own.load.ts", "--process", port]).code(2).says("--process is for a URL without a script").says("observe: [");
    folder.run(&["run", "own.js", "--process", port]).code(2).says("own.system.ts").says("loadstone watch --process");
    folder.run(&["capacity", "own.load.ts", "--host"]).code(2).says("--host is for a URL without a script");
}

/// There is no script to change.
#[test]
fn the_advice_for_a_url_names_the_flag_of_the_missing_observer() {
    let wait = loadstone_stub::Delay::Fixed { ns: 20e6 };
    let behaviour = loadstone_stub::Behaviour::new().wait(wait).concurrency(2);
    let target = loadstone_stub::Server::builder().route("* /", behaviour).start().expect("a server");
    let url = target.url("/");
    let port = url.trim_end_matches('/').rsplit(':').next().expect("an address with its port");
    let ended = Folder::new().run(&["run", &url, "--rate", "200", "--ramp", "5s", "--for", "1s"]);
    ended.says(&format!("`--process {port}`")).does_not_say("observe: [");
}
