//! The connection that a request uses, and what happens to it.

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Client, ClientOptions, Multipart, Origin, PreparedRequest, Request, Versions};
use loadstone_protocol::{FailureDetail, Network, NetworkOptions};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::support::{Peer, client, failed, get, passed, request, run, run_with, serve, serve_at, shared};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn connections_are_kept_and_counted() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.send(OK).await;
            }
        })
        .await;
        let kept = client(&network);
        for turn in 0..5 {
            let exchange = kept.send(&get(address, "/")).await;
            passed(&exchange);
            assert_eq!(exchange.connected, turn == 0);
        }
        assert_eq!((network.connections().open, network.connections().opened), (1, 1));
        kept.close();
        assert_eq!(network.connections().open, 0);
        let each = Client::new(Rc::clone(&network), ClientOptions { keep_alive: false, ..ClientOptions::default() });
        for _ in 0..3 {
            assert!(each.send(&get(address, "/")).await.connected);
        }
        assert_eq!((network.connections().open, network.connections().opened), (0, 4));
    });
}

#[test]
fn a_connection_that_is_not_reusable_is_closed() {
    run(|network| async move {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 smuggled\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nx",
        ] {
            let address = serve(move |mut peer, _| async move {
                while peer.request().await.is_some() {
                    peer.send(answer).await;
                }
            })
            .await;
            let client = client(&network);
            for _ in 0..2 {
                let exchange = client.send(&get(address, "/")).await;
                assert_eq!(passed(&exchange).body, "ok");
                assert!(exchange.connected, "{answer:?}");
                assert_eq!(network.connections().open, 0);
            }
        }
    });
}

#[test]
fn a_request_with_connection_close_is_the_last_of_its_connection() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            // The server leaves the connection open: the client must not use it (RFC 9112, section 9.6).
            while peer.request().await.is_some() {
                peer.send(OK).await;
            }
        })
        .await;
        let client = client(&network);
        for value in ["close", "Keep-Alive, Close"] {
            let mut request = get(address, "/");
            request.headers.push(("connection".to_owned(), value.to_owned()));
            let prepared = PreparedRequest::new(&request).unwrap();
            for _ in 0..2 {
                assert!(client.send(&request).await.connected && client.send_prepared(&prepared).await.connected, "{value}");
                assert_eq!(network.connections().open, 0);
            }
        }
    });
}

#[test]
fn a_target_of_the_other_address_family_is_not_sent_to() {
    let sources = vec!["::1".parse().unwrap()];
    run_with(NetworkOptions { sources, ..NetworkOptions::default() }, |network| async move {
        let address = serve(|_, _| async {}).await;
        let exchange = client(&network).send(&get(address, "/")).await;
        let failure = exchange.result.unwrap_err();
        assert_eq!(failure.outcome, Outcome::Unsendable);
        assert_eq!(failure.message, "the target has an IPv4 address, but all source addresses are IPv6");
    });
}

#[test]
fn a_large_body_is_sent_from_its_shared_bytes() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            while let Some(body) = peer.whole_body().await {
                let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
                peer.send(format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{} {sum}",
                    format!("{} {sum}", body.len()).len(),
                    body.len()
                ))
                .await;
            }
        })
        .await;
        let file = Bytes::from((0..3_000_000u32).map(|n| n as u8).collect::<Vec<_>>());
        let (_, body) = Multipart::new("xx").part("a", None, None, &file).text("b", "1").part("c", None, None, &file).finish();
        let whole = body.to_vec();
        let expected = format!("{} {}", whole.len(), whole.iter().map(|byte| u64::from(*byte)).sum::<u64>());
        let mut request = request("POST", address, "/", Bytes::new());
        request.body = body;
        let client = client(&network);
        assert_eq!(passed(&client.send(&request).await).body, expected);
        let prepared = PreparedRequest::new(&request).unwrap();
        // One allocation serves the file, both parts and each prepared request.
        assert_eq!(prepared.request().body.pieces()[1].as_ptr(), file.as_ptr());
        assert_eq!(passed(&client.send_prepared(&prepared).await).body, expected);
    });
}

