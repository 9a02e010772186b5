//! Flows and stubs in a run: journeys with known delays, draining after the load, journeys that never finish.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use loadstone_stub::{Behaviour, Server, StubResponse};
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Ended, Folder, server};

/// A system that accepts payments and calls `hook` for each after the delay `after`. It drops every `lost`-th call.
fn system(hook: String, after: Duration, lost: u64) -> Server {
    let hook: Arc<str> = hook.into();
    let pay = move |request: &loadstone_stub::StubRequest| {
        let (hook, id) = (Arc::clone(&hook), request.sequence);
        if lost == 0 || id % lost != 0 {
            std::thread::spawn(move || {
                std::thread::sleep(after);
                let body = format!("{{\"payment\": {id}}}");
                let mut socket = TcpStream::connect(&*hook).expect("the stub listens");
                write!(socket, "POST /webhook HTTP/1.1\r\nHost: hook\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
                    .expect("the stub reads");
                let _ = socket.read_to_end(&mut Vec::new());
            });
        }
        StubResponse::json(201, &serde_json::json!({ "id": id }))
    };
    Server::builder().route("POST /payments", Behaviour::function(pay)).start().expect("a server")
}

/// 20 payments per second for 2 s.
fn script(target: &str, hook: &str, flow: &str, thresholds: &str) -> String {
    format!(
        r#"import {{ arrivals, flow, flowBacklog, flowLost, flowTime, scenario, stub, test }} from "loadstone";
const delivery = flow("Time to send", {flow});
const hook = stub.http({{ listen: "{hook}", name: "hook", delay: "400ms" }});
hook.on("POST /webhook", (request) => delivery.finish(request.json("$.payment")), {{ status: 202 }});
const pay = scenario("Pay", async (user) => {{
  const answer = await user.post("/payments", {{ json: {{ amount: 1200 }} }});
  delivery.start(answer.json("$.id"), {{ since: answer }});
}});
export default test({{ target: "{target}", load: pay.run(arrivals(20).for("2s")), thresholds: [{thresholds}] }});
"#
    )
}

fn flow(summary: &Value) -> &Value {
    &summary["flows"][0]
}

/// p50 of a flow's times. Seconds.
fn p50(flow: &Value) -> f64 {
    flow["time"]["percentiles"][0]["value"].as_f64().expect("a median")
}

fn free() -> String {
    format!("127.0.0.1:{}", server::free_port("127.0.0.1"))
}

#[test]
fn the_run_goes_on_until_its_journeys_have_finished() {
    let hook = free();
    let system = system(hook.clone(), Duration::from_millis(1_500), 0);
    let thresholds =
        r#"flowTime(delivery).p50.below("30s"), flowLost("Time to send").count.equals(0), flowBacklog(delivery).max.below(41)"#;
    let folder = Folder::new().file("hook.load.ts", &script(&system.url(""), &hook, "{ drain: \"30s\" }", thresholds));
    let ended = folder.run(&["run", "hook.load.ts"]).passes();
    let summary = ended.summary();
    let flow = flow(&summary);
    assert_eq!((&flow["started"], &flow["finished"], &flow["open"], &flow["duplicates"]), (&40.into(), &40.into(), &0.into(), &0.into()));
    // The call arrives 1.5 s after the response. The stub's own delay follows its arrival and is not part of the journey.
    assert!(p50(flow) >= 1.5, "{flow}");
    assert!(flow["drain"]["seconds"].as_f64().expect("it drained") >= 1.4, "{flow}");
    assert_eq!(flow["drain"]["left"], 0);
    assert!(flow["backlog_max"].as_u64().expect("a count") >= 20, "{flow}");
    let run = folder.runs().remove(0);
    let slices = fs::read_to_string(run.join("snapshots.jsonl")).expect("slices");
    assert!(slices.contains("\"load_ended\"") && slices.contains("no open journeys left"), "{slices}");
    let seen = signal(&fs::read_to_string(run.join("signals.jsonl")).expect("signals"), "stub:hook/calls");
    assert!((1.0..=40.0).contains(&seen), "the stub's calls are a signal: {seen}");
    let held = signal(&fs::read_to_string(run.join("signals.jsonl")).expect("signals"), "stub:hook/hold");
    assert!((held / 0.4 - (held / 0.4).round()).abs() < 1e-6, "every call was held for 400 ms: {held}");
    assert!(fs::read_to_string(run.join("report.html")).expect("the report").contains("flow/Time to send/backlog"));
    ended.says("drained in");
}

/// Sum of a signal's values.
fn signal(lines: &str, name: &str) -> f64 {
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let known = lines.iter().find(|line| line["signal"]["name"] == name).unwrap_or_else(|| panic!("no signal {name}"));
    let of = lines.iter().filter(|line| line["points"]["id"] == known["signal"]["id"]);
    of.flat_map(|line| line["points"]["value"].as_array().expect("values")).filter_map(Value::as_f64).sum()
}

#[test]
fn workers_with_separate_descriptor_tables_share_journeys() {
    let hook = free();
    let system = system(hook.clone(), Duration::from_millis(100), 0);
    let folder = Folder::new().file("hook.load.ts", &script(&system.url(""), &hook, "{ drain: \"30s\" }", ""));
    // 40 arrivals may need as many connections, which one table of 130 descriptors may not hold.
    let ended = folder.start_command(folder.with_open_files(130, &["run", "hook.load.ts", "--workers", "3"])).ended().passes();
    let summary = ended.summary();
    let flow = flow(&summary);
    assert_eq!((&flow["started"], &flow["finished"], &flow["open"]), (&40.into(), &40.into(), &0.into()), "{}", ended.everything());
}

#[test]
fn journeys_that_never_finish_are_lost() {
    let hook = free();
    let system = system(hook.clone(), Duration::from_millis(10), 4);
    let thresholds = r#"flowTime(delivery).p90.below("30s"), flowLost(delivery).rate.below("30%"), flowLost(delivery).count.equals(0)"#;
    let folder = Folder::new().file("hook.load.ts", &script(&system.url(""), &hook, "{ drain: \"1s\" }", thresholds));
    let ended = folder.run(&["run", "hook.load.ts"]).fails_a_threshold();
    let summary = ended.summary();
    let flow = flow(&summary);
    assert_eq!((&flow["started"], &flow["finished"], &flow["open"]), (&40.into(), &30.into(), &10.into()), "{flow}");
    assert_eq!((&flow["drain"]["left"], &flow["drain"]["seconds"]), (&10.into(), &Value::Null));
    let states: Vec<&Value> = summary["verdict"]["thresholds"].as_array().expect("a list").iter().map(|result| &result["state"]).collect();
    assert_eq!(states, ["failed", "passed", "failed", "passed"], "{}", ended.everything());
    let ended = ended.says("at least ");
    ended.says("still open when the run ended");
}

#[test]
fn ctrl_c_ends_the_waiting_and_not_the_verdict() {
    let hook = free();
    let system = system(hook.clone(), Duration::from_secs(100), 0);
    let folder =
        Folder::new().file("hook.load.ts", &script(&system.url(""), &hook, "{ drain: \"100s\" }", "flowLost(delivery).count.atMost(40)"));
    let run = folder.start(&["run", "hook.load.ts"]);
    let drains =
        || folder.runs().iter().any(|run| fs::read_to_string(run.join("snapshots.jsonl")).unwrap_or_default().contains("load_ended"));
    server::wait_until("the load to have ended", drains);
    run.signal(Signal::INT);
    let ended: Ended = run.ended().passes();
    assert_eq!(flow(&ended.summary())["open"], 40, "{}", ended.everything());
    ended.says("ran for");
}

#[test]
fn a_stub_function_that_throws_is_reported_once_and_returns_500() {
    let script = r#"import { iterations, scenario, stub, test } from "loadstone";
const api = stub.http();
api.on("GET /broken", () => { throw new Error(["no such", "luck"].join(" ")); });
api.on("GET /slow/:id", (request) => ({ json: { id: request.parameters.id, q: request.query.q }, delay: "50ms" }));
const visit = scenario("Visit", async (user) => {
  await user.get("/broken", { expect: { status: 500 } });
  const answer = await user.get("/slow/7?q=a%20b", { expect: { status: 200, json: { "$.id": "7", "$.q": "a b" } } });
  // From the start: the stub may receive the request before its sender knows that it was sent.
  user.check("waited", answer.times.total >= 50);
  await user.get("/elsewhere", { expect: { status: 404 } });
});
export default test({ target: api.url, load: visit.run(iterations(5)) });
"#;
    let ended = Folder::new().file("stub.load.ts", script).run(&["run", "stub.load.ts"]).passes();
    assert_eq!(ended.summary()["totals"]["checks_failed"], 0, "{}", ended.everything());
    assert_eq!(ended.stderr.matches("no such luck").count(), 1, "{}", ended.everything());
    ended.says("5 calls that none of its routes matched");
}

/// The run ends while the stub holds a call from the system.
#[test]
fn a_stub_answers_held_calls_when_the_run_ends() {
    let hook = free();
    let (reply, answered) = std::sync::mpsc::sync_channel(1);
    let (place, reply) = (hook.clone(), std::sync::Mutex::new(Some(reply)));
    let begin = move |_: &loadstone_stub::StubRequest| {
        let mut socket = TcpStream::connect(&*place).expect("the stub listens");
        let head = "POST /webhook HTTP/1.1\r\nHost: hook\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).expect("the stub reads");
        let mut interim = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
        socket.read_exact(&mut interim).expect("the stub has the call");
        let reply = reply.lock().expect("nobody panicked").take().expect("one call");
        socket.write_all(b"{}").expect("the stub reads on");
        std::thread::spawn(move || {
            let mut answer = String::new();
            let _ = socket.read_to_string(&mut answer);
            let _ = reply.send(answer);
        });
        StubResponse::new(202, "begun")
    };
    let system = Server::builder().route("POST /begin", Behaviour::function(begin)).start().expect("a server");
    let script = format!(
        r#"import {{ once, scenario, stub, test }} from "loadstone";
stub.http({{ listen: "{hook}", delay: "2s", status: 204 }});
const begin = scenario("Begin", async (user) => {{ await user.post("/begin"); }});
export default test({{ target: "{}", load: begin.run(once()) }});
"#,
        system.url("")
    );
    let ended = Folder::new().file("begin.load.ts", &script).run(&["run", "begin.load.ts"]).passes();
    ended.says("1 call to stubs still open");
    let answer = answered.recv().expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer:?}");
}

/// The query returns the same key at every reading. The journey finishes once.
#[test]
fn a_query_can_show_that_journeys_have_finished() {
    let database = &server::shop().database;
    let script = format!(
        r#"import {{ flow, flowLost, iterations, observe, scenario, stub, test }} from "loadstone";
const order = flow("Order", {{ drain: "30s" }});
const api = stub.http();
const buy = scenario("Buy", async (user) => {{
  await user.get("/");
  order.start("order-7");
}});
export default test({{
  target: api.url, load: buy.run(iterations(1)), thresholds: [flowLost(order).count.equals(0)],
  observe: [observe.sql({{ url: "{database}", name: "orders", every: "100ms", finish: order, query: "select 'order-7', 0" }})],
}});
"#
    );
    let ended = Folder::new().file("order.load.ts", &script).run(&["run", "order.load.ts"]).passes();
    let summary = ended.summary();
    let flow = flow(&summary);
    assert_eq!((&flow["finished"], &flow["duplicates"], &flow["open"]), (&1.into(), &0.into(), &0.into()), "{}", ended.everything());
}
