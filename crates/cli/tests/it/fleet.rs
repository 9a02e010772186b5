//! Runs over agents that are processes, and a real nats-server.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::harness::{Ended, Folder, server};

const AGENTS: &str = "4";

/// Iterations that all share, then arrivals; each takes a row.
fn script() -> String {
    format!(
        r#"import {{ test, scenario, setup, sequence, iterations, arrivals, csv }} from "loadstone";
const rows = csv("numbers.csv").shuffle();
const session = setup(async (user) => {{ await user.get("/"); return {{ token: "from the set-up" }}; }});
const take = scenario("Take", async (user) => {{
  await user.get("/", {{ query: {{ n: rows.next().n }} }});
  user.check("value", session.value.token === "from the set-up");
  console.log("row", rows.next().n);
}});
export default test({{ target: "{}", load: sequence(take.run(iterations(200).users(6)), take.run(arrivals(100).for("2s"))) }});"#,
        server::nginx()
    )
}

fn folder() -> Folder {
    let numbers: String = std::iter::once("n\n".to_owned()).chain((0..2_000).map(|n| format!("{n}\n"))).collect();
    Folder::new().file("a.load.ts", &script()).file("numbers.csv", &numbers)
}

/// `(iterations, arrivals started, distinct rows printed)`
fn made(ended: &Ended) -> (u64, u64, usize) {
    let totals = &ended.summary()["totals"];
    let rows: BTreeSet<String> = ended.printed().into_iter().collect();
    (totals["iterations"].as_u64().expect("a number"), totals["requests"].as_u64().expect("a number"), rows.len())
}

#[test]
fn four_agents_make_what_one_machine_makes() {
    let single = folder();
    let single = single.run(&["run", "a.load.ts", "--workers", AGENTS]).passes();
    let fleet = folder();
    let ended = fleet.run(&["run", "a.load.ts", "--fleet", &format!("local:{AGENTS}")]).passes().says("nats-server started for this run");
    assert_eq!(made(&ended), made(&single), "{}", ended.everything());
    assert_eq!(made(&ended), (400, 400, 400));
    let run = std::fs::read_to_string(fleet.runs()[0].join("run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let agents = run["agents"].as_array().unwrap();
    let names: BTreeSet<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["local-1", "local-2", "local-3", "local-4"]));
    assert!(agents.iter().map(|agent| agent["first_worker"].as_u64().unwrap()).eq(0..4), "{agents:?}");
}

#[test]
fn what_cannot_be_divided_is_refused_by_its_name() {
    let script = r#"import { test, scenario, once, shared } from "loadstone";
const total = shared("total", 0);
const only = scenario("Only", async (user) => { total.increment(); });
export default test({ target: "http://127.0.0.1:1", load: only.run(once()) });"#;
    let ended = Folder::new().file("a.load.ts", script).run(&["run", "a.load.ts", "--fleet", "local:2"]).code(2);
    ended
        .says("the test uses shared(…), which the agents of a fleet cannot share yet")
        .says("a.load.ts:2:15")
        .says("run the test without --fleet");
}

#[test]
fn secrets_go_in_clear_to_no_other_machine() {
    let script = r#"import { test, scenario, once, param } from "loadstone";
const password = param.string("password", { secret: true });
const only = scenario("Only", async (user) => { await user.get("/"); });
export default test({ target: "http://127.0.0.1:1", load: only.run(once()) });"#;
    let folder = Folder::new().file("a.load.ts", script);
    let arguments = ["run", "a.load.ts", "-p", "password=hunter2", "--fleet", "nats://joe:pass@192.0.2.1:4222", "--agents", "1"];
    folder.run(&arguments).code(2).says("nats://192.0.2.1:4222 would carry them in clear").does_not_say("hunter2");
}

#[test]
fn a_missing_server_is_said_with_what_to_do() {
    let folder = folder();
    let mut command = folder.command(&["run", "a.load.ts", "--fleet", "local:2"]);
    command.env("PATH", folder.path());
    folder.start_command(command).ended().code(2).says("apt-get install nats-server");
    let address = format!("nats://127.0.0.1:{}", server::free_port("127.0.0.1"));
    folder.run(&["run", "a.load.ts", "--fleet", &address, "--agents", "1"]).code(2).says("cannot connect to the NATS server");
}

#[test]
fn flags_that_agents_would_not_get_are_refused() {
    let folder = folder();
    folder.run(&["run", "a.load.ts", "--fleet", "local:2", "--insecure"]).code(2).says("--insecure does not go to the agents");
    folder.run(&["run", server::nginx(), "--rate", "1", "--for", "1s", "--fleet", "local:2"]).code(2).says("--fleet runs scripts");
    folder.run(&["run", "a.load.ts", "--fleet", "nats://127.0.0.1:4222"]).code(2).says("--agents");
}

