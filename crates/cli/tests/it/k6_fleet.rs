//! k6 scripts over agent processes and a real nats-server.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{Ended, Folder, server};

const SCRIPT: &str = r#"
import http from "k6/http"; import exec from "k6/execution"; import { check, group } from "k6"; import { SharedArray } from "k6/data";
import { Counter, Trend } from "k6/metrics"; import { path } from "./lib/path.js";
const rows = new SharedArray("rows", () => open("./data/" + "rows.csv").trim().split("\n"));
const items = new Counter("items");
const sizes = new Trend("sizes");
const scenario = (executor, rest) => ({ executor, gracefulStop: "5s", ...rest });
export const options = {
  scenarios: {
    arrivals: scenario("constant-arrival-rate", { rate: 40, duration: "2s", preAllocatedVUs: 4, exec: "buy" }),
    shared: scenario("shared-iterations", { vus: 5, iterations: 37, exec: "buy" }),
    each: scenario("per-vu-iterations", { vus: 4, iterations: 4, exec: "buy" }),
    ramp: scenario("ramping-vus", { startVUs: 1, stages: [{ duration: "1s", target: 4 }], exec: "look" }),
  },
  thresholds: { "items{row:b}": ["count>0"], checks: ["rate==1"] },
  summaryTrendStats: ["count", "max"],
};
export function setup() { console.log("prepared"); return { token: "of the set-up" }; }
export function teardown(data) { console.log("tear-down", data.token); }
export function buy(data) {
  group("shop", () => {
    const sent = http.get(`${__ENV.BASE}${path}`);
    group("list", () => check(sent, { ok: (r) => r.status === 200, token: () => data.token === "of the set-up" }));
  });
  items.add(2, { row: rows[exec.scenario.iterationInTest % rows.length] });
  sizes.add(7);
  console.log("number", exec.scenario.name, exec.scenario.iterationInTest, exec.vu.idInTest, __VU);
}
export function look() { http.get(`${__ENV.BASE}${path}`); }
export function handleSummary(data) { return { "own.json": JSON.stringify(data) }; }
"#;

fn folder(script: &str) -> Folder {
    Folder::new().file("script.js", script).file("lib/path.js", "export const path = '/get';").file("data/rows.csv", "a\nb\nc\n")
}

fn run(folder: &Folder, more: &[&str]) -> Ended {
    let base = format!("BASE={}", server::httpbin());
    folder.run(&[&["run", "script.js", "-e", &base, "--quiet"], more].concat())
}

fn json(folder: &Folder, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Lines of `console.log` that begin with a word.
fn lines<'e>(shown: &'e str, word: &str) -> Vec<&'e str> {
    shown.lines().filter_map(|line| line.split_once(word).map(|(_, rest)| rest.trim())).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Groups and checks with their counts.
fn tree(group: &Value) -> String {
    let checks = list(&group["checks"]).iter().map(|check| format!("{} {} {}", check["path"], check["passes"], check["fails"]));
    let groups = list(&group["groups"]).iter().map(tree);
    let inner: BTreeSet<String> = checks.chain(groups).collect();
    format!("{} {inner:?}", group["path"])
}

#[test]
fn a_fleet_counts_what_one_machine_counts() {
    let (alone, fleet) = (folder(SCRIPT), folder(SCRIPT));
    run(&alone, &["--workers", "2"]).passes();
    let ended = run(&fleet, &["--fleet", "local:2"]).passes();
    let shown = ended.everything();
    let (of_one, of_fleet) = (json(&alone, "own.json"), json(&fleet, "own.json"));
    for (metric, value, expected) in [("items", "count", 266), ("checks", "passes", 266), ("sizes", "count", 133)] {
        let [one, all] = [&of_one, &of_fleet].map(|data| data["metrics"][metric]["values"][value].clone());
        assert_eq!((one, all), (expected.into(), expected.into()), "{metric}: {shown}");
    }
    assert_eq!(tree(&of_one["root_group"]), tree(&of_fleet["root_group"]));
    assert_eq!(of_fleet["setup_data"]["token"], "of the set-up");
    let of_row = |data: &Value| data["metrics"]["items{row:b}"]["values"]["count"].clone();
    assert_eq!(of_row(&of_one), of_row(&of_fleet), "numbers of iterations select the same rows");
    assert_eq!((lines(&shown, "prepared").len(), lines(&shown, "tear-down of the set-up").len()), (1, 1), "{shown}");
    let numbers = lines(&shown, "number ");
    let word = |line: &str, at: usize| line.split(' ').nth(at).unwrap_or_default().to_owned();
    let distinct: BTreeSet<String> = numbers.iter().map(|line| format!("{} {}", word(line, 0), word(line, 1))).collect();
    assert_eq!((numbers.len(), distinct.len()), (133, 133), "{shown}");
    let shared = numbers.iter().filter(|line| line.starts_with("shared")).map(|line| word(line, 1));
    assert_eq!(shared.collect::<BTreeSet<_>>(), (0..37).map(|number| number.to_string()).collect(), "{shown}");
    assert!(numbers.iter().all(|line| word(line, 2) == word(line, 3)), "{shown}");
    assert_eq!(distinct.iter().filter(|line| line.starts_with("each")).count(), 16);
}

