//! One statement on an open connection: prepared the first time, then only executed, with one round trip in either case.

use std::rc::Rc;

use bytes::{BufMut, BytesMut};
use loadstone_metrics::Nanos;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::scan::AnswerScan;
use crate::failure::Failure;
use crate::raw::{RawConnection, RawTimes};
use crate::sql::answer::SqlAnswer;
use crate::sql::parameter::SqlParameter;
use crate::sql::refusal::SqlRefusal;
use crate::sql::statement::SqlStatement;
use crate::sql::statements::{Prepared, Statements};
use crate::sql::value::SqlColumn;

/// The prepared statement is missing or outdated: a manual `DISCARD ALL`, an altered table. (PostgreSQL, appendix A)
const STALE_STATEMENT_CODES: [&str; 2] = ["26000", "0A000"];

/// An authenticated connection.
#[derive(Debug)]
pub(in crate::sql) struct PostgresSession {
    raw: RawConnection,
    statements: Statements<Rc<[SqlColumn]>>,
    prepares: bool,
    /// The server's last report. 0 before the first.
    status: u8,
}

impl PostgresSession {
    pub(super) fn new(raw: RawConnection, prepares: bool) -> Self {
        Self { raw, statements: Statements::default(), prepares, status: b'I' }
    }

    /// Whether it can no longer carry a statement.
    pub(in crate::sql) fn is_unusable(&self) -> bool {
        self.raw.is_unusable()
    }

    /// Whether it waits for a statement, outside a transaction.
    pub(in crate::sql) fn is_idle(&self) -> bool {
        self.status == b'I'
    }

    /// Whether the server has closed it.
    pub(in crate::sql) fn is_over(&self) -> bool {
        self.status == 0
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
        let known = self.statements.get(&statement.text).cloned();
        let number = match &known {
            Some(known) => known.number,
            None if self.prepares => self.statements.next_number(),
            None => 0,
        };
        let unwanted = if known.is_none() { self.statements.take_unwanted() } else { Vec::new() };
        let wire = written(statement, number, known.is_none(), &unwanted)
            .map_err(|problem| Failure::unsendable(format!("the statement cannot be sent: {problem}")))?;
        self.status = 0;
        self.raw.write(&wire, due, times).await?;
        let mut scan = AnswerScan::default();
        let bytes = self.raw.read_framed(&mut scan, bytes_max, due, times).await?;
        self.status = scan.status;
        let described = scan.columns.take();
        if let (None, true, true, Some(columns)) = (&known, self.prepares, scan.is_prepared, &described) {
            self.statements.insert(&statement.text, Prepared { number, about: Rc::clone(columns) });
        }
        let columns = described.or(known.map(|known| known.about)).unwrap_or_default();
        let ended_instead = scan.tag == b"ROLLBACK" && statement.commits();
        let mut answer = scan.answer(bytes, columns);
        if ended_instead {
            answer.refusal = Some(SqlRefusal::rolled_back());
        }
        if answer.refusal.as_ref().is_some_and(|refusal| STALE_STATEMENT_CODES.contains(&&*refusal.code)) {
            self.statements.forget(&statement.text);
        }
        Ok(answer)
    }
}

/// The messages that run a statement. Parameters and values are sent as text, whose types the server infers.
fn written(statement: &SqlStatement, number: u32, prepares: bool, unwanted: &[u32]) -> std::io::Result<BytesMut> {
    let SqlStatement { text, parameters, .. } = statement;
    let mut wire = BytesMut::with_capacity(64 + if prepares { text.len() } else { 0 });
    let name = name_of(number);
    unwanted.iter().try_for_each(|number| frontend::close(b'S', &name_of(*number), &mut wire))?;
    if prepares {
        frontend::parse(&name, text, std::iter::empty(), &mut wire)?;
        frontend::describe(b'S', &name, &mut wire)?;
    }
    let formats = parameters.iter().map(format_of);
    let write = |parameter: &SqlParameter, wire: &mut BytesMut| Ok(write_value(parameter, wire));
    frontend::bind("", &name, formats, parameters, write, std::iter::empty(), &mut wire).map_err(|problem| match problem {
        frontend::BindError::Conversion(problem) => std::io::Error::other(problem),
        frontend::BindError::Serialization(problem) => problem,
    })?;
    frontend::execute("", 0, &mut wire)?;
    frontend::sync(&mut wire);
    Ok(wire)
}

/// The server's name for a statement. Number 0 is the unnamed statement, which lasts until the next.
fn name_of(number: u32) -> String {
    if number == 0 { String::new() } else { format!("s{number}") }
}

/// Strings are sent as text, and bytes in the binary format of the type: for `bytea`, the bytes themselves.
fn format_of(parameter: &SqlParameter) -> i16 {
    i16::from(matches!(parameter, SqlParameter::Bytes(_)))
}

fn write_value(parameter: &SqlParameter, into: &mut BytesMut) -> IsNull {
    match (parameter, parameter.text()) {
        (SqlParameter::Bytes(bytes), _) => into.put_slice(bytes),
        (_, Some(text)) => into.put_slice(text.as_bytes()),
        (_, None) => return IsNull::Yes,
    }
    IsNull::No
}
