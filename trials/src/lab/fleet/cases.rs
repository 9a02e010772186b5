//! What is done to a fleet in a cluster, and what must come of it.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use checkout::process;
use serde_json::Value;

use super::cluster::{NAMESPACE, NODES};
use super::node;
use super::user::{AGENTS, FinishedTest, FleetUser, RATE};

/// One observation.
pub(super) struct Observed {
    pub(super) what: String,
    pub(super) expected: String,
    pub(super) seen: String,
    pub(super) is_right: bool,
}

pub(super) struct FleetCase {
    pub(super) name: &'static str,
    pub(super) perform: fn(&mut FleetUser) -> Result<Vec<Observed>>,
}

pub(super) const CASES: &[FleetCase] = &[
    FleetCase { name: "whole", perform: whole },
    FleetCase { name: "process killed", perform: process_killed },
    FleetCase { name: "process frozen", perform: process_frozen },
    FleetCase { name: "pod deleted", perform: pod_deleted },
    FleetCase { name: "pod evicted", perform: pod_evicted },
    FleetCase { name: "node cut off", perform: cut_off },
    FleetCase { name: "network that loses", perform: lossy },
    FleetCase { name: "NATS restarted", perform: nats_restarted },
    FleetCase { name: "second test", perform: second_test },
];

const ROWS: &str = "rows.load.ts";
/// Long enough that an agent is known to be lost before the end.
const LONG: usize = 25;
const SHORT: usize = 6;
/// Requests that came before something is done to the fleet.
const BEFORE: usize = 4 * RATE;
/// Share of packets that a network loses that loses some.
const LOST: f64 = 0.05;
/// The agent that it is done to.
const VICTIM: usize = 1;

pub(super) fn observed(what: &str, expected: impl ToString, seen: impl ToString, is_right: bool) -> Observed {
    Observed { what: what.to_owned(), expected: expected.to_string(), seen: seen.to_string(), is_right }
}

/// Something that must be exactly so.
fn exactly<T: PartialEq + ToString>(what: &str, expected: T, seen: T) -> Observed {
    let is_right = expected == seen;
    observed(what, expected.to_string(), seen.to_string(), is_right)
}

/// A run that nothing happened to. A machine that is busy with other things may make it suspect, which is no fault of the fleet.
fn of_whole(ended: &FinishedTest, seconds: usize) -> Vec<Observed> {
    let mut all = conserved(ended, seconds);
    let is_whole = ended.of_agents().contains("4 agents completed the run");
    all.push(observed("validity of the agents", "4 agents completed the run", ended.of_agents(), is_whole));
    all
}

/// A run of which nothing was lost.
fn conserved(ended: &FinishedTest, seconds: usize) -> Vec<Observed> {
    let asked = RATE * seconds;
    // A fault, or other programs, may hold up the generators: the run then says itself that it is invalid.
    let is_honest = ended.code == 0 || (ended.code, ended.grade()) == (4, "invalid");
    vec![
        observed("exit code", "0, or 4 where invalid", format!("{}, {}", ended.code, ended.grade()), is_honest),
        exactly("requests in the report", asked as u64, ended.requests()),
        exactly("requests at the target", asked, ended.rows.values().sum::<usize>()),
        exactly("rows used twice", 0, ended.rows_twice()),
    ]
}