#[test]
fn bytes_on_an_idle_connection_make_it_unusable() {
    run(|network| async move {
        let proceed = Rc::new(tokio::sync::Notify::new());
        let (signal, closed) = (Rc::clone(&proceed), Rc::new(tokio::sync::Notify::new()));
        let done = Rc::clone(&closed);
        let address = serve(move |mut peer, _| {
            let (signal, done) = (Rc::clone(&signal), Rc::clone(&done));
            async move {
                peer.request().await;
                peer.send(OK).await;
                signal.notified().await;
                peer.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").await;
                done.notify_one();
                peer.request().await;
            }
        })
        .await;
        let client = client(&network);
        passed(&client.send(&get(address, "/")).await);
        proceed.notify_one();
        closed.notified().await;
        // The runtime notices the bytes when it next polls the kernel's events.
        tokio::time::sleep(Duration::from_millis(5)).await;
        proceed.notify_one();
        let exchange = client.send(&request("POST", address, "/", "x")).await;
        assert!(exchange.connected);
        assert_eq!((passed(&exchange).status, exchange.retried), (200, 0));
    });
}

/// Servers' ends of connections, idle after their first response.
type Idle = Rc<RefCell<Vec<Peer>>>;

/// A client with an idle connection, the server's end of it, and its address. Every connection answers one request.
async fn kept(network: &Rc<Network>, options: ClientOptions) -> (Client, Peer, SocketAddr) {
    let idle: Idle = shared();
    let answered = Rc::clone(&idle);
    let address = serve(move |mut peer, _| {
        let answered = Rc::clone(&answered);
        async move {
            peer.request().await;
            peer.send(OK).await;
            answered.borrow_mut().push(peer);
        }
    })
    .await;
    let client = Client::new(Rc::clone(network), options);
    passed(&client.send(&get(address, "/")).await);
    let server = idle.borrow_mut().pop().unwrap();
    (client, server, address)
}

#[test]
fn a_request_that_met_an_idle_close_is_resent_once() {
    for (method, again) in [("GET", true), ("PUT", true), ("POST", false)] {
        run(|network| async move {
            let (client, server, address) = kept(&network, ClientOptions::default()).await;
            // The close has arrived but was not noticed: the request uses a connection that its server has closed.
            drop(server);
            let exchange = client.send(&request(method, address, "/", "all")).await;
            assert_eq!(
                (exchange.retried, exchange.connected, network.connections().opened),
                (u32::from(again), again, 1 + u64::from(again))
            );
            if again {
                assert_eq!(passed(&exchange).status, 200);
                // Both attempts.
                assert_eq!(exchange.bytes_sent % 2, 0, "{exchange:?}");
            } else {
                assert_eq!(failed(&exchange), (Outcome::Reset, "the server closed the connection without a response"));
            }
        });
    }
}

#[test]
fn an_unsent_request_is_resent_for_any_method() {
    run(|network| async move {
        let (client, server, address) = kept(&network, ClientOptions::default()).await;
        server.reset();
        let exchange = client.send(&request("POST", address, "/", "pay")).await;
        assert_eq!((passed(&exchange).status, exchange.retried), (200, 1));
    });
}

#[test]
fn nothing_is_resent_if_retries_are_off() {
    run(|network| async move {
        let options = ClientOptions { retry_idle_close: false, ..ClientOptions::default() };
        let (client, server, address) = kept(&network, options).await;
        drop(server);
        let exchange = client.send(&get(address, "/")).await;
        assert_eq!((failed(&exchange).0, exchange.retried, network.connections().opened), (Outcome::Reset, 0, 1));
    });
}

#[test]
fn a_request_that_the_server_received_is_not_resent() {
    for method in ["GET", "PUT", "DELETE", "POST"] {
        for (resets, message) in [(false, "the server closed the connection without a response"), (true, "connection reset")] {
            run(|network| async move {
                let (client, mut server, address) = kept(&network, ClientOptions::default()).await;
                let request = request(method, address, "/", "");
                let ending = async {
                    assert!(server.request().await.is_some());
                    if resets { server.reset() } else { drop(server) }
                };
                let (exchange, ()) = futures_util::future::join(client.send(&request), ending).await;
                assert_eq!(failed(&exchange), (Outcome::Reset, message));
                assert_eq!((exchange.retried, network.connections().opened), (0, 1));
            });
        }
    }
}

