//! WebSockets with tungstenite, and with servers that violate the protocol.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use loadstone_metrics::Outcome;
use loadstone_protocol::Network;
use loadstone_protocol::http::{Client, ClientOptions, HttpSession, SessionOptions, resolve};
use loadstone_protocol::ws::{Close, Payload, ReceivedItem, SocketOptions, WebSocket, WebSocketOpening, open};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message as Theirs;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

use super::read_lag::{read_lag, stamps};
use super::support::{failed, get, passed, run, serve};

/// Accepts WebSockets with tungstenite and passes each to `handler`.
async fn tungstenite<F: Future<Output = ()> + 'static>(handler: impl Fn(WebSocketStream<TcpStream>) -> F + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Rc::new(handler);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let handler = Rc::clone(&handler);
            tokio::task::spawn_local(async move {
                let config = WebSocketConfig::default().read_buffer_size(4096);
                if let Ok(stream) = accept_async_with_config(stream, Some(config)).await {
                    handler(stream).await;
                }
            });
        }
    });
    address
}

async fn echo() -> SocketAddr {
    tungstenite(|mut stream| async move {
        while let Some(Ok(message)) = stream.next().await {
            if (message.is_text() || message.is_binary()) && stream.send(message).await.is_err() {
                return;
            }
        }
    })
    .await
}

async fn connect(network: &Rc<Network>, address: SocketAddr) -> WebSocket {
    let WebSocketOpening { exchange, socket } = open(network, get(address, "/"), &SocketOptions::default()).await;
    assert_eq!(passed(&exchange).status, 101);
    socket.unwrap()
}

