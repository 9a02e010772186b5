//! One user's connection to a database. It is opened on demand, used by one statement at a time, and reserved while a transaction is open.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::address::SqlAddress;
use super::answer::SqlAnswer;
use super::connection::SqlConnection;
use super::refusal::Unopened;
use super::statement::SqlStatement;
use crate::connect::within;
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::RawTimes;

/// Statements wait in order while the connection is busy.
#[derive(Debug)]
pub struct SqlClient {
    network: Rc<Network>,
    address: SqlAddress,
    /// `None` if there is none, and while a statement uses it.
    connection: RefCell<Option<SqlConnection>>,
    /// Held by a statement, or by a transaction until its end.
    turn: Semaphore,
    /// Held by a statement of the open transaction.
    turn_within: Semaphore,
    open: Cell<Option<SqlTransactionId>>,
    begun: Cell<u64>,
}

/// Identifies one of a client's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlTransactionId(u64);

/// A statement, and the answer to it.
#[derive(Debug)]
pub struct SqlExchange {
    pub times: RawTimes,
    pub result: Result<SqlAnswer, Failure>,
}

impl SqlExchange {
    /// Whether the statement succeeded.
    pub fn is_done(&self) -> bool {
        self.result.as_ref().is_ok_and(|answer| answer.refusal.is_none())
    }
}

/// The limits of a statement.
#[derive(Debug, Clone, Copy)]
struct Limits {
    timeout_ns: u64,
    due: Nanos,
    bytes_max: u64,
}

impl SqlClient {
    pub fn new(network: Rc<Network>, address: SqlAddress) -> Self {
        Self {
            network,
            address,
            connection: RefCell::default(),
            turn: Semaphore::new(1),
            turn_within: Semaphore::new(1),
            open: Cell::default(),
            begun: Cell::default(),
        }
    }

    pub fn address(&self) -> &SqlAddress {
        &self.address
    }

    /// Whether there is a connection, or one is being opened.
    pub fn is_connected(&self) -> bool {
        self.connection.borrow().is_some() || self.turn.available_permits() == 0
    }

    /// Closes the connection, unless a statement uses it. The server rolls back an open transaction.
    pub fn close(&self) {
        *self.connection.borrow_mut() = None;
        self.release();
    }

    /// Closes the connection if its iteration has left a transaction open.
    pub fn close_unless_idle(&self) {
        if self.open.get().is_some() || self.connection.borrow().as_ref().is_some_and(|connection| !connection.is_idle()) {
            self.close();
        }
    }

    /// Runs a statement, within the open transaction or on its own. If the future is dropped early, the connection is closed.
    pub async fn run(&self, within: Option<SqlTransactionId>, statement: &SqlStatement, timeout_ns: u64, bytes_max: u64) -> SqlExchange {
        let turn = within.map_or(&self.turn, |_| &self.turn_within);
        self.exchange(turn, within, statement, (timeout_ns, bytes_max)).await.0
    }

    /// Opens a transaction, which reserves the connection until it ends. `None`: it was not opened.
    pub async fn begin(&self, statement: &SqlStatement, timeout_ns: u64, bytes_max: u64) -> (SqlExchange, Option<SqlTransactionId>) {
        let (exchange, turn) = self.exchange(&self.turn, None, statement, (timeout_ns, bytes_max)).await;
        let Some(turn) = turn.filter(|_| exchange.is_done()) else { return (exchange, None) };
        turn.forget();
        let id = SqlTransactionId(self.begun.get() + 1);
        self.begun.set(id.0);
        self.open.set(Some(id));
        (exchange, Some(id))
    }

    /// Ends a transaction with `COMMIT` or `ROLLBACK`. Whatever the result, others may then use the connection.
    pub async fn end(&self, id: SqlTransactionId, statement: &SqlStatement, timeout_ns: u64, bytes_max: u64) -> SqlExchange {
        let ending = EndedTransaction { client: self, id };
        let exchange = self.run(Some(id), statement, timeout_ns, bytes_max).await;
        drop(ending);
        exchange
    }

    /// Whether the transaction has not ended.
    fn is_open(&self, id: SqlTransactionId) -> bool {
        self.open.get() == Some(id)
    }

