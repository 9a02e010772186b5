//! Runs over agent processes and a real nats-server.

use std::collections::BTreeSet;

use rustix::process::Signal;

use crate::harness::nats::Nats;
use crate::harness::{Ended, Folder, server};

const AGENTS: &str = "4";

/// Shared iterations, then arrivals. Each takes a row.
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
fn totals(ended: &Ended) -> (u64, u64, usize) {
    let totals = &ended.summary()["totals"];
    let rows: BTreeSet<String> = ended.printed().into_iter().collect();
    (totals["iterations"].as_u64().expect("a number"), totals["requests"].as_u64().expect("a number"), rows.len())
}

/// From the folder's only run.
pub(crate) fn seconds_on_disk(folder: &Folder) -> usize {
    let file = folder.runs().first().map(|run| run.join("snapshots.jsonl"));
    file.and_then(|file| std::fs::read_to_string(file).ok()).map_or(0, |lines| lines.lines().count())
}

/// A test, `a.load.ts`, that sends requests to nginx under this load.
pub(crate) fn got_by(load: &str) -> Folder {
    let script = format!(
        r#"import {{ test, scenario, arrivals }} from "loadstone";
const get = scenario("Get", async (user) => {{ await user.get("/"); }});
export default test({{ target: "{}", load: get.run({load}) }});"#,
        server::nginx()
    );
    Folder::new().file("a.load.ts", &script)
}

#[test]
fn a_file_that_agents_would_not_have_is_reported_before_the_load() {
    let text = r#"import { test, scenario, once, file } from "loadstone";
const read = scenario("Read", async (user) => {
  await user.post("/", { body: file(`part-${user.number}.txt`) });
});
export default test({ target: "http://127.0.0.1:9", load: read.run(once()) });"#;
    // In a function of another module, which the scenario uses.
    let by_helper = r#"import { test, scenario, once } from "loadstone";
import { part } from "./parts";
const read = scenario("Read", async (user) => {
  await user.post("/", { body: part(user.number) });
});
export default test({ target: "http://127.0.0.1:9", load: read.run(once()) });"#;
    let helper = "import { file } from \"loadstone\";\nexport const part = (number: number) => file(`part-${number}.txt`);\n";
    for (test, place) in [(text, "a.load.ts:3:32"), (by_helper, "parts.ts:2:41")] {
        let folder = Folder::new().file("a.load.ts", test).file("parts.ts", helper).file("part-0.txt", "x");
        let refused = folder.run(&["run", "a.load.ts", "--fleet", "local:2"]).code(2);
        refused.says("agents have no copy of a file whose path is computed").says(place).says("read the files at the top level");
        assert!(folder.runs().is_empty());
    }
}

#[test]
fn four_agents_generate_the_load_of_one_machine() {
    let single = folder();
    let single = single.run(&["run", "a.load.ts", "--workers", AGENTS]).passes();
    let fleet = folder();
    let ended = fleet.run(&["run", "a.load.ts", "--fleet", &format!("local:{AGENTS}")]).passes().says("nats-server started for this run");
    assert_eq!(totals(&ended), totals(&single), "{}", ended.everything());
    assert_eq!(totals(&ended), (400, 400, 400));
    let run = std::fs::read_to_string(fleet.runs()[0].join("run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let agents = run["agents"].as_array().unwrap();
    let names: BTreeSet<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["local-1", "local-2", "local-3", "local-4"]));
    assert!(agents.iter().map(|agent| agent["first_worker"].as_u64().unwrap()).eq(0..4), "{agents:?}");
}

/// As many rows as arrivals, a counter, a list that all users take from, and a file that they collect.
fn script_with_common_data() -> String {
    format!(
        r#"import {{ test, scenario, sequence, iterations, arrivals, csv, shared, collect }} from "loadstone";
const rows = csv("numbers.csv").queue();
const total = shared("total", 0);
const tickets = shared("tickets", []);
const sold = collect("sold.csv");
const sell = scenario("Sell", async (user) => {{
  const {{ n }} = rows.next();
  tickets.push(Number(n));
  await user.get("/");
  total.increment(2);
}});
const buy = scenario("Buy", async (user) => {{
  await user.get("/");
  sold.add({{ ticket: tickets.shift() }});
}});
const look = scenario("Look", async (user) => {{
  await user.get("/");
  console.log("row", total.get(), tickets.get().length, rows.remaining);
}});
const load = sequence(sell.run(arrivals(150).for("2s")), buy.run(iterations(300).users(8)), look.run(iterations(8).users(8)));
export default test({{ target: "{}", load }});"#,
        server::nginx()
    )
}

