//! Agents that obey only the owner of a key.

use std::fs;

use rustix::process::Signal;

use crate::fleet::got_by;
use crate::harness::nats::Nats;

#[test]
fn an_agent_with_a_controller_key_obeys_no_other_controller() {
    let (nats, folder) = (Nats::start(), got_by(r#"arrivals(20).for("1s")"#));
    let public = folder.run(&["fleet", "key", "controller.pem"]).code(0).stdout.trim().to_owned();
    folder.run(&["fleet", "key", "other.pem"]).code(0);
    folder.run(&["fleet", "key", "controller.pem"]).code(2).says("controller.pem");
    assert!(!public.contains("PRIVATE") && fs::read_to_string(folder.path().join("controller.pem")).unwrap().contains("PRIVATE KEY"));
    let agent = folder.start(&["agent", "--join", &nats.address, "--name", "west", "--workers", "1", "--controller-key", &public]);
    let run = |key: &[&str]| folder.start(&[&["run", "a.load.ts", "--fleet", &nats.address, "--agents", "1"], key].concat());
    // Each waits for 30 s for the agent.
    let foreign = [run(&[]), run(&["--fleet-key", "other.pem"])];
    run(&["--fleet-key", "controller.pem"]).ended().passes();
    for ended in foreign.map(crate::harness::Running::ended) {
        ended.code(2).says("0 of 1 agents joined within 30 s");
    }
    assert_eq!(folder.runs().len(), 1, "the owner's run");
    agent.signal(Signal::TERM);
    agent.ended().code(130);
}

#[test]
fn an_agent_without_a_key_refuses_a_server_on_another_machine() {
    let folder = got_by("once()");
    // Nothing is connected before the refusal: the address is for documentation (RFC 5737).
    let join = ["agent", "--join", "nats://load:hush@192.0.2.1:4222"];
    folder.run(&join).code(2).says("--controller-key").says("--any-controller").does_not_say("hush");
    let key = ["--controller-key", "not a key"];
    folder.run(&[&join[..], &key].concat()).code(2).says("copy the line that `loadstone fleet key` prints");
}
