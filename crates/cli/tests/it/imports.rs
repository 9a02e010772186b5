//! Tests that `loadstone import` writes: they load, and do against a real server what their sources did.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Folder, server};

/// Something of each format.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/files")
}

/// A folder with the sources in it, as a user has them.
fn folder() -> Folder {
    let mut folder = Folder::new();
    for name in [
        "bakery.js",
        "chat.js",
        "prices.js",
        "RecordedSimulation.scala",
        "loaves.json",
        "lib/session.js",
        "lib/stages.js",
        "garden.har",
        "library.yaml",
        "commands.sh",
        "tickets.postman_collection.json",
    ] {
        let text = std::fs::read_to_string(sources().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::create_dir_all(folder.path().join("lib")).expect("a folder");
        folder = folder.file(name, &text);
    }
    folder
}

/// Imports into `t.load.ts` and returns it with its plan.
fn imported(folder: &Folder, format: &str, file: &str, more: &[&str]) -> (String, Value) {
    let mut arguments = vec!["import", format, file, "-o", "t.load.ts", "--force"];
    arguments.extend(more);
    folder.run(&arguments).code(0);
    let plan = folder.run(&["inspect", "t.load.ts"]).code(0).stdout;
    let text = std::fs::read_to_string(folder.path().join("t.load.ts")).expect("the test");
    (text, serde_json::from_str(&plan).expect("JSON"))
}

#[track_caller]
fn all_held(summary: &Value) {
    let checks = summary["checks"].as_array().expect("checks");
    assert!(!checks.is_empty() && checks.iter().all(|check| check["failed"] == 0), "{}", summary["checks"]);
    assert_eq!(summary["errors"], Value::Array(Vec::new()));
}

#[test]
fn a_k6_script_does_here_what_it_did_there() {
    let folder = folder();
    let (text, plan) = imported(&folder, "k6", "bakery.js", &[]);
    for left_out in ["browser.newPage", "http_req_waiting", "r.proto"] {
        let line = text.lines().find(|line| line.contains(left_out)).unwrap_or_else(|| panic!("{left_out}: {text}"));
        assert!(line.trim_start().starts_with("//"), "{line}");
    }
    let scenarios: Vec<&str> = plan["scenarios"].as_array().unwrap().iter().filter_map(|scenario| scenario["name"].as_str()).collect();
    assert_eq!(scenarios, ["Set-up", "Tear-down", "buyers", "lookers"]);
    let base = format!("baseUrl={}", server::httpbin());
    let ended = folder.run(&["run", "t.load.ts", "-p", &base, "--quiet"]).passes();
    let summary = ended.summary();
    all_held(&summary);
    for check in ["taken", "same loaf", "one is there", "two is a form", "hashed"] {
        let found = summary["checks"].as_array().unwrap().iter().any(|row| row["name"] == check);
        assert!(found, "{check}: {}", summary["checks"]);
    }
    // 90 a minute for ten seconds.
    let arrived = summary["scenarios"].as_array().unwrap().iter().find(|row| row["name"] == "lookers").unwrap();
    assert_eq!(arrived["count"].as_u64(), Some(15), "{arrived}");
}

#[test]
fn a_k6_script_may_be_imported_from_another_folder() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("tests")).unwrap();
    folder.run(&["import", "k6", "bakery.js", "-o", "tests/bakery.load.ts"]).code(0).says("lib/session.loadstone.ts");
    folder.run(&["inspect", "tests/bakery.load.ts"]).code(0);
}

#[test]
fn sockets_of_k6_keep_their_events() {
    let folder = folder();
    imported(&folder, "k6", "chat.js", &[]);
    let url = format!("chatUrl={}/websocket/echo", server::httpbin().replace("http:", "ws:"));
    let summary = folder.run(&["run", "t.load.ts", "-p", &url, "--quiet"]).passes().summary();
    all_held(&summary);
    let made = |name: &str| summary["checks"].as_array().unwrap().iter().find(|row| row["name"] == name).map(|row| row["passed"].clone());
    assert_eq!(
        [made("event echoed"), made("text echoed"), made("opened")],
        [Some(4.into()), Some(2.into()), Some(2.into())],
        "{}",
        summary["checks"]
    );
}

#[test]
fn calls_and_streams_of_grpc_are_kept() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("protos")).expect("a folder");
    std::fs::copy(server::shop_proto(), folder.path().join("protos/shop.proto")).expect("a copy");
    imported(&folder, "k6", "prices.js", &[]);
    let ended = folder.run(&["run", "t.load.ts", "-p", &format!("shopAddress={}", server::grpc()), "--quiet"]).passes();
    let summary = ended.summary();
    let checks = summary["checks"].as_array().expect("checks");
    assert!(checks.iter().all(|check| check["failed"] == 0), "{}", summary["checks"]);
    let made = |name: &str| checks.iter().find(|row| row["name"] == name).map(|row| row["passed"].clone());
    for name in [
        "status is OK",
        "name came",
        "metadata went",
        "header came",
        "trailer came",
        "status by number",
        "words of the server",
        "not serving",
    ] {
        assert_eq!(made(name), Some(4.into()), "{name}: {}", summary["checks"]);
    }
    for name in ["all prices came", "all counted", "its error came"] {
        assert_eq!(made(name), Some(2.into()), "{name}: {}", summary["checks"]);
    }
}

