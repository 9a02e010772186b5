//! Faults in a fleet of real processes over a real nats-server, one per test, and their results. Killed agents and controllers are tested in `fleet`.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::fleet::{got_by, seconds_on_disk};
use crate::harness::nats::Nats;
use crate::harness::network_namespace::NetworkNamespace;
use crate::harness::{Ended, Folder, Running, server};

/// Arrivals of the load in most of these tests.
const ASKED: u64 = 160;
/// Longer than the time after which a silent agent is lost.
const TOO_LONG: Duration = Duration::from_secs(12);

fn load() -> Folder {
    got_by(r#"arrivals(20).for("8s")"#)
}

/// Longer than an agent takes to be lost.
fn long_load() -> Folder {
    got_by(r#"arrivals(20).for("16s")"#)
}

fn agent(folder: &Folder, address: &str, name: &str) -> Running {
    folder.start(&["agent", "--join", address, "--name", name, "--workers", "1"])
}

fn two_agents(folder: &Folder, nats: &Nats) -> [Running; 2] {
    ["east", "west"].map(|name| agent(folder, &nats.address, name))
}

fn run(folder: &Folder, nats: &Nats, agents: &str) -> Running {
    folder.start(&["run", "a.load.ts", "--fleet", &nats.address, "--agents", agents])
}

/// The same, after it has measured for a while.
fn run_at_work(folder: &Folder, nats: &Nats) -> Running {
    let run = run(folder, nats, "2");
    server::wait_until("two seconds on disk", || seconds_on_disk(folder) >= 2);
    run
}

fn requests(ended: &Ended) -> u64 {
    ended.summary()["totals"]["requests"].as_u64().expect("a number")
}

fn end(agents: impl IntoIterator<Item = Running>) -> Vec<Ended> {
    let ended = |agent: Running| {
        agent.signal(Signal::TERM);
        agent.ended()
    };
    agents.into_iter().map(ended).collect()
}

/// On any machine, the others continue to the end, and the run reports what is missing.
fn lacks_an_agent(ended: &Ended) {
    let summary = ended.summary();
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("checks").clone();
    let check = checks.iter().find(|check| check["id"] == "agents").expect("the check of the agents");
    assert_eq!(check["grade"], "suspect", "{}", ended.everything());
    assert!(check["evidence"].as_str().expect("text").contains("agent west was lost, of 2, and "), "{check}");
}

#[test]
fn an_agent_that_is_asked_to_end_signs_off_and_hands_over_its_measurements() {
    let script = format!(
        r#"import {{ test, scenario, arrivals }} from "loadstone";
const get = scenario("Get", async (user) => {{ await user.get("/"); console.log("row"); }});
export default test({{ target: "{}", load: get.run(arrivals(40).for("8s")) }});"#,
        server::nginx()
    );
    let (nats, folder) = (Nats::start(), Folder::new().file("a.load.ts", &script));
    let [east, west] = two_agents(&folder, &nats);
    let run = run_at_work(&folder, &nats);
    west.signal(Signal::TERM);
    west.ended().code(130).says("sending the remaining measurements");
    // The load is too short for an agent to be lost by silence.
    let ended = run.ended().says("agent west was lost: it was asked to end").does_not_say("it sent nothing");
    lacks_an_agent(&ended);
    let (sent, printed) = (requests(&ended), ended.printed().len() as u64);
    assert!((160..320).contains(&sent), "the other one's half, and what this one handed over: {sent}");
    assert!(printed <= sent, "each printed request is in the report: {printed} of {sent}");
    end([east]);
}

#[test]
fn agents_wait_for_a_server_that_starts_after_them() {
    let (mut nats, folder) = (Nats::not_yet(), got_by(r#"arrivals(20).for("1s")"#));
    let given_up = agent(&folder, &nats.address, "west");
    let east = agent(&folder, &nats.address, "east");
    // Long enough to detect that there is no server.
    thread::sleep(Duration::from_secs(2));
    for ended in end([given_up]) {
        ended.code(130).says("waiting up to 60 s for it");
    }
    nats.come();
    assert_eq!(requests(&run(&folder, &nats, "1").ended().passes()), 20);
    for ended in end([east]) {
        ended.code(130).says("agent east: no NATS server at nats://127.0.0.1:").says("waiting for a run");
    }
}

/// Output of agents that were part of a run that lost one of them.
fn next_run_has_both(nats: &Nats) {
    let folder = got_by(r#"arrivals(20).for("1s")"#);
    assert_eq!(requests(&run(&folder, nats, "2").ended().passes()), 20);
}

#[test]
fn a_briefly_paused_agent_catches_up() {
    let (nats, folder) = (Nats::start(), load());
    let [east, west] = two_agents(&folder, &nats);
    let run = run_at_work(&folder, &nats);
    west.signal(Signal::STOP);
    // Longer than the time for which its seconds are awaited, and shorter than the time after which it is lost.
    thread::sleep(Duration::from_secs(5));
    west.signal(Signal::CONT);
    // Its arrivals were late, which may correctly make the measurement invalid.
    let ended = run.ended().does_not_say("was lost");
    assert_eq!(requests(&ended), ASKED, "every arrival starts once, late or not: {}", ended.everything());
    ended.says("1 of 2 agents were silent");
    end([east, west]);
}

#[test]
fn an_agent_paused_for_too_long_is_lost_and_serves_the_next_run() {
    let (nats, folder) = (Nats::start(), long_load());
    let [east, west] = two_agents(&folder, &nats);
    let run = run_at_work(&folder, &nats);
    west.signal(Signal::STOP);
    thread::sleep(TOO_LONG);
    west.signal(Signal::CONT);
    let ended = run.ended().says("agent west was lost: it sent nothing for 10 s");
    lacks_an_agent(&ended);
    let sent = requests(&ended);
    assert!((160..320).contains(&sent), "the other one's half, and what this one handed over: {sent}");
    next_run_has_both(&nats);
    for ended in end([west, east]) {
        ended.code(130).says("the run has ended");
    }
}

#[test]
fn an_agent_disconnected_for_too_long_stops_itself_and_serves_the_next_run() {
    let (nats, folder) = (Nats::start(), long_load());
    let way = nats.way();
    let agents = [agent(&folder, &nats.address, "east"), agent(&folder, &way.address, "west")];
    let run = run_at_work(&folder, &nats);
    way.cut(true);
    thread::sleep(TOO_LONG);
    way.cut(false);
    let ended = run.ended().says("agent west was lost: it sent nothing for 10 s");
    lacks_an_agent(&ended);
    next_run_has_both(&nats);
    let [_, west] = end(agents).try_into().unwrap_or_else(|_| panic!("two agents"));
    west.code(130).says("the run has ended: the controller sent nothing for 10 s");
}

#[test]
fn a_briefly_disconnected_agent_loses_nothing() {
    let (nats, folder) = (Nats::start(), load());
    let way = nats.way();
    let agents = [agent(&folder, &nats.address, "east"), agent(&folder, &way.address, "west")];
    let run = run_at_work(&folder, &nats);
    way.cut(true);
    thread::sleep(Duration::from_secs(5));
    way.cut(false);
    let ended = run.ended().passes().does_not_say("was lost").says("1 of 2 agents were silent");
    assert_eq!(requests(&ended), ASKED, "{}", ended.everything());
    end(agents);
}

#[test]
fn a_restarted_nats_server_loses_nothing() {
    let (mut nats, folder) = (Nats::start(), load());
    let agents = two_agents(&folder, &nats);
    let run = run_at_work(&folder, &nats);
    nats.kill();
    thread::sleep(Duration::from_secs(2));
    nats.come();
    let ended = run.ended().passes().does_not_say("was lost");
    assert_eq!(requests(&ended), ASKED, "{}", ended.everything());
    end(agents);
}

/// As many rows as arrivals, with a target on the controller's machine: everything is in one network.
fn rows_in_one_network() -> Folder {
    let script = r#"import { test, scenario, arrivals, csv, stub } from "loadstone";
const rows = csv("numbers.csv").queue();
const target = stub.http({ listen: "127.0.0.1:0", name: "target" });
target.on("GET /", () => {}, { status: 200 });
const take = scenario("Take", async (user) => {
  const { n } = rows.next();
  await user.get(`${target.url}/`);
  console.log("row", n);
});
export default test({ load: take.run(arrivals(50).for("8s")) });"#;
    let numbers: String = std::iter::once("n\n".to_owned()).chain((0..400).map(|n| format!("{n}\n"))).collect();
    Folder::new().file("a.load.ts", script).file("numbers.csv", &numbers)
}

#[test]
fn packet_loss_loses_nothing_of_the_run() {
    let Some(mut network) = NetworkNamespace::new() else { return };
    let (folder, port) = (rows_in_one_network(), 4222);
    network.lose(port, 0.05);
    let ports = folder.path().join("ports");
    std::fs::create_dir(&ports).expect("creating a folder");
    let mut nats = Command::new("nats-server");
    network.start(nats.args(["--addr", "127.0.0.1", "--port", &port.to_string(), "--ports_file_dir"]).arg(&ports));
    server::wait_until("nats-server to listen", || std::fs::read_dir(&ports).is_ok_and(|files| files.count() > 0));
    let address = format!("nats://127.0.0.1:{port}");
    let started = |arguments: &[&str]| folder.start_command(network.inside(&folder.command(arguments)));
    let agents = ["a", "b", "c", "d"].map(|name| started(&["agent", "--join", &address, "--name", name, "--workers", "1"]));
    let ended = started(&["run", "a.load.ts", "--fleet", &address, "--agents", "4"]).ended().passes().does_not_say("was lost");
    assert_eq!(requests(&ended), 400, "{}", ended.everything());
    let rows: BTreeSet<String> = ended.printed().into_iter().collect();
    assert_eq!((rows.len(), ended.printed().len()), (400, 400), "each row once");
    assert!(network.lost() > 0, "packets were lost");
    end(agents);
}

#[test]
fn late_agents_are_waited_for_or_serve_the_next_run() {
    let (nats, folder) = (Nats::start(), got_by(r#"arrivals(20).for("2s")"#));
    let east = agent(&folder, &nats.address, "east");
    let first = run(&folder, &nats, "2");
    thread::sleep(Duration::from_secs(1));
    assert!(folder.runs().is_empty(), "nothing begins with one agent of two");
    let west = agent(&folder, &nats.address, "west");
    server::wait_until("a second on disk", || seconds_on_disk(&folder) >= 1);
    let north = agent(&folder, &nats.address, "north");
    assert_eq!(requests(&first.ended().passes()), 40);
    let agents = |number: usize| {
        let described = std::fs::read_to_string(folder.runs()[number].join("run.json")).expect("run.json");
        let described: serde_json::Value = serde_json::from_str(&described).expect("JSON");
        let mut names: Vec<String> =
            described["agents"].as_array().expect("agents").iter().map(|agent| agent["name"].to_string()).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(agents(0), r#""east" "west""#);
    assert_eq!(requests(&run(&folder, &nats, "3").ended().passes()), 40);
    assert_eq!(agents(1), r#""east" "north" "west""#);
    end([east, west, north]);
}

/// Twenty arrivals per second for 24 s. Each sends its number to the target and takes a row.
fn numbered_arrivals() -> Folder {
    let script = r#"import { test, scenario, arrivals, csv, stub } from "loadstone";
const rows = csv("numbers.csv").queue();
const target = stub.http({ listen: "127.0.0.1:0", name: "target" });
target.on("GET /", (request) => { console.log("row", request.query.arrival, request.query.n); return { status: 200 }; });
const take = scenario("Take", async (user) => {
  await user.get(`${target.url}/`, { query: { arrival: String(user.iteration), n: rows.next().n } });
});
export default test({ load: take.run(arrivals(20).for("24s")) });"#;
    let numbers: String = std::iter::once("n\n".to_owned()).chain((0..600).map(|n| format!("{n}\n"))).collect();
    Folder::new().file("a.load.ts", script).file("numbers.csv", &numbers)
}

/// Checks a run that lost an agent whose load the other took over: at the target, each arrival and each row occurred once, and every arrival due after the
/// takeover occurred. Returns the number of arrivals.
fn replaced(ended: &Ended) -> usize {
    lacks_an_agent(ended);
    let output = ended.everything();
    let from = output.split_once("; the other agents take over its load from ").expect("the takeover is reported").1;
    let from: f64 = from.split_once(" s into the run").expect("seconds").0.parse().expect("a number");
    let printed = ended.printed();
    let (mut numbers, mut rows) = (BTreeSet::new(), BTreeSet::new());
    for line in &printed {
        let (number, row) = line.split_once(' ').expect("two numbers");
        assert!(numbers.insert(number.parse::<u64>().expect("a number")), "arrival {number} started twice");
        assert!(rows.insert(row), "row {row} was used twice");
    }
    // The load started half a second into the run. The reported time is rounded.
    let first = ((from + 0.1 - 0.5) * 20.0).ceil() as u64;
    assert!((180..400).contains(&first), "the other had its part from {from} s on");
    let missing: Vec<u64> = (0..480).filter(|number| !numbers.contains(number)).collect();
    assert!(missing.iter().all(|number| *number < first), "{missing:?} are missing, and the other agent started all from {first} on");
    assert!(missing.len() >= 60, "a half of what was due for ten seconds is missing: {missing:?}");
    printed.len()
}

#[test]
fn the_other_agent_takes_over_the_load_of_a_killed_one() {
    let (nats, folder) = (Nats::start(), numbered_arrivals());
    let [east, west] = two_agents(&folder, &nats);
    let run = folder.start(&["run", "a.load.ts", "--fleet", &nats.address, "--agents", "2", "--on-agent-loss", "replace"]);
    server::wait_until("two seconds on disk", || seconds_on_disk(&folder) >= 2);
    west.signal(Signal::KILL);
    let ended = run.ended().says("agent west was lost: it sent nothing for 10 s");
    assert!(replaced(&ended) as u64 >= requests(&ended));
    west.ended();
    end([east]);
}

#[test]
fn an_agent_that_resumes_after_a_takeover_generates_no_load_twice() {
    let (nats, folder) = (Nats::start(), numbered_arrivals());
    let [east, west] = two_agents(&folder, &nats);
    let run = folder.start(&["run", "a.load.ts", "--fleet", &nats.address, "--agents", "2", "--on-agent-loss", "replace"]);
    server::wait_until("two seconds on disk", || seconds_on_disk(&folder) >= 2);
    west.signal(Signal::STOP);
    // After the other agent has generated load for several seconds.
    thread::sleep(Duration::from_secs(15));
    west.signal(Signal::CONT);
    let ended = run.ended().says("agent west was lost: it sent nothing for 10 s");
    assert!(replaced(&ended) as u64 >= requests(&ended));
    for ended in end([west, east]) {
        ended.code(130).says("the run has ended");
    }
}

/// A command that cannot write to any file, as on a full disk.
fn without_room(of: &Command) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]).arg(of.get_program()).args(of.get_args());
    command.current_dir(of.get_current_dir().expect("it is in a folder"));
    command
}

#[test]
fn an_agent_without_disk_space_is_named_before_any_load() {
    let (nats, folder) = (Nats::start(), load());
    let east = agent(&folder, &nats.address, "east");
    let command = folder.command(&["agent", "--join", &nats.address, "--name", "west", "--workers", "1"]);
    let west = folder.start_command(without_room(&command));
    let ended = run(&folder, &nats, "2").ended().code(1);
    ended.says("agent west: cannot write").says("a.load.ts");
    end([east, west]);
}
