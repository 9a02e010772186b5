//! Commands other than `run` with k6 scripts.

use serde_json::Value;

use crate::harness::{Folder, server};

const SCRIPT: &str = r#"
import http from "k6/http"; import { check } from "k6";
export const options = {
  scenarios: {
    browse: { executor: "constant-arrival-rate", rate: 20, duration: "30s", preAllocatedVUs: 20, exec: "browse" },
    buy: { executor: "ramping-vus", stages: [{ duration: "30s", target: 3 }], exec: "buy" },
  },
  thresholds: { http_req_duration: ["p(95)<5000"] },
};
export function setup() { return { word: "ready" }; }
export function browse(data) { check(http.get(`${__ENV.BASE}/get?state=${data.word}`), { "is found": (r) => r.status === 200 }); }
export function buy() { http.post(`${__ENV.BASE}/post`, "one ticket"); console.log("bought", __VU); }
"#;

fn folder() -> (Folder, String) {
    (Folder::new().file("script.js", SCRIPT), format!("BASE={}", server::httpbin()))
}

#[test]
fn inspect_shows_the_plan_with_the_file_next_to_the_script() {
    let (folder, base) = folder();
    let plan = |folder: &Folder| -> Value {
        serde_json::from_str(&folder.run(&["inspect", "script.js", "-e", &base]).code(0).stdout).expect("a plan as JSON")
    };
    let shown = plan(&folder);
    assert_eq!((&shown["language"], &shown["scenarios"][0]["name"]), (&"k6".into(), &"browse".into()), "{shown}");
    assert_eq!(shown["observers"], serde_json::json!([]));
    let folder = folder.file("script.system.ts", "import { observe } from \"loadstone\";\nexport default { observe: [observe.host()] };");
    assert_eq!(plan(&folder)["observers"][0]["kind"], "host");
    folder.run(&["inspect", "script.system.ts", "-e", &base]).code(2).says("--env is for k6 scripts");
}

#[test]
fn try_shows_requests_messages_and_checks_of_each_scenario_once() {
    let (folder, base) = folder();
    let ended = folder.run(&["try", "script.js", "-e", &base]).code(0);
    let shown = ended.everything();
    for part in ["GET /get", "state=ready", "is found", "one ticket", "bought", "2 iterations ran, 0 failed"] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    let one = folder.run(&["try", "script.js", "-e", &base, "--scenario", "buy"]).code(0);
    assert!(!one.stdout.contains("is found") && one.stdout.contains("one ticket"), "{}", one.everything());
    folder.run(&["try", "script.js", "-e", &base, "--scenario", "sell"]).code(2).says("\"browse\", \"buy\"");
    folder.run(&["try", "script.js", "-p", "rate=1"]).code(2).says("set a variable of a k6 script with -e");
}

#[test]
fn a_try_fails_with_its_script() {
    let base = format!("BASE={}", server::httpbin());
    for (body, code, text) in [
        ("http.get(`${__ENV.BASE}/get`); exec.test.abort('enough');", 3, "exec.test.abort(): enough"),
        ("http.get(`${__ENV.BASE}/get`); exec.test.fail('bad');", 3, "bad"),
        ("http.get(`${__ENV.BASE}/get`); throw new Error('no stock');", 3, "no stock"),
        ("http.get(`${__ENV.BASE}/get`); check(1, { fits: () => false });", 3, "1 check failed"),
    ] {
        let script = format!(
            "import http from 'k6/http'; import exec from 'k6/execution'; import {{ check }} from 'k6'; export default function () {{ {body} }}"
        );
        Folder::new().file("script.js", &script).run(&["try", "script.js", "-e", &base]).code(code).says(text);
    }
}

#[test]
fn capacity_raises_the_load_of_a_k6_script() {
    let script = "import http from 'k6/http';\n\
                  export const options = { scenarios: { a: { executor: 'constant-arrival-rate', rate: 8, duration: '1m', preAllocatedVUs: 4 } } };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); }";
    let folder = Folder::new().file("script.js", script);
    let base = format!("BASE={}", server::httpbin());
    let limits = ["--first", "4", "--most", "8", "--probe", "6s", "--pause", "0s", "--budget", "18s", "--json", "--quiet"];
    let ended = folder.run(&[&["capacity", "script.js", "-e", &base, "--objective", "failures < 50%"], &limits[..]].concat());
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.everything()));
    let probes = answer["probes"].as_array().expect("probes");
    assert_eq!(probes[0]["load"], 4.0, "{answer}");
    // On a busy machine, a probe may be unusable.
    assert!(probes.iter().all(|probe| probe["lean"] != "fails"), "{answer}");
    let once =
        Folder::new().file("script.js", "import http from 'k6/http'; export default function () { http.get('http://127.0.0.1:1/'); }");
    once.run(&["capacity", "script.js", "--objective", "p99<1s"]).code(2).says("constant-arrival-rate").says("K6_DURATION");
}

