//! The chunked coding, compared with a second decoder that is written for readability and not for speed.

use super::pieces;
use crate::failure::Failure;
use crate::http1::fuzzing::{Chunked, EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX};

/// Reads a chunked body whole, in pieces, and with [`reference_decode`]. All must yield the same content and end, and consume no byte after the body.
pub fn chunked(input: &[u8]) {
    let (cuts, wire) = pieces(input);
    let whole = read(wire, &mut std::iter::empty());
    assert_eq!(whole, read(wire, &mut { cuts }), "whole and cut");
    let (content, end) = reference_decode(wire);
    assert_eq!(whole.content, content);
    match (&whole.end, end) {
        (Ok(Some(used)), BodyEnd::After(bytes)) => assert_eq!(*used, bytes),
        (Ok(None), BodyEnd::Open) | (Err(_), BodyEnd::Malformed) => {}
        (decoded, reference) => panic!("the decoder returns {decoded:?}, the reference {reference:?}"),
    }
}

#[derive(Debug, PartialEq)]
struct Read {
    content: Vec<u8>,
    /// Length of the body in bytes. `None` while its end has not arrived.
    end: Result<Option<usize>, Failure>,
}

fn read(wire: &[u8], cuts: &mut dyn Iterator<Item = usize>) -> Read {
    let (mut decoder, mut content, mut used, mut rest) = (Chunked::new(), Vec::new(), 0, wire);
    while !rest.is_empty() && !decoder.is_done() {
        let (piece, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
        let fed = decoder.feed(piece, |bytes| {
            content.extend_from_slice(bytes);
            Ok(())
        });
        match fed {
            Ok(taken) => {
                assert!(taken == piece.len() || decoder.is_done(), "it consumed {taken} of {} bytes and needs more", piece.len());
                used += taken;
            }
            Err(failure) => return Read { content, end: Err(failure) },
        }
        rest = after;
    }
    Read { content, end: Ok(decoder.is_done().then_some(used)) }
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum BodyEnd {
    /// After this many bytes.
    After(usize),
    /// Valid so far, and incomplete.
    Open,
    Malformed,
}

/// Decodes line by line over the whole input according to RFC 9112, section 7.1, with the limits of our decoder. Returns content and end.
fn reference_decode(wire: &[u8]) -> (Vec<u8>, BodyEnd) {
    let mut content = Vec::new();
    let end = match chunks(wire, &mut content) {
        Ok(rest) => BodyEnd::After(wire.len() - rest.len()),
        Err(end) => end,
    };
    (content, end)
}

/// Returns the bytes after the body.
fn chunks<'a>(mut rest: &'a [u8], content: &mut Vec<u8>) -> Result<&'a [u8], BodyEnd> {
    let mut extensions = 0;
    loop {
        let (text, ended) = to_line_end(rest);
        let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits == 0 && !(text.is_empty() && ended.is_none()) {
            return Err(BodyEnd::Malformed);
        }
        let size = number(&text[..digits])?;
        let blanks = text[digits..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match &text[digits + blanks..] {
            [] => {}
            [b';', extension @ ..] => extensions += extension.len(),
            _ => return Err(BodyEnd::Malformed),
        }
        if extensions > EXTENSION_BYTES_MAX as usize {
            return Err(BodyEnd::Malformed);
        }
        rest = line_end(ended)?;
        if size == 0 {
            return trailers(rest);
        }
        let here = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        content.extend_from_slice(&rest[..here]);
        if here as u64 != size {
            return Err(BodyEnd::Open);
        }
        rest = line_end(Some(&rest[here..]))?;
    }
}

fn trailers(mut rest: &[u8]) -> Result<&[u8], BodyEnd> {
    let (mut bytes, mut is_first) = (0, true);
    loop {
        let (text, ended) = to_line_end(rest);
        bytes += text.len();
        if bytes > TRAILER_BYTES_MAX as usize {
            return Err(BodyEnd::Malformed);
        }
        rest = line_end(ended)?;
        if text.is_empty() {
            return Ok(rest);
        }
        if !is_trailer(text, is_first) {
            return Err(BodyEnd::Malformed);
        }
        is_first = false;
    }
}

/// A header field (RFC 9112, section 5), or the continuation of one after a blank (section 5.2).
fn is_trailer(text: &[u8], is_first: bool) -> bool {
    let is_continuation = !is_first && matches!(text[0], b' ' | b'\t');
    let text: String = text.iter().map(|byte| char::from(*byte)).collect();
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(c));
    !text.contains('\0') && (is_continuation || text.split_once(':').is_some_and(|(name, _)| is_name(name)))
}

/// Returns the bytes before the next carriage return or line feed, and the rest from there. Nothing if neither has arrived.
fn to_line_end(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        Some(at) => (&bytes[..at], Some(&bytes[at..])),
        None => (bytes, None),
    }
}

