//! Redis (RESP2 and RESP3): sends commands and reads replies, over one connection that is opened at its first use.
//!
//! Read [`RedisClient`] first. `resp` reads replies in place, without a tree of values. Uses [`raw`](crate::raw) connections. Deliberately absent:
//! clusters (a `MOVED` is a failed command), and unexpected publications.

mod address;
mod client;
mod resp;

pub use address::{RedisAddress, RedisAddressError};
pub use client::{RedisClient, RedisExchange, error_code};
pub use resp::{RedisPart, RedisReplies, write_argument, write_command};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use super::resp::RedisScanner;
    use crate::failure::Failure;
    use crate::raw::AnswerFraming;

    /// Finds the end of one reply, by examining the bytes up to each of these ends.
    pub(crate) fn whole(bytes: &[u8], ends: &mut dyn Iterator<Item = usize>) -> Result<Option<usize>, Failure> {
        let mut scanner = RedisScanner::new(1);
        for end in ends {
            if let Some(length) = scanner.whole(&bytes[..end])? {
                return Ok(Some(length));
            }
        }
        Ok(None)
    }
}
