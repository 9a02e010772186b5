//! Messages in frames: a flag, a length, the message (grpc/grpc, doc/PROTOCOL-HTTP2.md).

use std::io::Read;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use flate2::read::GzDecoder;
use hyper::header::HeaderMap;

use super::answer::{GrpcAnswer, INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED};
use crate::behaviour::ContentEncoding;
use crate::endpoint::gzip;
use crate::exchange::REQUEST_BODY_MAX;

const PREFIX_BYTES: usize = 5;

/// How the messages of an answer are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerCoding {
    Identity,
    Gzip,
}

impl AnswerCoding {
    /// As the method requires it, if the caller accepts it (`grpc-accept-encoding`).
    pub(super) fn of(wanted: ContentEncoding, headers: &HeaderMap) -> Self {
        let lists = headers.get_all("grpc-accept-encoding").iter().filter_map(|value| value.to_str().ok());
        let takes_gzip = lists.flat_map(|list| list.split(',')).any(|coding| coding.trim() == "gzip");
        if wanted == ContentEncoding::Gzip && takes_gzip { Self::Gzip } else { Self::Identity }
    }

    /// A message as it is sent.
    pub(super) fn framed(self, message: &Bytes) -> Bytes {
        let (flag, message) = match self {
            Self::Identity => (0, message.clone()),
            Self::Gzip => (1, gzip(message)),
        };
        let mut frame = BytesMut::with_capacity(PREFIX_BYTES + message.len());
        frame.put_u8(flag);
        // No client accepts a message of 4 GB or more.
        frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
        frame.put_slice(&message);
        frame.freeze()
    }
}

/// Takes bytes as they arrive and yields messages.
pub(super) struct CallReader {
    unread: BytesMut,
    /// The value of `grpc-encoding`.
    is_gzip: bool,
}

impl CallReader {
    /// For a call with this head.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self::new(headers.get("grpc-encoding").is_some_and(|coding| coding == "gzip"))
    }

    fn new(is_gzip: bool) -> Self {
        Self { unread: BytesMut::new(), is_gzip }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next complete message.
    ///
    /// # Errors
    /// The status that rejects the call.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, GrpcAnswer> {
        let Some((prefix, rest)) = self.unread.split_first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
        let [flag, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length) as usize;
        if length > REQUEST_BODY_MAX {
            return Err(too_large());
        }
        if rest.len() < length {
            return Ok(None);
        }
        self.unread.advance(PREFIX_BYTES);
        let message = self.unread.split_to(length).freeze();
        match (flag, self.is_gzip) {
            (0, _) => Ok(Some(message)),
            (1, true) => unzipped(&message).map(Some),
            (1, false) => Err(GrpcAnswer::status(UNIMPLEMENTED, "this stub supports only gzip")),
            _ => Err(GrpcAnswer::status(INTERNAL, "a message has a flag that gRPC does not define")),
        }
    }

    /// Whether an incomplete message is left.
    pub(super) fn is_cut(&self) -> bool {
        !self.unread.is_empty()
    }
}

fn unzipped(message: &[u8]) -> Result<Bytes, GrpcAnswer> {
    let mut plain = Vec::new();
    let read = GzDecoder::new(message).take(REQUEST_BODY_MAX as u64 + 1).read_to_end(&mut plain);
    read.map_err(|_| GrpcAnswer::status(INTERNAL, "a message is not valid gzip"))?;
    if plain.len() > REQUEST_BODY_MAX { Err(too_large()) } else { Ok(plain.into()) }
}

pub(super) fn too_large() -> GrpcAnswer {
    GrpcAnswer::status(RESOURCE_EXHAUSTED, format!("the messages are longer than {} MB", REQUEST_BODY_MAX >> 20))
}

pub(super) fn cut() -> GrpcAnswer {
    GrpcAnswer::status(INTERNAL, "the call ended in the middle of a message")
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn messages_are_read_from_any_fragments() {
        let sent: Vec<Bytes> = vec![Bytes::from_static(b"one"), Bytes::new(), Bytes::from_static(b"three")];
        for (coding, is_gzip) in [(AnswerCoding::Identity, false), (AnswerCoding::Gzip, true)] {
            let wire: Vec<u8> = sent.iter().flat_map(|message| coding.framed(message)).collect();
            read_in_pieces(&wire, is_gzip, &sent);
        }
    }

    fn read_in_pieces(wire: &[u8], is_gzip: bool, sent: &[Bytes]) {
        for piece in 1..=wire.len() {
            let mut reader = CallReader::new(is_gzip);
            let mut read = Vec::new();
            for bytes in wire.chunks(piece) {
                reader.feed(bytes);
                while let Some(message) = reader.next().unwrap() {
                    read.push(message);
                }
            }
            assert_eq!((&*read, reader.is_cut()), (sent, false), "{piece}");
        }
    }

    #[test]
    fn an_answer_is_compressed_if_its_caller_accepts_it() {
        let of = |wanted, accepted: &str| {
            let value = HeaderValue::from_str(accepted).unwrap();
            AnswerCoding::of(wanted, &HeaderMap::from_iter([(HeaderName::from_static("grpc-accept-encoding"), value)]))
        };
        assert_eq!(of(ContentEncoding::Gzip, "identity, deflate,gzip"), AnswerCoding::Gzip);
        assert_eq!(of(ContentEncoding::Gzip, "identity,deflate"), AnswerCoding::Identity);
        assert_eq!(of(ContentEncoding::Identity, "gzip"), AnswerCoding::Identity);
        assert_eq!(AnswerCoding::of(ContentEncoding::Gzip, &HeaderMap::new()), AnswerCoding::Identity);
    }

    #[test]
    fn invalid_messages_are_rejected_with_a_status() {
        let status = |bytes: &[u8], is_gzip| {
            let mut reader = CallReader::new(is_gzip);
            reader.feed(bytes);
            reader.next().map(|message| message.map(|message| message.len())).map_err(|answer| answer.status)
        };
        assert_eq!(status(&[0, 0, 0, 0, 2, 7], false), Ok(None));
        assert_eq!(status(&[1, 0, 0, 0, 1, 7], false), Err(UNIMPLEMENTED));
        assert_eq!(status(&[1, 0, 0, 0, 1, 7], true), Err(INTERNAL));
        assert_eq!(status(&[2, 0, 0, 0, 1, 7], true), Err(INTERNAL));
        assert_eq!(status(&[0, 255, 255, 255, 255, 7], false), Err(RESOURCE_EXHAUSTED));
    }
}
