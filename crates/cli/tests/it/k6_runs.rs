//! `loadstone run script.js`: k6's summary, files and exit codes.

use serde_json::Value;

use crate::harness::{Ended, Folder, fairly, server};

const SCRIPT: &str = r#"
import http from "k6/http"; import exec from "k6/execution"; import { check, group } from "k6"; import { Counter } from "k6/metrics";
import { textSummary } from "https://jslib.k6.io/k6-summary/0.1.0/index.js";
const items = new Counter("items");
const thresholds = { "items{kind:a}": ["count>=4"], checks: ["rate>0.9"] };
export const options = { vus: 2, iterations: 4, thresholds, summaryTrendStats: ["avg", "p(99)", "count"] };
export function setup() { check(1, { ready: (one) => one === 1 }); return { id: 7 }; }
export default function () {
  group("shop", () => {
    const response = http.get(`${__ENV.BASE}/get`);
    group("list", () => check(response, { ok: (r) => r.status === 200, wrong: (r) => r.status === 500 }));
  });
  items.add(2, { kind: "a" });
}
export function handleSummary(data) {
  const posted = http.post(`${__ENV.BASE}/post`, "result").status;
  return { "own.json": JSON.stringify(data), "bytes.bin": new Uint8Array([0, 255]).buffer, stdout: textSummary(data), stderr: `posted: ${posted}` };
}
"#;

fn run(script: &str, more: &[&str]) -> (Folder, Ended) {
    let folder = Folder::new().file("script.js", script);
    let base = format!("BASE={}", server::httpbin());
    let ended = folder.run(&[&["run", "script.js", "-e", &base, "--quiet"], more].concat());
    (folder, ended)
}