#[test]
fn parallel_requests_beyond_the_limit_wait_in_order() {
    run(|network| async move {
        let (open, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let seen = shared();
        let (server_seen, server_most) = (Rc::clone(&seen), Rc::clone(&most));
        let address = serve(move |mut peer, _| {
            let (open, most, seen) = (Rc::clone(&open), Rc::clone(&server_most), Rc::clone(&server_seen));
            async move {
                while let Some(head) = peer.request().await {
                    seen.borrow_mut().push(head.split(' ').nth(1).unwrap().to_owned());
                    open.set(open.get() + 1);
                    most.set(most.get().max(open.get()));
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    open.set(open.get() - 1);
                    peer.send(OK).await;
                }
            }
        })
        .await;
        let client = Client::new(Rc::clone(&network), ClientOptions { connections_max: 2, ..ClientOptions::default() });
        let requests: Vec<Request> = (0..9).map(|i| get(address, &format!("/{i}"))).collect();
        let exchanges = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        exchanges.iter().for_each(|exchange| assert_eq!(passed(exchange).body, "ok"));
        assert_eq!((most.get(), network.connections().opened), (2, 2));
        // All requests start before the first ends. Their waits for a connection count as their own.
        let first_end = exchanges.iter().map(|exchange| exchange.ended).min().unwrap();
        assert!(exchanges.iter().all(|exchange| exchange.started <= first_end));
        let queued: Vec<bool> = exchanges.iter().map(|exchange| exchange.phases.queue > 0).collect();
        assert_eq!(queued, [false, false, true, true, true, true, true, true, true]);
        // Two at a time: a request is seen at most one position early or late.
        for (place, path) in seen.borrow().iter().enumerate() {
            let number: usize = path[1..].parse().unwrap();
            assert!(number.abs_diff(place) <= 1, "{:?}", seen.borrow());
        }
    });
}

#[test]
fn a_request_times_out_in_the_queue() {
    run(|network| async move {
        let address = serve(|mut peer, number| async move {
            peer.request().await;
            if number > 0 {
                peer.send(OK).await;
            } else {
                std::future::pending::<()>().await;
            }
        })
        .await;
        let client = Client::new(Rc::clone(&network), ClientOptions { connections_max: 1, ..ClientOptions::default() });
        let within = |timeout_ns| Request { timeout_ns, ..get(address, "/") };
        // Both give up before the request with the connection does. Neither may be sent.
        let requests = [within(100_000_000), within(5_000_000), within(50_000_000)];
        let exchanges = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        assert_eq!(failed(&exchanges[0]), (Outcome::Timeout, "timed out waiting for the response"));
        for queued in &exchanges[1..] {
            assert_eq!(failed(queued), (Outcome::Timeout, "timed out waiting for a free connection"));
            assert!(queued.phases.queue > 0 && queued.bytes_sent == 0);
        }
        passed(&client.send(&get(address, "/")).await);
        assert_eq!(network.connections().opened, 2);
    });
}

#[test]
fn a_dropped_request_frees_its_slot_and_closes_its_connection() {
    run(|network| async move {
        let closed = Rc::new(tokio::sync::Notify::new());
        let noticed = Rc::clone(&closed);
        let address = serve(move |mut peer, number| {
            let closed = Rc::clone(&closed);
            async move {
                peer.request().await;
                if number == 0 {
                    assert_eq!(peer.request().await, None);
                    closed.notify_one();
                } else {
                    peer.send(OK).await;
                }
            }
        })
        .await;
        let client = Client::new(Rc::clone(&network), ClientOptions { connections_max: 1, ..ClientOptions::default() });
        let (first, waiting, third) = (get(address, "/1"), get(address, "/2"), get(address, "/3"));
        let abandoned = tokio::time::timeout(Duration::from_millis(20), client.send(&first));
        let impatient = tokio::time::timeout(Duration::from_millis(5), client.send(&waiting));
        let patient = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            client.send(&third).await
        };
        let (abandoned, impatient, exchange) = futures_util::future::join3(abandoned, impatient, patient).await;
        assert!(abandoned.is_err() && impatient.is_err());
        passed(&exchange);
        noticed.notified().await;
        assert_eq!(network.connections().open, 1);
    });
}

#[test]
fn refusal_is_an_outcome() {
    run(|network| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let exchange = client(&network).send(&get(address, "/")).await;
        assert_eq!(failed(&exchange), (Outcome::Refused, "connection refused"));
        assert!(exchange.connected);
        assert_eq!(network.connections().opened, 0);
    });
}

#[test]
fn localhost_finds_a_server_on_either_family() {
    run(|network| async move {
        for bind in ["127.0.0.1:0", "[::1]:0"] {
            let address = serve_at(bind, |mut peer, _| async move {
                let head = peer.request().await.unwrap();
                assert!(head.contains("\r\nHost: localhost:"), "{head}");
                peer.send(OK).await;
            })
            .await;
            let origin = Rc::new(Origin { tls: false, host: "localhost".to_owned(), port: address.port() });
            passed(&client(&network).send(&Request { origin, ..get(address, "/") }).await);
        }
        let address = serve_at("[::1]:0", |mut peer, _| async move {
            assert!(peer.request().await.unwrap().contains("\r\nHost: [::1]:"));
            peer.send(OK).await;
        })
        .await;
        passed(&client(&network).send(&get(address, "/")).await);
    });
}

