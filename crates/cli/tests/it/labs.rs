//! The systems of `labs/`, started by their own start commands.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Ended, Folder, server};

/// Sends JSON by POST. Returns the body of the response.
fn post(address: &str, path: &str, body: &str) -> Value {
    let authority = address.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers in UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 201"), "{answer}");
    serde_json::from_str(body).expect("JSON")
}

/// The JSON of the first request to this listener, which responds with 200.
fn receive(listener: &TcpListener) -> Value {
    listener.set_nonblocking(true).expect("a setting");
    let mut connection = None;
    server::wait_until("a sender to connect", || {
        connection = listener.accept().ok();
        connection.is_some()
    });
    let (mut stream, _) = connection.expect("waited for");
    stream.set_nonblocking(false).expect("a setting");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let mut request = String::new();
    loop {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).expect("a request within the limit");
        assert!(count > 0, "the sender closed after {request:?}");
        request += std::str::from_utf8(&part[..count]).expect("UTF-8");
        let body = request.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
        if let Some(body) = body {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("the sender reads");
            return body;
        }
    }
}

#[test]
fn a_payment_reaches_its_subscriber() {
    let lab = server::webhooks();
    let subscriber = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/webhook", subscriber.local_addr().expect("an address"));
    let subscription = json!({ "account": "anna", "event_type": "payment.created", "url": url });
    post(&lab.webhooks, "/v1/subscriptions", &subscription.to_string());
    post(&lab.payments, "/v1/payments", r#"{"account":"bert","amount":700}"#);
    let payment = post(&lab.payments, "/v1/payments", r#"{"account":"anna","amount":1200}"#);

    let message = receive(&subscriber);
    assert_eq!((&message["resource_id"], &message["payment"]["amount"]), (&payment["payment_id"], &1200.into()), "{message}");
}

/// A copy of the ticket lab's tests, so that collected files are written there.
fn ticket_tests() -> Folder {
    let mut folder = Folder::new();
    for part in ["", "steps", "messages"] {
        for entry in fs::read_dir(server::labs().join("tickets").join(part)).expect("the lab's folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
            if part.is_empty() && !name.ends_with(".load.ts") {
                continue;
            }
            folder = folder.file(format!("{part}/{name}").trim_start_matches('/'), &fs::read_to_string(&path).expect("a string"));
        }
    }
    folder
}

/// Its thresholds on times assume a dedicated machine. On any machine, every step must succeed.
fn everything_worked(ended: &Ended) -> Value {
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    let summary = ended.summary();
    let failed = (&summary["totals"]["requests_failed"], &summary["totals"]["checks_failed"], &summary["errors"]);
    assert_eq!(failed, (&0.into(), &0.into(), &json!([])), "{}", ended.everything());
    summary
}

fn count(summary: &Value, request: &str) -> u64 {
    let rows = summary["requests"].as_array().expect("a list of requests");
    rows.iter().find(|row| row["name"] == request).and_then(|row| row["count"].as_u64()).unwrap_or_else(|| panic!("no {request}"))
}

#[test]
fn tickets_are_issued_and_let_their_travellers_in() {
    let (lab, tests) = (server::tickets(), ticket_tests());
    let parameter = |name: &str, value: &str| ["-p".to_owned(), format!("{name}={value}")];
    let run = |file: &str, parameters: &[[String; 2]]| {
        let arguments: Vec<&str> = ["run", file].into_iter().chain(parameters.iter().flatten().map(String::as_str)).collect();
        everything_worked(&tests.run(&arguments))
    };
    let issuing = parameter("target", &lab.issuing);
    let travellers = [parameter("travellersPerSecond", "5"), parameter("thinkTime", "10ms"), parameter("runTime", "2s")];
    let bought = run("issuing.load.ts", &[&[issuing.clone(), parameter("database", &lab.database)][..], &travellers[..]].concat());
    assert_eq!((count(&bought, "Create ticket"), count(&bought, "Get barcode")), (10, 10));

    let issued = run("make-barcodes.load.ts", &[issuing, parameter("barcodes", "30")]);
    assert_eq!(count(&issued, "Get barcode"), 30);
    let validation = parameter("target", &lab.validation);
    let validators =
        [parameter("validators", "5"), parameter("rampUp", "1s"), parameter("runTime", "2s"), parameter("tapsPerMinute", "600")];
    let tapped = run("validation.load.ts", &[&[validation.clone()][..], &validators[..]].concat());
    assert!(count(&tapped, "Tap response") > 50, "5 validators, 10 taps a second each, for 2 s: {tapped}");
    let delivered = run("notifications.load.ts", &[validation, parameter("validators", "20"), parameter("decisions", "3")]);
    assert_eq!(count(&delivered, "Deliver"), 60);
}