#[test]
fn a_recording_is_played_with_the_values_of_today() {
    let folder = folder();
    let (text, _) = imported(&folder, "har", "garden.har", &["--no-assets"]);
    for secret in ["sesame-open", "k-123456-long", "tok-8891-abcd", "c5rf-7781-token"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    for correlated in ["input[name='csrf']", "$.token", "$.user.id"] {
        assert!(text.contains(correlated), "{correlated}: {text}");
    }
    assert!(text.contains("user.pause(\"2") && !text.contains("style.css") && !text.contains("example.org"), "{text}");
    let (without, _) = imported(&folder, "har", "garden.har", &["--no-pauses"]);
    assert!(without.contains("style.css") && !without.contains("user.pause("), "{without}");
}

#[test]
fn a_simulation_of_gatlings_recorder_runs() {
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("resources/recordedsimulation")).expect("a folder");
    let body = "resources/recordedsimulation/0004_request.json";
    std::fs::copy(sources().join(body), folder.path().join(body)).expect("a copy");
    let (text, _) = imported(&folder, "gatling-recorder", "RecordedSimulation.scala", &["--no-assets"]);
    for secret in ["tok-recorded-1234", "hunter2-recorded"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(!text.contains("cdn.example") && !text.contains("bakery.css"), "{text}");
    let base = format!("base={}", server::httpbin());
    let ended = folder.run(&["try", "t.load.ts", "-p", &base, "-p", "token=t", "-p", "password=pw"]).code(0);
    ended.says("/anything/rye-77/slices?thick=very").says("\"loaf\": \"rye-77\"").says("north");
}

#[test]
fn a_collection_runs_with_its_variables() {
    let folder = folder();
    let (text, _) = imported(&folder, "postman", "tickets.postman_collection.json", &[]);
    assert!(!text.contains("very-secret-token"), "{text}");
    let base = format!("base={}", server::httpbin());
    let ended = folder.run(&["try", "t.load.ts", "-p", &base, "-p", "count=3", "-p", "apiToken=abc"]).code(0);
    ended.says("/anything/north/AB").says("\"count\"").says("ticket made");
}

#[test]
fn command_lines_of_curl_are_requests() {
    let folder = folder();
    let (text, _) = imported(&folder, "curl", "commands.sh", &[]);
    for secret in ["s3cr3t-bearer", "hunter2", "pa55-word"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let base = format!("base={}", server::httpbin());
    let ended = folder.run(&["try", "t.load.ts", "-p", &base, "-p", "token=t", "-p", "password=one", "-p", "password2=two"]).code(0);
    ended.says("it's fine").says("rye+bread");
}

#[test]
fn an_api_description_becomes_a_function_for_each_operation() {
    let folder = folder();
    let (text, plan) = imported(&folder, "openapi", "library.yaml", &[]);
    for part in [
        "async function listBooks(",
        "async function addBook(",
        "async function showBook(",
        "/v1/books?shelf=new",
        "title: \"Emma\"",
        "expect: { status: 201 }",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("dropBook"), "deprecated: {text}");
    let book = plan["parameters"].as_array().unwrap().iter().find(|parameter| parameter["name"] == "bookId");
    assert!(book.is_some_and(|book| book["value"] == "42" || book.to_string().contains("42")), "{plan}");
}

#[test]
fn wrong_files_say_where_and_what_to_do() {
    let folder = folder()
        .file("broken.har", "{\n  \"log\": ,\n}")
        .file("empty.har", r#"{ "log": { "version": "1.2", "entries": [] } }"#)
        .file("new.har", r#"{ "log": { "version": "3.0", "entries": [] } }"#)
        .file("old.json", r#"{ "swagger": "2.0", "paths": {} }"#)
        .file("list.json", "[]")
        .file("broken.js", "import http from 'k6/http';\nexport default function ( {")
        .file("helper.js", "export function help() {}")
        .file("none.sh", "wget http://127.0.0.1/");
    for (format, file, says, remedy) in [
        ("har", "broken.har", "broken.har:2", "HAR"),
        ("har", "empty.har", "no request", "record again"),
        ("har", "new.har", "HAR 3.0", "1.2"),
        ("openapi", "old.json", "2.0", "convert"),
        ("postman", "list.json", "no Postman collection", "v2.1"),
        ("k6", "broken.js", "broken.js:2", "k6"),
        ("k6", "helper.js", "no default function", "k6 run"),
        ("curl", "none.sh", "no curl command", "curl"),
        ("gatling-recorder", "none.sh", "no simulation of Gatling", "RecordedSimulation"),
        ("curl", "missing.sh", "missing.sh", ""),
    ] {
        folder.run(&["import", format, file, "-o", "x.load.ts"]).code(2).says(says).says(remedy);
        assert!(!folder.path().join("x.load.ts").exists(), "{file}");
    }
    let kept = folder.file("t.load.ts", "mine");
    kept.run(&["import", "curl", "commands.sh", "-o", "t.load.ts"]).code(2).says("--force");
    assert_eq!(std::fs::read_to_string(kept.path().join("t.load.ts")).unwrap(), "mine");
}

#[test]
fn the_report_can_be_read_by_programs() {
    let folder = folder();
    let ended = folder.run(&["import", "k6", "bakery.js", "--report", "json"]).code(0);
    let report: Value = serde_json::from_str(&ended.stderr).expect("JSON");
    assert_eq!(report["written"][0], "bakery.load.ts");
    let left_out = report["notes"].as_array().unwrap().iter().filter(|note| note["kind"] == "left_out");
    assert!(left_out.clone().any(|note| note["line"] == 78 || note["text"].as_str().unwrap().contains("browser")), "{report}");
}
