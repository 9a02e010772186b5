//! SQL: sends statements and reads rows, over one connection of a user that is opened at its first use.
//!
//! Read [`SqlClient`] first: who may use the connection, and when it is opened. Then read `connection`, a session of `postgres` or of `mysql` (a
//! folder each), and [`SqlAnswer`], which reads rows in place. Uses [`raw`](crate::raw) connections. Deliberately absent: other databases, a pool,
//! and unsolicited data (`COPY`, `LISTEN`).

mod address;
mod answer;
mod client;
mod connection;
mod mysql;
mod parameter;
mod postgres;
mod refusal;
mod statement;
mod statements;
mod value;

pub use address::{SqlAddress, SqlAddressError, SqlDialect};
pub use answer::{SqlAnswer, SqlRow};
pub use client::{SqlClient, SqlExchange, SqlTransactionId};
pub use parameter::SqlParameter;
pub use refusal::SqlRefusal;
pub use statement::SqlStatement;
pub use value::{SqlColumn, SqlValue};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use bytes::Bytes;

    use super::answer::SqlAnswer;
    use super::mysql::ResultScan;
    use super::postgres::AnswerScan;
    use super::value::RowFormat;
    use crate::failure::Failure;
    use crate::raw::AnswerFraming;

    pub(crate) use super::mysql::login as mysql_login;
    pub(crate) use super::postgres::login as postgres_login;

    /// Finds the end of a PostgreSQL answer by examining the bytes up to each of these ends, and returns its number of values.
    pub(crate) fn postgres(bytes: &[u8], ends: &mut dyn Iterator<Item = usize>) -> Result<Option<(usize, usize)>, Failure> {
        let mut scan = AnswerScan::default();
        let length = end_of(&mut scan, bytes, ends)?;
        Ok(length.map(|length| {
            let columns = scan.columns.take().unwrap_or_default();
            (length, values(&scan.answer(Bytes::copy_from_slice(&bytes[..length]), columns)))
        }))
    }

    /// The same for MySQL, whose rows are read in both formats.
    pub(crate) fn mysql(bytes: &[u8], ends: &mut dyn Iterator<Item = usize>) -> Result<Option<(usize, usize)>, Failure> {
        let mut scan = ResultScan::new(false);
        let length = end_of(&mut scan, bytes, ends)?;
        Ok(length.map(|length| {
            let answer = scan.answer(Bytes::copy_from_slice(&bytes[..length]), RowFormat::MySqlBinary);
            (length, values(&answer) + values(&SqlAnswer { format: RowFormat::MySqlText, ..answer }))
        }))
    }

    fn end_of(scan: &mut impl AnswerFraming, bytes: &[u8], ends: &mut dyn Iterator<Item = usize>) -> Result<Option<usize>, Failure> {
        for end in ends {
            if let Some(length) = scan.whole(&bytes[..end])? {
                return Ok(Some(length));
            }
        }
        Ok(None)
    }

    fn values(answer: &SqlAnswer) -> usize {
        answer.rows().map(|row| row.values().count()).sum()
    }
}
