//! gRPC with servers of the h2 crate that violate its rules in various ways. For real servers: `crates/script/tests/it/grpc.rs`.

use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use loadstone_metrics::Outcome;
use loadstone_metrics::span::RequestLabel;
use loadstone_protocol::Network;
use loadstone_protocol::grpc::{GrpcClient, GrpcRequest, PreparedGrpcCall, ReceivedGrpc, UnaryCall};
use loadstone_protocol::http::{ClientOptions, Origin};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use super::support::{run, run_with, shared};
use super::tls::{Authority, acceptor, trusting};

/// The server's response to every call.
#[derive(Clone, Default)]
struct Script {
    http: u16,
    head: Vec<(&'static str, &'static str)>,
    body: Vec<&'static [u8]>,
    /// `None`: the body ends the stream.
    trailers: Option<Vec<(&'static str, &'static str)>>,
    reset: Option<h2::Reason>,
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

/// Responds according to the script. Records in `seen` what it received: the head, then each body.
async fn attend(io: impl AsyncRead + AsyncWrite + Unpin, script: Script, seen: Rc<std::cell::RefCell<Vec<String>>>) {
    let Ok(mut connection) = h2::server::handshake(io).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let (script, seen) = (script.clone(), Rc::clone(&seen));
        tokio::task::spawn_local(async move {
            let (parts, mut body) = request.into_parts();
            let line = |name: &str| parts.headers.get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
            let head = ["te", "content-type", "grpc-timeout", "x-tenant"].map(line).join(" ");
            let mut content = Vec::new();
            while let Some(Ok(piece)) = body.data().await {
                content.extend_from_slice(&piece);
            }
            seen.borrow_mut().push(format!("{} {} {head} {content:?}", parts.method, parts.uri.path()));
            let mut response = http::Response::builder().status(script.http).body(()).unwrap();
            *response.headers_mut() = fields(&script.head);
            let ends = script.body.is_empty() && script.trailers.is_none() && script.reset.is_none();
            let Ok(mut stream) = respond.send_response(response, ends) else { return };
            for (index, piece) in script.body.iter().enumerate() {
                let last = index + 1 == script.body.len() && script.trailers.is_none() && script.reset.is_none();
                let _ = stream.send_data(Bytes::from_static(piece), last);
            }
            if let Some(reason) = script.reset {
                stream.send_reset(reason);
            } else if let Some(trailers) = &script.trailers {
                let _ = stream.send_trailers(fields(trailers));
            }
        });
    }
}

async fn serve(script: Script) -> (SocketAddr, Rc<std::cell::RefCell<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), shared());
    let server_seen = Rc::clone(&seen);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(attend(stream, script.clone(), Rc::clone(&server_seen)));
        }
    });
    (address, seen)
}

fn request(host: &str, port: u16, tls: bool) -> GrpcRequest {
    GrpcRequest {
        origin: Rc::new(Origin { tls, host: host.to_owned(), port }),
        path: "/a.B/C".into(),
        metadata: vec![("x-tenant".to_owned(), "t1".to_owned())],
        timeout_ns: Some(10_000_000_000),
        gzip: false,
        message_bytes_max: 1000,
        label: RequestLabel::default(),
        source: None,
    }
}

fn client(network: &Rc<Network>) -> GrpcClient {
    GrpcClient::new(Rc::clone(network), ClientOptions::default())
}

async fn called(network: &Rc<Network>, script: Script) -> UnaryCall {
    let (address, _) = serve(script).await;
    client(network).unary(&PreparedGrpcCall::new(request("127.0.0.1", address.port(), false), 10_000_000_000), b"abc").await
}

fn answering(body: &'static [u8]) -> Script {
    Script { http: 200, head: vec![GRPC], body: vec![body], trailers: Some(vec![("grpc-status", "0")]), reset: None }
}

