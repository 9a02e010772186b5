//! Fleets in a cluster, as far as they can be tested without one: printed objects, refusals, and a run over the NATS server with its cluster configuration.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Folder, Running, server};

const UP: [&str; 6] = ["fleet", "up", "--kubernetes", "--dry-run", "--agents", "2"];

fn dry_run(folder: &Folder, further: &[&str]) -> Vec<Value> {
    let arguments: Vec<&str> = UP.iter().chain(further).copied().collect();
    let yaml = folder.run(&arguments).code(0).stdout;
    serde_saphyr::from_multiple(&yaml).expect("YAML")
}

fn find<'o>(objects: &'o [Value], kind: &str, name: &str) -> &'o Value {
    let found = objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}: {objects:?}"))
}

#[test]
fn a_dry_run_prints_the_objects() {
    let folder = Folder::new();
    let further =
        ["--image", "registry/loadstone:9", "--node-selector", "pool=load", "--label", "region=eu", "--cores", "3", "--memory", "2Gi"];
    let objects = dry_run(&folder, &further);
    let job = find(&objects, "Job", "loadstone-agents");
    assert_eq!(job["spec"]["completions"], 2);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!((&pod["nodeSelector"]["pool"], &pod["containers"][0]["image"]), (&"load".into(), &"registry/loadstone:9".into()));
    assert_eq!(pod["containers"][0]["resources"]["limits"], serde_json::json!({ "cpu": "3", "memory": "2Gi" }));
    let arguments = pod["containers"][0]["args"].as_array().unwrap();
    assert!(arguments.contains(&"--label=region=eu".into()) && arguments.contains(&"--workers=3".into()), "{arguments:?}");
    assert_eq!(objects.len(), 8);
}

#[test]
fn an_unreachable_cluster_is_reported_with_a_remedy() {
    let folder = Folder::new();
    for command in [&["up", "--agents", "2"][..], &["status"], &["down"]] {
        let arguments: Vec<&str> = ["fleet", command[0], "--kubernetes"].iter().chain(&command[1..]).copied().collect();
        let mut without = folder.command(&arguments);
        without.env("PATH", folder.path());
        folder.start_command(without).ended().code(2).says("kubectl is not on the search path").says("install it");
    }
}

#[test]
fn invalid_kubernetes_values_are_refused() {
    let folder = Folder::new();
    for (further, expected) in [
        (&["--name", "Load_1"][..], "lower-case letters"),
        (&["--memory", "1gb"], "512Mi"),
        (&["--egress", "10.0.0.0"], "with its prefix"),
        (&["--label", "region"], "region=eu"),
        (&["--agents", "0"], "--agents"),
        (&["--nats", "http://h"], "nats://HOST:4222"),
        (&["--nats", "tls://h:1", "--nats-ca", "missing.pem"], "missing.pem: cannot be read"),
    ] {
        let arguments: Vec<&str> = ["fleet", "up", "--kubernetes", "--dry-run"].iter().chain(further).copied().collect();
        folder.run(&arguments).code(2).says(expected);
    }
    folder.run(&["fleet", "up", "--dry-run"]).code(2).says("--kubernetes");
}

/// The NATS server of a dry run, on a local port.
struct FleetNats {
    child: Child,
    agent: String,
    controller: String,
}

