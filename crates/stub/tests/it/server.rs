//! Routes, bodies, faults, TLS, HTTP/2, and stopping.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use loadstone_stub::{
    Behaviour, BodySource, CertificateState, Fault, Reply, Server, StubError, StubResponse, StubSpec, StubWiring, TlsOptions, Wait, now_ns,
};
use serde_json::json;

use crate::client;

#[test]
fn bodies_of_every_kind() {
    let server = Server::builder()
        .route("GET /fixed", Behaviour::new().body(BodySource::Fixed("hello".into())).header("x-a", "1").header("x-a", "2"))
        .route("GET /size", Behaviour::new().body(BodySource::Size(100_000)))
        .route("POST /echo", Behaviour::new().body(BodySource::Echo).status(201))
        .route("PUT /items/:id", Behaviour::new().body(BodySource::Template("{{parameter.id}}: {{json.name}}".to_owned())))
        .route("GET /function", Behaviour::function(|request| StubResponse::new(202, request.query.clone()).header("x-b", "3")))
        .route("GET /packed", Behaviour::new().body(BodySource::Fixed("squeeze me ".repeat(50).into())).gzip())
        .start()
        .unwrap();
    client::run(async {
        let mut sender = client::connect(server.address()).await;
        let mut ask = async |method: &str, path: &str, body: &str| {
            client::read(sender.send_request(client::request(method, path, body)).await.unwrap()).await
        };
        let fixed = ask("GET", "/fixed", "").await;
        assert_eq!((fixed.status().as_u16(), client::text(&fixed)), (200, "hello"));
        assert_eq!(fixed.headers().get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
        let head = ask("HEAD", "/fixed", "").await;
        assert_eq!((head.headers()["content-length"].to_str().unwrap(), head.body().len()), ("5", 0));
        assert_eq!(ask("GET", "/size", "").await.body().len(), 100_000);
        let echo = ask("POST", "/echo", "ping").await;
        assert_eq!((echo.status().as_u16(), client::text(&echo)), (201, "ping"));
        assert_eq!(client::text(&ask("PUT", "/items/7", r#"{"name":"rope"}"#).await), "7: rope");
        let function = ask("GET", "/function?a=b", "").await;
        assert_eq!((function.status().as_u16(), client::text(&function), function.headers()["x-b"].to_str().unwrap()), (202, "a=b", "3"));
        let plain = ask("GET", "/packed", "").await;
        assert_eq!(plain.body().len(), 550);
        let missing = ask("GET", "/nowhere", "").await;
        assert_eq!(missing.status(), 404);
        assert!(client::text(&missing).contains("GET /fixed"));
    });
    let recording = server.recording();
    assert_eq!((recording.unmatched, recording.connections, recording.in_flight), (1, 1, 0));
    assert_eq!(recording.routes.iter().map(|route| route.requests).sum::<u64>(), 7);
}

#[test]
fn gzip_for_clients_that_accept_it() {
    let text = "squeeze me ".repeat(50);
    let server = Server::builder().route("GET /", Behaviour::new().body(BodySource::Fixed(text.clone().into())).gzip()).start().unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\naccept-encoding: br, gzip\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let split = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    assert!(String::from_utf8_lossy(&answer[..split]).contains("content-encoding: gzip"));
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&answer[split..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
}

#[test]
fn a_function_on_another_thread_answers() {
    let (calls, mut receiver) = tokio::sync::mpsc::channel::<loadstone_stub::Call>(4);
    let server = Server::builder().route("POST /hook", Behaviour { calls: Some(calls), ..Behaviour::new() }).start().unwrap();
    let worker = std::thread::spawn(move || {
        let call = receiver.blocking_recv().unwrap();
        let reply = Reply { status: Some(207), body: Some(call.request.body.clone()), ..Reply::default() };
        call.answer.send(reply).unwrap();
    });
    client::run(async {
        let answer = client::once(server.address(), "POST", "/hook", "event 7").await;
        assert_eq!((answer.status().as_u16(), client::text(&answer)), (207, "event 7"));
        // Its receiver has been dropped.
        worker.join().unwrap();
        assert_eq!(client::once(server.address(), "POST", "/hook", "event 8").await.status(), 500);
    });
}

#[test]
fn waits_are_never_shorter_than_set() {
    let server = Server::builder().route("GET /", Behaviour::new().wait(Wait::fixed_ns(30_000_000))).start().unwrap();
    client::run(async {
        for _ in 0..5 {
            let started = now_ns();
            client::once(server.address(), "GET", "/", "").await;
            assert!(now_ns() - started >= 30_000_000);
        }
    });
    let recording = server.recording();
    assert!(recording.routes[0].served_ns >= 5.0 * 30e6);
    // Little's law on the stub's own recording: the integral of the level equals the sum of the times in the server.
    let integral: u64 = recording.bins.iter().map(|bin| bin.in_flight_ns).sum();
    assert!((integral as f64 - recording.routes[0].served_ns).abs() < 1e3, "{integral} {}", recording.routes[0].served_ns);
}

#[test]
fn resets_and_silence() {
    let server = Server::builder()
        .route("GET /reset", Behaviour::new().fault(1.0, Fault::Reset))
        .route("GET /silence", Behaviour::new().fault(1.0, Fault::Silence))
        .start()
        .unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /reset HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert_eq!(stream.read(&mut [0; 100]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /silence HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert_eq!(stream.read(&mut [0; 100]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(stream);
    // The server detects the closed connection with a delay.
    let recording = loop {
        let recording = server.recording();
        if recording.in_flight == 0 {
            break recording;
        }
        std::thread::yield_now();
    };
    assert_eq!(recording.routes[0].statuses[&0], 1);
    assert_eq!((recording.routes[1].abandoned, recording.routes[1].answered()), (1, 0));
}

#[test]
fn failures_match_their_share_and_repeat_with_the_seed() {
    let statuses = |seed| {
        let behaviour = Behaviour::new().fault(0.2, Fault::Status(500)).fault(0.1, Fault::Status(503));
        let server = Server::builder().seed(seed).route("GET /", behaviour).start().unwrap();
        client::run(async {
            let mut sender = client::connect(server.address()).await;
            let mut statuses = Vec::new();
            for _ in 0..2_000 {
                statuses.push(client::read(sender.send_request(client::request("GET", "/", "")).await.unwrap()).await.status().as_u16());
            }
            statuses
        })
    };
    let first = statuses(7);
    // Binomial: 5 standard deviations are 5·√(2000·0.2·0.8) = 89 and 5·√(2000·0.1·0.9) = 67.
    let share = |status| first.iter().filter(|seen| **seen == status).count() as f64;
    assert!((share(500) - 400.0).abs() < 89.0 && (share(503) - 200.0).abs() < 67.0, "{} {}", share(500), share(503));
    assert_eq!(first, statuses(7));
    assert_ne!(first, statuses(8));
}

#[test]
fn http2_on_a_cleartext_connection() {
    let server = Server::builder().route("POST /echo", Behaviour::new().body(BodySource::Echo)).start().unwrap();
    client::run(async {
        let sender = client::connect_http2(server.address()).await;
        let calls: Vec<_> = (0..20)
            .map(|i| {
                let mut sender = sender.clone();
                tokio::spawn(async move {
                    let request = client::request("POST", "http://stub/echo", &format!("{i}"));
                    client::read(sender.send_request(request).await.unwrap()).await
                })
            })
            .collect();
        for (i, call) in calls.into_iter().enumerate() {
            let answer = call.await.unwrap();
            assert_eq!((answer.version(), client::text(&answer)), (hyper::Version::HTTP_2, i.to_string().as_str()));
        }
    });
    assert_eq!(server.recording().connections, 1);
}

pub(crate) async fn tls_answer(server: &Server, name: &str, alpn: &[u8]) -> Result<(bool, String), std::io::Error> {
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    let pem = server.certificate_pem().unwrap();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let tcp = tokio::net::TcpStream::connect(server.address()).await?;
    let stream = connector.connect(name.to_owned().try_into().unwrap(), tcp).await?;
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let io = hyper_util::rt::TokioIo::new(stream);
    let request = client::request("GET", "https://localhost/", "");
    let response = if http2 {
        let (mut sender, connection) = hyper::client::conn::http2::handshake(hyper_util::rt::TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    Ok((http2, client::text(&client::read(response).await).to_owned()))
}

#[test]
fn tls_with_both_protocols_and_with_an_expired_certificate() {
    let behaviour = || Behaviour::new().body(BodySource::Fixed("secret".into()));
    let server = Server::builder().tls(TlsOptions::default()).route("GET /", behaviour()).start().unwrap();
    assert!(server.url("/").starts_with("https://127.0.0.1:"));
    let expired = TlsOptions { state: CertificateState::Expired, ..TlsOptions::default() };
    let expired = Server::builder().tls(expired).route("GET /", behaviour()).start().unwrap();
    client::run(async {
        assert_eq!(tls_answer(&server, "localhost", b"http/1.1").await.unwrap(), (false, "secret".to_owned()));
        assert_eq!(tls_answer(&server, "localhost", b"h2").await.unwrap(), (true, "secret".to_owned()));
        assert!(tls_answer(&server, "elsewhere.example", b"h2").await.unwrap_err().to_string().contains("not valid for name"));
        assert!(tls_answer(&expired, "localhost", b"h2").await.unwrap_err().to_string().contains("expired"));
    });
}

#[test]
fn stopping_waits_for_answers_in_progress() {
    let behaviour = Behaviour::new().wait(Wait::fixed_ns(100_000_000)).body(BodySource::Fixed("late".into()));
    let server = Server::builder().drain(Duration::from_secs(20)).route("GET /", behaviour).start().unwrap();
    let address = server.address();
    let mut stream = TcpStream::connect(address).unwrap();
    let idle = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    while server.recording().in_flight == 0 {
        std::thread::yield_now();
    }
    drop(server);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("late"), "{answer}");
    assert_eq!((&idle).read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

/// Sends a request whose answer ends the connection, and reads that.
fn exchange(mut stream: &TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_stopping_server_continues_while_a_call_is_open() {
    let (calls, mut received) = tokio::sync::mpsc::channel(1);
    let routes = json!([{ "route": "GET /held", "handler": true, "body": "late" }, { "route": "GET /quick", "body": "quick" }]);
    let spec: StubSpec = serde_json::from_value(json!({ "routes": routes })).unwrap();
    let wiring = StubWiring { calls: Some(calls), drain: Some(Duration::from_secs(20)), ..StubWiring::default() };
    let mut server = spec.start_at(wiring).unwrap();
    let address = server.address();
    let held = std::thread::spawn(move || exchange(&TcpStream::connect(address).unwrap(), "/held"));
    let call = received.blocking_recv().unwrap();
    server.stop();
    let quick = exchange(&TcpStream::connect(address).unwrap(), "/quick");
    assert!(quick.ends_with("quick"), "{quick}");
    assert!(call.answer.send(Reply::default()).is_ok());
    let late = held.join().unwrap();
    assert!(late.ends_with("late"), "{late}");
    drop(server);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_stopping_server_does_not_wait_for_unanswered_calls() {
    let behaviour = Behaviour::new().fault(1.0, Fault::Silence);
    let server = Server::builder().drain(Duration::from_secs(3_600)).route("GET /", behaviour).start().unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    while server.recording().in_flight == 0 {
        std::thread::yield_now();
    }
    drop(server);
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn invalid_servers_are_rejected_at_the_start() {
    let problem = |route: &str, behaviour| match Server::builder().route(route, behaviour).start() {
        Err(problem) => problem.to_string(),
        Ok(_) => panic!("{route} started"),
    };
    assert!(problem("nowhere", Behaviour::new()).contains("is not a route"));
    assert!(problem("GET /", Behaviour::new().status(42)).contains("42"));
    assert!(problem("GET /", Behaviour::new().fault(0.7, Fault::Reset).fault(0.7, Fault::Silence)).contains("together at most 1"));
    assert!(problem("GET /", Behaviour::new().concurrency(0)).contains("at least 1"));
    assert!(problem("GET /", Behaviour::new().body(BodySource::Template("{{x}}".to_owned()))).contains("{{x}}"));
    assert!(problem("GET /", Behaviour::new().header("a b", "c")).contains("not a header name"));
    let taken = Server::builder().start().unwrap();
    let again = Server::builder().listen(taken.address()).start();
    assert!(matches!(again, Err(StubError::Listen { .. })), "{again:?}");
}
