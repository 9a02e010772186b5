//! Prometheus and StatsD over the network.

use std::net::UdpSocket;

use loadstone_metrics::NoticeKind;
use loadstone_metrics::SignalKind;
use serde_json::json;

use crate::watching::Watch;

/// Serves a text once per connection.
fn exporter(answers: Vec<String>) -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            assert!(head.starts_with(b"GET /metrics?a=b HTTP/1.1\r\n"));
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn an_exporter_is_read_and_its_errors_are_reported() {
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\n# TYPE jobs counter\njobs_total 5\r\na\r\n\nother_x 1\r\n0\r\n\r\n";
    let plain = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n# TYPE jobs counter\njobs_total 9\n";
    let error = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
    let port = exporter([chunked, error, plain].map(str::to_owned).to_vec());
    let url = format!("http://127.0.0.1:{port}/metrics?a=b");
    let mut watch = Watch::start(&[json!({ "kind": "prometheus", "url": url, "only": ["jobs*"], "every": "20ms", "name": "app" })]);
    watch.until("the last answer", |watch| watch.latest.get("app/jobs_total") == Some(&9.0));
    assert_eq!(watch.latest.keys().filter(|name| name.starts_with("app/")).count(), 1);
    let points = watch.batches.iter().filter(|batch| &*batch.observer == "app").flat_map(|batch| &batch.points);
    assert!(points.clone().all(|(signal, _)| signal.kind == SignalKind::Counter));
    assert_eq!(points.map(|(_, point)| point.value).collect::<Vec<_>>(), [5.0, 9.0]);
    let notices = watch.notices();
    assert!(notices[0].0 == NoticeKind::Failed && notices[0].1.contains("503"), "{notices:?}");
}

#[test]
fn packets_become_signals() {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut watch = Watch::start(&[json!({ "kind": "statsd", "listen": format!("127.0.0.1:{port}"), "every": "100ms" })]);
    watch.until("an open socket", |watch| watch.latest.contains_key("statsd/packets"));
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..10 {
        sender.send_to(b"orders:3|c|#shop:a\nqueue:17|g", ("127.0.0.1", port)).unwrap();
    }
    watch.until("all orders", |watch| watch.latest.get("statsd/orders{shop=a}") == Some(&30.0));
    assert_eq!((watch.value("statsd/queue"), watch.value("statsd/packets")), (17.0, 10.0));
}

#[test]
fn two_of_a_kind_get_names_of_their_own() {
    let mut watch = Watch::start(&[json!({ "kind": "host", "every": "20ms" }), json!({ "kind": "host", "every": "20ms" })]);
    watch.more("host", 1);
    watch.more("host:2", 1);
    assert_eq!(watch.value("host/cores"), watch.value("host:2/cores"));
}

#[test]
fn an_observer_that_is_silent_to_the_end_is_not_reported_as_recovered() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut watch = Watch::start(&[json!({ "kind": "prometheus", "url": format!("http://127.0.0.1:{nobody}/"), "every": "20ms" })]);
    watch.until("that it cannot read", |watch| watch.notices().iter().any(|(kind, _)| *kind == NoticeKind::Failed));
    let (_, notices) = watch.stop();
    assert!(notices.iter().all(|(kind, _)| *kind == NoticeKind::Failed), "{notices:?}");
}