#[test]
fn a_call_is_a_post_with_a_prefixed_message() {
    run(|network| async move {
        let (address, seen) = serve(answering(b"\0\0\0\0\x02hi")).await;
        let call =
            client(&network).unary(&PreparedGrpcCall::new(request("127.0.0.1", address.port(), false), 10_000_000_000), b"abc").await;
        assert_eq!(call.reply.unwrap().message.as_deref(), Some(&b"hi"[..]));
        let expected = "POST /a.B/C trailers application/grpc 10000000u t1 [0, 0, 0, 0, 3, 97, 98, 99]";
        assert_eq!(seen.borrow().last().map(String::as_str), Some(expected));
    });
}

#[test]
fn invalid_responses_are_failures() {
    let fails = |script: Script, outcome: Outcome, words: &'static str| {
        run(move |network| async move {
            let failure = called(&network, script).await.reply.unwrap_err();
            assert_eq!(failure.outcome, outcome, "{failure:?}");
            assert!(failure.message.contains(words), "{failure:?}, expected: {words}");
        });
    };
    fails(Script { trailers: None, ..answering(b"\0\0\0\0\0") }, Outcome::Protocol, "without a grpc-status");
    fails(Script { head: vec![("content-type", "text/html")], ..answering(b"\0\0\0\0\0") }, Outcome::Protocol, "not gRPC");
    fails(answering(b"\0\0\0\0\x03ab"), Outcome::Protocol, "within a message");
    fails(answering(b""), Outcome::Protocol, "has no message");
    fails(answering(b"\0\0\0\0\0\0\0\0\0\0"), Outcome::Protocol, "more than one message");
    fails(answering(b"\0\0\0\xff\xff"), Outcome::Protocol, "larger than");
    fails(answering(b"\x01\0\0\0\0"), Outcome::Protocol, "did not offer");
    fails(Script { reset: Some(h2::Reason::ENHANCE_YOUR_CALM), ..answering(b"") }, Outcome::Reset, "reset the HTTP/2 stream");
}

#[test]
fn a_status_needs_no_message() {
    run(|network| async move {
        let alone = Script { http: 200, head: vec![GRPC, ("grpc-status", "7"), ("grpc-message", "not%20yours")], ..Script::default() };
        let reply = called(&network, alone).await.reply.unwrap();
        assert_eq!((reply.status.name(), &*reply.details, reply.message), ("PERMISSION_DENIED", "not yours", None));
        let proxy = Script { http: 503, head: vec![("content-type", "text/plain")], body: vec![b"no upstream"], ..Script::default() };
        let reply = called(&network, proxy).await.reply.unwrap();
        assert_eq!(reply.status.name(), "UNAVAILABLE");
    });
}

#[test]
fn a_broken_stream_delivers_its_earlier_messages() {
    run(|network| async move {
        let script = Script { reset: Some(h2::Reason::INTERNAL_ERROR), ..answering(b"\0\0\0\0\x01a\0\0\0\0\x01b") };
        let (address, _) = serve(script).await;
        let opening = client(&network).stream(&PreparedGrpcCall::new(request("127.0.0.1", address.port(), false), 10_000_000_000)).await;
        let (mut sender, mut receiver) = opening.opened.unwrap();
        sender.send(b"x").await.unwrap();
        sender.end();
        let mut messages = Vec::new();
        let failure = loop {
            match receiver.next().await {
                Ok(ReceivedGrpc::Message { message, .. }) => messages.push(message),
                Ok(end) => panic!("{end:?}"),
                Err(failure) => break failure,
            }
        };
        assert_eq!(failure.outcome, Outcome::Reset);
        assert!(messages.len() <= 2, "h2 may let go of what it had not handed over");
        assert!(sender.send(b"y").await.is_err());
    });
}

#[test]
fn calls_go_over_tls() {
    let authority = Authority::new("Us");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, acceptor) = (listener.local_addr().unwrap().port(), acceptor(certificate.der().clone(), &key, None, &["h2"]));
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let stream = acceptor.accept(stream).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
            attend(stream, answering(b"\0\0\0\0\x02hi"), shared()).await;
        });
        let call = client(&network).unary(&PreparedGrpcCall::new(request("localhost", port, true), 10_000_000_000), b"abc").await;
        assert!(call.exchange.phases.tls > 0);
        assert_eq!(call.reply.unwrap().message.as_deref(), Some(&b"hi"[..]));
    });
}
