//! HTTP/2 against a server of the h2 crate, plain and over TLS.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use loadstone_metrics::{Nanos, Outcome};
use loadstone_protocol::http::{
    BodyUse, Client, ClientOptions, HttpOptions, PreparedRequest, Request, RequestTrailers, TraceSeed, Versions,
};
use loadstone_protocol::{Network, NetworkOptions, ProtocolOptions};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::support::{failed, get, passed, request, run, run_with, shared};
use super::tls::{Authority, acceptor, over_tls, trusting};

/// Responds by path: an echo of method and body, with status 503 on `/fail`. `/slow` never responds, `/reset` resets, `/last` responds and then
/// closes the connection.
pub(crate) async fn serve_connection(io: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    let Ok(mut connection) = h2::server::handshake(io).await else { return };
    let mut held = Vec::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        match request.uri().path() {
            "/slow" => held.push(respond),
            "/reset" => respond.send_reset(h2::Reason::ENHANCE_YOUR_CALM),
            path => {
                let last = path == "/last";
                let echo = async move {
                    let (parts, mut body) = request.into_parts();
                    let mut content = Vec::new();
                    while let Some(Ok(piece)) = body.data().await {
                        body.flow_control().release_capacity(piece.len()).unwrap();
                        content.extend_from_slice(&piece);
                    }
                    let response = http::Response::builder()
                        .status(if parts.uri.path() == "/fail" { 503 } else { 200 })
                        .header("x-method", parts.method.as_str())
                        .header("x-trailers", shown(body.trailers().await.unwrap(), &parts.headers))
                        .header("x-traceparent", parts.headers.get("traceparent").map_or("", |value| value.to_str().unwrap()))
                        .header("x-authority", parts.uri.authority().unwrap().as_str())
                        .header("set-cookie", "a=1")
                        .header("set-cookie", "b=2");
                    let mut stream = respond.send_response(response.body(()).unwrap(), false).unwrap();
                    if parts.uri.path() == "/trailers" {
                        stream.send_data(Bytes::from(content), false).unwrap();
                        stream
                            .send_trailers(
                                [("x-sum", "3"), ("x-sum", "4")]
                                    .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                                    .into_iter()
                                    .collect(),
                            )
                            .unwrap();
                    } else {
                        stream.send_data(Bytes::from(content), true).unwrap();
                    }
                };
                tokio::task::spawn_local(echo);
                if last {
                    connection.graceful_shutdown();
                }
            }
        }
    }
}

/// The request's trailers behind what announced them.
fn shown(trailers: Option<http::HeaderMap>, headers: &http::HeaderMap) -> String {
    let Some(trailers) = trailers else { return String::new() };
    let lines = trailers.iter().map(|(name, value)| format!(" {name}={}", value.to_str().unwrap())).collect::<String>();
    format!("{}:{lines}", headers["trailer"].to_str().unwrap())
}

async fn plain() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(serve_connection(stream));
        }
    });
    address
}

fn client(network: &Rc<Network>, versions: Versions) -> Client {
    Client::new(Rc::clone(network), ClientOptions::default()).with_versions(versions)
}

#[test]
fn trailers_follow_the_body_of_a_request() {
    run(|network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        for body in ["", "hello"] {
            let plain = request("POST", address, "/", body);
            let lines = [("X-Sum", "1"), ("x-sum", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
            let trailers = Some(Rc::new(RequestTrailers::new(lines.to_vec(), &plain.body)));
            let exchange = client.send(&Request { trailers, ..plain }).await;
            let response = passed(&exchange);
            assert_eq!((&response.body[..], response.headers.get("x-trailers")), (body.as_bytes(), Some("X-Sum: x-sum=1 x-sum=2")));
        }
    });
}

#[test]
fn trailers_come_with_the_response() {
    run(|network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        let with = client.send(&request("POST", address, "/trailers", Bytes::from_static(b"body"))).await;
        let response = passed(&with);
        assert_eq!((&response.body[..], response.trailers.iter().last()), (&b"body"[..], Some(("x-sum", "4"))));
        assert!(passed(&client.send(&get(address, "/")).await).trailers.is_empty());
    });
}

