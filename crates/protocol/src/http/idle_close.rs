//! Requests that met the close of an idle connection: which of them may go out again.
//!
//! A server may close a kept connection while a request is on its way to it (RFC 9112, section 9.5). To send that request again hides
//! nothing, if the server never had it; to send any other again would hide a failure, and might do twice what was to be done once. So only
//! what is proven counts:
//!
//! - No byte was handed to the kernel: the connection had broken before.
//! - The peer ended its side, and its machine has acknowledged no byte of the request. The segment that ends a side acknowledges all that
//!   has arrived before it (RFC 9293, section 3.4), so the server had closed before the request reached its machine.
//!
//! A reset proves nothing: it looks the same whether the server had forgotten the connection or has read the request and gave up.

use super::in_flight::InFlightRequest;

/// What is known of a request without a response on a kept connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It never left.
    Unsent,
    /// The server closed before it arrived.
    Unreceived,
    /// The server may have had it.
    Unknown,
}

impl Reach {
    pub(super) fn of(request: &InFlightRequest<'_>) -> Self {
        let times = &request.times;
        if times.bytes_received > 0 {
            return Self::Unknown;
        }
        if times.bytes_sent == 0 {
            return Self::Unsent;
        }
        let unacknowledged = request.connection.stream.unacknowledged_bytes().filter(|_| request.closed);
        if unacknowledged.is_some_and(|bytes| bytes >= times.bytes_sent) { Self::Unreceived } else { Self::Unknown }
    }

    /// Whether the request may go out again (RFC 9110, section 9.2.2).
    pub(super) fn allows_retry(self, is_idempotent: bool) -> bool {
        match self {
            Self::Unsent => true,
            Self::Unreceived => is_idempotent,
            Self::Unknown => false,
        }
    }
}
