//! gRPC over the HTTP/2 client: unary calls as ordinary requests, and streams of messages.
//!
//! Read [`GrpcClient`] first. `frame` encodes and decodes messages, `status` knows the status codes and their places in a response. Deliberately
//! absent: the content of messages (callers encode and decode), names, checks. Source: "gRPC over HTTP2" (PROTOCOL-HTTP2.md of grpc/grpc), cited as
//! the specification.

mod client;
mod frame;
mod request;
mod status;
mod stream;

pub use client::{GrpcClient, GrpcReply, UnaryCall};
pub use request::{GrpcRequest, PreparedGrpcCall};
pub use status::{GrpcStatus, trailers_of};
pub use stream::{GrpcReceiver, GrpcSender, GrpcStreamOpening, ReceivedGrpc};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use bytes::Bytes;

    use super::frame::FrameReader;
    use super::{frame, status};
    use crate::http::fuzzing::Headers;

    /// Largest message. Bytes.
    const MESSAGE_BYTES_MAX: u64 = 1 << 16;

    /// The messages of a body that arrives in these pieces. `None`: it is malformed.
    pub(crate) fn messages(bytes: &[u8], cuts: &mut dyn Iterator<Item = usize>) -> Option<Vec<Bytes>> {
        let (mut reader, mut rest, mut messages) = (FrameReader::new(Some("gzip"), MESSAGE_BYTES_MAX), bytes, Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
            reader.feed(piece);
            while let Some(message) = reader.next().ok()? {
                messages.push(message);
            }
            rest = after;
        }
        reader.finish().ok()?;
        Some(messages)
    }

    /// The status of a call whose trailers are these lines, and a body that is one message.
    pub(crate) fn status(lines: &[u8]) {
        let headers = Headers::from_trailers(lines);
        let _ = status::of_response(200, &headers, &Headers::default());
        let _ = status::check_content_type(&headers);
        if let Some(message) = frame::sole(&Bytes::copy_from_slice(lines), MESSAGE_BYTES_MAX) {
            assert_eq!(message, lines[5..]);
        }
    }
}