fn json(folder: &Folder, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_summary_has_k6s_shape_and_its_files_are_written() {
    let (folder, ended) = run(SCRIPT, &["--summary-export", "export.json", "--k6-exit-codes"]);
    let ended = ended.code(99).says("posted: 200");
    let data = json(&folder, "own.json");
    let metrics = &data["metrics"];
    assert_eq!(metrics["http_reqs"]["values"]["count"], 4, "{metrics}");
    assert_eq!((&metrics["iterations"]["values"]["count"], &metrics["items"]["values"]["count"]), (&4.into(), &8.into()));
    assert_eq!(metrics["checks"]["values"]["passes"], 5);
    assert_eq!(metrics["checks"]["thresholds"]["rate>0.9"]["ok"], false);
    assert_eq!(metrics["items{kind:a}"]["thresholds"]["count>=4"]["ok"], true);
    let durations = metrics["http_req_duration{expected_response:true}"]["values"].as_object().unwrap();
    assert_eq!(durations.keys().collect::<Vec<_>>(), ["avg", "p(99)", "count"]);
    assert_eq!(durations["count"], 4);
    let groups = data["root_group"]["groups"].as_array().unwrap();
    let shop = groups.iter().find(|group| group["path"] == "::shop").unwrap();
    let checks = shop["groups"][0]["checks"].as_array().unwrap();
    assert_eq!((&checks[1]["path"], &checks[1]["fails"]), (&"::shop::list::wrong".into(), &4.into()));
    assert_eq!((&data["setup_data"]["id"], &data["state"]["isStdOutTTY"]), (&7.into(), &false.into()));
    assert_eq!(std::fs::read(folder.path().join("bytes.bin")).unwrap(), [0, 255]);
    assert!(ended.stdout.contains("✗ checks") && !ended.stdout.contains("Thresholds"), "{}", ended.everything());
    assert!(ended.stderr.contains("Thresholds"), "Loadstone's summary goes to standard error: {}", ended.everything());
    let exported = json(&folder, "export.json");
    assert_eq!(exported["root_group"]["groups"]["shop"]["groups"]["list"]["checks"]["ok"]["passes"], 4);
    assert_eq!(exported["metrics"]["checks"]["thresholds"]["rate>0.9"], true);
}

#[test]
fn a_summary_without_a_set_up_has_its_member_and_no_value() {
    let script = "import http from 'k6/http'; export default function () { http.get(`${__ENV.BASE}/get`); }\n\
                  export function handleSummary(data) {\n\
                    console.log('row', 'setup_data' in data, String(data.setup_data), JSON.stringify(data).includes('setup_data'));\n\
                  }";
    assert_eq!(run(script, &[]).1.passes().printed(), ["true undefined false"]);
}

#[test]
fn a_summary_that_throws_fails_the_command_after_loadstones_own() {
    let script = "import http from 'k6/http'; export default function () { http.get(`${__ENV.BASE}/get`); }\n\
                  export function handleSummary() { throw new Error('no disk'); }";
    let (_, ended) = run(script, &[]);
    ended.code(1).says("no disk").says("handleSummary failed").says("Requests");
    let (folder, ended) = run(&script.replace("export default", "export const options = { noSummary: true }; export default"), &[]);
    ended.passes();
    drop(folder);
}

#[test]
fn hosts_in_a_file_of_settings_are_named() {
    let script = r#"
import http from "k6/http";
const { host, port } = JSON.parse(open("./environment.json"));
export const options = { iterations: 1 };
export default function () { http.get(`http://${host}:${port}/get`); }
"#;
    let base = server::httpbin();
    let (host, port) = base.trim_start_matches("http://").rsplit_once(':').unwrap();
    let settings = format!(r#"{{"host": "{host}", "port": {port}}}"#);
    let folder = Folder::new().file("script.js", script).file("environment.json", &settings);
    folder.run(&["run", "script.js", "--quiet"]).passes();
}

#[test]
fn k6s_exit_codes_are_used_on_request() {
    let body = |text: &str| format!("import http from 'k6/http'; import exec from 'k6/execution'; {text}");
    let get = "http.get(`${__ENV.BASE}/get`);";
    for (script, code) in [
        (body(&format!("export default function () {{ {get} }}")), 0),
        (body("export default function () { http.get(`${__ENV.BASE}/status/500`); }"), 0),
        (
            body(
                "export const options = { thresholds: { http_req_failed: ['rate<1'] } }; export default function () { http.get(`${__ENV.BASE}/status/500`); }",
            ),
            99,
        ),
        (body(&format!("export default function () {{ {get} exec.test.fail('bad'); }}")), 110),
        (body(&format!("export default function () {{ {get} exec.test.abort('stop'); }}")), 108),
        (body("export const options = { scenarios: { a: { executor: 'none' } } }; export default function () {}"), 104),
        (body("throw new Error('top'); export default function () {}"), 107),
        (body("export function setup() { throw new Error('set-up'); } export default function () {}"), 107),
    ] {
        let (_, ended) = run(&script, &["--k6-exit-codes"]);
        assert_eq!(ended.status.code(), Some(code), "{script}\n{}", ended.everything());
    }
    let aborting =
        body("export const options = { duration: '10s' }; export default function () { console.log('row', __ITER); exec.test.abort(); }");
    assert_eq!(run(&aborting, &[]).1.printed(), ["0"], "no iteration begins after the abort");
    let failing = body(&format!("export default function () {{ {get} exec.test.fail('bad'); }}"));
    fairly(|| run(&failing, &[]).1).code(3).says("bad");
}

#[test]
fn iterations_that_never_begin_are_dropped() {
    let script = "import http from 'k6/http'; import { sleep } from 'k6';\n\
                  const scenario = (executor, vus, iterations, gracefulStop, pause) =>\n\
                    ({ executor, vus, iterations, gracefulStop, maxDuration: '1s', env: { PAUSE: String(pause) } });\n\
                  const dropped = (count) => [`count==${count}`];\n\
                  export const options = {\n\
                    scenarios: {\n\
                      cut: scenario('per-vu-iterations', 1, 3, '0s', 9), grace: scenario('per-vu-iterations', 2, 3, '9s', 1.2),\n\
                      shared: scenario('shared-iterations', 2, 10, '0s', 9), enough: scenario('shared-iterations', 2, 4, '0s', 0.01),\n\
                    },\n\
                    thresholds: {\n\
                      'dropped_iterations{scenario:cut}': dropped(2), 'dropped_iterations{scenario:grace}': dropped(4),\n\
                      'dropped_iterations{scenario:shared}': dropped(8), dropped_iterations: dropped(14),\n\
                    },\n\
                  };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); sleep(Number(__ENV.PAUSE)); }";
    fairly(|| run(script, &[]).1).code(0);
}

#[test]
fn flags_of_k6_are_accepted() {
    let script = "import http from 'k6/http';\n\
                  export const options = { iterations: 1, thresholds: { 'http_reqs{team:shop}': ['count==1'] } };\n\
                  export function setup() { return 'set up'; }\n\
                  export default function (data) {\n\
                    console.log('row', data, http.get(`${__ENV.BASE}/user-agent`).json('user-agent'), __ENV.PATH);\n\
                    console.log('row', http.get(`${__ENV.BASE}/redirect/1`, { tags: { team: 'other' } }).status);\n\
                  }";
    let flags = "--user-agent probe/1 --no-setup --include-system-env-vars=false --max-redirects 0 --tag team=shop --throw=false --no-color \
                 --no-usage-report --log-output none -v";
    let (_, ended) = run(script, &flags.split_whitespace().collect::<Vec<_>>());
    let ended = ended.passes().says("without effect: --verbose, --log-output");
    assert_eq!(ended.printed(), ["undefined probe/1 undefined", "302"]);
    run(script, &["--throw=perhaps"]).1.code(2).says("--throw");
    run(script, &["-o", "json=results.json"]).1.code(2).says("loadstone export");
    run(script, &["--summary-time-unit", "days"]).1.code(2).says("summaryTimeUnit");
    Folder::new()
        .run(&["run", "http://127.0.0.1:1/", "--rate", "1", "--for", "1s", "--no-teardown"])
        .code(2)
        .says("--no-teardown is for k6 scripts");
}

#[test]
fn execution_segments_together_run_each_iteration_once() {
    let script = "import http from 'k6/http'; import exec from 'k6/execution';\n\
                  export const options = { vus: 5, iterations: 20 };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); console.log('row', exec.scenario.iterationInTest); }";
    let sequence = ["--execution-segment-sequence", "0,1/5,40%,1"];
    let mut all: Vec<u64> = ["0:1/5", "1/5:2/5", "0.4:1"]
        .into_iter()
        .flat_map(|segment| {
            let (_, ended) = run(script, &["--execution-segment", segment, sequence[0], sequence[1]]);
            ended.passes().printed().iter().map(|row| row.parse().unwrap()).collect::<Vec<u64>>()
        })
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..20).collect::<Vec<u64>>());
    let (_, ended) = run(script, &["--execution-segment", "1/5:1/2", sequence[0], sequence[1]]);
    ended.code(2).says("is not a segment of the sequence");
}