#[test]
fn a_discarded_body_is_kept_if_the_request_failed() {
    run(|network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        for (path, kept) in [("/", &b""[..]), ("/fail", b"body")] {
            let discarded = Request { body_use: BodyUse::Discard, ..request("POST", address, path, Bytes::from_static(b"body")) };
            assert_eq!(passed(&client.send(&discarded).await).body, kept, "{path}");
        }
    });
}

#[test]
fn requests_share_one_connection() {
    run(|network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        let requests: Vec<Request> = (0..20).map(|i| request("POST", address, "/", Bytes::from(vec![i as u8; i * 30_000]))).collect();
        let all = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        for (exchange, request) in all.iter().zip(&requests) {
            let response = passed(exchange);
            assert_eq!((response.status, &response.body[..]), (200, &*request.body.to_vec()));
            assert_eq!(response.headers.get("x-method"), Some("POST"));
            assert_eq!(response.headers.get("x-authority"), Some(&*address.to_string()));
            assert_eq!(response.headers.all("set-cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
            assert!(exchange.bytes_sent > request.body.len() as u64 && exchange.bytes_received > request.body.len() as u64);
        }
        assert_eq!(all.iter().filter(|exchange| exchange.connected).count(), 1);
        let prepared = PreparedRequest::new(&get(address, "/")).unwrap();
        assert_eq!(passed(&client.send_prepared(&prepared).await).headers.get("x-method"), Some("GET"));
        assert_eq!((network.connections().opened, network.connections().open), (1, 1));
        client.close();
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn failures_are_outcomes() {
    run(|network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        let slow = client.send(&Request { timeout_ns: 30_000_000, ..get(address, "/slow") }).await;
        assert_eq!(failed(&slow), (Outcome::Timeout, "timed out waiting for the response"));
        let reset = client.send(&get(address, "/reset")).await;
        assert_eq!(failed(&reset).0, Outcome::Reset);
        assert!(failed(&reset).1.starts_with("the server reset the HTTP/2 stream"), "{reset:?}");
        let large = Request { body_bytes_max: 10, ..request("POST", address, "/", vec![0; 11]) };
        assert_eq!(failed(&client.send(&large).await).0, Outcome::Protocol);
        passed(&client.send(&get(address, "/")).await);
        assert_eq!(network.connections().opened, 1);
        let not_http2 = super::support::serve_bytes("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        let exchange = client.send(&get(not_http2, "/")).await;
        let needs = "the server speaks HTTP/1.1, not HTTP/2: http2 \"only\" sends nothing else, so use \"auto\" or \"off\"";
        assert_eq!(failed(&exchange), (Outcome::Unsendable, needs));
    });
}

#[test]
fn a_connection_that_went_away_is_replaced() {
    run(|network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        for turn in 0..3 {
            assert_eq!(passed(&client.send(&get(address, "/last")).await).status, 200, "{turn}");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(network.connections().opened, 3);
    });
}

#[test]
fn tls_negotiates_the_version() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let seen = shared();
        for offered in [&["h2", "http/1.1"][..], &["http/1.1"], &[]] {
            let acceptor = acceptor(certificate.der().clone(), &key, None, offered);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server_seen = Rc::clone(&seen);
            tokio::task::spawn_local(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let Ok(stream) = acceptor.accept(stream).await else { continue };
                    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    server_seen.borrow_mut().push(http2);
                    if http2 {
                        tokio::task::spawn_local(serve_connection(stream));
                    } else {
                        tokio::task::spawn_local(super::tls::answer_ok(stream));
                    }
                }
            });
            let client = client(&network, Versions::Http2);
            let requests: Vec<Request> = (0..4).map(|_| over_tls(address, "localhost")).collect();
            let all = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
            all.iter().for_each(|exchange| assert_eq!(passed(exchange).status, 200));
            assert!(all[0].connected && all[0].phases.tls > 0);
            let plain = self::client(&network, Versions::Http1);
            if offered.contains(&"http/1.1") {
                passed(&plain.send(&over_tls(address, "localhost")).await);
            }
        }
        // One shared connection, then HTTP/1.1 by choice. Afterwards up to four of HTTP/1.1, none of HTTP/2.
        assert_eq!(seen.borrow()[..2], [true, false]);
        assert!(seen.borrow()[2..].iter().all(|http2| !http2));
    });
}