/// A nats-server of a test's own.
struct Nats {
    child: Child,
    address: String,
}

impl Nats {
    fn start() -> Self {
        let port = server::free_port("127.0.0.1");
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]).stderr(Stdio::null());
        let child = command.spawn().expect("nats-server starts: `cargo xtask setup` installs it");
        server::wait_until("nats-server to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, address: format!("nats://127.0.0.1:{port}") }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

/// Kills one of two agents once the run has a second on disk.
fn with_an_agent_killed(further: &[&str]) -> Ended {
    let nats = Nats::start();
    let script = format!(
        r#"import {{ test, scenario, arrivals }} from "loadstone";
const get = scenario("Get", async (user) => {{ await user.get("/"); }});
export default test({{ target: "{}", load: get.run(arrivals(20).for("18s")) }});"#,
        server::nginx()
    );
    let folder = Folder::new().file("a.load.ts", &script);
    let agent = |name: &str| folder.start(&["agent", "--join", &nats.address, "--name", name, "--workers", "1"]);
    let (east, west) = (agent("east"), agent("west"));
    let mut arguments = vec!["run", "a.load.ts", "--fleet", &nats.address, "--agents", "2"];
    arguments.extend(further);
    let run = folder.start(&arguments);
    server::wait_until("two seconds on disk", || {
        let file = folder.runs().first().map(|run| run.join("snapshots.jsonl"));
        file.and_then(|file| std::fs::read_to_string(file).ok()).is_some_and(|lines| lines.lines().count() >= 2)
    });
    west.signal(Signal::KILL);
    let ended = run.ended();
    east.signal(Signal::TERM);
    east.ended();
    west.ended();
    ended
}

#[test]
fn an_agent_that_is_killed_is_named_and_what_is_missing_is_told() {
    let ended = with_an_agent_killed(&[]).says("agent west was lost: nothing was heard of it for 10 s");
    let summary = ended.summary();
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("checks").clone();
    let check = checks.iter().find(|check| check["id"] == "agents").expect("the check of the agents");
    assert_eq!(check["grade"], "suspect", "{check}");
    assert!(check["evidence"].as_str().unwrap().contains("arrivals were not made"), "{check}");
    let made = summary["totals"]["requests"].as_u64().unwrap();
    assert!((180..360).contains(&made), "the other one's half, and what this one handed over: {made}");
}

#[test]
fn a_run_may_end_with_the_agent_that_is_lost() {
    with_an_agent_killed(&["--on-agent-loss", "stop"]).code(1).says("agent west was lost");
}

#[test]
fn regions_have_the_workers_of_their_shares() {
    let nats = Nats::start();
    let script = format!(
        r#"import {{ test, scenario, arrivals }} from "loadstone";
const get = scenario("Get", async (user) => {{ await user.get("/"); }});
export default test({{ target: "{}", load: get.run(arrivals(30).for("1s")) }});"#,
        server::nginx()
    );
    let folder = Folder::new().file("a.load.ts", &script);
    let agent = |name: &str, label: &str| {
        folder.start(&["agent", "--join", &nats.address, "--name", name, "--workers", "2", "--label", label, "--label", "zone="])
    };
    let agents = [agent("east", "region=eu"), agent("west", "region=us")];
    let run = |shares: &str| folder.run(&["run", "a.load.ts", "--fleet", &nats.address, "--agents", "2", "--fleet-share", shares]);
    run("region=eu:0.7,region=us:0.3").code(2).says("agents with region=eu have 2 workers together and need 7");
    run("region=eu:0.7,region=us:0.2").code(2).says("add up to 0.9");
    let ended = run("region=eu:2,region=us:1").passes().says("(3 workers)").says("region: eu 1, us 1");
    assert_eq!(ended.summary()["totals"]["requests"], 30, "{}", ended.everything());
    let described = std::fs::read_to_string(folder.runs()[0].join("run.json")).unwrap();
    let described: serde_json::Value = serde_json::from_str(&described).unwrap();
    let mut workers: Vec<String> =
        described["agents"].as_array().unwrap().iter().map(|agent| format!("{} {}", agent["labels"], agent["workers"])).collect();
    workers.sort();
    assert_eq!(workers, [r#"{"region":"eu"} 2"#, r#"{"region":"us"} 1"#]);
    for agent in agents {
        agent.signal(Signal::TERM);
        agent.ended().code(130);
    }
}
