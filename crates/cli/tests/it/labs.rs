//! The systems of `labs/`, as their start commands bring them up.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::harness::server;

/// POSTs JSON and gives back the body of the answer.
fn post(address: &str, path: &str, body: &str) -> serde_json::Value {
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

/// The JSON that the first request to this listener carries; it is answered with 200.
fn receive(listener: &TcpListener) -> serde_json::Value {
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
    let subscription = serde_json::json!({ "account": "anna", "event_type": "payment.created", "url": url });
    post(&lab.webhooks, "/v1/subscriptions", &subscription.to_string());
    post(&lab.payments, "/v1/payments", r#"{"account":"bert","amount":700}"#);
    let made = post(&lab.payments, "/v1/payments", r#"{"account":"anna","amount":1200}"#);

    let message = receive(&subscriber);
    assert_eq!((&message["resource_id"], &message["payment"]["amount"]), (&made["payment_id"], &1200.into()), "{message}");
}