#[test]
fn a_threshold_of_the_whole_fleet_ends_the_run() {
    let script = "import http from 'k6/http';\n\
                  export const options = { vus: 2, duration: '60s', thresholds: { http_reqs: [{ threshold: 'count<20', abortOnFail: true }] } };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); }";
    let folder = folder(script);
    let ended = run(&folder, &["--fleet", "local:2", "--k6-exit-codes"]).code(99);
    assert!(ended.summary()["duration_s"].as_f64().is_none_or(|seconds| seconds < 50.0), "{}", ended.everything());
}

#[test]
fn a_script_on_an_agent_ends_and_fails_the_run() {
    let script = |call: &str| {
        format!(
            "import exec from 'k6/execution'; import {{ sleep }} from 'k6';\n\
             export const options = {{ vus: 2, iterations: 40 }};\n\
             export default function () {{ if (exec.scenario.iterationInTest === 3) exec.test.{call}('no more of it'); sleep(0.05); }}"
        )
    };
    let fleet = ["--fleet", "local:2", "--k6-exit-codes"];
    run(&folder(&script("abort")), &fleet).code(108).says("the script called exec.test.abort(): no more of it");
    run(&folder(&script("fail")), &fleet).code(110).says("the script marked the run as failed: no more of it");
}

#[test]
fn variables_secrets_and_packages_reach_the_agents() {
    let script = "import secrets from 'k6/secrets'; import { word } from 'words'; import { sleep } from 'k6';\n\
                  export const options = { vus: 2, iterations: 2 };\n\
                  export default async function () {\n\
                    const key = await secrets.get('key');\n\
                    console.log('has', key.length, key, word, __ENV.FLAG, __ENV.OF_ENVIRONMENT, __ENV.K6_VUS); sleep(0.2);\n\
                  }";
    let folder = folder(script)
        .file("keys.secret", "key=ivory-tower-77\n")
        .file("node_modules/words/package.json", r#"{ "name": "words", "main": "index.js" }"#)
        .file("node_modules/words/index.js", "exports.word = 'packaged';");
    let mut command = folder.command(&["run", "script.js", "-e", "FLAG=set", "--secret-source", "file=keys.secret", "--fleet", "local:2"]);
    command.env("OF_ENVIRONMENT", "inherited");
    let ended = folder.start_command(command).ended().passes();
    let shown = ended.everything();
    let lines = lines(&shown, "has 14 ");
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines.iter().all(|line| line.ends_with("packaged set inherited undefined") && !line.contains("ivory")), "{shown}");
}

#[test]
fn a_credential_of_a_request_is_masked_in_what_agents_print() {
    let script = "import http from 'k6/http';\n\
                  export function setup() {\n\
                    const key = ['tall', 'orchid', '51'].join('-');\n\
                    http.get(`${__ENV.BASE}/get`, { headers: { Authorization: `Bearer ${key}` } });\n\
                    return { key, kept: 'a word' };\n\
                  }\n\
                  export default function (data) { console.log('has', data.key.length, data.key); }\n\
                  export function handleSummary(data) { return { 'own.json': JSON.stringify(data.setup_data) }; }";
    let folder = folder(script);
    run(&folder, &["--fleet", "local:1"]).passes().says("has 14 ").does_not_say("tall-orchid-51");
    let own = std::fs::read_to_string(folder.path().join("own.json")).unwrap_or_default();
    assert!(own.contains("a word") && !own.contains("tall-orchid-51"), "{own}");
}
