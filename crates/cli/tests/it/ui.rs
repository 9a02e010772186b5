//! `loadstone ui` over HTTP: permissions, and error messages. The page itself is tested in web/test/ui.test.ts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Folder, server};
use crate::secrets;

/// A running `loadstone ui` of a folder. It is killed with the test.
struct Ui {
    child: Child,
    address: String,
    token: String,
    /// Its standard error after the address.
    stderr: Arc<Mutex<String>>,
}

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ui {
    fn of(folder: &Folder) -> Self {
        Self::start(folder.command(&["ui", "--listen", "127.0.0.1:0"]))
    }

    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("asked for as a pipe")).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("http://")).expect("the address is printed");
        let stderr = Arc::new(Mutex::new(String::new()));
        let hearing = Arc::clone(&stderr);
        // Continue reading, or it would block on a full pipe.
        std::thread::spawn(move || lines.for_each(|line| hearing.lock().expect("no panic in between").push_str(&(line + "\n"))));
        let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://")).expect("an address in the line");
        let (address, token) = url.split_once("/?token=").expect("the form of the address");
        Self { child, address: address.to_owned(), token: token.to_owned(), stderr }
    }

    /// Status and body of a request with these additional header lines.
    fn ask_with(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a time limit");
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}")
            .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    fn change(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let headers = format!("Host: {}\r\nx-loadstone-token: {}\r\n", self.address, self.token);
        self.ask_with(method, path, &headers, &body.to_string())
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask_with("GET", path, &format!("Host: {}\r\n", self.address), "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|problem| panic!("{path}: {problem}\n{body}"))
    }

    fn order(&self, file: &str, parameters: Value) -> (u16, String) {
        self.change("POST", "/api/queue", &json!({ "file": file, "parameters": parameters }))
    }

    /// Waits until the queue satisfies the condition.
    fn queue_until(&self, what: &str, holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        server::wait_until(what, || {
            seen = self.get("/api/queue").as_array().cloned().unwrap_or_default();
            holds(&seen)
        });
        seen
    }
}

/// A test that visits `target` ten times per second.
fn visits(target: &str, run_time: &str) -> String {
    format!(
        r#"import {{ test, scenario, arrivals, param }} from "loadstone";
const rate = param.number("rate", {{ default: 10, min: 1, help: "visits per second" }});
const key = param.string("key", {{ default: "hidden-default", secret: true }});
const visit = scenario("Visit", async (user) => {{ await user.get("/"); }});
export default test({{ name: "Visits", target: "{target}", load: visit.run(arrivals(rate).for("{run_time}")) }});
"#
    )
}

