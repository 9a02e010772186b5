//! gRPC over the HTTP/2 that a server speaks anyway: messages in frames, a status behind them.
//!
//! Read [`GrpcContent`] and [`GrpcAnswer`] (what a method answers), then `serve`. [`GrpcSpec`] is a stub of it as plain data. Deliberately absent: what
//! messages say. Who makes an answer has encoded it, and is given requests as bytes.

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
