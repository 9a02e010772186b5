//! Runs that end early: Ctrl-C once and twice, kill -9, a full disk.

use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use crate::harness::raw::{Raw, Step, send};
use crate::harness::{Folder, server};

const INTERRUPTED: i32 = 130;
const BROKEN: i32 = 1;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server that responds after this time.
fn slow(time: Duration) -> Raw {
    Raw::answering(vec![Step::Wait(time), send(OK)])
}

/// Waits until the run has written to disk.
fn wait_for_slices(folder: &Folder) {
    server::wait_until("the first second on disk", || {
        let snapshots = folder.runs().into_iter().map(|run| run.join(loadstone_run_directory::files::SNAPSHOTS));
        snapshots.filter_map(|file| file.metadata().ok()).any(|file| file.len() > 0)
    });
}

#[test]
fn ctrl_c_ends_gracefully_with_a_verdict() {
    let raw = slow(Duration::from_millis(300));
    let folder = Folder::new();
    let run = folder.start(&["run", &raw.address, "--users", "4", "--for", "100s"]);
    wait_for_slices(&folder);
    run.signal(Signal::INT);
    let ended = run.ended().code(INTERRUPTED);
    let totals = &ended.summary()["totals"];
    assert!(totals["requests"].as_u64().unwrap() >= 4, "{}", ended.everything());
    assert_eq!(totals["requests_failed"], 0, "{}", ended.everything());
    assert_eq!(totals["iterations_interrupted"], 0, "what was running could finish\n{}", ended.everything());
    ended.says("interrupted");
}

#[test]
fn ctrl_c_twice_ends_immediately() {
    let raw = slow(Duration::from_secs(60));
    let folder = Folder::new();
    let run = folder.start(&["run", &raw.address, "--users", "4", "--for", "100s", "--graceful-stop", "100s", "--timeout", "100s"]);
    server::wait_until("users to be connected", || raw.connections() == 4);
    run.signal(Signal::INT);
    // The kernel must not merge the second signal with the first.
    std::thread::sleep(Duration::from_millis(300));
    run.signal(Signal::INT);
    #[expect(clippy::disallowed_methods, reason = "the test's own stopwatch")]
    let begun = Instant::now();
    let ended = run.ended().code(INTERRUPTED);
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
    assert_eq!(ended.summary()["totals"]["iterations_interrupted"], 4, "{}", ended.everything());
}

#[test]
fn sigterm_is_taken_as_ctrl_c() {
    let folder = Folder::new();
    let run = folder.start(&["run", server::nginx(), "--rate", "20", "--for", "100s"]);
    wait_for_slices(&folder);
    run.signal(Signal::TERM);
    let ended = run.ended().code(INTERRUPTED);
    assert!(ended.summary()["totals"]["requests"].as_u64().unwrap() > 0, "{}", ended.everything());
}

/// A closed terminal or a lost SSH connection must not lose the run or its tear-down.
#[test]
fn a_hang_up_ends_gracefully_with_the_tear_down() {
    let script = format!(
        r#"import {{ arrivals, scenario, teardown, test }} from "loadstone";
const s = scenario("S", async (user) => {{ await user.get("/"); }});
teardown(async () => {{ console.log("torn down"); }});
export default test({{ target: "{}", load: s.run(arrivals(20).for("100s")) }});
"#,
        server::nginx()
    );
    let folder = Folder::new().file("t.load.ts", &script);
    let run = folder.start(&["run", "t.load.ts"]);
    // The test itself is on disk earlier than the first second.
    server::wait_until("the first second on disk", || {
        folder.runs().first().is_some_and(|run| std::fs::read_to_string(run.join("snapshots.jsonl")).is_ok_and(|text| text.contains('\n')))
    });
    run.signal(Signal::HUP);
    let ended = run.ended().code(INTERRUPTED).says("torn down");
    assert!(folder.runs()[0].join("end.json").is_file(), "{}", ended.everything());
    ended.says("Stopping: no new load starts. Requests in progress may take up to 30s (gracefulStop).");
}

#[test]
fn a_killed_run_can_still_be_reported() {
    let folder = Folder::new();
    let run = folder.start(&["run", server::nginx(), "--rate", "50", "--for", "100s"]);
    server::wait_until("three seconds on disk", || {
        let seen = folder.run(&["show", "latest", "--json"]);
        let requests =
            serde_json::from_str::<serde_json::Value>(&seen.stdout).ok().and_then(|summary| summary["totals"]["requests"].as_u64());
        requests.is_some_and(|requests| requests >= 150)
    });
    run.signal(Signal::KILL);
    assert_eq!(run.ended().status.code(), None);

    folder.run(&["report", "latest"]).code(0);
    let html = std::fs::read_to_string(folder.runs()[0].join("report.html")).expect("the report of what is there");
    assert!(html.contains("<html"));
    let shown = folder.run(&["show", "latest", "--json"]).code(0);
    let summary: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert!(summary["totals"]["requests"].as_u64().unwrap() >= 150, "{summary}");
    assert_eq!(summary["totals"]["requests_failed"], 0, "{summary}");
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_the_written_data() {
    let folder = Folder::new();
    let mut command = folder.command(&["run", server::nginx(), "--rate", "200", "--for", "60s"]);
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(|| {
            // Limits the size of every file, which takes several seconds to reach. By default the signal ends the process. If it is ignored, the write
            // fails as on a full disk.
            if libc::signal(libc::SIGXFSZ, libc::SIG_IGN) == libc::SIG_ERR {
                return Err(std::io::Error::last_os_error());
            }
            Ok(setrlimit(Resource::Fsize, Rlimit { current: Some(40_000), maximum: Some(40_000) })?)
        });
    }
    let ended = folder.start_command(command).ended().code(BROKEN);
    assert!(ended.stderr.contains("cannot be written") || ended.stderr.contains("File too large"), "{}", ended.everything());
    // Earlier measurements are still reported.
    ended.says("requests");
}

#[test]
fn a_runs_folder_that_cannot_be_created_is_reported_before_the_load() {
    let raw = Raw::answering(vec![send(OK)]);
    let ended = Folder::new().file("runs", "a file, not a folder").run(&["run", &raw.address, "--users", "1", "--for", "1s"]);
    assert!(matches!(ended.status.code(), Some(1 | 2)), "{}", ended.everything());
    assert_eq!(raw.connections(), 0, "nothing was loaded\n{}", ended.everything());
    ended.says("runs");
}
