//! The live page over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use loadstone_report::{LiveCommand, LiveServer, ReportView, RunState, Steering, ViewBuilder};

use serde_json::{Value, json};

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
        let mut events = Events { reader: BufReader::new(stream), view: Value::Null, steering: Value::Null, bytes: 0 };
        let mut line = String::new();
        while line.trim_end() != "HTTP/1.1 200 OK" {
            line.clear();
            assert!(events.reader.read_line(&mut line).expect("a status line") > 0);
        }
        events
    }
}

/// The state of a page: the last view, joined from the events like in the page's code (web/src/feed/live.ts).
struct Events {
    reader: BufReader<TcpStream>,
    view: Value,
    steering: Value,
    /// Bytes of the last event.
    bytes: usize,
}

impl Events {
    /// Steps of the timeline and state of the next view; `None` if the stream has ended.
    fn next(&mut self) -> Option<(usize, String)> {
        let mut event = String::new();
        let mut line = String::new();
        loop {
            line.clear();
            if self.reader.read_line(&mut line).expect("the stream goes on or ends") == 0 || line == "0\r\n" {
                return None;
            }
            if let Some(name) = line.strip_prefix("event: ") {
                name.trim_end().clone_into(&mut event);
            }
            let Some(json) = line.strip_prefix("data: ") else { continue };
            let data: Value = serde_json::from_str(json).expect("JSON in one line");
            self.bytes = json.len();
            match event.as_str() {
                "view" => self.view = data,
                "delta" => self.view = joined(&self.view, data),
                "steering" => {
                    self.steering = data;
                    continue;
                }
                other => panic!("an event {other}"),
            }
            let steps = self.view["timeline"]["seconds"].as_array().map_or(0, Vec::len);
            return Some((steps, self.view["test"]["state"].as_str().unwrap_or_default().to_owned()));
        }
    }
}

fn joined(before: &Value, mut delta: Value) -> Value {
    let kept = delta["kept"].as_u64().expect("a number of steps") as usize;
    let mut view = delta["view"].take();
    let prepend = |old: &Value, new: &mut Value| {
        let old = old.as_array().expect("a list").iter().take(kept).cloned();
        let all: Vec<Value> = old.chain(new.as_array().expect("a list").iter().cloned()).collect();
        *new = all.into();
    };
    let (old, new) = (&before["timeline"], &mut view["timeline"]);
    prepend(&old["seconds"], &mut new["seconds"]);
    prepend(&old["heat"]["steps"], &mut new["heat"]["steps"]);
    let panels = |old: &Value, new: &mut Value| {
        for (panel, now) in old.as_array().expect("panels").iter().zip(new.as_array_mut().expect("panels")) {
            for (column, now) in panel["columns"].as_array().expect("columns").iter().zip(now["columns"].as_array_mut().expect("columns")) {
                prepend(&column["values"], &mut now["values"]);
            }
        }
    };
    panels(&old["panels"], &mut new["panels"]);
    for (band, now) in old["bands"].as_array().expect("bands").iter().zip(new["bands"].as_array_mut().expect("bands")) {
        panels(&band["panels"], &mut now["panels"]);
    }
    for (index, kept) in delta["kept_charts"].as_array().expect("a number for each").iter().enumerate() {
        let kept = kept.as_u64().expect("a number of steps") as usize;
        let Some(panels) = view["request_charts"][index]["panels"].as_array_mut() else { continue };
        for (panel, now) in panels.iter_mut().enumerate() {
            for (column, now) in now["columns"].as_array_mut().expect("columns").iter_mut().enumerate() {
                let old = &before["request_charts"][index]["panels"][panel]["columns"][column]["values"];
                let old = old.as_array().into_iter().flatten().take(kept).cloned();
                now["values"] = old.chain(now["values"].as_array().expect("values").iter().cloned()).collect();
            }
        }
    }
    view
}

fn running(steps: usize) -> Option<(usize, String)> {
    Some((steps, "running".to_owned()))
}

