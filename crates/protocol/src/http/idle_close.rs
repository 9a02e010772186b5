//! Requests that met the close of an idle connection, and which of them may be resent.
//!
//! A server may close a kept-alive connection while a request is in transit (RFC 9112, section 9.5). Resending that request hides nothing if the
//! server never received it. Resending any other request would hide a failure, and might execute twice what should happen once. Only proof therefore
//! permits a retry:
//!
//! - No byte was passed to the kernel: the connection had broken before.
//! - The peer ended its side, and its machine has acknowledged no byte of the request. The segment that ends a side acknowledges everything that
//!   arrived before it (RFC 9293, section 3.4). The server had therefore closed before the request reached its machine.
//!
//! A reset proves nothing: it looks the same if the server had forgotten the connection, and if it read the request and gave up.

use super::in_flight::InFlightRequest;

/// How far a request without a response got on a kept-alive connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It was never sent.
    Unsent,
    /// The server closed the connection before the request arrived.
    Unreceived,
    /// The server may have received it.
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

    /// Whether the request may be resent (RFC 9110, section 9.2.2).
    pub(super) fn allows_retry(self, is_idempotent: bool) -> bool {
        match self {
            Self::Unsent => true,
            Self::Unreceived => is_idempotent,
            Self::Unknown => false,
        }
    }
}
