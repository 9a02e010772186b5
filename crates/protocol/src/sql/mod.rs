//! SQL: statements out, rows back, over one connection of a user that is opened when it is first needed.
//!
//! Read [`SqlClient`] first: who may use the connection, and when it is opened. Then `connection` (one statement on it, prepared once) and
//! [`SqlAnswer`], which reads rows where they lie. `opening` begins a connection, `wire` knows the bytes (PostgreSQL's frontend/backend protocol,
//! version 3.0). Over [`raw`](crate::raw) connections. Deliberately absent: other databases, `COPY`, notifications (`LISTEN`), a pool.

mod address;
mod answer;
mod client;
mod connection;
mod opening;
mod parameter;
mod refusal;
mod scan;
mod statements;
mod wire;

pub use address::{SqlAddress, SqlAddressError};
pub use answer::{SqlAnswer, SqlColumn, SqlRow, SqlValue};
pub use client::{SqlClient, SqlExchange, SqlTransactionId};
pub use connection::SqlStatement;
pub use parameter::SqlParameter;
pub use refusal::SqlRefusal;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use bytes::Bytes;

    use super::scan::AnswerScan;
    use crate::failure::Failure;
    use crate::raw::AnswerFraming;

    /// The end of an answer, looked for in the bytes up to each of these ends, and how many values it has.
    pub(crate) fn whole(bytes: &[u8], ends: &mut dyn Iterator<Item = usize>) -> Result<Option<(usize, usize)>, Failure> {
        let mut scan = AnswerScan::default();
        for end in ends {
            if let Some(length) = scan.whole(&bytes[..end])? {
                let columns = scan.columns.take().unwrap_or_default();
                let answer = scan.answer(Bytes::copy_from_slice(&bytes[..length]), columns);
                return Ok(Some((length, answer.rows().map(|row| row.values().count()).sum())));
            }
        }
        Ok(None)
    }
}
