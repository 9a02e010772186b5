//! A connection that is logged in, whichever the server.

use std::rc::Rc;

use loadstone_metrics::Nanos;

use super::address::{SqlAddress, SqlDialect};
use super::answer::SqlAnswer;
use super::mysql::MySqlSession;
use super::postgres::PostgresSession;
use super::refusal::Unopened;
use super::statement::SqlStatement;
use super::{mysql, postgres};
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::RawTimes;

/// A session on a server, by what it speaks.
#[derive(Debug)]
pub(super) enum SqlConnection {
    Postgres(PostgresSession),
    MySql(MySqlSession),
}

impl SqlConnection {
    /// Connects and logs in. TLS is a phase of its own, all else is connecting.
    pub(super) async fn open(
        network: &Rc<Network>,
        address: &SqlAddress,
        timeout_ns: u64,
        due: Nanos,
        times: &mut RawTimes,
    ) -> Result<Self, Unopened> {
        match address.dialect {
            SqlDialect::Postgres => postgres::open(network, address, timeout_ns, due, times).await.map(Self::Postgres),
            SqlDialect::MySql => mysql::open(network, address, timeout_ns, due, times).await.map(Self::MySql),
        }
    }

    /// It cannot carry another statement.
    pub(super) fn is_spoilt(&self) -> bool {
        match self {
            Self::Postgres(session) => session.is_spoilt(),
            Self::MySql(session) => session.is_spoilt(),
        }
    }

    /// It waits for a statement, outside a transaction.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Postgres(session) => session.is_idle(),
            Self::MySql(session) => session.is_idle(),
        }
    }

    /// The server has closed it.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Postgres(session) => session.is_over(),
            Self::MySql(session) => session.is_over(),
        }
    }

    /// The statement would not be part of the transaction that it is meant for: the server has undone that, and says so only once.
    pub(super) fn has_lost_what_it_needs(&self, statement: &SqlStatement) -> bool {
        match self {
            // It refuses such a statement itself (25P02).
            Self::Postgres(_) => false,
            Self::MySql(session) => session.has_lost_transaction() && !statement.ends_a_transaction(),
        }
    }

    /// Runs a statement. It must not be used again after a failure, or when this is dropped before its end: the answer would be another's.
    ///
    /// # Errors
    /// There is no answer. A refusal is one.
    pub(super) async fn run(
        &mut self,
        statement: &SqlStatement,
        bytes_max: u64,
        due: Nanos,
        times: &mut RawTimes,
    ) -> Result<SqlAnswer, Failure> {
        match self {
            Self::Postgres(session) => session.run(statement, bytes_max, due, times).await,
            Self::MySql(session) => session.run(statement, bytes_max, due, times).await,
        }
    }
}
