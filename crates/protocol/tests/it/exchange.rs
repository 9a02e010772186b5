//! One request and its response: bodies, limits, time limits, malformed responses.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use loadstone_metrics::Outcome;
use loadstone_protocol::http::{BodyUse, Client, ClientOptions, PreparedRequest, Request};

use super::support::{client, failed, get, passed, request, run, serve, serve_bytes};

#[test]
fn an_answer_is_read_and_timed() {
    run(|network| async move {
        let address = serve_bytes("HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX-Kind: b\r\n\r\nhello").await;
        let exchange = client(&network).send(&get(address, "/")).await;
        let response = passed(&exchange);
        assert_eq!((response.status, &response.body[..], response.headers.get("x-kind")), (201, &b"hello"[..], Some("b")));
        assert!(exchange.connected && exchange.phases.connect > 0 && exchange.phases.wait > 0);
        assert_eq!((exchange.phases.dns, exchange.phases.tls), (0, 0));
        assert_eq!(exchange.bytes_received, 59);
    });
}

#[test]
fn answers_in_single_bytes_are_read_the_same() {
    const ANSWERS: [(&str, u16, &str); 4] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n", 200, "abcde"),
        ("HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end"),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", 500, "no"),
    ];
    run(|network| async move {
        for (wire, status, body) in ANSWERS {
            let address = serve(move |mut peer, _| async move {
                peer.request().await;
                for byte in wire.bytes() {
                    peer.send([byte]).await;
                    tokio::task::yield_now().await;
                }
            })
            .await;
            let exchange = client(&network).send(&get(address, "/")).await;
            let response = passed(&exchange);
            assert_eq!((response.status, &response.body[..]), (status, body.as_bytes()));
            assert_eq!(exchange.bytes_received, wire.len() as u64);
        }
    });
}

#[test]
fn requests_arrive_as_they_were_built() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            while let Some(head) = peer.request().await {
                peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len())).await;
            }
        })
        .await;
        let client = client(&network);
        let mut post = request("POST", address, "/a?b=c", "body");
        post.headers.push(("X-Id".to_owned(), "7".to_owned()));
        let expected = format!(
            "POST /a?b=c HTTP/1.1\r\nHost: {address}\r\nX-Id: 7\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nContent-Length: 4\r\n\r\n"
        );
        let built = client.send(&post).await;
        let prepared = client.send_prepared(&PreparedRequest::new(&post).unwrap()).await;
        for exchange in [&built, &prepared] {
            assert_eq!(passed(exchange).body, expected);
            assert_eq!(exchange.bytes_sent, expected.len() as u64 + 4);
        }
        assert!(built.connected && !prepared.connected);
    });
}

#[test]
fn a_client_without_keep_alive_sends_connection_close() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            // This server would continue, as HTTP/1.1 does by default.
            while let Some(head) = peer.request().await {
                peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len())).await;
            }
        })
        .await;
        let client = Client::new(Rc::clone(&network), ClientOptions { keep_alive: false, ..ClientOptions::default() });
        let plain = request("POST", address, "/", "body");
        let mut own = plain.clone();
        own.headers.push(("connection".to_owned(), "te".to_owned()));
        for (request, line) in [(&plain, "Connection: close\r\n"), (&own, "connection: te\r\n")] {
            for exchange in [client.send(request).await, client.send_prepared(&PreparedRequest::new(request).unwrap()).await] {
                let head = String::from_utf8(passed(&exchange).body.to_vec()).unwrap();
                assert_eq!(head.to_lowercase().matches("connection:").count(), 1, "{head}");
                assert!(head.contains(line) && head.ends_with("\r\n\r\n") && exchange.connected, "{head}");
            }
        }
    });
}

