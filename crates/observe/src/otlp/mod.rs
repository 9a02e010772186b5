//! A listener for OTLP, over HTTP and gRPC, to which exporters send.
//!
//! [`OtlpMessages`] is a listener on its own thread for other crates, `server` serves connections on a thread that exists, `message` unpacks one message.
//! Deliberately absent: the content of messages, and JSON.

mod message;
mod messages;
mod server;

pub use message::MessageError;
pub(crate) use message::OtlpSignal;
pub use messages::OtlpMessages;
pub(crate) use server::{OtlpMessageSink, accept};
