//! A service in C.

use std::collections::HashMap;
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use loadstone_metrics::{NoticeKind, Role};
use serde_json::json;

use crate::servers;
use crate::watching::Watch;

/// These tests check the descriptors of this process, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

fn perf_descriptors() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("our own descriptors").flatten();
    entries.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().contains("perf_event"))).count()
}

/// Mean cores of each function over all reports.
fn means(watch: &Watch) -> HashMap<String, f64> {
    let batches: Vec<_> =
        watch.batches.iter().filter(|batch| batch.points.iter().any(|(signal, _)| signal.metric() == "function_cpu")).collect();
    let mut means = HashMap::new();
    for (signal, point) in batches.iter().flat_map(|batch| &batch.points).filter(|(signal, _)| signal.metric() == "function_cpu") {
        *means.entry(signal.name.clone()).or_default() += point.value / batches.len() as f64;
    }
    means
}

fn refusal(notices: &[(NoticeKind, String)], part: &str) -> bool {
    notices.iter().any(|(_, message)| message.contains(part))
}

#[test]
fn functions_by_the_cpu_time_that_they_use_and_nothing_is_left() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let app = servers::c();
    let state = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", app.pid())).unwrap();
    let traced = |status: String| {
        // How many signals are queued (SigQ) is counted for all processes of a user.
        let is_its_own = |line: &&str| ["TracerPid", "SigPnd", "SigBlk", "SigIgn", "SigCgt"].iter().any(|name| line.starts_with(name));
        status.lines().filter(is_its_own).map(str::to_owned).collect::<Vec<_>>()
    };
    let opened = || std::fs::read_dir(format!("/proc/{}/fd", app.pid())).unwrap().count();
    let before = (state("maps"), traced(state("status")), opened());
    assert_eq!(perf_descriptors(), 0);

    let mut watch = Watch::start(&[
        json!({ "kind": "native", "port": app.port, "name": "app", "profileHz": 199 }),
        json!({ "kind": "process", "port": app.port, "name": "all", "every": "200ms" }),
    ]);
    let reported = |watch: &Watch| {
        watch.batches.iter().filter(|batch| batch.points.iter().any(|(signal, _)| signal.metric() == "function_cpu")).count()
    };
    watch.until("reports", |watch| reported(watch) >= 8);
    let means = means(&watch);
    let cores = |name: &str| means.iter().filter(|(signal, _)| signal.starts_with(name)).map(|(_, cores)| cores).sum::<f64>();
    let (score, row, all) = (
        cores("app/function_cpu{function=score,under=handle ← serve}"),
        cores("app/function_cpu{function=format_row,under=handle ← serve}"),
        cores("app/"),
    );
    assert!((score / all - 0.75).abs() < 0.12 && (row / all - 0.25).abs() < 0.12, "{means:?}");
    assert_eq!(watch.signal("app/function_cpu{function=score,under=handle ← serve}").role, Some(Role::FunctionCpu));

    let points =
        watch.batches.iter().flat_map(|batch| &batch.points).filter(|(signal, _)| signal.name == "all/cpu").map(|(_, point)| *point);
    let points: Vec<_> = points.collect();
    let used = points.last().unwrap().growth_since(points.first().unwrap()).unwrap();
    assert!((all / used - 1.0).abs() < 0.25, "{all} cores of {used}: {means:?}");
    assert!(watch.value("app/samples") > 100.0 && watch.value("app/lost") == 0.0);
    // The main one waits.
    assert_eq!(watch.value("app/sampled_threads"), 3.0);
    assert_eq!(watch.notices(), []);
    assert_eq!(perf_descriptors(), 3);
    watch.stop();
    assert_eq!(perf_descriptors(), 0);
    assert_eq!((state("maps"), traced(state("status")), opened()), before);
}

#[test]
fn a_thread_that_begins_later_is_seen() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let app = servers::c();
    let mut watch = Watch::start(&[json!({ "kind": "native", "pid": app.pid(), "name": "app", "every": "500ms" })]);
    watch.until("the first threads", |watch| {
        watch.value_if("app/function_cpu{function=score,under=handle ← serve}").is_some_and(|cores| cores > 0.05)
    });
    assert!(!watch.latest.keys().any(|name| name.contains("late_report")));
    let _connection = TcpStream::connect(("127.0.0.1", app.port)).unwrap();
    watch.until("the new one", |watch| {
        watch.value_if("app/function_cpu{function=late_report,under=report}").is_some_and(|cores| cores > 0.02)
    });
    assert_eq!(watch.value("app/sampled_threads"), 4.0);
    assert_eq!(watch.notices(), []);
}

#[test]
fn a_missing_or_ended_process_is_reported() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut app = servers::c();
    let mut watch = Watch::start(&[
        json!({ "kind": "native", "pid": 999_999_999, "name": "nobody", "every": "100ms" }),
        json!({ "kind": "native", "pid": app.pid(), "name": "app", "every": "200ms" }),
    ]);
    watch.until("nobody", |watch| refusal(&watch.notices(), "there is no process 999999999"));
    watch.more("app", 2);
    app.kill();
    let gone = format!("there is no process {}", app.pid());
    let ended = format!("process {} has ended", app.pid());
    watch.until("its end", |watch| refusal(&watch.notices(), &gone) || refusal(&watch.notices(), &ended));
    assert_eq!(perf_descriptors(), 0);
}

/// Root drops to the rights of `nobody` for this thread and the threads that it starts. Other users have no access to the first process anyway.
#[test]
fn missing_rights_are_reported() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let app = servers::c();
    let is_root = rustix::process::geteuid().is_root();
    let pid = if is_root { app.pid() } else { 1 };
    let notices = std::thread::spawn(move || {
        if is_root {
            let nobody = rustix::thread::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        let mut watch = Watch::start(&[json!({ "kind": "native", "pid": pid, "name": "app", "every": "100ms" })]);
        watch.until("why", |watch| !watch.notices().is_empty());
        watch.stop().1
    });
    let notices = notices.join().unwrap();
    let paranoid: i64 = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap().trim().parse().unwrap();
    let why = if paranoid > 2 { "are for root alone here" } else { "belongs to another user: run Loadstone as that user or as root" };
    assert!(refusal(&notices, why), "{notices:?}");
    assert!(Path::new(&format!("/proc/{}", app.pid())).exists());
}