impl FleetNats {
    /// Writes its files into the folder, with local paths and a free port, and starts it.
    fn start(folder: &Path, objects: &[Value]) -> Self {
        let secret = |name: &str, key: &str| {
            let encoded = find(objects, "Secret", name)["data"][key].as_str().expect("text");
            String::from_utf8(STANDARD.decode(encoded).expect("base64")).expect("text")
        };
        let port = server::free_port("127.0.0.1");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("writing a file of the server");
        write("ca.crt", &secret("loadstone-fleet", "ca.crt"));
        write("tls.crt", &secret("loadstone-nats", "tls.crt"));
        write("tls.key", &secret("loadstone-nats", "tls.key"));
        let configuration = secret("loadstone-nats", "nats.conf");
        let configuration = configuration.replace("port: 4222", &format!("port: {port}\nhost: 127.0.0.1"));
        write("nats.conf", &configuration.replace("/etc/nats", &folder.display().to_string()));
        let mut command = Command::new("nats-server");
        command.arg("--config").arg(folder.join("nats.conf")).stderr(Stdio::null());
        let child = command.spawn().expect("nats-server starts: `cargo xtask setup` installs it");
        server::wait_until("nats-server to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        let here = |address: String, host: &str| address.replace(&format!("@{host}:4222"), &format!("@127.0.0.1:{port}"));
        let agent = here(secret("loadstone-fleet", "agent"), "loadstone-nats");
        Self { child, agent, controller: here(secret("loadstone-fleet", "controller"), "127.0.0.1") }
    }
}

impl Drop for FleetNats {
    fn drop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

fn agent(folder: &Folder, address: &str, name: &str, label: &str) -> Running {
    folder.start(&["agent", "--join", address, "--ca", "ca.crt", "--name", name, "--workers", "1", "--label", label, "--label", "zone="])
}

#[test]
fn a_run_over_the_server_as_a_cluster_has_it() {
    let script = format!(
        r#"import {{ test, scenario, arrivals, param }} from "loadstone";
const token = param.string("token", {{ secret: true }});
const get = scenario("Get", async (user) => {{ await user.get("/", {{ query: {{ token }} }}); }});
export default test({{ target: "{}", load: get.run(arrivals(20).for("1s")) }});"#,
        server::nginx()
    );
    let folder = Folder::new().file("a.load.ts", &script);
    let nats = FleetNats::start(folder.path(), &dry_run(&folder, &[]));
    let agents = [agent(&folder, &nats.agent, "agent-0", "region=eu"), agent(&folder, &nats.agent, "agent-1", "region=us")];
    let over = |address: &str, further: &[&str]| {
        let arguments = ["run", "a.load.ts", "-p", "token=hush-hush", "--fleet", address, "--agents", "2"];
        folder.run(&arguments.iter().chain(further).copied().collect::<Vec<_>>())
    };
    // Clients without the fleet's authority or a password are refused.
    over(&nats.controller, &[]).code(2).says("cannot connect to the NATS server");
    let (scheme, rest) = nats.controller.split_once("://").expect("an address");
    let host = rest.split_once('@').expect("a password").1;
    over(&format!("{scheme}://controller:guess@{host}"), &["--fleet-ca", "ca.crt"]).code(2).says("cannot connect").does_not_say("guess");
    let ended = over(&nats.controller, &["--fleet-ca", "ca.crt"]).passes().says("region: eu 1, us 1");
    assert_eq!(ended.summary()["totals"]["requests"], 20, "{}", ended.everything());
    let run = fs::read_to_string(folder.runs()[0].join("run.json")).expect("run.json");
    let run: Value = serde_json::from_str(&run).expect("JSON");
    let mut labels: Vec<String> = run["agents"].as_array().expect("agents").iter().map(|agent| agent["labels"].to_string()).collect();
    labels.sort();
    assert_eq!(labels, [r#"{"region":"eu"}"#, r#"{"region":"us"}"#]);
    for agent in agents {
        agent.signal(Signal::TERM);
        // PID 1 of a container only ends by signals that it handles.
        agent.ended().code(130);
    }
}

#[test]
fn an_agent_cannot_impersonate_a_controller() {
    let script = r#"import { test, scenario, once } from "loadstone";
const only = scenario("Only", async (user) => { await user.get("/"); });
export default test({ target: "http://127.0.0.1:1", load: only.run(once()) });"#;
    let folder = Folder::new().file("a.load.ts", script);
    let nats = FleetNats::start(folder.path(), &dry_run(&folder, &[]));
    let honest = agent(&folder, &nats.agent, "agent-0", "region=eu");
    let ended = folder.run(&["run", "a.load.ts", "--fleet", &nats.agent, "--fleet-ca", "ca.crt", "--agents", "1"]).code(2);
    ended.says("0 of 1 agents joined");
    honest.signal(Signal::TERM);
    honest.ended();
}