#[test]
fn a_prepared_request_may_discard_headers_and_body() {
    run(|network| async move {
        let address = serve_bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").await;
        let request = Request { body_use: BodyUse::Discard, ..get(address, "/") };
        let exchange = client(&network).send_prepared(&PreparedRequest::new(&request).unwrap().without_headers()).await;
        let response = passed(&exchange);
        assert_eq!(response.status, 200);
        assert!(response.headers.is_empty() && response.body.is_empty());
        assert_eq!(exchange.bytes_received, 43);
        // In a failed response they show the reason.
        let address = serve_bytes("HTTP/1.1 503 Busy\r\nContent-Length: 5\r\nX-Why: pool\r\n\r\nhello").await;
        let request = Request { origin: get(address, "/").origin, ..request };
        let exchange = client(&network).send_prepared(&PreparedRequest::new(&request).unwrap().without_headers()).await;
        let response = passed(&exchange);
        assert_eq!((response.status, response.headers.get("x-why"), &*response.body), (503, Some("pool"), &b"hello"[..]));
    });
}

#[test]
fn large_bodies_go_both_ways() {
    const BYTES: usize = 8 << 20;
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n")).await;
                peer.send(vec![b'x'; BYTES]).await;
            }
        })
        .await;
        let exchange = client(&network).send(&request("PUT", address, "/", vec![b'y'; BYTES])).await;
        assert_eq!(passed(&exchange).body.len(), BYTES);
        assert!(exchange.bytes_sent > BYTES as u64 && exchange.phases.body > 0);
    });
}

#[test]
fn an_early_answer_ends_the_upload() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            peer.head().await;
            peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").await;
            // Keeps the connection open without reading until the client closes it.
            while peer.stream.writable().await.is_ok() && peer.stream.try_write(b"").is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let client = client(&network);
        let exchange = client.send(&request("POST", address, "/", vec![0; 32 << 20])).await;
        assert_eq!(passed(&exchange).status, 413);
        assert!(exchange.bytes_sent < 32 << 20);
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn answers_without_a_body_leave_the_connection_usable() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            while let Some(head) = peer.request().await {
                let answer = match &head[..6] {
                    "HEAD /" => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
                    "GET /2" => "HTTP/1.1 204 No Content\r\n\r\n",
                    "GET /3" => "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
                    _ => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Encoding: gzip\r\n\r\n",
                };
                peer.send(answer).await;
            }
        })
        .await;
        let client = client(&network);
        for (method, path, status) in [("HEAD", "/", 200), ("GET", "/2", 204), ("GET", "/3", 304), ("GET", "/4", 200)] {
            let exchange = client.send(&request(method, address, path, Bytes::new())).await;
            assert_eq!(passed(&exchange).status, status);
            assert!(passed(&exchange).body.is_empty());
        }
        assert_eq!(network.connections().opened, 1);
    });
}

#[test]
fn time_limits_name_the_phase() {
    run(|network| async move {
        for (answer, message) in [
            ("", "timed out waiting for the response"),
            ("HTTP/1.1 200 OK\r\nConte", "timed out waiting for the response"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "timed out reading the body"),
        ] {
            let address = serve(move |mut peer, _| async move {
                peer.request().await;
                peer.send(answer).await;
                assert_eq!(peer.request().await, None, "the client closes");
            })
            .await;
            let exchange = client(&network).send(&Request { timeout_ns: 30_000_000, ..get(address, "/") }).await;
            assert_eq!(failed(&exchange), (Outcome::Timeout, message));
            assert!(exchange.ended - exchange.started >= 30_000_000);
            assert_eq!(network.connections().open, 0);
        }
    });
}

