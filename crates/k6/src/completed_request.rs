//! A request that has ended, until the script reads its response.

use loadstone_protocol::http::Hops;

pub(crate) struct CompletedRequest {
    pub(crate) hops: Hops,
    /// `text`, `binary` or `none`.
    pub(crate) response_type: String,
}
