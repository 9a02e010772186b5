//! What a WebSocket client must do with the possible inputs from a server: the cases of the Autobahn test suite, as a table.
//!
//! Its numbers: 1 framing, 2 pings, 3 reserved bits, 4 opcodes, 5 fragmentation, 6 UTF-8, 7 close handling, 9 limits.

use std::net::SocketAddr;
use std::rc::Rc;

use loadstone_metrics::Outcome;
use loadstone_protocol::Network;
use loadstone_protocol::ws::{Payload, ReceivedItem, SocketOptions, WebSocket, WebSocketOpening, open};
use tokio::io::AsyncReadExt;

use super::support::{Peer, get, passed, run, serve, shared};

/// The client's reaction to the frames.
#[derive(Debug, PartialEq, Eq, Clone)]
enum Seen {
    Text(String),
    Binary(usize),
    /// The server's close code. 1005 for none.
    Closed(u16),
    /// The server violated the protocol, and the client reports it with this close code.
    Violation(u16),
}

use Seen::{Binary, Closed, Text, Violation};

/// A server's frame: unmasked, with these first bits.
fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(length as u8),
        length @ 126..65536 => {
            bytes.push(126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(payload);
    bytes
}

fn text(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(0x81, payload)
}

/// A close frame with this code and reason.
fn close(code: u16, reason: impl AsRef<[u8]>) -> Vec<u8> {
    frame(0x88, [&code.to_be_bytes()[..], reason.as_ref()].concat())
}

fn message(what: &str) -> Seen {
    Text(what.to_owned())
}

/// Case, frames from the server, items that the client returns, and payloads of its pongs.
type Case = (&'static str, Vec<Vec<u8>>, Vec<Seen>, Vec<&'static [u8]>);

const KIND: &str = "κόσμε";

fn framing_and_pings() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for length in [0, 125, 126, 127, 128, 65_535, 65_536] {
        cases.push(("1.1", vec![text("*".repeat(length))], vec![message(&"*".repeat(length))], vec![]));
        cases.push(("1.2", vec![frame(0x82, vec![0xfe; length])], vec![Binary(length)], vec![]));
    }
    let long: &'static [u8] = &[0xfe; 125];
    cases.extend([
        ("2.1", vec![frame(0x89, "")], vec![], vec![&b""[..]]),
        ("2.2", vec![frame(0x89, "Hello")], vec![], vec![&b"Hello"[..]]),
        ("2.3", vec![frame(0x89, [0, 0xff, 0xfe])], vec![], vec![&[0, 0xff, 0xfe][..]]),
        ("2.4", vec![frame(0x89, long)], vec![], vec![long]),
        ("2.5", vec![frame(0x89, [0xfe; 126])], vec![Violation(1002)], vec![]),
        ("2.7", vec![frame(0x8a, "")], vec![], vec![]),
        ("2.9", vec![frame(0x8a, "nobody asked"), frame(0x89, "but now")], vec![], vec![&b"but now"[..]]),
        ("2.10", (0..4).map(|_| frame(0x89, "p")).collect(), vec![], vec![b"p", b"p", b"p", b"p"]),
    ]);
    cases
}

fn reserved_bits_and_opcodes() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for bits in 1..8u8 {
        cases.push(("3.1", vec![text("first"), frame(0x81 | bits << 4, "x")], vec![message("first"), Violation(1002)], vec![]));
        cases.push(("3.5", vec![frame(0x82 | bits << 4, [0; 8])], vec![Violation(1002)], vec![]));
        cases.push(("3.6", vec![frame(0x89 | bits << 4, "ping")], vec![Violation(1002)], vec![]));
        cases.push(("3.7", vec![frame(0x88 | bits << 4, [0x03, 0xe8])], vec![Violation(1002)], vec![]));
    }
    for opcode in [3, 4, 5, 6, 7, 0xb, 0xc, 0xd, 0xe, 0xf] {
        cases.push(("4", vec![frame(0x80 | opcode, "")], vec![Violation(1002)], vec![]));
        cases.push(("4", vec![text("first"), frame(0x80 | opcode, "payload")], vec![message("first"), Violation(1002)], vec![]));
    }
    cases
}

fn fragmentation() -> Vec<Case> {
    let ping = || frame(0x89, "in between");
    vec![
        ("5.1", vec![frame(0x09, "frag"), frame(0x80, "ment")], vec![Violation(1002)], vec![]),
        ("5.2", vec![frame(0x0a, "frag"), frame(0x80, "ment")], vec![Violation(1002)], vec![]),
        ("5.3", vec![frame(0x01, "frag"), frame(0x80, "ment")], vec![message("fragment")], vec![]),
        ("5.6", vec![frame(0x01, "frag"), ping(), frame(0x80, "ment")], vec![message("fragment")], vec![b"in between"]),
        ("5.9", vec![frame(0x80, "nothing to continue"), text("x")], vec![Violation(1002)], vec![]),
        ("5.12", vec![frame(0x00, "nothing to continue"), text("x")], vec![Violation(1002)], vec![]),
        ("5.15", vec![frame(0x01, "a"), frame(0x80, "b"), frame(0x00, "c"), text("x")], vec![message("ab"), Violation(1002)], vec![]),
        ("5.18", vec![frame(0x01, "a"), frame(0x81, "b")], vec![Violation(1002)], vec![]),
        (
            "5.19",
            vec![frame(0x01, "1"), frame(0x00, "2"), ping(), frame(0x00, "3"), frame(0x00, "4"), ping(), frame(0x80, "5")],
            vec![message("12345")],
            vec![b"in between", b"in between"],
        ),
        ("6.1.2", vec![frame(0x01, ""), frame(0x00, ""), frame(0x80, "")], vec![message("")], vec![]),
        ("6.1.3", vec![frame(0x01, ""), frame(0x00, "middle"), frame(0x80, "")], vec![message("middle")], vec![]),
    ]
}

