//! The protocols that stubs of test files speak, and the one table of them.

use serde_json::Value;

use super::kind::StubKind;
use super::{grpc, http, tcp};

pub(super) static KINDS: &[&StubKind] = &[&http::KIND, &grpc::KIND, &tcp::KIND];

/// Removes the kind from a description and returns it. Descriptions of HTTP stubs name none.
pub(super) fn kind_of(description: &mut Value) -> &'static StubKind {
    let named = description.as_object_mut().and_then(|fields| fields.remove("kind"));
    let named = named.as_ref().and_then(Value::as_str);
    KINDS.iter().find(|kind| Some(kind.name) == named).copied().unwrap_or(&http::KIND)
}
