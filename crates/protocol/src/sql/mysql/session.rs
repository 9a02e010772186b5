//! One statement on an open connection: as text if it has no values, otherwise prepared the first time and then only executed.

use bytes::Bytes;
use loadstone_metrics::Nanos;
use mysql_common::constants::Command;

use super::execute::{close, command, execute};
use super::scan::{PrepareScan, ResultScan};
use crate::failure::Failure;
use crate::raw::{AnswerFraming, RawConnection, RawTimes};
use crate::sql::answer::SqlAnswer;
use crate::sql::refusal::SqlRefusal;
use crate::sql::statement::SqlStatement;
use crate::sql::statements::{Prepared, Statements};
use crate::sql::value::RowFormat;

/// Error codes for a statement that is not, or no longer, prepared.
const STALE_STATEMENT_CODES: [&str; 2] = ["1243", "1615"];
/// Error code if the number of values differs from the number of placeholders.
const WRONG_ARGUMENTS: &str = "1210";
/// Limit on the responses to auxiliary requests, which are short. Bytes.
const AUXILIARY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// An authenticated connection.
#[derive(Debug)]
pub(in crate::sql) struct MySqlSession {
    raw: RawConnection,
    /// With the number of values of each.
    statements: Statements<usize>,
    prepares: bool,
    /// The server sends extended column information: MariaDB.
    is_extended: bool,
    in_transaction: bool,
    has_lost: bool,
    is_over: bool,
}

/// The auxiliary requests before a statement, with separate round trips.
#[derive(Default)]
struct AuxiliaryRequests {
    took_ns: u64,
}

impl MySqlSession {
    pub(super) fn new(raw: RawConnection, prepares: bool, is_extended: bool) -> Self {
        let (in_transaction, has_lost, is_over) = (false, false, false);
        Self { raw, statements: Statements::default(), prepares, is_extended, in_transaction, has_lost, is_over }
    }

    /// Whether it can no longer carry a statement.
    pub(in crate::sql) fn is_unusable(&self) -> bool {
        self.raw.is_unusable()
    }

    /// Whether it waits for a statement, outside a transaction.
    pub(in crate::sql) fn is_idle(&self) -> bool {
        !self.in_transaction
    }

    /// Whether the server has closed it.
    pub(in crate::sql) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The server has rolled back the user's open transaction, for example after a deadlock. Another statement would be committed individually.
    pub(in crate::sql) fn has_lost_transaction(&self) -> bool {
        self.has_lost
    }

    /// Runs a statement. Do not use the connection after a failure, or after dropping this future early: the next answer would belong to this
    /// statement.
    ///
    /// # Errors
    /// There is no answer. A refusal is an answer.
    pub(in crate::sql) async fn run(
        &mut self,
        statement: &SqlStatement,
        bytes_max: u64,
        due: Nanos,
        times: &mut RawTimes,
    ) -> Result<SqlAnswer, Failure> {
        let mut auxiliary = AuxiliaryRequests::default();
        if let Some(preamble) = &statement.preamble {
            let mut scan = ResultScan::new(self.is_extended);
            let bytes = self.ask(&command(Command::COM_QUERY, preamble.as_bytes()), &mut scan, due, times, &mut auxiliary).await?;
            let answer = scan.answer(bytes, RowFormat::MySqlText);
            if answer.refusal.is_some() {
                return Ok(answer);
            }
        }
        let (request, format) = if statement.parameters.is_empty() {
            (command(Command::COM_QUERY, statement.text.as_bytes()), RowFormat::MySqlText)
        } else {
            match self.prepared(statement, due, times, &mut auxiliary).await? {
                Ok(number) => (execute(number, &statement.parameters), RowFormat::MySqlBinary),
                Err(refusal) => return Ok(SqlAnswer::refused(refusal)),
            }
        };
        let mut wire: Vec<u8> = self.statements.take_unwanted().into_iter().flat_map(close).collect();
        wire.extend(request);
        self.raw.write(&wire, due, times).await?;
        let mut scan = ResultScan::new(self.is_extended);
        let answered = self.raw.read_framed(&mut scan, bytes_max, due, times).await;
        times.phases.wait += auxiliary.took_ns;
        let mut answer = scan.answer(answered?, format);
        self.follow(statement, &scan, &mut answer);
        Ok(answer)
    }

    /// Updates the connection's state from an answer.
    fn follow(&mut self, statement: &SqlStatement, scan: &ResultScan, answer: &mut SqlAnswer) {
        if self.has_lost && statement.commits() && answer.refusal.is_none() {
            answer.refusal = Some(SqlRefusal::rolled_back());
        }
        self.has_lost = (self.has_lost && !statement.ends_a_transaction()) || (scan.has_lost && self.in_transaction);
        self.in_transaction = scan.in_transaction.unwrap_or(self.in_transaction);
        if let Some(refusal) = &answer.refusal {
            self.is_over = refusal.is_final;
            if STALE_STATEMENT_CODES.contains(&&*refusal.code) {
                self.statements.forget(&statement.text);
            }
        }
        if !self.prepares {
            self.statements.forget(&statement.text);
        }
    }

    /// The number under which the server knows a statement.
    async fn prepared(
        &mut self,
        statement: &SqlStatement,
        due: Nanos,
        times: &mut RawTimes,
        auxiliary: &mut AuxiliaryRequests,
    ) -> Result<Result<u32, SqlRefusal>, Failure> {
        let Prepared { number, about: places } = match self.statements.get(&statement.text) {
            Some(known) => known.clone(),
            None => {
                let mut scan = PrepareScan::default();
                self.ask(&command(Command::COM_STMT_PREPARE, statement.text.as_bytes()), &mut scan, due, times, auxiliary).await?;
                if let Some(refusal) = scan.refusal {
                    self.is_over = refusal.is_final;
                    return Ok(Err(refusal));
                }
                let prepared = Prepared { number: scan.number, about: scan.places };
                self.statements.insert(&statement.text, prepared.clone());
                prepared
            }
        };
        let passed = statement.parameters.len();
        Ok(if places == passed {
            Ok(number)
        } else {
            Err(SqlRefusal::new(
                WRONG_ARGUMENTS,
                &format!("the statement has {places} placeholders (`?`), but {passed} values were passed"),
            ))
        })
    }

    /// Sends an auxiliary request before its statement. Its duration is part of the statement's wait.
    async fn ask(
        &mut self,
        wire: &[u8],
        scan: &mut impl AnswerFraming,
        due: Nanos,
        times: &mut RawTimes,
        auxiliary: &mut AuxiliaryRequests,
    ) -> Result<Bytes, Failure> {
        let begun = self.raw.now();
        let mut own = RawTimes::from(begun);
        let answered = match self.raw.write(wire, due, &mut own).await {
            Ok(()) => self.raw.read_framed(scan, AUXILIARY_BYTES_MAX, due, &mut own).await,
            Err(failure) => Err(failure),
        };
        times.bytes_sent += own.bytes_sent;
        times.bytes_received += own.bytes_received;
        auxiliary.took_ns += own.ended.saturating_sub(begun);
        // This may be the last request.
        (times.ended, times.phases.wait) = (own.ended, auxiliary.took_ns);
        answered
    }
}