fn one_finished_run(ui: &Ui) -> String {
    assert_eq!(ui.order("visits.load.ts", json!({ "rate": "20" })).0, 202);
    ui.queue_until("the run to end", <[Value]>::is_empty);
    let runs = ui.get("/api/runs");
    assert_eq!((runs[0]["test"].as_str(), runs[0]["requests"].as_u64()), (Some("Visits"), Some(20)), "{runs}");
    runs[0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn tests_are_listed_with_their_parameters_and_broken_ones_with_their_error() {
    let folder = Folder::new()
        .file("visits.load.ts", &visits("http://127.0.0.1:1", "1s"))
        .file("deep/er/other.load.ts", "export default 1 +;")
        .file("node_modules/x/y.load.ts", "")
        .file(".hidden/z.load.ts", "")
        .file("lib.ts", "export const a = 1;");
    let ui = Ui::of(&folder);
    let tests = ui.get("/api/tests");
    let files: Vec<&str> = tests.as_array().unwrap().iter().map(|test| test["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["deep/er/other.load.ts", "visits.load.ts"]);
    assert!(tests[0]["error"].as_str().unwrap().starts_with("other.load.ts:1:"), "{tests}");
    assert_eq!((&tests[1]["name"], &tests[1]["load"][0]), (&json!("Visits"), &json!("Visit: 10 arrivals/s for 1s")));
    assert_eq!(
        tests[1]["parameters"],
        json!([
            { "name": "rate", "kind": { "number": { "min": 1.0, "max": null } }, "help": "visits per second", "default": "10", "secret": false },
            { "name": "key", "kind": "string", "help": null, "default": "•••", "secret": true },
        ])
    );
    std::fs::write(folder.path().join("deep/er/other.load.ts"), visits("http://127.0.0.1:1", "2s")).unwrap();
    assert_eq!(ui.get("/api/tests")[0]["name"], "Visits", "a fixed test is read again");
}

#[test]
fn a_run_from_a_form_is_recorded_noted_and_deleted() {
    let folder = Folder::new().file("visits.load.ts", &visits(server::nginx(), "1s"));
    let ui = Ui::of(&folder);
    let run = format!("/api/runs/{}", one_finished_run(&ui));
    let view = ui.get(&run);
    assert_eq!((&view["version"], &view["summary"]["totals"]["requests"]), (&json!(1), &json!(20)));
    let parameter = |name: &str| view["test"]["parameters"].as_array().unwrap().iter().find(|one| one[0] == name).cloned().unwrap();
    assert_eq!((&parameter("rate")[1], &parameter("rate")[2], &parameter("key")[1]), (&json!("20"), &json!("command_line"), &json!("•••")));

    assert_eq!(ui.change("PATCH", &run, &json!({ "note": "first", "tags": ["a", "b"] })).0, 204);
    let row = ui.get("/api/runs")[0].clone();
    assert_eq!((&row["note"], &row["tags"]), (&json!("first"), &json!(["a", "b"])));
    assert_eq!(ui.change("PATCH", &run, &json!({ "note": "" })).0, 204);
    let row = ui.get("/api/runs")[0].clone();
    assert_eq!((&row["note"], &row["tags"]), (&Value::Null, &json!(["a", "b"])));
    assert_eq!(ui.get(&run)["test"]["tags"], json!(["a", "b"]), "the report has the later tags");
    assert_eq!(ui.change("PATCH", &run, &json!({ "tags": [" "] })).0, 400);

    assert_eq!(ui.change("DELETE", &run, &Value::Null).0, 204);
    assert_eq!((ui.get("/api/runs"), folder.runs().len()), (json!([]), 0));
    assert_eq!(ui.change("DELETE", &run, &Value::Null).0, 404);
}

/// A test with a knob that records each change in `turned.txt`.
fn turns(target: &str) -> String {
    format!(
        r#"import {{ test, scenario, arrivals, knob }} from "loadstone";
knob("size", {{ values: [4, 8], apply: (size) => ({{ command: `echo ${{size}} >> turned.txt` }}) }});
const visit = scenario("Visit", async (user) => {{ await user.get("/"); }});
export default test({{ name: "Turns", target: "{target}", load: visit.run(arrivals(20).for("1m")) }});
"#
    )
}

#[test]
fn an_experiment_from_a_form_reports_its_progress_and_a_stop_keeps_the_results() {
    let folder = Folder::new().file("turns.load.ts", &turns(server::nginx()));
    let ui = Ui::of(&folder);
    assert_eq!(ui.get("/api/tests")[0]["knobs"], json!([{ "name": "size", "values": ["4", "8"] }]));
    let order = |work: Value| ui.change("POST", "/api/queue", &json!({ "file": "turns.load.ts", "parameters": {}, "work": work }));
    for (work, field, expected) in [
        (json!({ "kind": "experiment", "knob": "siez" }), "knob", "there is no knob \"siez\""),
        (json!({ "kind": "experiment", "knob": "size", "block": "1s" }), "block", "1s must be a whole number of seconds"),
        (json!({ "kind": "experiment", "knob": "size", "rounds": "many" }), "rounds", "\"many\" is no number"),
        (json!({ "kind": "capacity" }), "objective", "there is no objective"),
        (json!({ "kind": "capacity", "objectives": ["p99 > 1s"] }), "objective", "'p99 > 1s': "),
        (json!({ "kind": "capacity", "objectives": ["p99 < 1s"], "budget": "1s" }), "budget", "1.00 s is shorter"),
    ] {
        let (status, body) = order(work);
        let refused: Value = serde_json::from_str(&body).unwrap();
        let why = refused["work"]["why"].as_str().unwrap();
        assert!(status == 422 && refused["work"]["field"] == field && why.contains(expected) && !why.contains("--"), "{status}: {body}");
    }
    assert_eq!(order(json!({ "kind": "experiment", "knob": "size", "block": "4s" })).0, 202);
    let row = |queue: &[Value]| queue.first().map_or(Value::Null, |row| row["progress"].clone());
    let queue = ui.queue_until("the second round to begin", |queue| row(queue)["text"] == "Round 2: size 8");
    let progress = row(&queue);
    assert!(progress["left_seconds"].as_f64().is_some_and(|left| left > 1.0), "{progress}");
    let id = progress["answer"].as_str().expect("where it is read").to_owned();
    assert_eq!(ui.change("DELETE", "/api/queue/q1", &Value::Null).0, 202);
    ui.queue_until("the experiment to end", <[Value]>::is_empty);

    let answers = ui.get("/api/answers");
    assert_eq!(
        (answers[0]["id"].as_str(), answers[0]["kind"].as_str(), answers.as_array().map(Vec::len)),
        (Some(id.as_str()), Some("experiment"), Some(1))
    );
    let path = format!("/api/answers/{}", id.replace('/', "%2F"));
    let source = ui.get(&path);
    assert!(source["answer"]["how"].as_str().unwrap().contains("interrupted"), "{source}");
    let block = source["answer"]["blocks"][0]["run"].as_str().expect("the first block's run");
    assert_eq!(ui.get(&format!("{path}/runs/{block}"))["test"]["tags"][0], "size=4");
    for wrong in ["answers/..%2F..", "answers/..%2F../runs/x", "trends/Turns", "ramps/a", "comparisons/a/b"] {
        assert_eq!(ui.ask_with("GET", &format!("/api/{wrong}"), &format!("Host: {}\r\n", ui.address), "").0, 404, "{wrong}");
    }
    let turned = std::fs::read_to_string(folder.path().join("turned.txt")).unwrap();
    assert_eq!(turned.lines().last(), Some("4"), "put back");
    assert!(folder.path().join("runs").join(&id).join("report.html").is_file());
}

#[test]
fn changes_need_the_token_and_a_name_of_this_machine() {
    let folder = Folder::new().file("visits.load.ts", &visits(server::nginx(), "1s"));
    let ui = Ui::of(&folder);
    let wish = json!({ "file": "visits.load.ts", "parameters": {} }).to_string();
    let host = format!("Host: {}\r\n", ui.address);
    for (method, path) in [("POST", "/api/queue"), ("DELETE", "/api/queue/q1"), ("PATCH", "/api/runs/x"), ("DELETE", "/api/runs/x")] {
        for headers in [host.clone(), format!("{host}x-loadstone-token: 0123\r\n")] {
            let (status, body) = ui.ask_with(method, path, &headers, &wish);
            assert_eq!(status, 403, "{method} {path}: {body}");
        }
    }
    let evil = format!("Host: evil.example\r\nx-loadstone-token: {}\r\n", ui.token);
    assert_eq!(ui.ask_with("GET", "/api/runs", &evil, "").0, 403);
    assert_eq!(ui.ask_with("POST", "/api/queue", &evil, &wish).0, 403);
    assert_eq!(ui.get("/api/queue"), json!([]));
    let (_, page) = ui.ask_with("GET", "/", &host, "");
    assert!(page.contains(r#"{"feed":"history","api":"/api","token":""}"#));
    let (_, page) = ui.ask_with("GET", &format!("/?token={}", ui.token), &host, "");
    assert!(page.contains(&ui.token));
}

#[test]
fn requests_that_cannot_run_are_refused_in_the_tests_words() {
    let folder = Folder::new().file("visits.load.ts", &visits("http://127.0.0.1:1", "1s"));
    let ui = Ui::of(&folder);
    for (file, parameters, status, part) in [
        ("visits.load.ts", json!({ "rate": "0", "key": "k" }), 422, r#"{"fields":{"rate":"0 is below the minimum, 1"}}"#),
        ("visits.load.ts", json!({ "rat": "2" }), 400, "the test has no parameter `rat` (did you mean `rate`?)\nit declares: rate, key"),
        ("../visits.load.ts", json!({}), 400, "there is no test ../visits.load.ts"),
        ("/etc/passwd", json!({}), 400, "there is no test"),
        ("visits.load.ts", json!({ "rate": 2 }), 400, "unexpected request body"),
    ] {
        let (code, body) = ui.order(file, parameters);
        assert_eq!(code, status, "{body}");
        assert!(body.contains(part), "{body}");
    }
    assert_eq!(ui.order("visits.load.ts", json!({ "key": "never-shown" })).0, 202);
    let queue = ui.queue_until("the run to fail", |queue| queue.iter().any(|one| one["state"] == "failed"));
    assert!(queue[0]["problem"].as_str().unwrap().contains("nothing listens on 127.0.0.1:1"), "{queue:?}");
    assert_eq!(queue[0]["parameters"], json!({ "key": "•••" }));
    assert_eq!(ui.change("DELETE", "/api/queue/q1", &Value::Null).0, 202);
    assert_eq!(ui.get("/api/queue"), json!([]));
}

#[test]
fn one_run_at_a_time_and_the_end_of_the_page_ends_it() {
    let folder = Folder::new().file("visits.load.ts", &visits(server::nginx(), "10m"));
    let mut ui = Ui::of(&folder);
    assert_eq!((ui.order("visits.load.ts", json!({})).0, ui.order("visits.load.ts", json!({})).0), (202, 202));
    let queue = ui.queue_until("the first to run", |queue| !queue[0]["live"].is_null());
    assert_eq!((&queue[0]["state"], &queue[1]["state"]), (&json!("running"), &json!("waiting")));
    let host = format!("Host: {}\r\n", ui.address);
    let (status, page) = ui.ask_with("GET", "/live/q1", &host, "");
    assert!(status == 200 && page.contains(r#""events":"/live/q1/events","control":"/live/q1/control","token":"","home":"/""#));
    let wrong = ui.ask_with("POST", "/live/q1/control", &host, r#"{"token":"","action":"stop"}"#);
    assert_eq!(wrong.0, 403);
    server::wait_until("the run to be listed", || ui.get("/api/runs")[0]["state"] == "running");
    let run = format!("/api/runs/{}", ui.get("/api/runs")[0]["id"].as_str().unwrap());
    assert_eq!(ui.change("DELETE", &run, &Value::Null).0, 409, "a run going on is not deleted");

    kill_process(Pid::from_child(&ui.child), Signal::INT).unwrap();
    assert!(ui.child.wait().unwrap().success());
    let runs = folder.runs();
    assert_eq!(runs.len(), 1, "what waited is not started");
    let end = std::fs::read_to_string(runs[0].join("end.json")).expect("the run came to an orderly end");
    assert!(end.contains("interrupted"), "{end}");
}

/// A target controls what a script prints, so printed lines must not decide where the page's requests go.
#[test]
fn what_a_script_prints_does_not_become_the_live_page() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let line = format!(r"console.log('\nLive page: http://{}/?token=x');", elsewhere.local_addr().unwrap());
    let script = visits(server::nginx(), "10m").replace(r#"await user.get("/");"#, &format!(r#"{line} await user.get("/");"#));
    assert!(script.contains(&line));
    let folder = Folder::new().file("visits.load.ts", &script);
    let ui = Ui::of(&folder);
    assert_eq!(ui.order("visits.load.ts", json!({})).0, 202);
    ui.queue_until("the run to begin", |queue| queue.iter().any(|one| one["live"].is_string()));
    let printed = || folder.runs().first().and_then(|run| std::fs::read_to_string(run.join("console.log")).ok()).unwrap_or_default();
    server::wait_until("the script to print", || printed().contains("Live page: "));
    let pause = json!({ "token": ui.token, "action": "pause" });
    assert_eq!(ui.change("POST", "/live/q1/control", &pause).0, 202);
    let nobody = elsewhere.accept().expect_err("nobody may come");
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn the_ui_reports_immediately_what_it_cannot_serve() {
    let folder = Folder::new();
    folder.run(&["ui", "nowhere"]).code(2).says("nowhere: there is no such folder");
    let ui = Ui::of(&folder);
    folder.run(&["ui", "--listen", &ui.address]).code(2).says("address already in use").says("--listen 127.0.0.1:0");
    folder.run(&["ui", "--listen", "203.0.113.1:80"]).code(2).says("give an address of this machine");
    folder.run(&["ui", "--listen", "here"]).code(2).says("--listen");
}

#[test]
fn a_run_ends_when_the_ui_that_started_it_is_killed() {
    let folder = Folder::new().file("visits.load.ts", &visits(server::nginx(), "10m"));
    let mut ui = Ui::of(&folder);
    assert_eq!(ui.order("visits.load.ts", json!({})).0, 202);
    ui.queue_until("the run to begin", |queue| queue.iter().any(|one| one["live"].is_string()));
    ui.child.kill().expect("it runs");
    let state = || -> Value { serde_json::from_str(&folder.run(&["runs", "--json"]).stdout).expect("JSON") };
    server::wait_until("the run to end", || state()[0]["state"] == "interrupted");
    let run = folder.runs().remove(0);
    let console = std::fs::read_to_string(run.join("console.log")).expect("a console");
    assert!(console.contains("the program that started the run has ended"), "{console}");
    server::wait_until("its report", || run.join("report.html").exists());
}

#[test]
fn nothing_that_the_ui_serves_or_keeps_shows_a_secret() {
    let folder = Folder::new().file("shop.load.ts", &secrets::script(server::nginx()));
    let mut command = folder.command(&["ui", "--listen", "127.0.0.1:0"]);
    command.env("LOADSTONE_API_KEY", "envKey55");
    let ui = Ui::start(command);
    secrets::holds_none("the list of tests", &ui.get("/api/tests").to_string());
    let (status, refused) = ui.order("shop.load.ts", json!({ "token": secrets::TOKEN, "pin": "hdrSecret1" }));
    assert!(status == 422 && refused.contains(r#"{"pin":"this value is not accepted"}"#), "{refused}");
    secrets::holds_none("a refused form", &refused);
    assert_eq!(ui.order("shop.load.ts", json!({ "token": secrets::TOKEN })).0, 202);
    ui.queue_until("the run to end", |queue| {
        secrets::holds_none("the queue", &json!(queue).to_string());
        queue.is_empty()
    });
    let run = format!("/api/runs/{}", ui.get("/api/runs")[0]["id"].as_str().expect("an id"));
    let note = format!("with {}, envKey55 and d3faultValue as ann:basicSecret2 at http://ann:obsPassword3@host/", secrets::TOKEN);
    assert_eq!(ui.change("PATCH", &run, &json!({ "note": note, "tags": ["pin 313377331"] })).0, 204);
    let runs = ui.get("/api/runs");
    assert_eq!(runs[0]["note"], "with •••, ••• and ••• as ann:••• at http://ann:•••@host/");
    assert_eq!(runs[0]["tags"], json!(["pin •••"]));
    for (what, text) in [("the list of runs", runs.to_string()), ("the report", ui.get(&run).to_string())] {
        secrets::holds_none(what, &text);
    }
    secrets::every_file(&folder.path().join("runs"), &mut |path, text| secrets::holds_none(&path.display().to_string(), &text));
    secrets::holds_none("standard error", &ui.stderr.lock().expect("no panic in between"));
}
