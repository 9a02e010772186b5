//! Calls to servers of plain sockets that send exactly what a test specifies.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use hyper::Method;
use loadstone_http_client::{HttpError, HttpTarget, within};
use url::Url;

/// A server that sends `response` to one request and then keeps the connection open until `hold` is dropped. Returns its target, and a channel with
/// the head of the request.
fn server(response: &'static str, hold: Receiver<()>) -> (HttpTarget, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = Url::parse(&format!("http://{}/metrics?all", listener.local_addr().expect("an address"))).expect("a URL");
    let (sender, heads) = sync_channel(1);
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
        let mut head = String::new();
        while reader.read_line(&mut head).expect("a head") > 2 {}
        sender.send(head).expect("the test waits");
        stream.write_all(response.as_bytes()).expect("a response");
        let _ = hold.recv();
    });
    (HttpTarget::of(&url).expect("a target"), heads)
}

fn run<T>(call: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(call)
}

#[test]
fn a_response_with_any_status_is_returned_completely() {
    let (_open, hold) = sync_channel(1);
    let (target, heads) = server("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nsorry", hold);
    let (status, body) = run(async {
        let response = target.send(target.request(Method::POST, "ping")).await.unwrap();
        (response.status(), response.into_body().bytes(5).await.unwrap())
    });
    assert_eq!((status.as_u16(), &*body), (503, &b"sorry"[..]));
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.starts_with("post /metrics?all http/1.1\r\n"), "{head}");
    for line in [format!("host: {}", target.authority()), "connection: close".to_owned(), "content-length: 4".to_owned()] {
        assert!(head.contains(&line), "no {line} in {head}");
    }
}

#[test]
fn a_body_longer_than_the_bound_is_refused() {
    let (_open, hold) = sync_channel(1);
    let (target, _heads) = server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef", hold);
    let body = run(async { target.send(target.request(Method::GET, "")).await.unwrap().into_body().bytes(5).await });
    assert!(matches!(body, Err(HttpError::TooLong { bytes_max: 5, .. })), "{body:?}");
}

#[test]
fn a_stalled_server_times_out() {
    let (_open, hold) = sync_channel(1);
    let (target, _heads) = server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc", hold);
    let call = async { target.send(target.request(Method::GET, "")).await?.into_body().bytes(100).await };
    let error = run(within(Duration::from_millis(100), call)).unwrap_err();
    assert_eq!(error.to_string(), "no response within 0.1 s");
}

#[test]
fn an_incomplete_body_and_a_closed_port_are_errors() {
    let (open, hold) = sync_channel(1);
    drop(open);
    let (target, _heads) = server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc", hold);
    let body = run(async { target.send(target.request(Method::GET, "")).await.unwrap().into_body().bytes(100).await });
    assert!(matches!(body, Err(HttpError::Exchange { .. })), "{body:?}");
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let target = HttpTarget::of(&Url::parse(&format!("http://{free}/")).unwrap()).unwrap();
    let refused = run(async { target.send(target.request(Method::GET, "")).await.map(drop) });
    assert!(matches!(refused, Err(HttpError::Connect { .. })), "{refused:?}");
}
