//! The functions that the fuzz targets call. Each reads arbitrary bytes whole and in pieces, and asserts that the results are equal.
//!
//! Behind the feature `fuzzing` and in this crate's own tests, so that no parser becomes part of the crate's public API.

mod chunked;
#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;
mod http;
mod logins;
#[cfg(test)]
mod tests;

pub use chunked::chunked;
pub use http::{codings, head, http2};
pub use logins::{grpc, kafka_answers, logins};

use crate::failure::Failure;
use crate::http1::{KnownHeads, ReadPlan, ResponseReader};
use crate::redis::fuzzing::whole;
use crate::sse::fuzzing::EventParser;
use crate::ws::fuzzing::{Deflate, MessageReader, ServerItem, Violation, unpacking};

/// Piece lengths are taken from the first bytes of the input.
fn pieces(input: &[u8]) -> (impl Iterator<Item = usize>, &[u8]) {
    let (cuts, bytes) = input.split_at(input.len().min(4));
    let cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut) + 1).collect();
    (cuts.into_iter().cycle(), bytes)
}

/// The head of a response and its body, in every framing.
pub fn answer(input: &[u8]) {
    let (cuts, bytes) = pieces(input);
    let plan =
        ReadPlan { to_head: false, upgrade: false, stream_type: None, headers: true, body: true, keep_from: None, body_bytes_max: 1 << 16 };
    let mut known = KnownHeads::default();
    let mut read = |cuts: &mut dyn Iterator<Item = usize>| -> Result<(u16, Vec<u8>, bool, usize), Failure> {
        let mut reader = ResponseReader::new(plan);
        let (mut rest, mut used) = (bytes, 0);
        while !rest.is_empty() && !reader.is_done() {
            let (piece, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
            used += reader.feed_after(&mut known, piece)?;
            rest = after;
        }
        reader.finish()?;
        Ok((reader.status, std::mem::take(&mut reader.body), reader.keep_alive, used))
    };
    let whole = read(&mut std::iter::empty());
    let cut = read(&mut { cuts });
    // A malformed response may be noticed earlier when it arrives whole, so the reasons may differ.
    assert_eq!(whole.as_ref().ok(), cut.as_ref().ok());
}

/// A server's WebSocket frames, with compression negotiated.
pub fn frames(input: &[u8]) {
    let (cuts, bytes) = pieces(input);
    let read = |cuts: &mut dyn Iterator<Item = usize>| -> (Vec<ServerItem>, Option<Violation>) {
        let (mut reader, mut windows) = (MessageReader::new(1 << 16, true), Deflate::default());
        let (mut rest, mut items) = (bytes, Vec::new());
        while !rest.is_empty() {
            let (mut piece, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
            while !piece.is_empty() {
                match reader.feed(piece, unpacking(&mut windows)) {
                    Ok((used, item)) => {
                        items.extend(item);
                        piece = &piece[used..];
                    }
                    Err(violation) => return (items, Some(violation)),
                }
            }
            rest = after;
        }
        (items, None)
    };
    assert_eq!(read(&mut std::iter::empty()), read(&mut { cuts }));
}

/// A stream of server-sent events.
pub fn events(input: &[u8]) {
    let (cuts, bytes) = pieces(input);
    let read = |cuts: &mut dyn Iterator<Item = usize>| {
        let mut parser = EventParser::new(1 << 20);
        let (mut rest, mut events) = (bytes, Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
            parser.add(piece.to_vec());
            while let Ok(Some(event)) = parser.next() {
                events.push(event);
            }
            rest = after;
        }
        events
    };
    assert_eq!(read(&mut std::iter::empty()), read(&mut { cuts }));
}

/// A response of a database. Its end and its content do not depend on how it is cut.
pub fn sql(input: &[u8]) {
    for whole in [crate::sql::fuzzing::postgres, crate::sql::fuzzing::mysql] {
        let (cuts, bytes) = pieces(input);
        let at_once = whole(bytes, &mut std::iter::once(bytes.len()));
        let mut end = 0;
        let mut ends = cuts.map_while(|cut| {
            let more = end < bytes.len();
            end = bytes.len().min(end + cut);
            more.then_some(end)
        });
        assert_eq!(at_once.as_ref().ok(), whole(bytes, &mut ends).as_ref().ok());
    }
}

/// A reply of Redis. Its end does not depend on how it is cut.
pub fn redis(input: &[u8]) {
    let (cuts, bytes) = pieces(input);
    let at_once = whole(bytes, &mut std::iter::once(bytes.len()));
    let mut end = 0;
    let mut ends = cuts.map_while(|cut| {
        let more = end < bytes.len();
        end = bytes.len().min(end + cut);
        more.then_some(end)
    });
    assert_eq!(at_once.as_ref().ok(), whole(bytes, &mut ends).as_ref().ok());
    if let Ok(Some(end)) = at_once {
        assert!(crate::redis::RedisReplies::of(&bytes[..end]).count() > 0);
    }
}

/// A section of a Kafka partition's log: once unchanged, and once with corrected length, format and checksum, so that the parser reads beyond them.
pub fn kafka(input: &[u8]) {
    let read = |bytes: &[u8]| {
        let (records, next) = crate::kafka::fuzzing::batches(bytes);
        assert!(records == 0 || next.is_some(), "a record was read beyond the next offset");
    };
    read(input);
    let mut mended = input.to_vec();
    if mended.len() > 61 {
        let length = (mended.len() - 12) as u32;
        mended[8..12].copy_from_slice(&length.to_be_bytes());
        mended[16] = 2;
        let checksum = crc32c::crc32c(&mended[21..]);
        mended[17..21].copy_from_slice(&checksum.to_be_bytes());
        read(&mended);
    }
}
