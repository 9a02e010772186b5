//! Why a Go service cannot be read.

use crate::http::FetchError;

#[derive(Debug, thiserror::Error)]
pub(super) enum GoError {
    #[error("{0}; does the service import net/http/pprof?")]
    Fetch(#[from] FetchError),
    #[error("the response is not a pprof profile")]
    NotAProfile,
    #[error("the profile would take more than 128 MiB of memory")]
    TooLarge,
}
