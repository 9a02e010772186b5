//! A connection against scripted frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use super::end::{BrokenStream, Http2Need};
use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameHeader, GOAWAY, HEADER_BYTES, HEADERS, PING, PREFACE, PUSH_PROMISE, RST_STREAM,
    SETTINGS, WINDOW_UPDATE,
};
use super::fuzzing::Head;
use super::streams::{ResponsePlan, StreamKey, Streams};

const ALL: ResponsePlan = ResponsePlan { keep_from: 0, to_head: false };
/// `:status: 200` of the static table.
const OK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader { length: payload.len(), kind, flags, stream };
    [&header.bytes()[..], payload].concat()
}

fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, OK)
}

/// A connection whose preface and first requests were sent.
fn connection(requests: usize) -> (Streams, Vec<StreamKey>) {
    let mut streams = Streams::new(Http2Need::Protocol);
    let keys = (0..requests).map(|_| streams.begin(&Head, None, true, ALL).unwrap()).collect();
    written(&mut streams);
    (streams, keys)
}

/// What the client has written since the last call: type, flags, stream and payload.
fn written(streams: &mut Streams) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut rest = streams.to_write().strip_prefix(PREFACE).unwrap_or(streams.to_write()).to_vec();
    streams.wrote(streams.to_write().len());
    let mut frames = Vec::new();
    while let Some(header) = rest.first_chunk::<HEADER_BYTES>().map(FrameHeader::read) {
        let payload = rest[HEADER_BYTES..][..header.length].to_vec();
        frames.push((header.kind, header.flags, header.stream, payload));
        rest.drain(..HEADER_BYTES + header.length);
    }
    frames
}

fn broken(streams: &mut Streams, key: StreamKey) -> Option<(String, bool)> {
    streams.stream(key).broken.as_ref().map(|BrokenStream { failure, unprocessed }| (failure.message.clone(), *unprocessed))
}

#[derive(Default)]
struct Counter(AtomicU32);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_first_bytes_are_the_preface_and_the_settings() {
    let mut streams = Streams::new(Http2Need::Protocol);
    assert!(streams.to_write().starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0"));
    let frames = written(&mut streams);
    assert_eq!(frames.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), [SETTINGS, WINDOW_UPDATE]);
    // No pushes, windows of 1 MiB, heads of 256 KiB, and 4 MiB for the connection.
    assert_eq!(frames[0].3, [0, 2, 0, 0, 0, 0, 0, 4, 0, 16, 0, 0, 0, 6, 0, 4, 0, 0]);
    assert_eq!(frames[1].3, (4 * 1024 * 1024 - 65_535u32).to_be_bytes());
}

#[test]
fn a_response_is_read_for_any_division_and_wakes_its_reader_once() {
    let response = [
        frame(SETTINGS, 0, 0, &[]),
        frame(PING, 0, 0, b"12345678"),
        // An interim response; the head in two frames; a body with padding; an unknown type; trailers.
        frame(HEADERS, END_HEADERS, 1, &[0x08, 3, b'1', b'0', b'3']),
        frame(HEADERS, 0, 1, &[0x88, 0x40, 1, b'a']),
        frame(CONTINUATION, END_HEADERS, 1, &[1, b'b']),
        frame(DATA, 8, 1, b"\x02hel\0\0"),
        frame(99, 0xff, 1, b"?"),
        frame(DATA, 0, 1, b"lo"),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0, 1, b'x', 1, b'y']),
    ]
    .concat();
    for step in [1, 2, 7, 10, response.len()] {
        let (mut streams, keys) = connection(1);
        let counter = Arc::new(Counter::default());
        streams.stream(keys[0]).read_by(&Waker::from(Arc::clone(&counter)));
        for (at, piece) in response.chunks(step).enumerate() {
            streams.receive(piece, at as u64 + 5);
        }
        let stream = streams.stream(keys[0]);
        assert_eq!((stream.status, &stream.head.as_ref().unwrap().lines[..]), (Some(200), &b"\na:b\n"[..]), "{step}");
        assert_eq!((&*stream.take_body(), &stream.trailers.as_ref().unwrap().lines[..]), (&b"hello"[..], &b"\nx:y\n"[..]));
        assert_eq!(
            (stream.is_received, stream.broken.is_none(), stream.ended_at),
            (true, true, 5 + response.chunks(step).count() as u64 - 1)
        );
        assert_eq!(counter.0.load(Ordering::Relaxed), 1);
        assert_eq!(written(&mut streams), [(SETTINGS, ACK, 0, vec![]), (PING, ACK, 0, b"12345678".to_vec())]);
        streams.leave(keys[0]);
        assert_eq!((streams.to_write(), streams.in_use()), (&[][..], 0));
    }
}