#[test]
fn pages_get_the_present_view_and_then_each_new_one() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    assert!(!server.wants_view());
    server.publish(view(3, RunState::Running), Steering::default());
    let mut first = client.watch();
    assert_eq!(first.next(), running(3));
    assert!(server.wants_view());
    server.publish(view(4, RunState::Running), Steering { paused: true, scale: 2.0 });
    assert_eq!(first.next(), running(4));
    assert_eq!(first.steering, json!({ "paused": true, "scale": 2.0 }));
    drop(first);
    let mut again = client.watch();
    assert_eq!(again.next(), running(4), "a page that reconnects gets the whole state at once");
    assert_eq!(again.steering, json!({ "paused": true, "scale": 2.0 }), "including that the run is paused");
    let waiting = std::thread::spawn(move || {
        let last = again.next();
        (last, again.next())
    });
    server.finish(view(5, RunState::Completed));
    assert_eq!(waiting.join().unwrap(), (Some((5, "completed".to_owned())), None), "the last view arrives, then the stream ends");
    assert!(TcpStream::connect(&client.address).is_err(), "nothing listens any more");
}

#[test]
fn a_second_of_a_long_run_is_sent_as_its_difference() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let mut events = Client::of(&server).watch();
    let mut builder = ViewBuilder::new(&fixtures::info(), &fixtures::plan());
    (0..1150).for_each(|number| builder.push(&fixtures::slice(number)));
    let view = |builder: &ViewBuilder| builder.view(&fixtures::summary(), RunState::Running, "");
    server.publish(view(&builder), Steering::default());
    assert_eq!(events.next(), running(1150));
    let whole = events.bytes;
    // The steps become two seconds long in between, which a page cannot compute by itself.
    for number in 1150..1220 {
        builder.push(&fixtures::slice(number));
        let now = view(&builder);
        let expected = serde_json::to_value(&now).unwrap();
        server.publish(now, Steering::default());
        events.next();
        assert!(events.view == expected, "second {number}: the page has another view than the run");
        assert!(number == 1200 || events.bytes * 10 < whole, "second {number}: {} bytes, a whole view has {whole}", events.bytes);
    }
}

#[test]
fn a_page_that_does_not_read_delays_nothing() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    let stuck = client.watch();
    let view = view(200, RunState::Running);
    for _ in 0..300 {
        server.publish(view.clone(), Steering::default());
    }
    let mut other = client.watch();
    assert_eq!(other.next(), running(200));
    drop(stuck);
}

#[test]
fn only_the_token_allows_control() {
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
fn commands_without_a_receiver_are_refused_and_do_not_accumulate() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    let answers: Vec<u16> = (0..20).map(|_| client.control(r#"{"token":"TOKEN","action":"pause"}"#).0).collect();
    assert_eq!(answers.iter().filter(|status| **status == 202).count(), 16);
    assert_eq!(answers[16..], [503; 4]);
    assert_eq!(std::iter::from_fn(|| server.command()).count(), 16);
}

#[test]
fn the_page_contains_the_token_only_if_the_request_does() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let client = Client::of(&server);
    let (status, page) = client.ask("GET", &format!("/?token={}", client.token), &client.address, "");
    assert_eq!(status, 200);
    assert!(page.contains(r#"{"feed":"live","events":"/events","control":"/control","token":""#) && page.contains(&client.token));
    let (status, page) = client.ask("GET", "/", "localhost:80", "");
    assert!(status == 200 && !page.contains(&client.token));
}

#[test]
fn a_foreign_name_for_this_machine_is_rejected() {
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
fn a_port_in_use_is_an_error_with_a_remedy() {
    let server = LiveServer::start(LiveServer::LOOPBACK).unwrap();
    let address = Client::of(&server).address.parse().unwrap();
    let problem = LiveServer::start(address).unwrap_err().to_string();
    assert!(problem.contains(&address.to_string()) && problem.contains("choose another port"), "{problem}");
}

#[test]
fn the_live_view_shows_the_live_validity_and_numbers() {
    let (info, plan) = (fixtures::info(), fixtures::plan());
    let mut judgement = loadstone_analysis::LiveAnalysis::new(&plan, &info.host);
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
    let concluded = loadstone_analysis::conclude(&fixtures::run(30));
    let numbers =
        |summary: &loadstone_analysis::Summary| (summary.totals.clone(), summary.requests[0].response.at(0.99), summary.response.at(0.5));
    assert_eq!(numbers(&view.summary), numbers(&concluded), "the same numbers as at the end");
}
