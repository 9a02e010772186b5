//! An authenticated connection to a server of either kind.

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

/// A session on a server, by protocol.
#[derive(Debug)]
pub(super) enum SqlConnection {
    Postgres(PostgresSession),
    MySql(MySqlSession),
}

impl SqlConnection {
    /// Connects and logs in. TLS is a separate phase; everything else counts as connecting.
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

    /// Whether it can no longer carry a statement.
    pub(super) fn is_unusable(&self) -> bool {
        match self {
            Self::Postgres(session) => session.is_unusable(),
            Self::MySql(session) => session.is_unusable(),
        }
    }

    /// Whether it waits for a statement, outside a transaction.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Postgres(session) => session.is_idle(),
            Self::MySql(session) => session.is_idle(),
        }
    }

    /// Whether the server has closed it.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Postgres(session) => session.is_over(),
            Self::MySql(session) => session.is_over(),
        }
    }

    /// Whether the statement would run outside the transaction for which it is meant: the server has rolled that back, and reports it only once.
    pub(super) fn has_lost_what_it_needs(&self, statement: &SqlStatement) -> bool {
        match self {
            // PostgreSQL refuses such a statement itself (25P02).
            Self::Postgres(_) => false,
            Self::MySql(session) => session.has_lost_transaction() && !statement.ends_a_transaction(),
        }
    }

    /// Runs a statement. Do not use the connection after a failure, or after dropping this future early: the next answer would belong to this
    /// statement.
    ///
    /// # Errors
    /// There is no answer. A refusal is an answer.
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