/// Expects a carriage return and a line feed, and returns the bytes after them.
fn line_end(bytes: Option<&[u8]>) -> Result<&[u8], BodyEnd> {
    match bytes {
        None | Some([] | [b'\r']) => Err(BodyEnd::Open),
        Some([b'\r', b'\n', rest @ ..]) => Ok(rest),
        Some(_) => Err(BodyEnd::Malformed),
    }
}

/// A number of any length in hexadecimal digits of either case that fits into 64 bits.
fn number(digits: &[u8]) -> Result<u64, BodyEnd> {
    let text: String = digits.iter().map(|digit| char::from(*digit)).skip_while(|digit| *digit == '0').collect();
    if text.is_empty() { Ok(0) } else { u64::from_str_radix(&text, 16).map_err(|_| BodyEnd::Malformed) }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;

    /// The bytes with a meaning in the coding, and two without.
    const BYTES: &[u8] = b"\r\n;0123aF \t:x\0\xff";

    /// What a server may write before and after the digits of a size.
    fn around() -> impl Strategy<Value = (&'static str, &'static str)> {
        (select(vec!["", "0", "000000000000000000"]), select(vec!["", " ", " \t", ";", ";a=b", " ;\"x y\""]))
    }

    /// A body and its content.
    fn body() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let chunk = (vec(any::<u8>(), 1..40), any::<bool>(), around());
        let trailers = vec(select(vec!["A: b", "Expires:", "x:\t"]), 0..3);
        (vec(chunk, 0..6), around(), trailers).prop_map(|(chunks, (before, behind), trailers)| {
            let (mut wire, mut content) = (Vec::new(), Vec::new());
            for (data, upper, (before, behind)) in chunks {
                let size = if upper { format!("{:X}", data.len()) } else { format!("{:x}", data.len()) };
                wire.extend(format!("{before}{size}{behind}\r\n").bytes());
                wire.extend_from_slice(&data);
                wire.extend_from_slice(b"\r\n");
                content.extend(data);
            }
            wire.extend(format!("{before}0{behind}\r\n").bytes());
            wire.extend(trailers.into_iter().flat_map(|trailer| format!("{trailer}\r\n").into_bytes()));
            wire.extend_from_slice(b"\r\n");
            (wire, content)
        })
    }

    /// Lengths of pieces, as the fuzz target takes them from its input.
    fn cuts() -> impl Strategy<Value = [u8; 4]> {
        proptest::array::uniform4(0u8..12)
    }

    fn spoil(wire: &mut Vec<u8>, (place, how, byte): (Index, u8, u8)) {
        let at = place.index(wire.len() + 1);
        match how {
            0 => wire.insert(at, byte),
            1 => wire.truncate(at),
            2 if at < wire.len() => wire[at] = byte,
            _ if at < wire.len() => {
                wire.remove(at);
            }
            _ => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_body_round_trips((mut wire, content) in body(), cuts in cuts(), behind in vec(any::<u8>(), 0..20)) {
            let length = wire.len();
            wire.extend(behind);
            let mut lengths = cuts.iter().map(|cut| usize::from(*cut) + 1).cycle();
            prop_assert_eq!(read(&wire, &mut lengths), Read { content, end: Ok(Some(length)) });
        }

        #[test]
        fn damaged_bodies_are_decoded_the_same_by_both((mut wire, _) in body(), cuts in cuts(), changes in vec((any::<Index>(), 0u8..4, select(BYTES)), 0..4)) {
            changes.into_iter().for_each(|change| spoil(&mut wire, change));
            chunked(&[&cuts[..], &wire].concat());
        }

        #[test]
        fn any_bytes_are_decoded_the_same_by_both(wire in vec(select(BYTES), 0..40), cuts in cuts()) {
            chunked(&[&cuts[..], &wire].concat());
        }
    }

    #[test]
    fn limits_apply_at_their_declared_values() {
        let (extensions, trailers) = (EXTENSION_BYTES_MAX as usize, TRAILER_BYTES_MAX as usize);
        let x = |count: usize| "x".repeat(count);
        for over in [0, 1] {
            let x_field = |count: usize| format!("a:{}", x(count - 2));
            for wire in [
                format!("1;{}\r\na\r\n0\r\n\r\n", x(extensions + over)),
                format!("1;{}\r\na\r\n0;{}\r\n\r\n", x(extensions - 9), x(9 + over)),
                format!("0\r\n{}\r\n\r\n", x_field(trailers + over)),
                format!("0\r\n{}\r\n{}\r\n\r\n", x_field(trailers - 9), x_field(9 + over)),
                format!("{}\r\n", if over == 0 { "ffffffffffffffff" } else { "10000000000000000" }),
            ] {
                chunked(format!("\x03\x7f\0\x05{wire}").as_bytes());
                assert_eq!(read(wire.as_bytes(), &mut std::iter::empty()).end.is_err(), over == 1, "{}", &wire[..20.min(wire.len())]);
            }
        }
    }
}