/// A run that lost the agent of this name.
fn of_lost(ended: &FinishedTest, seconds: usize) -> Vec<Observed> {
    let (victim, asked, at_target) = (format!("agent-{VICTIM}"), (RATE * seconds) as u64, ended.rows.values().sum::<usize>() as u64);
    let others = asked * (AGENTS as u64 - 1) / AGENTS as u64;
    let requests = ended.requests();
    // On a busy machine the run may also be invalid.
    let is_reported = matches!((ended.grade(), ended.code), ("suspect", 0) | ("invalid", 4));
    vec![
        observed("measurement, exit code", "suspect, 0, or invalid, 4", format!("{}, {}", ended.grade(), ended.code), is_reported),
        observed("validity names it", &victim, ended.of_agents(), ended.of_agents().contains(&victim)),
        observed("a warning names it", &victim, first_line(&ended.log, "was lost"), ended.log.contains(&format!("{victim} "))),
        observed("requests in the report", format!("{others} to {asked}"), requests, (others..asked).contains(&requests)),
        // The target may have received its last second although the report lacks it, but never the reverse.
        observed(
            "requests at the target",
            format!("{requests} or more"),
            at_target,
            (requests..=requests + RATE as u64).contains(&at_target),
        ),
        exactly("rows used twice", 0, ended.rows_twice()),
    ]
}

fn first_line<'a>(text: &'a str, with: &str) -> &'a str {
    text.lines().find(|line| line.contains(with)).unwrap_or("nothing").trim()
}

fn whole(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let ended = user.run(ROWS, SHORT)?;
    let mut all = of_whole(&ended, SHORT);
    let agents = ended.described["agents"].as_array().context("a run over a fleet names its agents")?;
    let names: BTreeSet<&str> = agents.iter().filter_map(|agent| agent["name"].as_str()).collect();
    let expected: Vec<String> = (0..AGENTS).map(|index| format!("agent-{index}")).collect();
    all.push(exactly("agents", expected.join(", "), names.into_iter().collect::<Vec<_>>().join(", ")));
    // The lab's first node is in one region, the others are in another.
    let region = |agent: &Value| if agent["labels"]["node"] == "node-1" { "eu" } else { "us" };
    let right = agents.iter().filter(|agent| agent["labels"]["region"] == region(agent)).count();
    all.push(exactly("agents with their node's region", AGENTS, right));
    Ok(all)
}

/// Waits until all are back, and says how long it took; then a short run has all of them.
fn all_come_back(user: &mut FleetUser, all: &mut Vec<Observed>) -> Result<()> {
    let seconds = user.wait_until_ready()?;
    all.push(observed("all agents ready again", "within 120 s", format!("{seconds:.0} s after the run"), true));
    let next = user.run(ROWS, SHORT)?;
    let requests = next.requests();
    all.push(exactly("requests of the next run", (RATE * SHORT) as u64, requests));
    all.push(exactly("rows used twice in the next run", 0, next.rows_twice()));
    Ok(())
}

fn process_killed(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let before = user.pod(VICTIM)?;
    let mut running = user.start(ROWS, LONG)?;
    user.wait_for_requests(&mut running, BEFORE)?;
    user.cluster.signal_container(&before, "SIGKILL")?;
    let ended = user.finish(running)?;
    let mut all = of_lost(&ended, LONG);
    all_come_back(user, &mut all)?;
    let after = user.pod(VICTIM)?;
    let times = restarts(&before) + 1;
    let name = after["metadata"]["name"].as_str().unwrap_or_default();
    all.push(observed("restarts of the same pod", times, restarts(&after), is_same(&before, &after) && restarts(&after) == times));
    let (_, status) = user.fleet("status", &[])?;
    let expected = format!("started again {times} times");
    all.push(observed("status shows", &expected, first_line(&status, name), status.contains(&expected)));
    Ok(all)
}

/// Long enough to be lost, and then it comes back.
fn process_frozen(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let before = user.pod(VICTIM)?;
    let mut running = user.start(ROWS, LONG)?;
    user.wait_for_requests(&mut running, BEFORE)?;
    user.cluster.signal_container(&before, "SIGSTOP")?;
    thread::sleep(Duration::from_secs(14));
    user.cluster.signal_container(&before, "SIGCONT")?;
    let ended = user.finish(running)?;
    let mut all = of_lost(&ended, LONG);
    all_come_back(user, &mut all)?;
    let after = user.pod(VICTIM)?;
    let is_untouched = is_same(&before, &after) && restarts(&before) == restarts(&after);
    all.push(observed("the same process serves the next run", "yes", if is_untouched { "yes" } else { "no" }, is_untouched));
    Ok(all)
}

