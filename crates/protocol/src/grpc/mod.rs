//! gRPC over the HTTP/2 client: unary calls as ordinary requests, and streams of messages.
//!
//! Read [`GrpcClient`] first. `frame` puts messages on the wire and takes them off it, `status` knows the codes and where a response says them.
//! Deliberately absent: what is in a message (callers encode and decode), names, checks. Source: "gRPC over HTTP2" (PROTOCOL-HTTP2.md of
//! grpc/grpc), cited as the specification.

mod client;
mod frame;
mod request;
mod status;
mod stream;

pub use client::{GrpcClient, GrpcReply, UnaryCall};
pub use request::{GrpcRequest, PreparedGrpcCall};
pub use status::{GrpcStatus, trailers_of};
pub use stream::{GrpcReceiver, GrpcSender, GrpcStreamOpening, ReceivedGrpc};
