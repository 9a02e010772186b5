//! The live page, spoken to over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use report::{LiveCommand, LiveServer, ReportView, RunState, ViewBuilder};

use crate::fixtures;

fn view(seconds: u32, state: RunState) -> ReportView {
    let mut builder = ViewBuilder::new(&fixtures::info(), &fixtures::plan());
    (0..seconds).for_each(|number| builder.push(&fixtures::slice(number)));
    builder.view(&fixtures::summary(), state, "")
}

struct Client {
    address: String,
    token: String,
}

impl Client {
    fn of(server: &LiveServer) -> Self {
        let url = server.url();
        let (address, token) = url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).expect("the form of the address");
        Self { address: address.to_owned(), token: token.to_owned() }
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time limit");
        stream.write_all(request.as_bytes()).expect("the server reads");
        stream
    }

    /// Status and body.
    fn ask(&self, method: &str, path: &str, host: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let mut stream =
            self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"));
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    fn control(&self, json: &str) -> (u16, String) {
        self.ask("POST", "/control", &self.address, &json.replace("TOKEN", &self.token))
    }

    fn watch(&self) -> Events {
        let stream = self.send(&format!("GET /events HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n", self.address));
        let mut events = Events(BufReader::new(stream));
        let mut line = String::new();
        while line.trim_end() != "HTTP/1.1 200 OK" {
            line.clear();
            assert!(events.0.read_line(&mut line).expect("a status line") > 0);
        }
        events
    }
}

struct Events(BufReader<TcpStream>);

impl Events {
    /// Steps of the timeline and state of the next view; `None` when the stream has ended.
    fn next(&mut self) -> Option<(usize, String)> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line).expect("the stream goes on or ends") == 0 {
                return None;
            }
            if let Some(json) = line.strip_prefix("data: ") {
                let view: serde_json::Value = serde_json::from_str(json).expect("a view in one line");
                let steps = view["timeline"]["seconds"].as_array().map_or(0, Vec::len);
                return Some((steps, view["test"]["state"].as_str().unwrap_or_default().to_owned()));
            }
            if line == "0\r\n" {
                return None;
            }
        }
    }
}

fn running(steps: usize) -> Option<(usize, String)> {
    Some((steps, "running".to_owned()))
}

#[test]
fn pages_get_the_present_view_and_then_each_new_one() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    assert!(!server.is_watched());
    server.publish(&view(3, RunState::Running));
    let mut first = client.watch();
    assert_eq!(first.next(), running(3));
    assert!(server.is_watched());
    server.publish(&view(4, RunState::Running));
    assert_eq!(first.next(), running(4));
    drop(first);
    let mut again = client.watch();
    assert_eq!(again.next(), running(4), "a page that comes back sees the whole state at once");
    let waiting = std::thread::spawn(move || {
        let last = again.next();
        (last, again.next())
    });
    server.finish(&view(5, RunState::Completed));
    assert_eq!(waiting.join().unwrap(), (Some((5, "completed".to_owned())), None), "the last view arrives, then the stream ends");
    assert!(TcpStream::connect(&client.address).is_err(), "nothing listens any more");
}

#[test]
fn a_page_that_does_not_read_holds_nobody_up() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    let stuck = client.watch();
    let view = view(200, RunState::Running);
    for _ in 0..300 {
        server.publish(&view);
    }
    let mut other = client.watch();
    assert_eq!(other.next(), running(200));
    drop(stuck);
}

#[test]
fn only_the_token_steers() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    for (json, status) in [
        (r#"{"token":"","action":"stop"}"#, 403),
        (r#"{"token":"00000000000000000000000000000000","action":"stop"}"#, 403),
        (r#"{"token":"TOKEN","action":"explode"}"#, 400),
        (r#"{"token":"TOKEN","action":"scale"}"#, 400),
        (r#"{"token":"TOKEN","action":"scale","value":-1}"#, 400),
        (r#"{"token":"TOKEN","action":"scale","value":1e9}"#, 400),
        ("stop", 400),
    ] {
        assert_eq!(client.control(json).0, status, "{json}");
    }
    assert_eq!(server.command(), None);
    for (json, command) in [
        (r#"{"token":"TOKEN","action":"pause"}"#, LiveCommand::Pause),
        (r#"{"token":"TOKEN","action":"resume"}"#, LiveCommand::Resume),
        (r#"{"token":"TOKEN","action":"scale","value":1.5}"#, LiveCommand::Scale(1.5)),
        (r#"{"token":"TOKEN","action":"stop"}"#, LiveCommand::Stop),
    ] {
        assert_eq!(client.control(json).0, 202, "{json}");
        assert_eq!(server.command(), Some(command));
    }
}

#[test]
fn commands_that_nobody_takes_are_refused_not_piled_up() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    let answers: Vec<u16> = (0..20).map(|_| client.control(r#"{"token":"TOKEN","action":"pause"}"#).0).collect();
    assert_eq!(answers.iter().filter(|status| **status == 202).count(), 16);
    assert_eq!(answers[16..], [503; 4]);
    assert_eq!(std::iter::from_fn(|| server.command()).count(), 16);
}

#[test]
fn the_page_holds_the_token_only_for_who_brings_it() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    let (status, page) = client.ask("GET", &format!("/?token={}", client.token), &client.address, "");
    assert_eq!(status, 200);
    assert!(page.contains(r#"{"feed":"live","events":"/events","control":"/control","token":""#) && page.contains(&client.token));
    let (status, page) = client.ask("GET", "/", "localhost:80", "");
    assert!(status == 200 && !page.contains(&client.token));
}

#[test]
fn a_foreign_name_for_this_machine_is_turned_away() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    for path in ["/", "/events"] {
        assert_eq!(client.ask("GET", path, "evil.example", "").0, 403);
    }
    let stop = format!(r#"{{"token":"{}","action":"stop"}}"#, client.token);
    assert_eq!(client.ask("POST", "/control", "evil.example:80", &stop).0, 403);
    assert_eq!(server.command(), None);
    assert_eq!(client.ask("GET", "/", "[::1]:8080", "").0, 200);
}

#[test]
fn a_taken_port_is_told_with_what_to_do() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let address = Client::of(&server).address.parse().unwrap();
    let problem = LiveServer::start(address).unwrap_err().to_string();
    assert!(problem.contains(&address.to_string()) && problem.contains("choose another port"), "{problem}");
}

#[test]
fn a_run_is_drawn_from_its_live_judgement() {
    let (info, plan) = (fixtures::info(), fixtures::plan());
    let mut judgement = analysis::Live::new(&plan, &info.host);
    let mut builder = ViewBuilder::new(&info, &plan);
    for number in 0..30 {
        let slice = fixtures::slice(number);
        judgement.push(&slice);
        builder.push(&slice);
    }
    let view = builder.view(&judgement.summary(&info), RunState::Running, "");
    let row = &view.summary.requests[0];
    assert_eq!((row.count, row.failed, row.response.mean), (3000, 30, Some(0.0145)));
    assert!(row.response.percentiles.iter().all(|p| p.low.is_none() && p.high.is_none()), "intervals need the whole run");
    assert_eq!((view.summary.totals.arrivals_due, view.sparks[0].len()), (3000, 30));
    let concluded = analysis::conclude(&fixtures::run(30));
    let numbers = |summary: &analysis::Summary| (summary.totals.clone(), summary.requests[0].response.at(0.99), summary.response.at(0.5));
    assert_eq!(numbers(&view.summary), numbers(&concluded), "the same numbers as at the end");
}