#[test]
fn a_request_carries_the_trace_that_its_exchange_names() {
    let traced = HttpOptions { traces: Some(TraceSeed::new(1)), ..HttpOptions::default() };
    let protocols = ProtocolOptions::default().with(traced);
    run_with(NetworkOptions { protocols, ..NetworkOptions::default() }, |network| async move {
        let address = plain().await;
        let client = client(&network, Versions::Http2Always);
        let mut request = request("GET", address, "/", Bytes::new());
        let exchange = client.send(&request).await;
        assert_eq!(passed(&exchange).headers.get("x-traceparent"), exchange.trace.as_ref().map(|trace| trace.value()).as_deref());
        let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        request.headers.push(("Traceparent".to_owned(), own.to_owned()));
        let exchange = client.send(&request).await;
        assert_eq!(passed(&exchange).headers.all("x-traceparent").collect::<Vec<_>>(), [own]);
        assert_eq!(exchange.trace.unwrap().trace.to_string(), own[3..35]);
    });
}

/// Answers requests one by one, and allows one stream.
async fn one_at_a_time() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::Builder::new().max_concurrent_streams(1).handshake::<_, Bytes>(stream).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            respond.send_response(http::Response::new(()), true).unwrap();
        }
    });
    address
}

#[test]
fn the_wait_for_a_stream_is_part_of_the_request() {
    run(|network| async move {
        let address = one_at_a_time().await;
        let client = client(&network, Versions::Http2Always);
        // Receives the server's settings.
        passed(&client.send(&get(address, "/")).await);
        let requests = [(); 4].map(|()| get(address, "/"));
        let all = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        all.iter().for_each(|exchange| assert_eq!(passed(exchange).status, 200));
        let first_end = all.iter().map(|exchange| exchange.ended).min().unwrap();
        assert!(all.iter().all(|exchange| exchange.started <= first_end));
        let queued: Vec<bool> = all.iter().map(|exchange| exchange.phases.queue > 0).collect();
        assert_eq!(queued, [false, true, true, true]);
    });
}

/// With TLS, the handshake takes time on loopback, too.
#[test]
fn the_wait_for_a_shared_connection_is_part_of_the_request() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let acceptor = acceptor(certificate.der().clone(), &key, None, &["h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve_connection(acceptor.accept(stream).await.unwrap()).await;
        });
        let client = client(&network, Versions::Http2);
        let requests = [(); 3].map(|()| over_tls(address, "localhost"));
        let all = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        all.iter().for_each(|exchange| assert_eq!(passed(exchange).status, 200));
        let parts: Vec<(bool, bool)> = all.iter().map(|exchange| (exchange.phases.tls > 0, exchange.phases.queue > 0)).collect();
        assert_eq!(parts, [(true, false), (false, true), (false, true)]);
    });
}

/// Answers one request with 200, and the second with a GOAWAY with this last stream and this reason, then closes. Further connections answer all
/// requests. `met`: when the second request had arrived.
async fn leaving(network: &Rc<Network>, last: u8, reason: u8, met: Rc<Cell<Nanos>>) -> SocketAddr {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let clock = network.clock().clone();
    super::support::serve(move |peer, number| {
        let (clock, met) = (clock.clone(), Rc::clone(&met));
        async move {
            let mut stream = peer.stream;
            stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
            stream.write_all(&SETTINGS).await.unwrap();
            let mut head = [0; 9];
            while stream.read_exact(&mut head).await.is_ok() {
                let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
                stream.read_exact(&mut payload).await.unwrap();
                let (is_headers, id) = (head[3] == 1, head[8]);
                if is_headers && id > 1 && number == 0 {
                    met.set(clock.now());
                    stream.write_all(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last, 0, 0, 0, reason]).await.unwrap();
                    return;
                } else if is_headers {
                    // END_STREAM and END_HEADERS; `:status: 200` of the static table.
                    stream.write_all(&[0, 0, 1, 1, 5, 0, 0, 0, id, 0x88]).await.unwrap();
                }
            }
        }
    })
    .await
}

#[test]
fn nothing_is_resent_after_a_goaway_if_retries_are_off() {
    run(|network| async move {
        let address = leaving(&network, 1, 0, Rc::default()).await;
        let options = ClientOptions { retry_idle_close: false, ..ClientOptions::default() };
        let client = Client::new(Rc::clone(&network), options).with_versions(Versions::Http2Always);
        passed(&client.send(&get(address, "/")).await);
        let exchange = client.send(&get(address, "/")).await;
        assert_eq!((failed(&exchange).0, exchange.retried, network.connections().opened), (Outcome::Reset, 0, 1));
    });
}

