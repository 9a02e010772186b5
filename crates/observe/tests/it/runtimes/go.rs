//! A service in Go.

use loadstone_metrics::Role;
use serde_json::json;

use crate::servers;
use crate::watching::Watch;

#[test]
fn goroutines_by_what_they_wait_for_and_functions_by_what_they_compute() {
    let app = servers::go();
    let url = format!("http://127.0.0.1:{}", app.port);
    let mut watch = Watch::start(&[json!({ "kind": "go", "url": url, "name": "app", "every": "500ms", "sampleHz": 10 })]);
    watch.until("three that wait for the lock", |watch| {
        // Of four that want it, one has it, and sleeps. At some samples it is just being handed over.
        let waits = watch.value_if("app/threads{wait=lock,at=sync.(*Mutex).Lock,under=main.take ← main.buy}").unwrap_or(0.0);
        let holds = watch.value_if("app/threads{wait=timer,at=time.Sleep,under=main.take ← main.buy}").unwrap_or(0.0);
        waits > 2.0 && waits <= 4.0 && holds > 0.3 && holds <= 1.0
    });
    assert_eq!(watch.value("app/threads{wait=other,at=runtime.chansend1,under=main.permit}"), 2.0);
    let listens = |(name, count): (&String, &f64)| name.contains("{wait=io,") && name.ends_with("under=main.listen}") && *count == 1.0;
    watch.until("one that waits for the network", |watch| watch.latest.iter().any(listens));
    watch.until("what computes", |watch| watch.value_if("app/function_cpu{function=main.hash}").is_some_and(|cores| cores > 0.2));
    let held = "app/lock_wait{holder=main.take ← main.buy,at=sync.(*Mutex).Unlock}";
    watch.until("whose lock", |watch| watch.value_if(held).is_some_and(|seconds| seconds > 0.1));
    assert_eq!(watch.signal("app/gc").role, Some(Role::GarbageCollection));
    assert!(watch.value("app/heap") > 0.0);
    assert_eq!(watch.notices(), []);
}

#[test]
fn a_service_without_profiles_is_reported() {
    let app = servers::node();
    let mut watch = Watch::start(&[json!({ "kind": "go", "url": format!("http://127.0.0.1:{}", app.port), "every": "100ms" })]);
    watch.until("no profile", |watch| watch.notices().iter().any(|(_, message)| message.contains("is not a pprof profile")));
}