async fn next(socket: &WebSocket) -> Payload {
    match socket.receive().await.unwrap() {
        ReceivedItem::Message(message) => message.payload,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_counts_as_late_only_if_a_task_waited_for_it() {
    const HELD: Duration = Duration::from_millis(40);
    run(|network| async move {
        let address = tungstenite(|mut stream| async move {
            for text in ["first", "unasked"] {
                stream.send(Theirs::text(text)).await.unwrap();
                tokio::time::sleep(HELD).await;
            }
            while let Some(Ok(message)) = stream.next().await {
                stream.send(message).await.unwrap();
                // Client and server share this thread.
                thread::sleep(HELD);
            }
        })
        .await;
        stamps(&network).await;
        let socket = connect(&network, address).await;
        assert_eq!(next(&socket).await, Payload::Text("first".to_owned()));
        read_lag(&network);
        tokio::time::sleep(HELD * 3).await;
        assert_eq!(next(&socket).await, Payload::Text("unasked".to_owned()));
        assert_eq!(read_lag(&network).count(), 0);
        socket.send_text("asked").await.unwrap();
        assert_eq!(next(&socket).await, Payload::Text("asked".to_owned()));
        let lags = read_lag(&network);
        assert!(lags.count() == 1 && lags.max() * 1004 / 1000 >= HELD.as_nanos() as u64, "{} of {}", lags.max(), lags.count());
    });
}

#[test]
fn messages_of_every_size_come_back() {
    run(|network| async move {
        let address = echo().await;
        let socket = connect(&network, address).await;
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 1_000_000] {
            let sent = socket.send_binary(&vec![length as u8; length]).await.unwrap();
            assert!(sent.started <= sent.ended && sent.bytes > length as u64);
            assert_eq!(next(&socket).await, Payload::Binary(vec![length as u8; length].into()));
        }
        socket.send_text("käse").await.unwrap();
        assert_eq!(next(&socket).await, Payload::Text("käse".to_owned()));
        let close = socket.close(1000, "done").await.unwrap();
        assert_eq!(close.code, Some(1000));
        assert!(socket.send_text("late").await.is_err());
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn the_server_receives_codes_and_pings_are_answered() {
    run(|network| async move {
        let (sender, received) = tokio::sync::oneshot::channel();
        let sender = Rc::new(std::cell::RefCell::new(Some(sender)));
        let address = tungstenite(move |mut stream| {
            let sender = Rc::clone(&sender);
            async move {
                stream.send(Theirs::Ping("are you there".into())).await.unwrap();
                let pong = stream.next().await.unwrap().unwrap();
                stream.send(Theirs::Text("heard you".into())).await.unwrap();
                let close = stream.next().await.unwrap().unwrap();
                sender.take().unwrap().send((pong, close)).unwrap();
                while stream.next().await.is_some() {}
            }
        })
        .await;
        let socket = connect(&network, address).await;
        assert_eq!(next(&socket).await, Payload::Text("heard you".to_owned()));
        let reason = "ü".repeat(100);
        socket.close(4001, &reason).await.unwrap();
        let (pong, close) = received.await.unwrap();
        assert_eq!(pong, Theirs::Pong("are you there".into()));
        let Theirs::Close(Some(CloseFrame { code, reason: cut })) = close else { panic!("{close:?}") };
        assert_eq!((u16::from(code), cut.as_str()), (4001, "ü".repeat(61).as_str()));
    });
}

#[test]
fn a_close_by_the_server_is_the_end() {
    run(|network| async move {
        let address = tungstenite(|mut stream| async move {
            stream.send(Theirs::Text("last".into())).await.unwrap();
            let frame = CloseFrame { code: CloseCode::Restart, reason: "back soon".into() };
            stream.close(Some(frame)).await.unwrap();
            while stream.next().await.is_some() {}
        })
        .await;
        let socket = connect(&network, address).await;
        assert_eq!(next(&socket).await, Payload::Text("last".to_owned()));
        for _ in 0..2 {
            let end = socket.receive().await.unwrap();
            assert!(matches!(&end, ReceivedItem::Closed(Close { code: Some(1012), reason, .. }) if reason == "back soon"), "{end:?}");
        }
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn senders_and_receivers_share_a_socket() {
    run(|network| async move {
        let address = echo().await;
        let socket = connect(&network, address).await;
        let texts: Vec<String> = (0..50).map(|i| format!("{i}-{}", "x".repeat(i * 2000))).collect();
        let send = futures_util::future::join_all(texts.iter().map(|text| socket.send_text(text)));
        let receive = futures_util::future::join_all((0..50).map(|_| next(&socket)));
        let (sent, received) = futures_util::future::join(send, receive).await;
        assert!(sent.iter().all(Result::is_ok));
        let mut received: Vec<String> = received
            .into_iter()
            .map(|payload| match payload {
                Payload::Text(text) => text,
                Payload::Binary(_) => panic!("a text came back as binary"),
            })
            .collect();
        received.sort();
        let mut expected = texts.clone();
        expected.sort();
        assert_eq!(received, expected);
    });
}

#[test]
fn an_abandoned_receive_loses_nothing() {
    run(|network| async move {
        let address = echo().await;
        let socket = connect(&network, address).await;
        let impatient = tokio::time::timeout(Duration::from_millis(5), socket.receive()).await;
        assert!(impatient.is_err());
        socket.send_text("still here").await.unwrap();
        assert_eq!(next(&socket).await, Payload::Text("still here".to_owned()));
    });
}

#[test]
fn a_declined_handshake_is_an_answer() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            let head = peer.request().await.unwrap();
            assert!(head.contains("\r\nUpgrade: websocket\r\n") && head.contains("\r\nSec-WebSocket-Version: 13\r\n"));
            peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
        })
        .await;
        let opening = open(&network, get(address, "/"), &SocketOptions::default()).await;
        assert_eq!((passed(&opening.exchange).status, opening.socket.is_none()), (403, true));
        let address = serve(|mut peer, _| async move {
            peer.request().await;
            peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n").await;
        })
        .await;
        let opening = open(&network, get(address, "/"), &SocketOptions::default()).await;
        assert_eq!(failed(&opening.exchange).0, Outcome::Protocol);
        assert_eq!(network.connections().open, 0);
    });
}

/// A server that completes the handshake correctly and then sends these bytes.
async fn raw(frames: &'static [u8]) -> SocketAddr {
    serve(move |mut peer, _| async move {
        let head = peer.request().await.unwrap();
        let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
        let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(key.as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        // In one write with the handshake's response: the bytes after it must not be lost.
        peer.send([answer.as_bytes(), frames].concat()).await;
        peer.stream.readable().await.unwrap();
    })
    .await
}

#[test]
fn frames_that_come_with_the_handshake_are_read() {
    run(|network| async move {
        let socket = connect(&network, raw(b"\x81\x03one\x01\x01t\x80\x02wo").await).await;
        assert_eq!(next(&socket).await, Payload::Text("one".to_owned()));
        assert_eq!(next(&socket).await, Payload::Text("two".to_owned()));
    });
}

/// The echo server of the ws package, in a separate process.
struct Node {
    process: Child,
    address: SocketAddr,
}

impl Node {
    fn start() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node");
        let mut command = Command::new("node");
        let mut process = command.arg("echo.mjs").current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port: u16 = port.trim().parse().expect("the echo server did not start: `cargo xtask setup` installs what it needs");
        Self { process, address: ([127, 0, 0, 1], port).into() }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[test]
fn the_ws_package_agrees() {
    let node = Node::start();
    let address = node.address;
    run(|network| async move {
        for compression in [false, true] {
            let options = SocketOptions { compression, ..SocketOptions::default() };
            let WebSocketOpening { exchange, socket } = open(&network, get(address, "/"), &options).await;
            assert_eq!(passed(&exchange).headers.get("sec-websocket-extensions").is_some(), compression);
            let socket = socket.unwrap();
            for length in [0, 1, 127, 128, 1000, 65_536, 1_000_000] {
                let text: String = (0..length).map(|i: usize| char::from(b'a' + (i * i % 23) as u8)).collect();
                let sent = socket.send_text(&text).await.unwrap();
                assert_eq!(next(&socket).await, Payload::Text(text));
                assert!(!compression || length < 1000 || sent.bytes < length as u64 / 2);
                let bytes: Vec<u8> = (0..length).map(|i| (i.wrapping_mul(7919) >> 3) as u8).collect();
                socket.send_binary(&bytes).await.unwrap();
                assert_eq!(next(&socket).await, Payload::Binary(bytes.into()));
            }
            socket.ping(b"?").await.unwrap();
            assert_eq!(socket.close(1000, "").await.unwrap().code, Some(1000));
        }
    });
}

#[test]
fn a_session_opens_sockets_with_its_cookies() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            let head = peer.request().await.unwrap();
            assert!(head.contains("\r\nCookie: id=7\r\n") && head.contains("\r\nUser-Agent: loadstone/"), "{head}");
            peer.send("HTTP/1.1 401 No\r\nSet-Cookie: seen=1; Path=/\r\nContent-Length: 0\r\n\r\n").await;
        })
        .await;
        let session = HttpSession::new(Client::new(network, ClientOptions::default()), SessionOptions::default());
        let url = resolve(None, &format!("ws://{address}/live")).unwrap();
        session.set_cookie(&resolve(None, &format!("http://{address}/")).unwrap(), "id", "7").unwrap();
        let opening = session.open_socket(session.request("GET", &url), &SocketOptions::default()).await;
        assert_eq!(passed(&opening.exchange).status, 401);
        assert_eq!(session.cookie(&url, "seen").as_deref(), Some("1"));
    });
}

#[test]
fn violations_end_the_socket() {
    run(|network| async move {
        for frames in [&b"\x83\x00"[..], b"\x81\x80\0\0\0\0", b"\x81\x01\xff", b"\x88\x01x", b"\x82\x7f\0\0\0\x01\0\0\0\0"] {
            let socket = connect(&network, raw(frames).await).await;
            for _ in 0..2 {
                assert_eq!(socket.receive().await.unwrap_err().outcome, Outcome::Protocol, "{frames:?}");
            }
            assert_eq!(network.connections().open, 0);
        }
        let gone = connect(&network, serve_and_leave().await).await;
        assert_eq!(gone.receive().await.unwrap_err().outcome, Outcome::Reset);
    });
}

async fn serve_and_leave() -> SocketAddr {
    tungstenite(|stream| async move { drop(stream) }).await
}
