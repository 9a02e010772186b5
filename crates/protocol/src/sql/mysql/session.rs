//! One statement on an open connection: as text where it has no values, otherwise prepared the first time and then only executed.

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

/// What servers say of a statement that is not, or no longer, prepared.
const STALE: [&str; 2] = ["1243", "1615"];
/// What servers say where values and their places are not as many.
const WRONG_ARGUMENTS: &str = "1210";
/// What comes back from what is asked beside a statement is short. Bytes.
const ASIDE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A connection that is logged in.
#[derive(Debug)]
pub(in crate::sql) struct MySqlSession {
    raw: RawConnection,
    /// With how many values each takes.
    statements: Statements<usize>,
    prepares: bool,
    /// The server says more of columns: MariaDB.
    is_extended: bool,
    in_transaction: bool,
    has_lost: bool,
    is_over: bool,
}

/// What was asked before a statement, on trips of its own.
#[derive(Default)]
struct Asides {
    took_ns: u64,
}

impl MySqlSession {
    pub(super) fn new(raw: RawConnection, prepares: bool, is_extended: bool) -> Self {
        let (in_transaction, has_lost, is_over) = (false, false, false);
        Self { raw, statements: Statements::default(), prepares, is_extended, in_transaction, has_lost, is_over }
    }

    /// It cannot carry another statement.
    pub(in crate::sql) fn is_spoilt(&self) -> bool {
        self.raw.is_spoilt()
    }

    /// It waits for a statement, outside a transaction.
    pub(in crate::sql) fn is_idle(&self) -> bool {
        !self.in_transaction
    }

    /// The server has closed it.
    pub(in crate::sql) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The server has undone the transaction that is open for its user, after a deadlock for example. Another statement would be kept on its own.
    pub(in crate::sql) fn has_lost_transaction(&self) -> bool {
        self.has_lost
    }

    /// Runs a statement. It must not be used again after a failure, or when this is dropped before its end: the answer would be another's.
    ///
    /// # Errors
    /// There is no answer. A refusal is one.
    pub(in crate::sql) async fn run(
        &mut self,
        statement: &SqlStatement,
        bytes_max: u64,
        due: Nanos,
        times: &mut RawTimes,
    ) -> Result<SqlAnswer, Failure> {
        let mut asides = Asides::default();
        if let Some(preamble) = &statement.preamble {
            let mut scan = ResultScan::new(self.is_extended);
            let bytes = self.ask(&command(Command::COM_QUERY, preamble.as_bytes()), &mut scan, due, times, &mut asides).await?;
            let answer = scan.answer(bytes, RowFormat::MySqlText);
            if answer.refusal.is_some() {
                return Ok(answer);
            }
        }
        let (asked, format) = if statement.parameters.is_empty() {
            (command(Command::COM_QUERY, statement.text.as_bytes()), RowFormat::MySqlText)
        } else {
            match self.prepared(statement, due, times, &mut asides).await? {
                Ok(number) => (execute(number, &statement.parameters), RowFormat::MySqlBinary),
                Err(refusal) => return Ok(SqlAnswer::refused(refusal)),
            }
        };
        let mut wire: Vec<u8> = self.statements.take_unwanted().into_iter().flat_map(close).collect();
        wire.extend(asked);
        self.raw.write(&wire, due, times).await?;
        let mut scan = ResultScan::new(self.is_extended);
        let answered = self.raw.read_framed(&mut scan, bytes_max, due, times).await;
        times.phases.wait += asides.took_ns;
        let mut answer = scan.answer(answered?, format);
        self.follow(statement, &scan, &mut answer);
        Ok(answer)
    }

    /// What an answer says of the connection.
    fn follow(&mut self, statement: &SqlStatement, scan: &ResultScan, answer: &mut SqlAnswer) {
        if self.has_lost && statement.commits() && answer.refusal.is_none() {
            answer.refusal = Some(SqlRefusal::rolled_back());
        }
        self.has_lost = (self.has_lost && !statement.ends_a_transaction()) || (scan.has_lost && self.in_transaction);
        self.in_transaction = scan.in_transaction.unwrap_or(self.in_transaction);
        if let Some(refusal) = &answer.refusal {
            self.is_over = refusal.is_final;
            if STALE.contains(&&*refusal.code) {
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
        asides: &mut Asides,
    ) -> Result<Result<u32, SqlRefusal>, Failure> {
        let Prepared { number, about: places } = match self.statements.get(&statement.text) {
            Some(known) => known.clone(),
            None => {
                let mut scan = PrepareScan::default();
                self.ask(&command(Command::COM_STMT_PREPARE, statement.text.as_bytes()), &mut scan, due, times, asides).await?;
                if let Some(refusal) = scan.refusal {
                    self.is_over = refusal.is_final;
                    return Ok(Err(refusal));
                }
                let prepared = Prepared { number: scan.number, about: scan.places };
                self.statements.insert(&statement.text, prepared.clone());
                prepared
            }
        };
        let given = statement.parameters.len();
        Ok(if places == given {
            Ok(number)
        } else {
            Err(SqlRefusal::new(WRONG_ARGUMENTS, &format!("the statement has {places} places for values (`?`), and {given} were given")))
        })
    }

    /// Asks something that belongs to a statement and goes before it; what that takes is part of its wait.
    async fn ask(
        &mut self,
        wire: &[u8],
        scan: &mut impl AnswerFraming,
        due: Nanos,
        times: &mut RawTimes,
        asides: &mut Asides,
    ) -> Result<Bytes, Failure> {
        let begun = self.raw.now();
        let mut own = RawTimes::from(begun);
        let answered = match self.raw.write(wire, due, &mut own).await {
            Ok(()) => self.raw.read_framed(scan, ASIDE_BYTES_MAX, due, &mut own).await,
            Err(failure) => Err(failure),
        };
        times.bytes_sent += own.bytes_sent;
        times.bytes_received += own.bytes_received;
        asides.took_ns += own.ended.saturating_sub(begun);
        // It may be the last that is asked.
        (times.ended, times.phases.wait) = (own.ended, asides.took_ns);
        answered
    }
}