#[test]
fn flags_set_the_dns_and_the_tags_of_a_script() {
    let script = "import http from 'k6/http'; import exec from 'k6/execution';\n\
                  export const options = { systemTags: ['name'], thresholds: { 'http_reqs{status:200}': ['count==1'] } };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); console.log('row', exec.test.options.dns?.select ?? 'none'); }";
    let (_, ended) = run(script, &["--k6-exit-codes"]);
    assert_eq!((ended.printed(), ended.status.code()), (vec!["none".to_owned()], Some(99)), "{}", ended.everything());
    let (_, ended) = run(script, &["--k6-exit-codes", "--dns", "ttl=1m,select=first", "--system-tags", "status,url"]);
    assert_eq!(ended.passes().printed(), ["first"]);
    let (_, ended) = run(script, &["--dns", "select=best"]);
    ended.code(2).says("dns: select");
}

#[test]
fn modules_by_url_are_downloaded_on_request_and_pinned() {
    let library = format!("{}/base64/{}", server::httpbin(), "ZXhwb3J0IGNvbnN0IGdyZWV0aW5nID0gImhlbGxvIjs=");
    let script = format!(
        "import http from 'k6/http'; import {{ greeting }} from '{library}';\n\
         export default function () {{ http.get(`${{__ENV.BASE}}/get`); console.log('row', greeting); }}"
    );
    let (_, ended) = run(&script, &[]);
    ended.code(2).says("script.js:1").says("--allow-remote-imports");
    let folder = Folder::new().file("script.js", &script);
    let (base, cache) = (format!("BASE={}", server::httpbin()), folder.path().join("cache"));
    let arguments = ["run", "script.js", "-e", &base, "--quiet", "--allow-remote-imports"];
    let mut command = folder.command(&arguments);
    command.env("XDG_CACHE_HOME", &cache);
    let ended = folder.start_command(command).ended().passes();
    assert_eq!(ended.printed(), ["hello"], "{}", ended.everything());
    let pins = json(&folder, "loadstone-imports.json");
    assert_eq!(pins[&library].as_str().map(str::len), Some(64), "{pins}");
}

#[test]
fn a_file_adds_observers_thresholds_and_stubs() {
    let script = "import http from 'k6/http'; export const options = { vus: 2, duration: '2s' };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); }";
    let system = r#"
import { failures, observe, param, stub } from "loadstone";
const most = param.number("most", { default: 0.5 });
const other = stub.http({ name: "other", listen: "127.0.0.1:29517" });
export default { observe: [observe.host()], thresholds: [failures().rate.below(`${100 * most}%`)], stubs: [other] };
"#;
    let folder = Folder::new().file("script.js", script).file("system.ts", system);
    let base = format!("BASE={}", server::httpbin());
    let ended = folder.run(&["run", "script.js", "--with", "system.ts", "-p", "most=0.25", "-e", &base, "--quiet"]).passes();
    let summary = ended.summary();
    let thresholds = summary["verdict"]["thresholds"].as_array().unwrap();
    let is_added = |result: &&Value| result["threshold"]["label"].as_str().is_some_and(|label| label.contains("failures"));
    assert_eq!(thresholds.iter().filter(is_added).count(), 1, "{}", ended.everything());
    ended.says("host: CPU").says("stub:other");
    let folder = folder.file("system.ts", "import { observe } from \"loadstone\";\nexport default { load: observe };");
    folder.run(&["run", "script.js", "--with", "system.ts", "-e", &base]).code(2).says("load");
}