#[test]
fn a_request_that_is_given_up_is_reset_and_its_frames_are_ignored() {
    let (mut streams, keys) = connection(2);
    streams.receive(&[head(1), frame(DATA, 0, 1, b"abc")].concat(), 0);
    streams.leave(keys[0]);
    assert_eq!(written(&mut streams), [(RST_STREAM, 0, 1, vec![0, 0, 0, 8])]);
    streams.receive(&[frame(DATA, END_STREAM, 1, b"abc"), frame(HEADERS, END_HEADERS | END_STREAM, 3, OK)].concat(), 0);
    assert!(streams.stream(keys[1]).is_received && streams.is_open());
}

#[test]
fn a_body_is_sent_as_far_as_the_windows_allow() {
    let mut streams = Streams::new(Http2Need::Protocol);
    let key = streams.begin(&Head, None, false, ALL).unwrap();
    let body = vec![7; 100_000];
    assert_eq!(streams.write_body(key, &body, true).unwrap(), 65_535, "the windows before any frame");
    assert_eq!(streams.write_body(key, &body[65_535..], true).unwrap(), 0);
    let counter = Arc::new(Counter::default());
    streams.on_room(key, &Waker::from(Arc::clone(&counter)));
    let data: Vec<usize> = written(&mut streams).iter().filter(|(kind, ..)| *kind == DATA).map(|(.., payload)| payload.len()).collect();
    assert_eq!(data, [16_384, 16_384, 16_384, 16_383]);
    // The connection has room, the stream has not; then a setting gives room to the stream, too.
    streams.receive(&frame(WINDOW_UPDATE, 0, 0, &30_000u32.to_be_bytes()), 0);
    streams.on_room(key, &Waker::from(Arc::clone(&counter)));
    assert_eq!((streams.write_body(key, &body[65_535..], true).unwrap(), counter.0.load(Ordering::Relaxed)), (0, 1));
    streams.receive(&frame(SETTINGS, 0, 0, &[&[0, 4][..], &(65_535u32 + 20_000).to_be_bytes()].concat()), 0);
    assert_eq!((streams.write_body(key, &body[65_535..], true).unwrap(), counter.0.load(Ordering::Relaxed)), (20_000, 2));
    streams.receive(&frame(WINDOW_UPDATE, 0, 1, &50_000u32.to_be_bytes()), 0);
    assert_eq!(streams.write_body(key, &body[85_535..], true).unwrap(), 10_000, "30,000 of the connection are used up");
    streams.receive(&frame(WINDOW_UPDATE, 0, 0, &50_000u32.to_be_bytes()), 0);
    written(&mut streams);
    assert_eq!(streams.write_body(key, &body[95_535..], true).unwrap(), 4_465);
    assert_eq!(written(&mut streams)[0].1, END_STREAM);
    assert!(streams.write_body(key, b"more", false).is_err());
}

#[test]
fn the_server_gets_its_windows_back() {
    let (mut streams, keys) = connection(1);
    streams.receive(&head(1), 0);
    let data = frame(DATA, 0, 1, &[0; 16_384]);
    for _ in 0..64 {
        streams.receive(&data, 0);
    }
    assert!(written(&mut streams).is_empty() && streams.stream(keys[0]).broken.is_none(), "a reader that does not read gets a window");
    let taken = streams.stream(keys[0]).take_body().len();
    streams.release(keys[0].slot, taken as u64);
    assert_eq!(written(&mut streams), [(WINDOW_UPDATE, 0, 1, (1u32 << 20).to_be_bytes().to_vec())]);
    for _ in 0..65 {
        streams.receive(&data, 0);
    }
    let violation = "the server violated HTTP/2: FLOW_CONTROL_ERROR (3)";
    assert_eq!(broken(&mut streams, keys[0]), Some((violation.to_owned(), false)));
    assert_eq!(written(&mut streams), [(RST_STREAM, 0, 1, vec![0, 0, 0, 3])]);
    streams.leave(keys[0]);
    let all = (2u32 << 20) + 16_384;
    assert_eq!(written(&mut streams), [(WINDOW_UPDATE, 0, 0, all.to_be_bytes().to_vec())], "what nobody read is the server's again, too");
}

#[test]
fn a_body_that_nobody_wants_is_counted_only() {
    let mut streams = Streams::new(Http2Need::Protocol);
    let key = streams.begin(&Head, None, true, ResponsePlan { keep_from: 400, to_head: false }).unwrap();
    written(&mut streams);
    streams.receive(&head(1), 0);
    for _ in 0..640 {
        streams.receive(&frame(DATA, 0, 1, &[0; 16_384]), 0);
    }
    let stream = streams.stream(key);
    assert_eq!((stream.unread_bytes, stream.body.capacity(), stream.broken.is_none()), (640 * 16_384, 0, true));
}

#[test]
fn a_goaway_breaks_the_streams_after_its_last() {
    for (reason, unprocessed) in [(0, true), (2, false)] {
        let (mut streams, keys) = connection(3);
        streams.receive(&frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, reason]), 0);
        assert!(!streams.is_open() && !streams.is_over());
        assert_eq!(broken(&mut streams, keys[2]).unwrap().1, unprocessed);
        assert!(streams.begin(&Head, None, true, ALL).unwrap_err().unprocessed, "nothing of it was sent");
        streams.receive(&frame(HEADERS, END_HEADERS | END_STREAM, 3, OK), 0);
        assert!(streams.stream(keys[1]).is_received && streams.stream(keys[0]).broken.is_none());
        keys.into_iter().for_each(|key| streams.leave(key));
        assert!(streams.is_over());
    }
}