#[test]
fn a_request_that_a_closing_server_did_not_process_is_resent() {
    const CALM: u8 = 11;
    for (last, reason, again) in [(1, 0, true), (3, 0, false), (1, CALM, false)] {
        for method in ["GET", "POST"] {
            run(|network| async move {
                let met = Rc::new(Cell::new(0));
                let address = leaving(&network, last, reason, Rc::clone(&met)).await;
                let client = client(&network, Versions::Http2Always);
                passed(&client.send(&get(address, "/")).await);
                let exchange = client.send(&request(method, address, "/", Bytes::new())).await;
                assert_eq!((exchange.retried, network.connections().opened), (u32::from(again), 1 + u64::from(again)), "{exchange:?}");
                if again {
                    assert_eq!(passed(&exchange).status, 200);
                } else {
                    assert_eq!(failed(&exchange).0, Outcome::Reset);
                }
                assert!(met.get() > 0 && exchange.started <= met.get(), "the first attempt is part of it");
            });
        }
    }
}

const CALLS: usize = 20;

/// Refuses the streams beyond two, like every server of the h2 crate. grpc-go's client has no failure here either.
#[test]
fn streams_of_a_new_connection_wait_for_the_limit_of_the_server() {
    run(|network| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::Builder::new().max_concurrent_streams(2).handshake::<_, Bytes>(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                tokio::task::spawn_local(async move {
                    tokio::task::yield_now().await;
                    respond.send_response(http::Response::new(()), true).unwrap();
                });
            }
        });
        let client = client(&network, Versions::Http2Always);
        let requests = [(); CALLS].map(|()| get(address, "/"));
        let all = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        all.iter().for_each(|exchange| assert_eq!((passed(exchange).status, exchange.retried), (200, 0)));
        assert_eq!(all.iter().filter(|exchange| exchange.phases.queue > 0).count(), CALLS - 1);
        assert_eq!(network.connections().opened, 1);
    });
}

