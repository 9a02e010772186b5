//! Servers that send faster than the client decodes, and nothing that it waits for: no read may keep the worker.

use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::task::Poll;

use loadstone_protocol::ws::{SocketOptions, open};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::support::{get, passed, run};

/// On another thread: answers one request with `head`, where `ACCEPT` is the key of a WebSocket, then repeats `piece` until the client has gone.
fn flood(head: &'static str, piece: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        let request = String::from_utf8(request).unwrap();
        let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
        stream.write_all(head.replace("ACCEPT", &derive_accept_key(key.as_bytes())).as_bytes()).unwrap();
        let pieces = piece.repeat((1 << 20) / piece.len());
        while stream.write_all(&pieces).is_ok() {}
    });
    address
}

/// Polls as a worker does: without tokio's own budget. Each poll must return.
async fn polls_return(future: impl Future) {
    let mut future = pin!(tokio::task::unconstrained(future));
    for _ in 0..20 {
        let is_pending = poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await;
        assert!(is_pending, "nothing that the client waits for arrives");
        tokio::task::yield_now().await;
    }
}

const WEBSOCKET: &str =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n";

#[test]
fn pings_and_empty_frames_do_not_keep_the_worker() {
    const FIRST_FRAGMENT: &str =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n\x01\0";
    for (head, piece) in [(WEBSOCKET, b"\x89\x00".as_slice()), (FIRST_FRAGMENT, b"\x00\x00")] {
        run(|network| async move {
            let opening = open(&network, get(flood(head, piece), "/"), &SocketOptions::default()).await;
            assert_eq!(passed(&opening.exchange).status, 101);
            let socket = opening.socket.unwrap();
            polls_return(socket.receive()).await;
        });
    }
}

#[test]
fn ids_and_comments_of_an_event_stream_do_not_keep_the_worker() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    for piece in [b"id: 1\n".as_slice(), b":\n", b"\n"] {
        run(|network| async move {
            let opening = loadstone_protocol::sse::open(&network, get(flood(HEAD, piece), "/")).await;
            let stream = opening.stream.expect("an event stream");
            polls_return(stream.next()).await;
        });
    }
}