#[test]
fn what_users_share_is_exact_over_agents() {
    let numbers: String = std::iter::once("n\n".to_owned()).chain((0..300).map(|n| format!("{n}\n"))).collect();
    let folder = Folder::new().file("a.load.ts", &script_with_common_data()).file("numbers.csv", &numbers);
    let ended = folder.run(&["run", "a.load.ts", "--fleet", "local:4"]).passes();
    let printed: BTreeSet<String> = ended.printed().into_iter().collect();
    assert!(printed.iter().all(|line| line == "600 0 0") && !printed.is_empty(), "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["iterations"], 608, "{}", ended.everything());
    let sold = std::fs::read_to_string(folder.path().join("sold.csv")).unwrap();
    let mut tickets: Vec<u32> = sold.lines().skip(1).map(|line| line.parse().expect("a number")).collect();
    tickets.sort_unstable();
    assert!(tickets.iter().copied().eq(0..300), "every row was used once, and every ticket sold once: {tickets:?}");
}

#[test]
fn journeys_that_start_on_agents_finish_at_a_stub() {
    let script = r#"import { test, scenario, arrivals, flow, stub, uniqueId } from "loadstone";
const delivery = flow("Delivery", { drain: "10s" });
const hook = stub.http({ listen: "127.0.0.1:0", name: "hook" });
hook.on("POST /webhook", (request) => delivery.finish(request.json("$.key")), { status: 202 });
const pay = scenario("Pay", async (user) => {
  const key = uniqueId("order");
  delivery.start(key, { since: user });
  await user.pause("100ms");
  await user.post(`${hook.url}/webhook`, { json: { key } });
});
export default test({ load: pay.run(arrivals(40).for("2s")) });"#;
    let ended = Folder::new().file("a.load.ts", script).run(&["run", "a.load.ts", "--fleet", "local:4"]).passes();
    let flow = ended.summary()["flows"][0].clone();
    let counted = ["started", "finished", "open", "duplicates", "unknown"].map(|field| flow[field].as_u64().unwrap_or(0));
    assert_eq!(counted, [80, 80, 0, 0, 0], "{flow}");
    let median = flow["time"]["percentiles"][0]["value"].as_f64().expect("a median");
    assert!((0.1..5.0).contains(&median), "clocks of agents and controller are one: {flow}");
}

#[test]
fn addresses_that_remote_agents_cannot_reach_are_refused_by_name() {
    let script = r#"import { test, scenario, once, proxy } from "loadstone";
const db = proxy.tcp({ listen: "127.0.0.1:1", to: "127.0.0.1:2" });
const only = scenario("Only", async (user) => { await user.get("/"); });
export default test({ target: "http://127.0.0.1:1", load: only.run(once()) });"#;
    let folder = Folder::new().file("a.load.ts", script);
    let ended = folder.run(&["run", "a.load.ts", "--fleet", "tls://joe:pass@192.0.2.1:4222", "--agents", "2"]).code(2);
    ended.says("agents on other machines cannot reach proxy.tcp(…)").says("a.load.ts:2:12").says("run the test without --fleet");
}

#[test]
fn secrets_are_never_sent_unencrypted_to_another_machine() {
    let script = r#"import { test, scenario, once, param } from "loadstone";
const password = param.string("password", { secret: true });
const only = scenario("Only", async (user) => { await user.get("/"); });
export default test({ target: "http://127.0.0.1:1", load: only.run(once()) });"#;
    let folder = Folder::new().file("a.load.ts", script);
    let arguments = ["run", "a.load.ts", "-p", "password=hunter2", "--fleet", "nats://joe:pass@192.0.2.1:4222", "--agents", "1"];
    folder.run(&arguments).code(2).says("nats://192.0.2.1:4222 would transmit them unencrypted").does_not_say("hunter2");
}

#[test]
fn a_missing_server_is_reported_with_a_remedy() {
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
    folder.run(&["run", "a.load.ts", "--fleet", "local:2", "--insecure"]).code(2).says("--insecure is not sent to the agents");
    folder.run(&["run", server::nginx(), "--rate", "1", "--for", "1s", "--fleet", "local:2"]).code(2).says("--fleet runs scripts");
    folder.run(&["run", "a.load.ts", "--fleet", "nats://127.0.0.1:4222"]).code(2).says("--agents");
}

/// Kills one of two agents once the run has a second on disk.
fn with_an_agent_killed(further: &[&str]) -> Ended {
    let nats = Nats::start();
    let folder = got_by(r#"arrivals(20).for("18s")"#);
    let agent = |name: &str| folder.start(&["agent", "--join", &nats.address, "--name", name, "--workers", "1"]);
    let (east, west) = (agent("east"), agent("west"));
    let mut arguments = vec!["run", "a.load.ts", "--fleet", &nats.address, "--agents", "2"];
    arguments.extend(further);
    let run = folder.start(&arguments);
    server::wait_until("two seconds on disk", || seconds_on_disk(&folder) >= 2);
    west.signal(Signal::KILL);
    let ended = run.ended();
    east.signal(Signal::TERM);
    east.ended();
    west.ended();
    ended
}

#[test]
fn a_killed_agent_is_named_and_the_missing_load_is_reported() {
    let ended = with_an_agent_killed(&[]).says("agent west was lost: it sent nothing for 10 s");
    let summary = ended.summary();
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("checks").clone();
    let check = checks.iter().find(|check| check["id"] == "agents").expect("the check of the agents");
    assert_eq!(check["grade"], "suspect", "{check}");
    assert!(check["evidence"].as_str().unwrap().contains("arrivals did not start"), "{check}");
    let requests = summary["totals"]["requests"].as_u64().unwrap();
    assert!((180..360).contains(&requests), "the other one's half, and what this one handed over: {requests}");
}

#[test]
fn a_run_whose_controller_was_killed_is_completed_from_its_agents() {
    let nats = Nats::start();
    let folder = got_by(r#"arrivals(20).for("60s")"#);
    let agent = |name: &str| folder.start(&["agent", "--join", &nats.address, "--name", name, "--workers", "1"]);
    let agents = [agent("east"), agent("west")];
    let run = folder.start(&["run", "a.load.ts", "--fleet", &nats.address, "--agents", "2"]);
    server::wait_until("two seconds on disk", || seconds_on_disk(&folder) >= 2);
    folder.run(&["fleet", "collect", "latest", "--fleet", "http://x"]).code(2).says("write nats://HOST:4222");
    run.signal(Signal::KILL);
    run.ended();
    let before = seconds_on_disk(&folder);
    let collected = folder.run(&["fleet", "collect", "latest", "--fleet", &nats.address]).code(0).says("collected from 2 of 2 agents");
    let after = seconds_on_disk(&folder);
    assert!(after >= before + 5, "agents went on for 10 s: {before} seconds, then {after}");
    let run = folder.runs().remove(0);
    assert!(run.join("report.html").is_file(), "{}", collected.everything());
    let summary: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    let requests = summary["totals"]["requests"].as_u64().unwrap();
    let seconds = summary["totals"]["duration_seconds"].as_f64().unwrap();
    assert!(
        (20.0 * (seconds - 3.0)..=20.0 * seconds + 1.0).contains(&(requests as f64)),
        "each second once: {requests} requests in {seconds} s"
    );
    folder.run(&["fleet", "collect", "latest", "--fleet", &nats.address]).code(2).says("this run is complete");
    for agent in agents {
        agent.signal(Signal::TERM);
        agent.ended();
    }
}

#[test]
fn a_run_may_end_with_the_agent_that_is_lost() {
    with_an_agent_killed(&["--on-agent-loss", "stop"]).code(1).says("agent west was lost");
}

#[test]
fn regions_have_the_workers_of_their_shares() {
    let nats = Nats::start();
    let folder = got_by(r#"arrivals(30).for("1s")"#);
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