/// For less than the time after which agents are lost.
fn cut_off(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let mut running = user.start(ROWS, LONG)?;
    user.wait_for_requests(&mut running, BEFORE)?;
    let on = user.pod(VICTIM)?["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
    user.cluster.lose_packets(&on, 1.0)?;
    thread::sleep(Duration::from_secs(6));
    user.cluster.lose_none(&on, 1.0)?;
    let ended = user.finish(running)?;
    let mut all = conserved(&ended, LONG);
    all.push(exactly("agents lost", "none", if ended.log.contains("was lost") { "some" } else { "none" }));
    all.push(observed("silence is reported", "yes", first_line(&ended.log, "were silent"), ended.log.contains("were silent")));
    Ok(all)
}

/// Between agents and NATS, on every node.
fn lossy(user: &mut FleetUser) -> Result<Vec<Observed>> {
    for node in 1..=NODES {
        user.cluster.lose_packets(&node::name(node), LOST)?;
    }
    let ended = user.run(ROWS, LONG);
    for node in 1..=NODES {
        user.cluster.lose_none(&node::name(node), LOST)?;
    }
    let ended = ended?;
    let mut all = conserved(&ended, LONG);
    all.push(exactly("agents lost", "none", if ended.log.contains("was lost") { "some" } else { "none" }));
    Ok(all)
}

fn restarts(pod: &Value) -> u64 {
    pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default()
}

fn is_same(one: &Value, other: &Value) -> bool {
    one["metadata"]["uid"] == other["metadata"]["uid"]
}

fn pod_deleted(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let before = user.pod(VICTIM)?;
    let mut running = user.start(ROWS, LONG)?;
    user.wait_for_requests(&mut running, BEFORE)?;
    let name = before["metadata"]["name"].as_str().context("a pod has a name")?;
    user.cluster.kubectl(&["--namespace", NAMESPACE, "delete", "pod", name, "--grace-period=0", "--force"])?;
    let ended = user.finish(running)?;
    let mut all = of_lost(&ended, LONG);
    all_come_back(user, &mut all)?;
    let after = user.pod(VICTIM)?;
    let is_another = !is_same(&before, &after);
    all.push(observed("another pod under its index", "yes", if is_another { "yes" } else { "no" }, is_another));
    Ok(all)
}

/// As a node that is drained has it: nothing new goes there, and what is there is evicted.
fn pod_evicted(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let before = user.pod(VICTIM)?;
    let (name, node) = (before["metadata"]["name"].as_str().unwrap_or_default(), before["spec"]["nodeName"].as_str().unwrap_or_default());
    let mut running = user.start(ROWS, LONG)?;
    user.wait_for_requests(&mut running, BEFORE)?;
    user.cluster.kubectl(&["cordon", node])?;
    let evicted = user.evict(name);
    let ended = user.finish(running);
    let mut all = Vec::new();
    let came_back = evicted.and(ended).and_then(|ended| {
        all = of_lost(&ended, LONG);
        all_come_back(user, &mut all)
    });
    user.cluster.kubectl(&["uncordon", node])?;
    came_back?;
    let after = user.pod(VICTIM)?;
    let now = after["spec"]["nodeName"].as_str().unwrap_or_default();
    all.push(observed("where it came back", format!("not on {node}"), now, now != node));
    Ok(all)
}

fn nats_restarted(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let mut running = user.start(ROWS, LONG)?;
    user.wait_for_requests(&mut running, BEFORE)?;
    let selector = "app.kubernetes.io/component=nats";
    user.cluster.kubectl(&["--namespace", NAMESPACE, "delete", "pod", "-l", selector, "--grace-period=1", "--wait=false"])?;
    let ended = user.finish(running)?;
    let mut all = of_whole(&ended, LONG);
    user.wait_until_ready()?;
    all.push(exactly("agents lost", "none", if ended.log.contains("was lost") { "some" } else { "none" }));
    Ok(all)
}

fn second_test(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let mut all = of_whole(&user.run(ROWS, SHORT)?, SHORT);
    let second = user.run("second.load.ts", SHORT)?;
    all.extend(of_whole(&second, SHORT));
    all.push(exactly("test", "second", second.described["plan"]["name"].as_str().unwrap_or_default()));
    Ok(all)
}

/// Starts the fleet next to unrelated objects, with a common image.
pub(super) fn up(user: &mut FleetUser) -> Result<Vec<Observed>> {
    let agents = AGENTS.to_string();
    let size = ["--agents", &agents, "--cores", "1", "--memory", "256Mi"];
    let mut dry = user.cluster.with_access(Command::new("sh"))?;
    let binary = user.binary().display().to_string();
    let pipe = format!(
        "{binary} fleet up --kubernetes --namespace {NAMESPACE} {} --dry-run | kubectl apply --dry-run=server -f - | wc -l",
        size.join(" ")
    );
    let taken = process::output(dry.args(["-c", &pipe]))?;
    let mut all = vec![exactly("objects that a server-side dry run takes", "8", taken.trim())];
    user.cluster.kubectl(&["--namespace", NAMESPACE, "create", "secret", "generic", "stranger", "--from-literal=a=b"])?;
    let (code, output) = user.fleet("up", &size)?;
    all.push(observed("fleet up", "exit code 0", format!("exit code {code}"), code == 0));
    if code != 0 {
        all.push(observed("output of fleet up", "the created objects", &output, false));
    }
    let (code, _) = user.fleet("status", &[])?;
    all.push(observed("fleet status at once", "exit code 3", format!("exit code {code}"), code == 3));
    let seconds = user.wait_until_ready()?;
    all.push(observed("all agents ready", "within 120 s", format!("{seconds:.0} s"), true));
    let (_, status) = user.fleet("status", &[])?;
    all.push(exactly("fleet status then", format!("Agents  {AGENTS} of {AGENTS} ready"), first_line(&status, "Agents").to_owned()));
    let (code, again) = user.fleet("up", &size)?;
    all.push(observed("a second fleet of that name", "exit code 2", format!("exit code {code}"), code == 2 && again.contains("already")));
    Ok(all)
}

/// Ends it, and looks for what is left.
pub(super) fn down(user: &mut FleetUser) -> Result<Vec<Observed>> {
    user.stop_forwarding();
    let (code, _) = user.fleet("down", &[])?;
    let mut all = vec![observed("fleet down", "exit code 0", format!("exit code {code}"), code == 0)];
    let kinds = "job,deployment,replicaset,service,endpointslice,networkpolicy,serviceaccount,secret,pod";
    let left = user.cluster.get_here(&[kinds])?;
    let names = left["items"].as_array().into_iter().flatten().map(|object| {
        format!("{}/{}", object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"].as_str().unwrap_or_default())
    });
    // What every namespace has, and the stranger's.
    let left: BTreeSet<String> = names.filter(|name| name != "ServiceAccount/default").collect();
    all.push(exactly("objects left", "Secret/stranger".to_owned(), left.into_iter().collect::<Vec<_>>().join(", ")));
    // Kubelets remove what has ended a little later.
    let took = user.cluster.wait("all containers to be gone", 60, |cluster| Ok(cluster.containers()? == 0));
    let left = user.cluster.containers()?;
    all.push(observed("containers left on the nodes", "0 within 60 s", format!("{left} after {:.0} s", took.unwrap_or(60.0)), left == 0));
    let (code, _) = user.fleet("status", &[])?;
    all.push(observed("fleet status", "exit code 2", format!("exit code {code}"), code == 2));
    user.cluster.kubectl(&["--namespace", NAMESPACE, "delete", "secret", "stranger"])?;
    Ok(all)
}
