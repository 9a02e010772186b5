//! Generated responses, well-formed and damaged, read by hyper's client and by ours. Both must read the same.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::net::TcpStream;

use super::support::{client, get, run, serve};

#[derive(Debug, Clone)]
enum Body {
    None,
    Length(Vec<u8>),
    Chunked(Vec<Vec<u8>>, Vec<(String, String)>),
    UntilClose(Vec<u8>),
}

#[derive(Debug, Clone)]
struct Answer {
    interim: Vec<u16>,
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

impl Answer {
    fn wire(&self) -> Vec<u8> {
        let mut wire = Vec::new();
        for status in &self.interim {
            wire.extend_from_slice(format!("HTTP/1.1 {status} Interim\r\nX-Interim: yes\r\n\r\n").as_bytes());
        }
        let status = if matches!(self.body, Body::None) { 204 } else { self.status };
        wire.extend_from_slice(format!("HTTP/1.1 {status} Reason\r\n").as_bytes());
        for (name, value) in &self.headers {
            wire.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        match &self.body {
            Body::None => wire.extend_from_slice(b"\r\n"),
            Body::Length(body) => {
                wire.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                wire.extend_from_slice(body);
            }
            Body::Chunked(chunks, trailers) => {
                wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
                    wire.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
                    wire.extend_from_slice(chunk);
                    wire.extend_from_slice(b"\r\n");
                }
                wire.extend_from_slice(b"0\r\n");
                for (name, value) in trailers {
                    wire.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
                }
                wire.extend_from_slice(b"\r\n");
            }
            Body::UntilClose(body) => {
                wire.extend_from_slice(b"\r\n");
                wire.extend_from_slice(body);
            }
        }
        wire
    }
}

fn answers() -> impl Strategy<Value = Answer> {
    let headers = proptest::collection::vec(("x-[a-z]{1,8}", "[!-~]([ -~]{0,20}[!-~])?"), 0..6);
    let bytes = proptest::collection::vec(any::<u8>(), 0..400);
    let body = prop_oneof![
        Just(Body::None),
        bytes.clone().prop_map(Body::Length),
        (proptest::collection::vec(bytes.clone(), 0..5), headers.clone()).prop_map(|(chunks, trailers)| Body::Chunked(chunks, trailers)),
        bytes.prop_map(Body::UntilClose),
    ];
    let interim = proptest::collection::vec(prop_oneof![Just(100u16), Just(103)], 0..3);
    let status = prop_oneof![Just(200u16), Just(201), Just(404), Just(500), 200..204u16, 205..304u16, 305..600u16];
    (interim, status, headers, body).prop_map(|(interim, status, headers, body)| Answer { interim, status, headers, body })
}

/// Status, header lines and body. `None` if the response was refused.
type Read = Option<(u16, Vec<(String, String)>, Bytes)>;

async fn by_us(address: SocketAddr, network: &std::rc::Rc<loadstone_protocol::Network>) -> Read {
    let exchange = client(network).send(&get(address, "/")).await;
    let response = exchange.result.ok()?;
    let headers = response.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Some((response.status, headers, response.body))
}

async fn by_hyper(address: SocketAddr) -> Read {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::task::spawn_local(connection);
    let request = hyper::Request::get("/").header("host", "h").body(Empty::<Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.ok()?;
    let status = response.status().as_u16();
    let line = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().iter().map(|byte| char::from(*byte)).collect())
    };
    let headers = response.headers().iter().map(line).collect();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    Some((status, headers, body))
}

fn both(wire: Vec<u8>, cuts: Vec<usize>) -> (Read, Read) {
    let mut read = (None, None);
    let result = &mut read;
    run(move |network| async move {
        let address = serve(move |mut peer, _| {
            let (wire, cuts) = (wire.clone(), cuts.clone());
            async move {
                peer.request().await;
                let mut at = 0;
                for cut in cuts.into_iter().chain([usize::MAX]) {
                    let end = (at + cut % 97).min(wire.len());
                    let end = if cut == usize::MAX { wire.len() } else { end };
                    // A client that has refused the response may have closed the connection.
                    if tokio::io::AsyncWriteExt::write_all(&mut peer.stream, &wire[at..end]).await.is_err() {
                        return;
                    }
                    at = end;
                    tokio::task::yield_now().await;
                }
                let _ = tokio::io::AsyncWriteExt::shutdown(&mut peer.stream).await;
                peer.request().await;
            }
        })
        .await;
        *result = (by_us(address, &network).await, by_hyper(address).await);
    });
    // hyper groups lines with the same name. Only the order within a name matters.
    let sorted = |read: Read| {
        read.map(|(status, mut headers, body)| {
            headers.sort_by(|a, b| a.0.cmp(&b.0));
            (status, headers, body)
        })
    };
    (sorted(read.0), sorted(read.1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn well_formed_responses_are_read_like_hyper(answer in answers(), cuts in proptest::collection::vec(0..97usize, 0..6)) {
        let (ours, hypers) = both(answer.wire(), cuts);
        prop_assert!(hypers.is_some(), "hyper reads what is generated");
        prop_assert_eq!(ours, hypers);
    }

    #[test]
    fn damaged_responses_are_never_read_differently(answer in answers(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut wire = answer.wire();
        let at = at.index(wire.len());
        wire[at] = byte;
        let (ours, hypers) = both(wire, Vec::new());
        if let (Some(ours), Some(hypers)) = (ours, hypers) {
            prop_assert_eq!(ours, hypers);
        }
    }
}