    /// Whether the transaction has not ended, and its connection still exists.
    pub fn can_end(&self, id: SqlTransactionId) -> bool {
        let in_use = self.turn_within.available_permits() == 0;
        self.is_open(id) && (in_use || self.connection.borrow().is_some())
    }

    /// Ends the transaction without informing the server, which rolls it back if it had not ended before.
    pub fn leave(&self, id: SqlTransactionId) {
        drop(EndedTransaction { client: self, id });
    }

    /// Lets the work after the open transaction begin.
    fn release(&self) {
        if self.open.take().is_some() {
            self.turn.add_permits(1);
        }
    }

    async fn exchange<'a>(
        &self,
        turn: &'a Semaphore,
        within: Option<SqlTransactionId>,
        statement: &SqlStatement,
        (timeout_ns, bytes_max): (u64, u64),
    ) -> (SqlExchange, Option<SemaphorePermit<'a>>) {
        let mut times = RawTimes::from(self.network.clock().now());
        let limits = Limits { timeout_ns, due: times.started.saturating_add(timeout_ns), bytes_max };
        let (result, permit) = match self.take_turn(turn, limits.due, &mut times).await {
            Ok(permit) => (self.perform(within, statement, limits, &mut times).await, Some(permit)),
            Err(failure) => (Err(failure), None),
        };
        if times.ended == 0 {
            times.ended = self.network.clock().now();
        }
        (SqlExchange { times, result }, permit)
    }

    async fn take_turn<'a>(&self, turn: &'a Semaphore, due: Nanos, times: &mut RawTimes) -> Result<SemaphorePermit<'a>, Failure> {
        if let Ok(permit) = turn.try_acquire() {
            return Ok(permit);
        }
        let clock = self.network.clock();
        let timer = clock.timer();
        timer.reset(due);
        let doing = if self.open.get().is_some() {
            "waiting for the user's connection, which a transaction is using (use the transaction passed to its function)"
        } else {
            "waiting for the user's connection"
        };
        let permit = within(&timer, doing, turn.acquire()).await;
        times.phases.queue = clock.now() - times.started;
        // The semaphore is never closed.
        permit?.map_err(|_| left())
    }

    async fn perform(
        &self,
        within: Option<SqlTransactionId>,
        statement: &SqlStatement,
        limits: Limits,
        times: &mut RawTimes,
    ) -> Result<SqlAnswer, Failure> {
        if within.is_some_and(|id| !self.is_open(id)) {
            return Err(Failure::new(Outcome::NotConnected, "the transaction has ended"));
        }
        let Limits { timeout_ns, due, bytes_max } = limits;
        let taken = self.connection.take();
        let mut connection = match (taken, within) {
            // The connection reports why its transaction was lost, if it was.
            (Some(connection), Some(_)) => connection,
            (None, Some(_)) => return Err(left()),
            (Some(connection), None) if !connection.is_unusable() => connection,
            (_, None) => match Box::pin(SqlConnection::open(&self.network, &self.address, timeout_ns, due, times)).await {
                Ok(connection) => connection,
                Err(Unopened::Failed(failure)) => return Err(failure),
                Err(Unopened::Refused(refusal)) => return Ok(SqlAnswer::refused(refusal)),
            },
        };
        if within.is_some() && connection.has_lost_what_it_needs(statement) {
            *self.connection.borrow_mut() = Some(connection);
            return Err(Failure::new(Outcome::NotConnected, "the transaction has ended: the server rolled it back"));
        }
        let answer = connection.run(statement, bytes_max, due, times).await?;
        // If closed in the meantime, its transaction ended with the iteration.
        let is_wanted = within.is_none_or(|id| self.is_open(id));
        if is_wanted && !connection.is_over() {
            *self.connection.borrow_mut() = Some(connection);
        }
        Ok(answer)
    }
}

fn left() -> Failure {
    Failure::new(Outcome::NotConnected, "the transaction's connection was lost")
}

/// A transaction that is being ended. It has ended when this is dropped.
struct EndedTransaction<'a> {
    client: &'a SqlClient,
    id: SqlTransactionId,
}

impl Drop for EndedTransaction<'_> {
    fn drop(&mut self) {
        let client = self.client;
        if !client.is_open(self.id) {
            return;
        }
        client.connection.borrow_mut().take_if(|connection| !connection.is_idle());
        client.release();
    }
}