#[test]
fn a_name_that_does_not_exist_is_an_outcome() {
    run(|network| async move {
        let origin = Rc::new(Origin { tls: false, host: "no-such-host.invalid".to_owned(), port: 80 });
        let request = Request { origin, timeout_ns: 5_000_000_000, ..get("127.0.0.1:80".parse().unwrap(), "/") };
        let exchange = client(&network).send(&request).await;
        // Without a reachable name server, the time limit ends the look-up instead.
        assert!(matches!(failed(&exchange).0, Outcome::Dns | Outcome::Timeout), "{exchange:?}");
    });
}

#[test]
fn source_addresses_are_used_in_turn() {
    let sources = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
    run_with(NetworkOptions { sources, ..NetworkOptions::default() }, |network| async move {
        let seen = shared();
        let server_seen = Rc::clone(&seen);
        let address = serve(move |mut peer, _| {
            server_seen.borrow_mut().push(peer.stream.peer_addr().unwrap().ip().to_string());
            async move {
                peer.request().await;
                peer.send(OK).await;
            }
        })
        .await;
        for _ in 0..4 {
            passed(&client(&network).send(&get(address, "/")).await);
        }
        let mut seen = seen.take();
        assert_ne!(seen[0], seen[1]);
        seen.sort();
        assert_eq!(seen, ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"]);
    });
    let elsewhere = vec!["203.0.113.1".parse().unwrap()];
    run_with(NetworkOptions { sources: elsewhere, ..NetworkOptions::default() }, |network| async move {
        let exchange = client(&network).send(&get("127.0.0.1:9".parse().unwrap(), "/")).await;
        assert_eq!(failed(&exchange), (Outcome::Unsendable, "a source address is not an address of this machine"));
    });
}

/// Each local address has its own connections, over HTTP/1.1 and HTTP/2.
#[test]
fn requests_with_another_local_address_share_no_connection() {
    let sources = ["127.0.0.2", "127.0.0.3"].map(|source| Some(source.parse().unwrap()));
    run(|network| async move {
        for versions in [Versions::Http1, Versions::Http2Always] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let peers: Rc<RefCell<Vec<IpAddr>>> = Rc::default();
            let seen = Rc::clone(&peers);
            tokio::task::spawn_local(async move {
                loop {
                    let (stream, peer) = listener.accept().await.unwrap();
                    seen.borrow_mut().push(peer.ip());
                    match versions {
                        Versions::Http2Always => drop(tokio::task::spawn_local(super::http2::serve_connection(stream))),
                        _ => drop(tokio::task::spawn_local(answer_all(stream))),
                    }
                }
            });
            let client = Client::new(Rc::clone(&network), ClientOptions::default()).with_versions(versions);
            let connected = async |source| {
                let exchange = client.send(&Request { source, ..get(address, "/") }).await;
                passed(&exchange);
                exchange.connected
            };
            for source in sources.into_iter().chain([None]) {
                assert!(connected(source).await && !connected(source).await, "{versions:?} {source:?}");
            }
            assert!(!connected(sources[0]).await && !connected(sources[1]).await && !connected(None).await, "{versions:?}");
            let expected: Vec<IpAddr> = ["127.0.0.2", "127.0.0.3", "127.0.0.1"].iter().map(|address| address.parse().unwrap()).collect();
            assert_eq!(*peers.borrow(), expected, "{versions:?}");
            let other = client.send(&Request { source: Some("::1".parse().unwrap()), ..get(address, "/") }).await;
            let problem = "the target has an IPv4 address, but `source` is ::1, an IPv6 address: name one of IPv4";
            assert_eq!(failed(&other), (Outcome::Unsendable, problem));
            // TEST-NET-1 (RFC 5737) belongs to no machine.
            let foreign = client.send(&Request { source: Some("192.0.2.7".parse().unwrap()), ..get(address, "/") }).await;
            assert_eq!(failed(&foreign), (Outcome::Unsendable, "a source address is not an address of this machine"));
        }
    });
}

async fn answer_all(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await.unwrap_or(0) > 0 {
        if line == "\r\n" {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        }
        line.clear();
    }
}

#[test]
fn connecting_has_a_separate_limit() {
    let options = NetworkOptions { connect_timeout_ns: Some(50_000_000), ..NetworkOptions::default() };
    run_with(options, |network| async move {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        // A queue of this length holds one connection. The kernel then answers no further SYN.
        let _queued = TcpStream::connect(address).await.unwrap();
        let exchange = client(&network).send(&get(address, "/")).await;
        let failure = exchange.result.as_ref().unwrap_err();
        assert_eq!((failure.outcome, failure.detail), (Outcome::Timeout, Some(FailureDetail::ConnectTimeout)), "{}", failure.message);
    });
}
