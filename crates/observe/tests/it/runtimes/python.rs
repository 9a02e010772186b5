//! A service in Python.

use loadstone_metrics::Role;
use serde_json::json;

use crate::servers;
use crate::watching::Watch;

#[test]
fn threads_by_what_they_wait_for_and_who_computes() {
    let app = servers::python();
    let mut watch = Watch::start(&[json!({ "kind": "python", "port": app.port, "name": "app", "every": "500ms", "sampleHz": 4 })]);
    let lock = "app/threads{wait=lock,threads=worker,at=buy app.py}";
    watch.until("two that wait for the lock", |watch| watch.value_if(lock) == Some(2.0));
    watch.until("the one that sleeps", |watch| watch.value_if("app/threads{wait=timer,threads=holder,at=hold app.py}") == Some(1.0));
    watch.until("the one that waits for the network", |watch| {
        watch.value_if("app/threads{wait=io,threads=worker,at=readinto socket.py,under=listen app.py}") == Some(1.0)
    });
    watch.until("the one that computes", |watch| watch.value_if("app/function_cpu{function=burn app.py}").is_some_and(|cores| cores > 0.5));
    watch.until("the interpreter's lock", |watch| watch.value("app/gil") > 0.5);
    assert_eq!(watch.signal(lock).role, Some(Role::ThreadsWaitingForLock));
    assert_eq!(watch.value("app/processes"), 1.0);
}