#[test]
fn a_reset_breaks_an_incomplete_response_only() {
    let (mut streams, keys) = connection(2);
    let complete = frame(HEADERS, END_HEADERS | END_STREAM, 1, OK);
    streams.receive(&[complete, frame(RST_STREAM, 0, 1, &[0; 4]), head(3), frame(RST_STREAM, 0, 3, &[0, 0, 0, 14])].concat(), 0);
    assert_eq!(broken(&mut streams, keys[0]), None);
    assert_eq!(broken(&mut streams, keys[1]), Some(("the server reset the HTTP/2 stream: unknown code (14)".to_owned(), false)));
}

#[test]
fn violations_end_the_stream_or_the_connection() {
    let length = |value: &str| [&[0x88, 0x0f, 13, value.len() as u8][..], value.as_bytes()].concat();
    let fields = |payload: &[u8], flags| frame(HEADERS, END_HEADERS | flags, 1, payload);
    for (what, frames, of_connection, reason) in [
        ("short body", [fields(&length("5"), 0), frame(DATA, END_STREAM, 1, b"abc")].concat(), false, 1),
        ("long body", [fields(&length("2"), 0), frame(DATA, 0, 1, b"abc")].concat(), false, 1),
        ("no status", fields(&[], 0), false, 1),
        ("trailers without end", [head(1), fields(&[], 0)].concat(), false, 1),
        ("data before the head", frame(DATA, 0, 1, b"a"), false, 1),
        ("status 101", fields(&[0x08, 3, b'1', b'0', b'1'], 0), false, 1),
        ("no bytes more", frame(WINDOW_UPDATE, 0, 1, &[0; 4]), false, 1),
        ("window too long", frame(WINDOW_UPDATE, 0, 1, &[0x7f, 255, 255, 255]), false, 3),
        ("no stream", frame(DATA, 0, 0, b"a"), true, 1),
        ("a stream that was not opened", head(3), true, 1),
        ("a stream of the server", head(2), true, 1),
        ("a push", frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2]), true, 1),
        ("a frame in a block", [frame(HEADERS, 0, 1, OK), frame(PING, 0, 0, &[0; 8])].concat(), true, 1),
        ("a block that does not end", [frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 1, &[])].concat(), true, 11),
        ("no HPACK", fields(&[0x80], 0), true, 9),
        ("a short ping", frame(PING, 0, 0, &[0]), true, 6),
        ("a long frame", FrameHeader { length: 16_385, kind: DATA, flags: 0, stream: 1 }.bytes().to_vec(), true, 6),
        ("padding only", frame(DATA, 8, 1, &[9]), true, 1),
        ("a push setting", frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1]), true, 1),
    ] {
        let (mut streams, keys) = connection(1);
        streams.receive(&frames, 0);
        let (message, unprocessed) = broken(&mut streams, keys[0]).unwrap_or_else(|| panic!("{what} is allowed"));
        assert!(
            message.starts_with("the server violated HTTP/2: ") && message.ends_with(&format!("({reason})")) && !unprocessed,
            "{what}: {message}"
        );
        let last = written(&mut streams).pop().unwrap();
        assert_eq!((last.0 == GOAWAY, streams.is_over()), (of_connection, of_connection), "{what}");
        assert_eq!(last.3.last(), Some(&reason), "{what}");
    }
}

#[test]
fn a_server_of_http1_is_recognised_by_its_first_bytes() {
    for step in [1, 4, 100] {
        let (mut streams, keys) = connection(1);
        b"HTTP/1.1 400 Bad Request\r\n\r\n".chunks(step).for_each(|piece| streams.receive(piece, 0));
        assert_eq!(broken(&mut streams, keys[0]).unwrap().0, "the server speaks HTTP/1.1, not HTTP/2, which gRPC needs");
    }
}

#[test]
fn a_server_that_does_not_read_its_answers_is_not_read() {
    let (mut streams, _) = connection(1);
    for _ in 0..2_000 {
        streams.receive(&frame(PING, 0, 0, &[0; 8]), 0);
    }
    assert!(streams.has_many_answers());
    streams.wrote(streams.to_write().len());
    assert!(!streams.has_many_answers());
}

#[test]
fn a_head_may_have_any_length() {
    let mut streams = Streams::new(Http2Need::Protocol);
    let value = "v".repeat(40_000);
    streams.begin(&Head, Some(("x", &value)), true, ALL).unwrap();
    let frames = written(&mut streams);
    let kinds: Vec<(u8, u8)> = frames.iter().skip(2).map(|(kind, flags, ..)| (*kind, *flags)).collect();
    assert_eq!(kinds, [(HEADERS, END_STREAM), (CONTINUATION, 0), (CONTINUATION, END_HEADERS)]);
}