const OF_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Frames of a connection after its preface: calls `answer` with the stream of each request, and sends what it returns.
async fn frames(answers_settings: bool, answer: impl Fn(u8) -> Vec<u8> + Clone + 'static) -> SocketAddr {
    super::support::serve(move |peer, _| {
        let answer = answer.clone();
        async move {
            let mut stream = peer.stream;
            stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
            if answers_settings {
                stream.write_all(&OF_SETTINGS).await.unwrap();
            }
            let mut head = [0; 9];
            while stream.read_exact(&mut head).await.is_ok() {
                let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
                stream.read_exact(&mut payload).await.unwrap();
                if head[3] == 1 && stream.write_all(&answer(head[8])).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

/// END_STREAM and END_HEADERS; `:status: 200` of the static table.
fn ok(stream: u8) -> Vec<u8> {
    vec![0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88]
}

fn reset(stream: u8, code: u8) -> Vec<u8> {
    vec![0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, code]
}

#[test]
fn a_server_that_sends_no_settings_is_not_waited_for_forever() {
    run(|network| async move {
        const ALL: u8 = 5;
        // Responds when all requests have arrived.
        let address = frames(false, |stream| if stream == ALL { [1, 3, ALL].map(ok).concat() } else { Vec::new() }).await;
        let client = client(&network, Versions::Http2Always);
        let requests = [(); 3].map(|()| get(address, "/"));
        let all = futures_util::future::join_all(requests.iter().map(|request| client.send(request))).await;
        all.iter().for_each(|exchange| assert_eq!(passed(exchange).status, 200));
    });
}

#[test]
fn a_refused_stream_is_resent_once() {
    const REFUSED: u8 = 7;
    for (refusals, is_allowed, retried) in [(1, true, 1), (2, true, 1), (1, false, 0)] {
        for method in ["GET", "POST"] {
            run(|network| async move {
                let left = Rc::new(Cell::new(refusals));
                let answer = move |stream| match left.get() {
                    0 => ok(stream),
                    more => {
                        left.set(more - 1);
                        reset(stream, REFUSED)
                    }
                };
                let address = frames(true, answer).await;
                let options = ClientOptions { retry_idle_close: is_allowed, ..ClientOptions::default() };
                let client = Client::new(Rc::clone(&network), options).with_versions(Versions::Http2Always);
                let exchange = client.send(&request(method, address, "/", Bytes::new())).await;
                assert_eq!(exchange.retried, retried, "{exchange:?}");
                if retried == refusals {
                    assert_eq!(passed(&exchange).status, 200);
                } else {
                    assert_eq!(failed(&exchange), (Outcome::Reset, "the server reset the HTTP/2 stream: REFUSED_STREAM (7)"));
                }
            });
        }
    }
}

#[test]
fn the_code_and_the_debug_data_of_a_goaway_are_in_the_message() {
    run(|network| async move {
        // The server has the request, and closes the connection without a response.
        let address = super::support::serve(|peer, _| async move {
            let mut stream = peer.stream;
            stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
            stream.write_all(&OF_SETTINGS).await.unwrap();
            let mut head = [0; 9];
            while stream.read_exact(&mut head).await.is_ok() {
                let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
                stream.read_exact(&mut payload).await.unwrap();
                if head[3] == 1 {
                    let goaway = [&[0, 0, 22, 7, 0, 0, 0, 0, 0, 0, 0, 0, head[8], 0, 0, 0, 11], &b"too_many_pings"[..]].concat();
                    stream.write_all(&goaway).await.unwrap();
                    stream.shutdown().await.unwrap();
                }
            }
        })
        .await;
        let exchange = client(&network, Versions::Http2Always).send(&get(address, "/")).await;
        let message = "the server ended the HTTP/2 connection: GOAWAY ENHANCE_YOUR_CALM (11) \"too_many_pings\"";
        assert_eq!(failed(&exchange), (Outcome::Reset, message));
    });
}

#[test]
fn a_server_without_http2_in_tls_is_named() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let acceptor = acceptor(certificate.der().clone(), &key, None, &["http/1.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            assert!(acceptor.accept(stream).await.is_err());
        });
        let exchange = client(&network, Versions::Http2Always).send(&over_tls(address, "localhost")).await;
        let message =
            "the server does not offer HTTP/2 in the TLS handshake (ALPN): http2 \"only\" sends nothing else, so use \"auto\" or \"off\"";
        assert_eq!(failed(&exchange), (Outcome::Unsendable, message));
    });
}

/// HTTP/1.1 is not offered, so a server that prefers it cannot choose it.
#[test]
fn a_server_that_prefers_http1_serves_http2_if_nothing_else_is_sent() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let acceptor = acceptor(certificate.der().clone(), &key, None, &["http/1.1", "h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve_connection(acceptor.accept(stream).await.unwrap()).await;
        });
        let exchange = client(&network, Versions::Http2Always).send(&over_tls(address, "localhost")).await;
        assert_eq!(passed(&exchange).status, 200);
    });
}

#[test]
fn a_server_that_chose_http2_and_speaks_http1_fails() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let acceptor = acceptor(certificate.der().clone(), &key, None, &["h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        });
        let exchange = client(&network, Versions::Http2).send(&over_tls(address, "localhost")).await;
        let message = "the server speaks HTTP/1.1, not HTTP/2, which it chose in the TLS handshake (ALPN)";
        assert_eq!(failed(&exchange), (Outcome::Protocol, message));
    });
}

#[test]
fn a_response_that_cannot_be_decoded_remains_visible() {
    run(|network| async move {
        // `content-encoding: gzip` and a body that is not gzip, then a body that ends with a reset.
        let coded = |stream| {
            let name = b"content-encoding";
            let mut fields = vec![0x88, 0, name.len() as u8];
            fields.extend_from_slice(name);
            fields.extend_from_slice(b"\x04gzip");
            let head = [&[0, 0, fields.len() as u8, 1, 4, 0, 0, 0, stream], &fields[..]].concat();
            let is_cut = stream > 1;
            let body = [&[0, 0, 5, 0, u8::from(!is_cut), 0, 0, 0, stream], &b"plain"[..]].concat();
            [head, body, if is_cut { reset(stream, 2) } else { Vec::new() }].concat()
        };
        let address = frames(true, coded).await;
        let client = client(&network, Versions::Http2Always);
        for message in ["the body does not match its Content-Encoding", "the server reset the HTTP/2 stream: INTERNAL_ERROR (2)"] {
            let exchange = client.send(&get(address, "/")).await;
            assert_eq!(failed(&exchange).1, message);
            let response = exchange.response().unwrap();
            assert_eq!((response.status, response.headers.get("content-encoding"), &response.body[..]), (200, Some("gzip"), &b"plain"[..]));
        }
    });
}