fn utf8() -> Vec<Case> {
    let (first, second) = KIND.as_bytes().split_at(3);
    let mut cases: Vec<Case> = vec![
        ("6.2.1", vec![text(KIND)], vec![message(KIND)], vec![]),
        ("6.2.2", vec![frame(0x01, first), frame(0x80, second)], vec![message(KIND)], vec![]),
        ("6.2.3", split(KIND.as_bytes()), vec![message(KIND)], vec![]),
    ];
    let valid = [
        "\u{0}",
        "\u{7f}",
        "\u{80}",
        "\u{7ff}",
        "\u{800}",
        "\u{ffff}",
        "\u{10000}",
        "\u{10ffff}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{fffd}",
        "\u{fffe}",
    ];
    for good in valid {
        cases.push(("6.7", split(good.as_bytes()), vec![message(good)], vec![]));
    }
    // Ends too early, an unexpected continuation byte, too long, a surrogate, beyond the last character, bytes that never occur.
    let invalid: [&[u8]; 19] = [
        b"\xce",
        b"\xce\xba\xe1",
        b"\xe1\xbd",
        b"\x80",
        b"\xbf",
        b"\x80\xbf\x80",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xf0\x80\x80\xaf",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xed\xa0\x80\xed\xb0\x80",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xfe",
        b"\xff",
        b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
    ];
    for bad in invalid {
        cases.push(("6.3", vec![text(bad)], vec![Violation(1007)], vec![]));
        cases.push(("6.4", split(bad), vec![Violation(1007)], vec![]));
        cases.push(("7.5", vec![frame(0x88, [b"\x03\xe8", bad].concat())], vec![Violation(1002)], vec![]));
    }
    cases
}

/// A text message in frames of one byte.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let last = bytes.len() - 1;
    let first = |at: usize| u8::from(at == 0) | if at == last { 0x80 } else { 0 };
    bytes.iter().enumerate().map(|(at, byte)| frame(first(at), [*byte])).collect()
}

fn closing() -> Vec<Case> {
    let mut cases: Vec<Case> = vec![
        ("7.1.1", vec![text("last"), close(1000, "")], vec![message("last"), Closed(1000)], vec![]),
        ("7.1.3", vec![close(1000, ""), frame(0x89, "too late")], vec![Closed(1000)], vec![]),
        ("7.1.4", vec![close(1000, ""), text("too late")], vec![Closed(1000)], vec![]),
        ("7.1.5", vec![frame(0x01, "half"), close(1000, ""), frame(0x80, "too late")], vec![Closed(1000)], vec![]),
        ("7.3.1", vec![frame(0x88, "")], vec![Closed(1005)], vec![]),
        ("7.3.2", vec![frame(0x88, "a")], vec![Violation(1002)], vec![]),
        ("7.3.5", vec![close(1000, "x".repeat(123))], vec![Closed(1000)], vec![]),
        ("7.3.6", vec![close(1000, "x".repeat(124))], vec![Violation(1002)], vec![]),
    ];
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
        cases.push(("7.7", vec![close(code, "")], vec![Closed(code)], vec![]));
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
        cases.push(("7.9", vec![close(code, "")], vec![Violation(1002)], vec![]));
    }
    cases
}

fn limits() -> Vec<Case> {
    let large = "x".repeat(1 << 20);
    let pieces = |size: usize| {
        let mut frames: Vec<Vec<u8>> =
            large.as_bytes().chunks(size).enumerate().map(|(at, piece)| frame(u8::from(at == 0), piece)).collect();
        frames.push(frame(0x80, ""));
        frames
    };
    vec![
        ("9.1", vec![text(&large)], vec![message(&large)], vec![]),
        ("9.3", pieces(64), vec![message(&large)], vec![]),
        ("9.3", pieces(65_536), vec![message(&large)], vec![]),
        ("limit", vec![text("x".repeat(LIMIT_BYTES as usize + 1))], vec![Violation(1009)], vec![]),
        ("limit", vec![frame(0x02, vec![0; LIMIT_BYTES as usize]), frame(0x80, "x")], vec![Violation(1009)], vec![]),
    ]
}

const LIMIT_BYTES: u64 = 2 << 20;

