//! What a test file says of a consumer.

use serde::Deserialize;

/// A consumer of a test file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredConsumer {
    pub(crate) url: String,
    pub(crate) topic: String,
}
