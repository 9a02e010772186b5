//! A service on the JVM.

use loadstone_metrics::Role;
use serde_json::json;

use crate::servers;
use crate::watching::Watch;

#[test]
fn threads_by_what_they_wait_for_and_where() {
    let app = servers::java();
    let mut watch = Watch::start(&[json!({ "kind": "jvm", "port": app.port, "name": "app", "every": "200ms", "sampleHz": 10 })]);
    let permit = "app/threads{wait=pool,threads=exec,at=Semaphore.acquire,under=App.insert}";
    watch.until("four that wait for the permit", |watch| watch.latest.get(permit) == Some(&4.0));
    let holder =
        |(name, count): (&String, &f64)| name.contains("{wait=io,threads=exec,") && name.ends_with("under=App.insert}") && *count == 1.0;
    watch.until("the one that holds it", |watch| watch.latest.iter().any(holder));
    let lock = |(name, count): (&String, &f64)| name.starts_with("app/threads{wait=lock,threads=exec,at=App.take") && *count == 1.0;
    watch.until("the one that waits for a lock", |watch| watch.latest.iter().any(lock));
    assert_eq!(watch.signal(permit).role, Some(Role::ThreadsWaitingForMember));
    assert_eq!(watch.signal("app/gc").role, Some(Role::GarbageCollection));
    assert!(watch.value("app/live_threads") >= 7.0 && watch.value("app/heap_old_max") > 0.0);
    assert_eq!(watch.notices(), []);
    // Its own account of threads is the JDK's tool's.
    let jstack = std::process::Command::new("jcmd").arg(app.pid().to_string()).arg("Thread.print").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&jstack.stdout).matches("a java.util.concurrent.Semaphore$NonfairSync").count(), 4);
    watch.stop();
    assert!(!std::path::Path::new(&format!("/tmp/.attach_pid{}", app.pid())).exists());
}

/// By its own accounting, the process uses about 0.3 cores, all in one function.
#[test]
fn functions_are_reported_with_the_cores_that_they_use() {
    let app = servers::java();
    let mut watch = Watch::start(&[json!({ "kind": "jvm", "port": app.port, "name": "app", "every": "2s", "sampleHz": 20 })]);
    let scores = |(name, cores): (&String, &f64)| {
        name.starts_with("app/function_cpu{function=") && name.contains("App.score") && (0.1..0.6).contains(cores)
    };
    watch.until("a function that uses 0.3 cores", |watch| watch.latest.iter().any(scores));
    let used: Vec<&String> = watch.latest.keys().filter(|name| name.starts_with("app/function_cpu")).collect();
    assert!(used.iter().all(|name| watch.signal(name).role == Some(Role::FunctionCpu)), "{used:?}");
    watch.stop();
}

/// Nothing is sent to a process that would die of it.
#[test]
fn what_is_no_jvm_is_left_alone() {
    let mut sleeper = servers::called("java");
    let mut watch = Watch::start(&[json!({ "kind": "jvm", "pid": sleeper.id(), "name": "app", "every": "100ms" })]);
    watch.until("no JVM", |watch| watch.notices().iter().any(|(_, message)| message.contains("is not a JVM (it runs java)")));
    watch.stop();
    assert!(sleeper.try_wait().unwrap().is_none());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}