#[test]
fn an_experiment_takes_its_knob_from_the_file_of_the_system() {
    let script = "import http from 'k6/http'; export const options = { vus: 1, duration: '4s' };\n\
                  export default function () { http.get(`${__ENV.BASE}/get`); }";
    let folder = Folder::new().file("script.js", script);
    let base = format!("BASE={}", server::httpbin());
    folder.run(&["experiment", "script.js", "-e", &base]).code(2).says("--with").says("SCRIPT.system.ts");
    let system = r#"
import { knob, observe } from "loadstone";
knob("size", { values: ["small", "large"], apply: (size) => ({ command: `echo ${size} > size.txt` }) });
export default { observe: [observe.host()] };
"#;
    let folder = folder.file("script.system.ts", system);
    folder.run(&["experiment", "script.js", "-e", &base, "--put-back"]).code(0).says("\"size\" is restored to small");
    assert_eq!(std::fs::read_to_string(folder.path().join("size.txt")).expect("the knob's command ran").trim(), "small");
    folder.run(&["experiment", "script.js", "-e", &base, "--knob", "colour"]).code(2).says("the test has \"size\"");
}

#[test]
fn options_that_select_addresses_work_as_in_k6() {
    let port = server::httpbin().rsplit_once(':').expect("a port").1.to_owned();
    let run = |options: &str, host: &str| {
        let script = format!(
            "import http from 'k6/http'; export const options = {{ iterations: 1, {options} }};\n\
             export default function () {{ const r = http.get('http://{host}:{port}/get'); console.log('status', r.status, r.error); }}"
        );
        let folder = Folder::new().file("script.js", &script);
        let ended = folder.run(&["run", "script.js", "--quiet", "--k6-exit-codes"]);
        ended.everything()
    };
    let shown = run("hosts: { 'shop.invalid': '127.0.0.1' }", "shop.invalid");
    assert!(shown.contains("status 200"), "{shown}");
    let shown = run("blacklistIPs: ['127.0.0.0/8']", "127.0.0.1");
    assert!(shown.contains("status 0") && shown.contains("blacklistIPs"), "{shown}");
    let shown = run("blockHostnames: ['*.invalid']", "shop.invalid");
    assert!(shown.contains("status 0") && shown.contains("blockHostnames"), "{shown}");
    let shown = run("localIPs: '127.0.0.9'", "127.0.0.1");
    assert!(shown.contains("status 200"), "{shown}");
}

#[test]
fn secrets_reach_the_script_and_no_output() {
    let script = "import http from 'k6/http'; import secrets from 'k6/secrets';\n\
                  export default async function () {\n\
                    const key = await secrets.get('key'); const other = await secrets.source('other').get('word');\n\
                    const sent = http.get(`${__ENV.BASE}/get`, { headers: { 'X-Own': key } });\n\
                    console.log('sent', sent.body.includes(key), other.length, key);\n\
                    try { await secrets.get('none'); } catch (error) { console.log('refused', error.message); }\n\
                  }";
    let folder = Folder::new().file("script.js", script).file("keys.secret", "key=ivory-tower-77\n");
    let base = format!("BASE={}", server::httpbin());
    let sources = ["--secret-source", "file=filename=keys.secret,default", "--secret-source", "mock=word=greenhouse,name=other"];
    let ended = folder.run(&[&["run", "script.js", "--quiet", "-e", &base], &sources[..]].concat()).passes();
    let shown = ended.everything();
    assert!(shown.contains("sent true 10") && shown.contains("refused no value for the secret \"none\""), "{shown}");
    assert!(!shown.contains("ivory-tower-77"), "{shown}");
    let tried = folder.run(&[&["try", "script.js", "-e", &base], &sources[..]].concat()).code(0).everything();
    assert!(tried.contains("X-Own") && !tried.contains("ivory-tower-77"), "{tried}");
    folder.run(&["run", "script.js", "-e", &base, "--secret-source", "vault=x"]).code(2).says("--secret-source: there is no source");
}
