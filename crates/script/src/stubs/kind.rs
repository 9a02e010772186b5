//! What a protocol provides so that test files can declare stubs of it.

use rquickjs::{Ctx, Object};
use serde_json::Value;

use crate::inbound::StubProtocol;
use crate::protocols::grpc::services::Services;

/// Content of a file that a stub names, by its path as written.
pub(super) type StubFiles<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// Reads a description without its `kind`, and checks it. The error names the part that is wrong.
type ReadStub = fn(Value, &Services, StubFiles<'_>) -> Result<Box<dyn StubProtocol>, String>;

pub(super) struct StubKind {
    /// `kind` in descriptions.
    pub(super) name: &'static str,
    /// As a test file declares it, for messages.
    pub(super) call: &'static str,
    pub(super) read: ReadStub,
    /// The prototype of the objects that functions of its stubs receive.
    pub(super) prototype: for<'js> fn(&Ctx<'js>) -> rquickjs::Result<Option<Object<'js>>>,
}
