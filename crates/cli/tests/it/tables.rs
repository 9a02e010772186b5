//! Runs with more connections than one descriptor table can hold: workers have separate tables, and everything else is unchanged.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::raw::{Raw, Step, send};
use crate::harness::{Folder, server};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn slow(time: Duration) -> Raw {
    Raw::answering(vec![Step::Wait(time), send(OK)])
}

#[test]
fn three_workers_carry_more_connections_than_one_process_may_open_files() {
    let raw = slow(Duration::from_millis(200));
    let folder = Folder::new();
    let command = folder.with_open_files(320, &["run", &raw.address, "--users", "600", "--for", "3s", "--workers", "3"]);
    let ended = folder.start_command(command).ended().passes();
    assert_eq!(raw.connections(), 600, "each user has one, and keeps it\n{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["requests_failed"], 0, "{}", ended.everything());
}

#[test]
fn too_few_workers_are_reported_with_the_number_needed() {
    let folder = Folder::new();
    let raw = slow(Duration::ZERO);
    let refused = |limit, flags: &[&str]| {
        let command = folder.with_open_files(limit, &[&["run", &raw.address, "--for", "1s"], flags].concat());
        folder.start_command(command).ended()
    };
    refused(320, &["--users", "600", "--workers", "2"]).code(2).says("run with --workers 3, or raise the limit (`ulimit -n 400`");
    refused(64, &["--users", "10", "--workers", "2"]).code(2).says("may open only 64: raise the limit (`ulimit -n 105`");
    // The number of users of open load is not known in advance.
    refused(64, &["--rate", "20", "--workers", "2"]).passes();
}

#[test]
fn ctrl_c_reaches_workers_with_separate_descriptor_tables() {
    let raw = slow(Duration::from_millis(100));
    let folder = Folder::new();
    let run = folder.start_command(folder.with_open_files(130, &["run", &raw.address, "--users", "60", "--for", "100s", "--workers", "3"]));
    server::wait_until("users to be connected", || raw.connections() == 60);
    run.signal(Signal::INT);
    let ended = run.ended().code(130);
    assert_eq!(ended.summary()["totals"]["iterations_interrupted"], 0, "what was running could finish\n{}", ended.everything());
}

#[test]
fn a_second_ctrl_c_stops_waiting_workers_with_separate_descriptor_tables() {
    let raw = slow(Duration::from_secs(300));
    let folder = Folder::new();
    let patience = ["--for", "100s", "--graceful-stop", "100s", "--timeout", "300s"];
    let arguments = [&["run", raw.address.as_str(), "--users", "60", "--workers", "3"][..], &patience].concat();
    let run = folder.start_command(folder.with_open_files(130, &arguments));
    server::wait_until("users to be connected", || raw.connections() == 60);
    run.signal(Signal::INT);
    // The kernel must not merge the second signal with the first.
    thread::sleep(Duration::from_millis(300));
    run.signal(Signal::INT);
    #[expect(clippy::disallowed_methods, reason = "the test's own stopwatch")]
    let begun = Instant::now();
    let ended = run.ended().code(130);
    assert!(begun.elapsed() < Duration::from_secs(60), "took {:?}", begun.elapsed());
    assert_eq!(ended.summary()["totals"]["iterations_interrupted"], 60, "{}", ended.everything());
}

#[test]
fn the_page_scales_and_stops_workers_with_separate_descriptor_tables() {
    let raw = slow(Duration::from_millis(100));
    let folder = Folder::new();
    let arguments = ["run", &raw.address, "--users", "60", "--for", "100s", "--workers", "3", "--live"];
    let mut command = folder.with_open_files(130, &arguments);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stderr.take().expect("asked for as a pipe")).lines().map_while(Result::ok);
    let url = lines.find_map(|line| Some(line.split_once("Live page: http://")?.1.to_owned())).expect("the page is announced");
    let (address, token) = url.trim().split_once("/?token=").expect("the form of the address");
    // Continue reading, or it would block on a full pipe.
    thread::spawn(move || lines.for_each(drop));
    let steer = |action: &str| {
        let body = format!(r#"{{"token":"{token}",{action}}}"#);
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let head = format!("POST /control HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}", body.len());
        write!(stream, "{head}\r\n\r\n{body}").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 202 "), "{action}: {answer}");
    };
    server::wait_until("users to be connected", || raw.connections() == 60);
    steer(r#""action":"scale","value":1.5"#);
    server::wait_until("half as many again", || raw.connections() == 90);
    steer(r#""action":"stop""#);
    let code = child.wait().expect("its end").code();
    let summary = fs::read_to_string(folder.runs()[0].join("summary.json")).expect("what was measured is kept");
    let totals = &serde_json::from_str::<serde_json::Value>(&summary).expect("JSON")["totals"];
    assert_eq!((code, &totals["users_max"], &totals["iterations_interrupted"]), (Some(130), &90.into(), &0.into()), "{summary}");
}

#[test]
fn scenarios_share_files_values_and_lines_across_tables() {
    let raw = slow(Duration::ZERO);
    let script = format!(
        r#"import {{ collect, iterations, scenario, shared, test, uniqueId }} from "loadstone";
const rows = collect("rows.csv");
const count = shared("count", 0);
const visit = scenario("Visit", async (user) => {{
  await user.get("/");
  // Larger than a buffer, so that every worker has to write.
  rows.add({{ id: uniqueId("id"), text: "x".repeat(2000) }});
  if (count.increment() === 150) console.log("all 150 were here");
}});
export default test({{ target: "{}", load: visit.run(iterations(1).users(150).perUser()) }});
"#,
        raw.address
    );
    let folder = Folder::new().file("share.load.ts", &script);
    let command = folder.with_open_files(160, &["run", "share.load.ts", "--workers", "3"]);
    folder.start_command(command).ended().passes().says("all 150 were here").says("rows.csv (150 rows)");
    let rows = fs::read_to_string(folder.path().join("rows.csv")).expect("what was collected");
    assert!(rows.lines().count() == 151 && rows.lines().skip(1).all(|row| row.len() > 2_000), "{rows}");
}
