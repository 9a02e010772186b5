//! `loadstone experiment`: knobs are changed in alternation and always restored, and their effect on a real server is found.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use loadstone_stub::demo::{DemoOptions, DemoShop};
use loadstone_stub::{Behaviour, Fault, Server, Wait};
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Folder, fairly, server};

/// A test with a knob that records each change in `turned.txt`.
fn noting(target: &str, load: &str, more: &str) -> Folder {
    let script = format!(
        r#"import {{ arrivals, knob, scenario, test, users }} from "loadstone";
knob("size", {{
  values: [4, 8],
  apply: (size) => ({{ command: `echo ${{size}} >> turned.txt{more}` }}),
}});
const only = scenario("Only", async (user) => {{ await user.get("/", {{ name: "Get" }}); }});
export default test({{ target: "{target}", load: only.run({load}) }});
"#
    );
    Folder::new().file("knob.load.ts", &script)
}

const NO_KNOB: &str = r#"import { once, scenario, test } from "loadstone";
export default test({ load: scenario("A", async () => {}).run(once()) });
"#;

fn turned(folder: &Path) -> Vec<String> {
    std::fs::read_to_string(folder.join("turned.txt")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The server's response to a GET.
fn answer(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the shop listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n").expect("the shop reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the shop answers");
    text
}

/// The experiment.json of the only experiment.
fn recorded(folder: &Folder) -> Value {
    let experiments: Vec<_> =
        std::fs::read_dir(folder.path().join("runs/experiments")).expect("a folder of experiments").flatten().collect();
    assert_eq!(experiments.len(), 1);
    let text = std::fs::read(experiments[0].path().join("experiment.json")).expect("its record");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn a_knob_without_effect_is_refuted() {
    let server = Server::builder().route("GET /", Behaviour::new().wait(Wait::fixed_ns(20_000_000))).start().unwrap();
    let last = std::cell::Cell::new(None);
    let ended = fairly(|| {
        let folder = noting(&server.url(""), "arrivals(40).for(\"1m\")", "");
        let ended = folder.run(&[
            "experiment",
            "knob.load.ts",
            "--block",
            "4s",
            "--rounds",
            "8",
            "--measure",
            "p50 of Get",
            "--effect",
            "30%",
            "--json",
        ]);
        last.set(Some(folder));
        ended
    });
    let ended = ended.code(0);
    let folder = last.take().unwrap();
    let experiment: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&experiment["contrasts"][0]["verdict"], &experiment["stop"]["why"]),
        (&"same".into(), &"decided".into()),
        "{}",
        ended.stdout
    );
    let turned = turned(folder.path());
    assert_eq!(turned[..4], ["4", "8", "8", "4"], "the order turns round");
    // The knob is set for each block, and restored at the end.
    assert_eq!(turned.len(), experiment["blocks"].as_array().unwrap().len() + 1);
    assert_eq!(turned.last().unwrap(), "4");
    // Blocks are complete runs, but not part of the test's history.
    folder.run(&["runs"]).does_not_say("knob");
    assert_eq!(recorded(&folder), experiment);
}

#[test]
fn the_limiting_pool_is_found_and_restored() {
    let shop = DemoShop::start(DemoOptions { pool: 2, ..DemoOptions::default() }).unwrap();
    let script = format!(
        r#"import {{ knob, scenario, test, users }} from "loadstone";
knob("pool", {{
  values: [2, 4],
  apply: (size) => ({{ http: "{url}/pool", method: "PUT", json: {{ size }} }}),
  ready: "{url}/health",
}});
const buy = scenario("Buy", async (user) => {{ await user.post("/checkout", {{ name: "Check out", json: {{}}, expect: {{ status: 404 }} }}); }});
export default test({{ target: "{url}", load: buy.run(users(8).for("1m")) }});
"#,
        url = shop.url()
    );
    let ended = fairly(|| {
        let folder = Folder::new().file("pool.load.ts", &script);
        folder.run(&["experiment", "pool.load.ts", "--block", "4s", "--markdown", "e.md"])
    });
    ended.code(0).says("BETTER").says("mean of \"Check out\"").says("rate");
    assert!(answer(shop.address(), "/pool").ends_with("{\"size\":2}"));
}

#[test]
fn ctrl_c_restores_the_knob_and_keeps_the_results() {
    let folder = noting(server::nginx(), "arrivals(20).for(\"1m\")", "");
    let running = folder.start(&["experiment", "knob.load.ts", "--block", "4s"]);
    server::wait_until("the second turn", || turned(folder.path()).len() == 2);
    running.signal(Signal::INT);
    running.ended().code(130).says("interrupted");
    assert_eq!(turned(folder.path()), ["4", "8", "4"]);
    assert_eq!(recorded(&folder)["stop"]["why"], "interrupted");
}

#[test]
fn the_knob_of_a_killed_experiment_is_restored() {
    let folder = noting(server::nginx(), "arrivals(20).for(\"1m\")", "");
    let running = folder.start(&["experiment", "knob.load.ts", "--block", "4s"]);
    server::wait_until("the second turn", || turned(folder.path()).len() == 2);
    running.signal(Signal::KILL);
    server::wait_until("the guardian", || turned(folder.path()) == ["4", "8", "4"]);
    running.ended();
}

#[test]
fn a_knob_that_cannot_be_set_ends_the_experiment_and_is_restored() {
    let folder = noting(server::nginx(), "arrivals(20).for(\"1m\")", "; test ${size} = 4 || { echo no such size; exit 3; }");
    folder.run(&["experiment", "knob.load.ts", "--block", "4s"]).code(1).says("cannot set \"size\" to 8").says("no such size");
    assert_eq!(turned(folder.path()), ["4", "8", "4"]);
}

#[test]
fn the_cost_of_each_millisecond_of_delay_is_measured() {
    // Both delays are much longer than the time that a machine takes to wake a core, which would make the measurement INVALID.
    let port = server::free_port("127.0.0.1");
    let script = format!(
        r#"import {{ arrivals, knob, proxy, scenario, test }} from "loadstone";
const way = proxy.tcp({{ listen: "127.0.0.1:{port}", to: "{to}" }});
knob("delay", {{ values: ["20ms", "60ms"], apply: (delay) => ({{ proxy: way, delay }}) }});
const only = scenario("Only", async (user) => {{ await user.get("/", {{ name: "Get" }}); }});
export default test({{ target: "http://127.0.0.1:{port}", load: only.run(arrivals(40).for("1m")) }});
"#,
        to = server::nginx().trim_start_matches("http://"),
    );
    // The mean alone decides, so that four rounds are enough. Rounds with an INVALID measurement are replaced.
    let arguments = ["experiment", "delay.load.ts", "--block", "4s", "--rounds", "8", "--measure", "mean of Get", "--json"];
    let ended = fairly(|| Folder::new().file("delay.load.ts", &script).run(&arguments));
    let experiment: Value = serde_json::from_str(&ended.code(0).stdout).unwrap();
    let found = experiment["sensitivities"].as_array().unwrap().iter().find(|found| found["name"] == "Get").unwrap();
    let (low, high) = (found["low"].as_f64().unwrap(), found["high"].as_f64().unwrap());
    // One millisecond per value, plus the machine's overhead.
    assert!(low < 1.1 && high > 0.99 && high - low < 1.0, "{found}");
}

#[test]
fn a_set_up_that_fails_ends_an_experiment_as_it_ends_a_run() {
    let folder = noting(server::nginx(), "arrivals(20).for(\"1m\")", "");
    let text = std::fs::read_to_string(folder.path().join("knob.load.ts")).unwrap();
    let text = text.replace("import { arrivals", "import { setup, arrivals") + "setup(async () => { throw new Error(\"no key\"); });\n";
    let ended = folder.file("knob.load.ts", &text).run(&["experiment", "knob.load.ts", "--block", "4s"]);
    ended.code(7).says("with size 4").says("the set-up \"").says("failed");
}

#[test]
fn an_experiment_about_a_finding_has_the_parameters_of_its_run() {
    let text = format!(
        "import {{ once, param, scenario, test }} from \"loadstone\";\nconst path = param.string(\"path\");\n\
         const key = param.string(\"key\", {{ default: \"none\", secret: true }});\n\
         export default test({{ target: \"{}\", load: scenario(\"A\", async (user) => {{ await user.get(path); }}).run(once()) }});\n",
        server::nginx()
    );
    let given = Folder::new().file("given.load.ts", &text);
    let experiment = ["experiment", "given.load.ts", "--finding", "1", "--runs", "kept"];
    given.run(&["run", "given.load.ts", "-p", "path=/", "--runs", "kept"]).code(0);
    // Without the path, the test does not load. The run has no finding.
    given.run(&experiment).code(2).says("there is no 1");
    given.run(&["experiment", "given.load.ts"]).code(2).says("\"path\"").does_not_say("there is no 1");
    given.run(&["run", "given.load.ts", "-p", "path=/", "-p", "key=opener", "--runs", "kept"]).code(0);
    given.run(&experiment).code(2).says("give it with -p key=");
    given.run(&[&experiment as &[&str], &["-p", "key=opener"]].concat()).code(2).says("there is no 1");
}

#[test]
fn errors_are_reported_before_any_load() {
    let folder = noting(server::nginx(), "arrivals(20).for(\"1m\")", "");
    let none = folder.file("none.load.ts", NO_KNOB);
    none.run(&["experiment", "none.load.ts"]).code(2).says("the test has no knob");
    none.run(&["experiment", "knob.load.ts", "--knob", "sise"]).code(2).says("did you mean").says("\"size\"");
    none.run(&["experiment", "knob.load.ts", "--block", "1500ms"]).code(2).says("whole number of seconds");
    none.run(&["experiment", "knob.load.ts", "--measure", "speed"]).code(2).says("--measure");
    none.run(&["experiment", "knob.load.ts", "--finding", "1"]).code(2);
    assert_eq!(turned(none.path()), [] as [String; 0]);
    none.run(&["experiment", "knob.load.ts", "--put-back"]).code(0).says("restored to 4");
    assert_eq!(turned(none.path()), ["4"]);
}

#[test]
fn a_finding_is_verified_and_the_result_is_stored_with_its_run() {
    let failing = Behaviour::new().wait(Wait::fixed_ns(20_000_000)).fault(0.3, Fault::Status(503));
    let server = Server::builder().route("GET /", failing).start().unwrap();
    let folder = noting(&server.url(""), "arrivals(40).for(\"12s\")", "");
    folder.run(&["run", "knob.load.ts", "--quiet"]).says("Findings");
    let rounds = ["--block", "4s", "--rounds", "4", "--measure", "mean of Get", "--effect", "30%", "--json"];
    folder.run(&["experiment", "knob.load.ts", "--finding", "1"]).code(2).says("--knob");
    let ended = folder.run(&[&["experiment", "knob.load.ts", "--finding", "1", "--knob", "size"] as &[&str], &rounds].concat());
    let experiment: Value = serde_json::from_str(&ended.stdout).unwrap();
    let proof = &experiment["proof"];
    assert_ne!(proof["state"], "proved", "{proof}");
    let summary: Value = serde_json::from_str(&folder.run(&["show", "--json"]).stdout).unwrap();
    let kept = &summary["proofs"][0];
    for field in ["rule", "claim", "state", "knob", "because"] {
        assert_eq!(kept[field], proof[field], "{field}");
    }
    assert!(folder.path().join("runs/experiments").join(kept["experiment"].as_str().unwrap()).is_dir());
    folder.run(&["show"]).says("by changing \"size\"");
}