/// Sends the frames, whole or byte by byte, and records what the client sent until it closed.
async fn server(frames: Vec<u8>, piece: usize, received: Rc<std::cell::RefCell<Vec<u8>>>) -> SocketAddr {
    let frames = Rc::new(frames);
    serve(move |mut peer: Peer, _| {
        let (frames, received) = (Rc::clone(&frames), Rc::clone(&received));
        async move {
            let head = peer.request().await.unwrap();
            let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
            let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(key.as_bytes());
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            peer.send(answer).await;
            let (mut read, mut write) = peer.stream.split();
            let send = async {
                for part in frames.chunks(piece) {
                    // A client that found a violation may have closed the connection.
                    if tokio::io::AsyncWriteExt::write_all(&mut write, part).await.is_err() {
                        break;
                    }
                }
            };
            let listen = async {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = read.read(&mut buffer).await {
                    received.borrow_mut().extend_from_slice(&buffer[..count]);
                }
            };
            futures_util::future::join(send, listen).await;
        }
    })
    .await
}

/// Opcode and unmasked payload of every frame that the client sent.
fn unmasked(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [first, length, mask @ ..] = bytes {
        assert!(length & 0x80 != 0 && length & 0x7f < 126, "a client's control frames are masked and short");
        let length = usize::from(length & 0x7f);
        let payload = mask[4..4 + length].iter().zip(mask[..4].iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        frames.push((first & 0x0f, payload));
        bytes = &mask[4 + length..];
    }
    frames
}

/// Receives the expected items. Also returns the socket, since it answers pings only while a task receives.
async fn attend(network: &Rc<Network>, address: SocketAddr, expected: &[Seen]) -> (Vec<Seen>, WebSocket) {
    let options = SocketOptions { message_bytes_max: LIMIT_BYTES, ..SocketOptions::default() };
    let WebSocketOpening { exchange, socket } = open(network, get(address, "/"), &options).await;
    assert_eq!(passed(&exchange).status, 101);
    let socket = socket.unwrap();
    let ends = matches!(expected.last(), Some(Closed(_) | Violation(_)));
    let mut seen = Vec::new();
    while ends || seen.len() < expected.len() {
        match socket.receive().await {
            Ok(ReceivedItem::Message(message)) => seen.push(match message.payload {
                Payload::Text(text) => Text(text),
                Payload::Binary(bytes) => Binary(bytes.len()),
            }),
            Ok(ReceivedItem::Pong(_)) => {}
            Ok(ReceivedItem::Closed(close)) => {
                seen.push(Closed(close.code.unwrap_or(1005)));
                break;
            }
            Err(failure) => {
                assert_eq!(failure.outcome, Outcome::Protocol);
                seen.push(Violation(0));
                break;
            }
        }
    }
    (seen, socket)
}

fn check(cases: Vec<Case>) {
    run(|network| async move {
        for (name, frames, expected, pongs) in cases {
            let wire = frames.concat();
            for piece in if wire.len() < 1000 { vec![1, wire.len().max(1)] } else { vec![wire.len()] } {
                let received = shared();
                let address = server(wire.clone(), piece, Rc::clone(&received)).await;
                let (seen, socket) = attend(&network, address, &expected).await;
                let violation = expected.iter().find_map(|seen| if let Violation(code) = seen { Some(*code) } else { None });
                let wanted: Vec<Seen> =
                    expected.iter().map(|seen| if let Violation(_) = seen { Violation(0) } else { seen.clone() }).collect();
                assert!(seen == wanted, "case {name} in pieces of {piece}: {wire:?}");
                let wait = async {
                    loop {
                        let frames = unmasked(&received.borrow());
                        let answered: Vec<Vec<u8>> =
                            frames.iter().filter(|(opcode, _)| *opcode == 0xa).map(|(_, payload)| payload.clone()).collect();
                        let code = frames.iter().find(|(opcode, _)| *opcode == 0x8).map(|(_, payload)| payload.clone());
                        let has_code = violation.is_none_or(|wanted| code.as_deref() == Some(&wanted.to_be_bytes()[..]));
                        if has_code && answered.iter().map(Vec::as_slice).eq(pongs.iter().copied()) {
                            return;
                        }
                        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    }
                };
                let answering = async {
                    while let Ok(ReceivedItem::Message(_) | ReceivedItem::Pong(_)) = socket.receive().await {}
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = wait => {}
                    () = answering => {}
                    () = tokio::time::sleep(std::time::Duration::from_secs(20)) => {
                        panic!("case {name} in pieces of {piece}: the server received {:?}", unmasked(&received.borrow()));
                    }
                }
            }
        }
    });
}

#[test]
fn frames_and_pings() {
    check(framing_and_pings());
}

#[test]
fn reserved_bits_and_opcodes_are_violations() {
    check(reserved_bits_and_opcodes());
}

#[test]
fn fragments_are_joined() {
    check(fragmentation());
}

#[test]
fn text_messages_are_utf8() {
    check(utf8());
}

#[test]
fn close_frames_end_the_socket() {
    check(closing());
}

#[test]
fn large_messages_have_a_limit() {
    check(limits());
}
