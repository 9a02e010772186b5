//! Server-sent events from a server scripted byte by byte.

use loadstone_metrics::Outcome;
use loadstone_protocol::http::Request;
use loadstone_protocol::sse::{EventStreamOpening, open};

use super::support::{failed, get, passed, run, serve, serve_bytes};

#[test]
fn events_arrive_as_they_are_sent() {
    run(|network| async move {
        for chunked in [false, true] {
            let address = serve(move |mut peer, _| async move {
                let head = peer.request().await.unwrap();
                assert!(head.contains("\r\nAccept: text/event-stream\r\n") && head.contains("\r\nAccept-Encoding: identity\r\n"));
                let coding = if chunked { "Transfer-Encoding: chunked\r\n" } else { "" };
                peer.send(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n{coding}\r\n")).await;
                for event in ["id: 1\ndata: one\n\n", "retry: 20\nevent: tick\ndata: two\n\ndata: th", "ree\n\n"] {
                    let piece = if chunked { format!("{:x}\r\n{event}\r\n", event.len()) } else { event.to_owned() };
                    peer.send(piece).await;
                    tokio::task::yield_now().await;
                }
                peer.send(if chunked { "0\r\n\r\n" } else { "" }).await;
            })
            .await;
            let EventStreamOpening { exchange, stream } = open(&network, get(address, "/")).await;
            assert_eq!(passed(&exchange).status, 200);
            let stream = stream.unwrap();
            let mut last = exchange.ended;
            for (kind, data) in [("message", "one"), ("tick", "two"), ("message", "three")] {
                let event = stream.next().await.unwrap().unwrap();
                assert_eq!((&*event.kind, &*event.data, &*event.id), (kind, data, "1"));
                assert!(event.at >= last);
                last = event.at;
            }
            assert_eq!(stream.next().await, Ok(None));
            assert_eq!(stream.next().await, Ok(None));
            assert_eq!((stream.last_id(), stream.retry_ms()), ("1".to_owned(), Some(20)));
        }
    });
}

#[test]
fn a_response_that_is_not_a_stream_is_returned() {
    run(|network| async move {
        let address = serve_bytes("HTTP/1.1 503 Busy\r\nContent-Type: text/event-stream\r\nContent-Length: 4\r\n\r\nbusy").await;
        let EventStreamOpening { exchange, stream } = open(&network, get(address, "/")).await;
        assert_eq!((passed(&exchange).status, &passed(&exchange).body[..], stream.is_none()), (503, &b"busy"[..], true));
    });
}

#[test]
fn a_broken_stream_reports_an_error() {
    run(|network| async move {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (body, outcome) in [
            ("5\r\ndata:", Outcome::Reset),
            ("zz\r\n", Outcome::Protocol),
            ("30\r\ndata: far too long for so small a limit", Outcome::Protocol),
        ] {
            let address = serve_bytes(format!("{head}{body}")).await;
            let EventStreamOpening { exchange, stream } = open(&network, Request { body_bytes_max: 20, ..get(address, "/") }).await;
            let outcomes = match stream {
                Some(stream) => stream.next().await.unwrap_err().outcome,
                None => failed(&exchange).0,
            };
            assert_eq!(outcomes, outcome, "{body}");
        }
    });
}
