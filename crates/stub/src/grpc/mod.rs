//! gRPC over a server's HTTP/2: messages in frames, followed by a status.
//!
//! Read [`GrpcContent`] and [`GrpcAnswer`] (the answers of a method), then `serve`. [`GrpcSpec`] is a gRPC stub as plain data. Deliberately
//! absent: the content of messages. The caller encodes answers, and receives requests as bytes.

mod answer;
mod ending;
mod frame;
mod serve;
mod spec;
mod talk;

pub use answer::{GRPC_STATUSES, GrpcAnswer, GrpcContent, GrpcFunction, GrpcSource, GrpcTurns};
pub use spec::{GrpcMethodSpec, GrpcResponseSpec, GrpcSpec};

pub(crate) use answer::GRPC_STATUS_MAX;
pub(crate) use serve::{is_grpc, no_method, serve};
