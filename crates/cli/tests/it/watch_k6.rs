//! `loadstone watch -- k6 run`: what a user of k6 with several scenarios sees. The k6 here is a shell script that prints options and a record as k6 1.4 does.

use serde_json::Value;

use crate::harness::Folder;

/// Two scenarios send the same request for three seconds; one of them is ten times as slow.
const K6: &str = r#"#!/bin/sh
if [ "$1" = inspect ]; then echo "$*" > inspected; cat options.json; exit 0; fi
for argument in "$@"; do case "$argument" in json=*) record="${argument#json=}" ;; esac; done
point() { printf '{"metric":"%s","type":"Point","data":{"time":"%s","value":%s,"tags":{%s"scenario":"%s"}}}\n' "$1" "$4" "$2" "$5" "$3"; }
request() {
  at=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
  tags="\"group\":\"\",\"kind\":\"$3\",\"method\":\"GET\",\"name\":\"http://shop/products\",\"status\":\"200\",\"expected_response\":\"true\","
  point http_reqs 1 "$1" "$at" "$tags"; point http_req_duration "$2" "$1" "$at" "$tags"; point http_req_failed 0 "$1" "$at" "$tags"
  point iteration_duration "$2" "$1" "$at" ""
}
exec > "$record"
sleep 1
for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do request browse 20 static; request buy 200 api; sleep 0.2; done
"#;

const OPTIONS: &str = r#"{"scenarios": {
    "browse": {"executor": "constant-arrival-rate", "startTime": null, "rate": 1, "timeUnit": "1s", "duration": "15s"},
    "buy": {"executor": "per-vu-iterations", "startTime": null, "vus": 1, "iterations": 15, "maxDuration": "10m0s"}}}"#;

#[test]
fn scenarios_of_k6_are_apart_in_the_report_and_in_thresholds() {
    let file = r#"import { responseTime, watch } from "loadstone";
export default watch({ thresholds: [
  responseTime({ scenario: "browse" }).p50.below("50ms"),
  responseTime({ scenario: "buy" }).p50.below("50ms"),
  responseTime({ name: "GET /products", tags: { kind: "api" } }).p50.below("300ms"),
] });"#;
    let folder = Folder::new().file("k6", K6).file("options.json", OPTIONS).file("shop.js", "").file("shop.watch.ts", file);
    std::fs::set_permissions(folder.path().join("k6"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let ended = folder.run(&["watch", "shop.watch.ts", "--quiet", "--", "./k6", "run", "-e", "HOST=shop", "shop.js"]).code(3);
    let summary = ended.says("browse").says("buy").summary();
    let rows: Vec<_> = summary["requests"].as_array().unwrap().iter().map(|row| (&row["scenario"], &row["name"], &row["count"])).collect();
    let name = Value::from("GET /products");
    assert_eq!(rows, [(&"browse".into(), &name, &15.into()), (&"buy".into(), &name, &15.into())], "{summary:#}");
    let states: Vec<_> = summary["verdict"]["thresholds"].as_array().unwrap().iter().map(|result| &result["state"]).collect();
    // The last one is added to every run.
    assert_eq!(states[..3], ["passed", "failed", "passed"], "{summary:#}");
    // k6 itself evaluates the script, with the user's environment.
    assert_eq!(
        std::fs::read_to_string(folder.path().join("inspected")).unwrap(),
        "inspect --execution-requirements -e HOST=shop shop.js\n"
    );
}
