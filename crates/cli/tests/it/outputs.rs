//! Outputs of a run: what arrives, and the messages if nothing can be sent.

use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use crate::harness::{Folder, server};

#[test]
fn a_run_sends_its_seconds_during_the_run() {
    let folder = Folder::new();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let to = format!("statsd={}", socket.local_addr().unwrap());
    folder.run(&["run", server::nginx(), "--rate", "20", "--for", "2s", "--quiet", "--out", &to]).passes().does_not_say("warning");
    let (mut buffer, mut passed) = ([0; 2000], 0);
    while let Ok(length) = socket.recv(&mut buffer) {
        let text = std::str::from_utf8(&buffer[..length]).expect("UTF-8");
        let counts = text.lines().filter_map(|line| line.split_once(".requests.passed:")?.1.strip_suffix("|c")?.parse::<u64>().ok());
        passed += counts.sum::<u64>();
    }
    assert_eq!(passed, 40);
}

#[test]
fn an_unreachable_receiver_only_causes_a_warning() {
    let folder = Folder::new();
    let to = format!("otlp=http://me:s3cret@127.0.0.1:{}", server::free_port("127.0.0.1"));
    let ended = folder.run(&["run", server::nginx(), "--rate", "20", "--for", "2s", "--quiet", "--out", &to]).passes();
    let ended = ended.says("warning: OTLP at http://127.0.0.1:").says(" received 0 of the run's ").does_not_say("s3cret");
    let console = std::fs::read_to_string(ended.run.unwrap().join("console.log")).expect("console.log");
    assert!(console.contains(" received 0 of the run's "), "the run keeps what was lost: {console}");
}

#[test]
fn invalid_outputs_are_refused_before_any_load() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (flags, part) in [
        (["--out", "graphite=127.0.0.1:2003"], "there is no output of kind \"graphite\"; there are prometheus"),
        (["--out", "my-runs"], "Run directories go to a folder with `--runs my-runs`, reports to a file with `--html`"),
        (["--out", "prometheus=127.0.0.1"], "prometheus needs an http or https URL"),
        (["--out", "statsd=nowhere"], "statsd needs HOST:PORT"),
        (["--metrics-listen", &address], "address already in use"),
        (["--metrics-listen", "9464"], "--metrics-listen"),
    ] {
        let folder = Folder::new();
        folder.run(&["run", server::nginx(), "--for", "1s", flags[0], flags[1]]).code(2).says(part);
        assert!(folder.runs().is_empty(), "{flags:?}");
    }
    let folder = Folder::new();
    let mut empty = folder.command(&["run", server::nginx(), "--rate", "20", "--for", "1s", "--quiet"]);
    empty.env("LOADSTONE_OUT", "").env("LOADSTONE_OUT_HEADERS", "");
    folder.start_command(empty).ended().passes();
    let folder = Folder::new();
    let headers = ["--out", "influx=http://127.0.0.1:1/write?db=x", "--out-header", "s3cret"];
    folder.run(&[["run", server::nginx(), "--for", "1s"].as_slice(), &headers].concat()).code(2).says("NAME: VALUE").does_not_say("s3cret");
}

#[test]
fn the_summary_is_appended_to_the_job_summary_of_github_actions() {
    let folder = Folder::new().file("step.md", "# Before\n");
    let mut command = folder.command(&["run", server::nginx(), "--rate", "20", "--for", "1s", "--quiet"]);
    command.env("GITHUB_STEP_SUMMARY", folder.path().join("step.md"));
    let ended = folder.start_command(command).ended();
    let step = std::fs::read_to_string(folder.path().join("step.md")).unwrap();
    let written = std::fs::read_to_string(ended.run.expect("a run").join("summary.md")).expect("summary.md");
    assert_eq!(step, format!("# Before\n{written}\n"));
}
