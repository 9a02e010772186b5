//! What reaches a test from outside its users: requests to its stubs and messages for its consumers.
//!
//! This folder has the interfaces and what the test file declares. Read [`DeclaredStub`] and [`DeclaredConsumer`]. Deliberately absent: the
//! protocols that implement them (`stubs`, `protocols`) and the thread that calls their functions (`stubs::handlers`).

mod consumer;
mod stub;

pub(crate) use consumer::{ConsumedMessage, Consumer, ConsumerInbox, ConsumerKind, ConsumerNews, DeclaredConsumer, OpenConsumer};
pub(crate) use stub::{DeclaredStub, StubEndpoint, StubProtocol};