#[test]
fn an_early_response_does_not_end_the_upload() {
    run(|network| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                tokio::task::spawn_local(async move {
                    let mut answer = respond.send_response(http::Response::new(()), false).unwrap();
                    let mut body = request.into_body();
                    let mut length = 0;
                    while let Some(Ok(piece)) = body.data().await {
                        body.flow_control().release_capacity(piece.len()).unwrap();
                        length += piece.len();
                    }
                    answer.send_data(length.to_string().into(), true).unwrap();
                });
            }
        });
        let client = client(&network, Versions::Http2Always);
        let exchange = client.send(&request("POST", address, "/", vec![1; 700_000])).await;
        assert_eq!((&passed(&exchange).body[..], exchange.bytes_sent > 700_000), (&b"700000"[..], true));
    });
}

#[test]
fn a_request_that_is_given_up_is_reset() {
    run(|network| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), shared());
        let server_seen = Rc::clone(&seen);
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let seen = Rc::clone(&server_seen);
                tokio::task::spawn_local(async move {
                    let reset = std::future::poll_fn(|context| respond.poll_reset(context)).await;
                    seen.borrow_mut().push(reset.unwrap());
                });
            }
        });
        let client = client(&network, Versions::Http2Always);
        let exchange = client.send(&Request { timeout_ns: 30_000_000, ..get(address, "/") }).await;
        assert_eq!(failed(&exchange).0, Outcome::Timeout);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(*seen.borrow(), [h2::Reason::CANCEL]);
    });
}

#[test]
fn an_idle_connection_answers_pings() {
    const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    run(|network| async move {
        let seen = shared();
        let server_seen = Rc::clone(&seen);
        let address = super::support::serve(move |peer, _| {
            let seen = Rc::clone(&server_seen);
            async move {
                let mut stream = peer.stream;
                stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
                stream.write_all(&OF_SETTINGS).await.unwrap();
                let mut head = [0; 9];
                while stream.read_exact(&mut head).await.is_ok() {
                    let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
                    stream.read_exact(&mut payload).await.unwrap();
                    match head[3] {
                        1 => {
                            stream.write_all(&ok(head[8])).await.unwrap();
                            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                            stream.write_all(&PING).await.unwrap();
                        }
                        6 => seen.borrow_mut().push((head[4], payload)),
                        _ => {}
                    }
                }
            }
        })
        .await;
        let client = client(&network, Versions::Http2Always);
        passed(&client.send(&get(address, "/")).await);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert_eq!(*seen.borrow(), [(1, PING[9..].to_vec())]);
    });
}

/// TLS takes bytes that the kernel does not take yet.
#[test]
fn an_upload_over_tls_goes_on_when_the_server_reads_again() {
    const BYTES: usize = 12 << 20;
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let acceptor = acceptor(certificate.der().clone(), &key, None, &["h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut builder = h2::server::Builder::new();
            builder.initial_window_size(64 << 20).initial_connection_window_size(64 << 20);
            let mut connection = builder.handshake::<_, Bytes>(acceptor.accept(stream).await.unwrap()).await.unwrap();
            // Nothing is read while nobody asks the connection for more.
            let first = connection.accept().await.unwrap().unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            tokio::task::spawn_local(async move {
                let (mut body, mut respond, mut length) = (first.0.into_body(), first.1, 0);
                while let Some(Ok(piece)) = body.data().await {
                    length += piece.len();
                }
                respond.send_response(http::Response::new(()), false).unwrap().send_data(length.to_string().into(), true).unwrap();
            });
            while let Some(Ok(_)) = connection.accept().await {}
        });
        let upload =
            Request { timeout_ns: 20_000_000_000, method: "POST".into(), body: vec![1; BYTES].into(), ..over_tls(address, "localhost") };
        let client = client(&network, Versions::Http2);
        let exchange = client.send(&upload).await;
        assert_eq!(&passed(&exchange).body[..], BYTES.to_string().as_bytes());
    });
}
