//! Access logs of real servers as the record of a run: HAProxy's and a compressed one of nginx. The test itself sends the requests, so it knows each of them.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Ended, Folder, server};

/// Ends when the test has sent its requests and the server has written its log.
const TOOL: &str = "touch begun; until [ -e ended ]; do sleep 0.05; done";

/// A server for one test. It ends with this value.
struct OwnServer(Child);

impl OwnServer {
    fn start(mut command: Command, port: u16) -> Self {
        let child = command.stdin(Stdio::null()).spawn().expect("the server is missing: `cargo xtask setup` installs it");
        let started = Self(child);
        server::wait_until("the server to listen", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        started
    }

    /// It writes everything and ends.
    fn quit(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::QUIT).expect("it runs");
        self.0.wait().expect("it ends");
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends bytes on a new connection, and reads until the server closes it.
fn send(port: u16, bytes: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    let _ = stream.read_to_end(&mut Vec::new());
}

fn get(port: u16, path: &str) {
    send(port, format!("GET {path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n").as_bytes());
}

/// Two hundred requests, and the beginning of TLS as a port scan sends it.
fn traffic(port: u16) {
    for number in 0..150 {
        get(port, &format!("/orders/{number}?page=1"));
    }
    (0..50).for_each(|_| get(port, "/missing"));
    send(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n");
}

/// Watches a log while `body` runs.
fn watch(folder: &Folder, arguments: &[&str], body: impl FnOnce()) -> Ended {
    let running = folder.start(&[&["watch", "--quiet"], arguments, &["--", "sh", "-c", TOOL]].concat());
    server::wait_until("the command of the watch", || folder.path().join("begun").exists());
    body();
    std::fs::write(folder.path().join("ended"), "").expect("a file");
    running.ended().code(0)
}

fn requests(summary: &Value) -> Vec<(&str, u64, u64)> {
    let rows = summary["requests"].as_array().expect("requests");
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    rows.iter().map(|row| (row["name"].as_str().unwrap_or_default(), number(&row["count"]), number(&row["failed"]))).collect()
}

fn check<'s>(summary: &'s Value, id: &str) -> &'s Value {
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("the checks");
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

/// A line that is no request is counted apart, and one in two hundred makes no run SUSPECT.
fn has_the_traffic(ended: &Ended, line: &str) {
    let summary = ended.summary();
    assert_eq!(requests(&summary), [("GET /missing", 50, 50), ("GET /orders/{id}", 150, 0)], "{}", ended.everything());
    let apart = check(&summary, "lines-without-request");
    assert_eq!((&apart["grade"], &check(&summary, "record")["grade"]), (&"valid".into(), &"valid".into()), "{summary:#}");
    let evidence = apart["evidence"].as_str().expect("evidence");
    assert!(evidence.starts_with("1 of 201 lines (0.498 %) is no request") && evidence.contains(line), "{evidence}");
}

#[test]
fn the_log_of_haproxy_is_read_as_it_writes_it() {
    let (folder, port) = (Folder::new(), server::free_port("127.0.0.1"));
    let configuration = format!(
        "global\n  log stdout format raw daemon\ndefaults\n  mode http\n  log global\n  option httplog\n  timeout connect 5s\n  timeout client 5s\n  \
         timeout server 5s\nfrontend shop\n  bind 127.0.0.1:{port}\n  http-request return status 404 if {{ path /missing }}\n  \
         http-request return status 200 content-type text/plain string ok\n"
    );
    let folder = folder.file("haproxy.cfg", &configuration);
    let mut command = Command::new("/usr/sbin/haproxy");
    command.arg("-db").arg("-f").arg(folder.path().join("haproxy.cfg"));
    command.stdout(File::create(folder.path().join("access.log")).expect("a file")).stderr(Stdio::null());
    let haproxy = OwnServer::start(command, port);
    let ended = watch(&folder, &["--follow", "access.log", "--log-format", "haproxy"], || {
        traffic(port);
        let written = || std::fs::read_to_string(folder.path().join("access.log")).is_ok_and(|log| log.contains("<BADREQ>"));
        server::wait_until("the last line of the log", written);
    });
    has_the_traffic(&ended, "<BADREQ>");
    drop(haproxy);
}

/// nginx compresses the log itself. It is read when the command has ended.
#[test]
fn a_compressed_log_of_nginx_is_read_at_the_end() {
    let (folder, port) = (Folder::new(), server::free_port("127.0.0.1"));
    let place = folder.path().display().to_string();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {place}/{name};")).join(" ");
    let configuration = format!(
        "daemon off; pid {place}/pid; events {{ worker_connections 64; }}\nhttp {{ {temporary}\n\
         log_format timed '$remote_addr $msec \"$request\" $status $body_bytes_sent $request_time';\n\
         access_log {place}/access.log.gz timed gzip=1 flush=10m;\n\
         server {{ listen 127.0.0.1:{port}; location / {{ return 200; }} location /missing {{ return 404; }} }} }}\n"
    );
    let folder = folder.file("nginx.conf", &configuration);
    let mut command = Command::new("/usr/sbin/nginx");
    command.args(["-p", &place, "-e", "stderr", "-c"]).arg(folder.path().join("nginx.conf"));
    let nginx = OwnServer::start(command, port);
    let format = "$remote_addr $msec \"$request\" $status $body_bytes_sent $request_time";
    let ended = watch(&folder, &["--follow", "access.log.gz", "--log-format", format], || {
        traffic(port);
        nginx.quit();
    });
    has_the_traffic(&ended, r"\x16\x03\x01");
}
