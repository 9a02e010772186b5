//! A service on Node: the observer's signals, and that the service is unchanged afterwards.

use loadstone_metrics::Role;
use serde_json::{Value, json};

use crate::servers::{self, ServerProcess};
use crate::watching::Watch;

fn get(app: &ServerProcess, path: &str) -> Value {
    let text = servers::http_get(app.port, path);
    serde_json::from_str(&text).unwrap_or_else(|problem| panic!("{path}: {problem}: {text}"))
}

fn untouched() -> Value {
    json!({ "meter": false, "inspector": null })
}

#[test]
fn the_loop_its_functions_and_what_waits_for_nodes_threads() {
    let app = servers::node();
    assert_eq!(get(&app, "/"), untouched());
    let mut watch = Watch::start(&[json!({ "kind": "node", "port": app.port, "name": "app", "every": "200ms" })]);
    watch.more("app", 2);
    assert_eq!(watch.value("app/work{type=look-ups of names}"), 0.0);
    assert_eq!(watch.value("app/work_max{type=look-ups of names}"), 2.0);
    // The loop must be idle before its work is checked.
    let rate = |watch: &Watch, name: &str| watch.growth("app", name);
    watch.until("an idle loop", |watch| rate(watch, "app/busy").is_some_and(|share| share < 0.5));

    get(&app, "/hold");
    get(&app, "/lookups");
    watch.until("look-ups that wait", |watch| watch.value("app/work{type=look-ups of names}") == 30.0);

    get(&app, "/compute");
    watch.until("a busy loop", |watch| rate(watch, "app/busy").is_some_and(|share| share > 0.6));
    // What it calls stands by itself, unless the engine put it into its caller.
    let of_it = |name: &str| name.contains("function=computesALot app.mjs:") || name.contains("under=computesALot app.mjs:");
    let cores = |watch: &Watch| watch.latest.iter().filter(|(name, _)| of_it(name)).map(|(_, cores)| cores).sum::<f64>();
    watch.until("who computes", |watch| cores(watch) > 0.4);
    watch.until("delay", |watch| watch.value("app/delay") > 0.005 && watch.value("app/delay_max") > 0.020);
    for (name, role) in [
        ("app/busy", Role::EventLoopBusy),
        ("app/cpu", Role::EventLoopCpu),
        ("app/delay", Role::EventLoopDelay),
        ("app/gc", Role::GarbageCollection),
        ("app/heap_max", Role::HeapMax),
        ("app/work{type=files}", Role::RuntimeWork),
        ("app/work_max{type=files}", Role::RuntimeWorkMax),
    ] {
        assert_eq!(watch.signal(name).role, Some(role), "{name}");
    }
    assert_eq!(watch.notices(), []);
    watch.stop();
    servers::until("the process is as it was", || get(&app, "/") == untouched());
}

#[test]
fn an_inspector_that_was_open_stays_open() {
    let app = servers::node_with(&["--inspect=127.0.0.1:0"]);
    let before = get(&app, "/");
    assert!(before["inspector"].is_string(), "{before}");
    let mut watch = Watch::start(&[json!({ "kind": "node", "pid": app.pid(), "every": "100ms" })]);
    let observer = format!("node:{}", app.pid());
    watch.more(&observer, 2);
    watch.stop();
    servers::until("the meter is gone", || get(&app, "/") == before);
}

/// Nothing is sent to a process that would die of it.
#[test]
fn what_is_not_node_is_left_alone() {
    let redis = servers::redis();
    let mut deaf = servers::called("node");
    let mut watch = Watch::start(&[
        json!({ "kind": "node", "pid": redis.pid(), "name": "redis", "every": "100ms" }),
        json!({ "kind": "node", "pid": deaf.id(), "name": "deaf", "every": "100ms" }),
    ]);
    let says = |watch: &Watch, part: &str| watch.notices().iter().any(|(_, message)| message.contains(part));
    watch.until("no Node", |watch| says(watch, "is not Node (it runs redis-"));
    watch.until("no signal", |watch| says(watch, "does not handle SIGUSR1"));
    watch.stop();
    assert!(servers::redis_says(redis.port, "PING\r\n").contains("PONG"));
    assert!(deaf.try_wait().unwrap().is_none());
    deaf.kill().unwrap();
    deaf.wait().unwrap();
}
