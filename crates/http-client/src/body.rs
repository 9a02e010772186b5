//! The body of a request, and the streamed body of a response with its connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::task::AbortHandle;

use crate::error::HttpError;

/// The body of a request.
pub type RequestBody = Full<Bytes>;

/// Aborts the task that drives a connection when dropped, which closes the connection.
#[derive(Debug)]
pub(crate) struct ConnectionTask(pub(crate) AbortHandle);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A response's body. Dropping it closes the connection.
#[derive(Debug)]
pub struct StreamedBody {
    pub(crate) incoming: Incoming,
    pub(crate) authority: String,
    pub(crate) _connection: ConnectionTask,
}

impl StreamedBody {
    /// The whole body.
    ///
    /// # Errors
    /// The body is longer than `bytes_max`, or the connection breaks.
    pub async fn bytes(mut self, bytes_max: usize) -> Result<Bytes, HttpError> {
        let collected = Limited::new(&mut self.incoming, bytes_max).collect().await;
        let authority = self.authority;
        collected.map(http_body_util::Collected::to_bytes).map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(source) => HttpError::Exchange { authority, source: *source },
            // `Limited` has two kinds of errors: the body's, and its own.
            Err(other) => {
                debug_assert!(other.is::<LengthLimitError>(), "{other}");
                HttpError::TooLong { authority, bytes_max }
            }
        })
    }
}

impl Body for StreamedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