#[test]
fn malformed_answers_are_outcomes() {
    run(|network| async move {
        for answer in [
            "\0\0\0",
            "SSH-2.0-OpenSSH\r\n",
            "\u{16}\u{3}\u{1}\u{2}",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
            "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        ] {
            let address = serve_bytes(answer).await;
            let exchange = client(&network).send(&get(address, "/")).await;
            assert_eq!(failed(&exchange).0, Outcome::Protocol, "{answer:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-Endless: line\r\n".repeat(20_000));
        let exchange = client(&network).send(&get(serve_bytes(endless).await, "/")).await;
        assert_eq!(failed(&exchange).0, Outcome::Protocol);
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn answers_cut_short_are_resets() {
    run(|network| async move {
        for answer in ["", "HTTP/1.1 200 OK\r\nContent-Length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"] {
            let exchange = client(&network).send(&get(serve_bytes(answer).await, "/")).await;
            assert_eq!(failed(&exchange).0, Outcome::Reset, "{answer:?}");
        }
        let address = serve(|mut peer, _| async move {
            peer.request().await;
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel").await;
            peer.reset();
        })
        .await;
        assert_eq!(failed(&client(&network).send(&get(address, "/")).await).0, Outcome::Reset);
    });
}

#[test]
fn compressed_bodies_are_kept_and_limited_decompressed() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&[b'a'; 100_000]).unwrap();
    let packed = encoder.finish().unwrap();
    let mut wire = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", packed.len()).into_bytes();
    wire.extend_from_slice(&packed);
    run(|network| async move {
        let address = serve_bytes(wire).await;
        let exchange = client(&network).send(&get(address, "/")).await;
        assert_eq!(passed(&exchange).body.len(), 100_000);
        assert!(exchange.bytes_received < 1000);
        let limited = Request { body_bytes_max: 99_999, ..get(address, "/") };
        assert_eq!(failed(&client(&network).send(&limited).await).0, Outcome::Protocol);
        let discarded = Request { body_use: BodyUse::Discard, ..limited };
        assert!(passed(&client(&network).send(&discarded).await).body.is_empty());
    });
}

#[test]
fn a_body_waits_until_the_server_asks_for_it() {
    run(|network| async move {
        let address = serve(|mut peer, number| async move {
            while let Some(head) = peer.head().await {
                match number {
                    // Without an answer, the body follows after a second.
                    0 => {}
                    1 => {
                        assert!(peer.rests_for(Duration::from_millis(50)).await, "the body was not awaited");
                        peer.send("HTTP/1.1 100 Continue\r\n\r\n").await;
                    }
                    _ => {
                        peer.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n").await;
                        assert!(peer.head().await.is_none(), "the connection was used again, or the body was sent");
                        return;
                    }
                }
                assert_eq!(peer.body_of(&head).await.as_deref(), Some(&b"abc"[..]));
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
            }
        })
        .await;
        let client = client(&network);
        let mut request = request("POST", address, "/", "abc");
        request.headers.push(("Expect".to_owned(), "100-continue".to_owned()));
        let prepared = PreparedRequest::new(&request).unwrap();
        let waited = client.send(&request).await;
        assert_eq!(passed(&waited).status, 200);
        assert!(waited.ended - waited.started >= 1_000_000_000);
        let asked = client.send_prepared(&prepared).await;
        assert_eq!((passed(&asked).status, asked.bytes_sent), (200, waited.bytes_sent));
        let refused = client.send(&request).await;
        assert_eq!((passed(&refused).status, refused.bytes_sent), (401, waited.bytes_sent - 3));
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn a_request_that_would_break_framing_is_not_sent() {
    run(|network| async move {
        let address = serve_bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let client = client(&network);
        let mut split = get(address, "/");
        split.headers.push(("X".to_owned(), "a\r\nY: b".to_owned()));
        assert_eq!(failed(&client.send(&split).await).0, Outcome::Unsendable);
        assert_eq!(network.connections().opened, 0);
        assert_eq!(passed(&client.send(&get(address, "/")).await).status, 200);
    });
}

#[test]
fn what_had_arrived_of_a_failed_response_remains_visible() {
    run(|network| async move {
        const GARBLED: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain";
        const CUT: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nplain";
        const ENDLESS: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nplain\r\nx";
        for answer in [GARBLED, CUT, ENDLESS] {
            let address = serve_bytes(answer).await;
            let exchange = client(&network).send(&get(address, "/")).await;
            failed(&exchange);
            let response = exchange.response().unwrap();
            assert_eq!((response.status, response.headers.get("content-encoding")), (200, Some("gzip")), "{answer}");
            assert_eq!(&response.body[..], b"plain", "{answer}");
        }
        let nothing = client(&network).send(&get(serve_bytes("HTTP/1.1 200").await, "/")).await;
        failed(&nothing);
        assert!(nothing.response().is_none());
    });
}
