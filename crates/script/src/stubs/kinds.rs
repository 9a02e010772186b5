//! The protocols that stubs of test files speak, and the one table of them.

use serde_json::Value;

use super::kind::StubKind;
use super::{grpc, http, tcp};

pub(super) static KINDS: &[&StubKind] = &[&http::KIND, &grpc::KIND, &tcp::KIND];

/// Removes the kind from a description and returns it. Descriptions of HTTP stubs name none.
///
/// # Errors
/// There is no such kind.
pub(super) fn kind_of(description: &mut Value) -> Result<&'static StubKind, String> {
    let Some(named) = description.as_object_mut().and_then(|fields| fields.remove("kind")) else { return Ok(&http::KIND) };
    let found = KINDS.iter().find(|kind| Some(kind.name) == named.as_str()).copied();
    found.ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        format!(
            "there is no kind {named}{}; the kinds are: {}",
            loadstone_units::did_you_mean(named.as_str().unwrap_or_default(), &known),
            known.join(", ")
        )
    })
}
