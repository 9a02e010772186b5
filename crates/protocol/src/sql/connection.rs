//! One statement on an open connection: prepared the first time, then only executed; either way one trip to the server and back.

use bytes::BytesMut;
use metrics::Nanos;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::answer::SqlAnswer;
use super::parameter::SqlParameter;
use super::refusal::SqlRefusal;
use super::scan::AnswerScan;
use super::statements::{Prepared, Statements, name};
use crate::failure::Failure;
use crate::raw::{RawConnection, RawTimes};

/// The statement is not, or no longer, what was prepared: `DISCARD ALL` by hand, a table that was altered. (PostgreSQL, appendix A)
const STALE: [&str; 2] = ["26000", "0A000"];
/// "transaction_rollback".
const ROLLED_BACK: &str = "40000";

/// What a server is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlStatement {
    pub text: String,
    /// For `$1` and what follows.
    pub parameters: Vec<SqlParameter>,
}

impl SqlStatement {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), parameters: Vec::new() }
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub(super) struct SqlConnection {
    raw: RawConnection,
    statements: Statements,
    prepares: bool,
    /// As the server said last; 0 while it has yet to say.
    status: u8,
}

impl SqlConnection {
    pub(super) fn new(raw: RawConnection, prepares: bool) -> Self {
        Self { raw, statements: Statements::default(), prepares, status: b'I' }
    }

    /// It cannot carry another statement.
    pub(super) fn is_spoilt(&self) -> bool {
        self.raw.is_spoilt()
    }

    /// It waits for a statement, outside a transaction.
    pub(super) fn is_idle(&self) -> bool {
        self.status == b'I'
    }

    /// The server has closed it.
    pub(super) fn is_over(&self) -> bool {
        self.status == 0
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
        let known = self.statements.get(&statement.text).cloned();
        let number = match &known {
            Some(known) => known.number,
            None if self.prepares => self.statements.next_number(),
            None => 0,
        };
        let unwanted = if known.is_none() { self.statements.take_unwanted() } else { Vec::new() };
        let wire = written(statement, number, known.is_none(), &unwanted)
            .map_err(|problem| Failure::protocol(format!("the statement cannot be sent: {problem}")))?;
        self.status = 0;
        self.raw.write(&wire, due, times).await?;
        let mut scan = AnswerScan::default();
        let bytes = self.raw.read_framed(&mut scan, bytes_max, due, times).await?;
        self.status = scan.status;
        let described = scan.columns.take();
        if let (None, true, true, Some(columns)) = (&known, self.prepares, scan.is_prepared, &described) {
            self.statements.insert(&statement.text, Prepared { number, columns: columns.clone() });
        }
        let columns = described.or(known.map(|known| known.columns)).unwrap_or_default();
        let ended_instead = scan.tag == b"ROLLBACK" && asks_to_commit(&statement.text);
        let mut answer = scan.answer(bytes, columns);
        if ended_instead {
            answer.refusal = Some(rolled_back());
        }
        if answer.refusal.as_ref().is_some_and(|refusal| STALE.contains(&&*refusal.code)) {
            self.statements.forget(&statement.text);
        }
        Ok(answer)
    }
}

/// The messages that run a statement. Parameters and values go as text, whose types the server finds out.
fn written(statement: &SqlStatement, number: u32, prepares: bool, unwanted: &[u32]) -> std::io::Result<BytesMut> {
    let SqlStatement { text, parameters } = statement;
    let mut wire = BytesMut::with_capacity(64 + if prepares { text.len() } else { 0 });
    let name = name(number);
    unwanted.iter().try_for_each(|number| frontend::close(b'S', &super::statements::name(*number), &mut wire))?;
    if prepares {
        frontend::parse(&name, text, std::iter::empty(), &mut wire)?;
        frontend::describe(b'S', &name, &mut wire)?;
    }
    let formats = parameters.iter().map(SqlParameter::format);
    let write = |parameter: &SqlParameter, wire: &mut BytesMut| Ok(if parameter.write(wire) { IsNull::No } else { IsNull::Yes });
    frontend::bind("", &name, formats, parameters, write, std::iter::empty(), &mut wire).map_err(|problem| match problem {
        frontend::BindError::Conversion(problem) => std::io::Error::other(problem),
        frontend::BindError::Serialization(problem) => problem,
    })?;
    frontend::execute("", 0, &mut wire)?;
    frontend::sync(&mut wire);
    Ok(wire)
}

fn asks_to_commit(text: &str) -> bool {
    let word = text.split(|character: char| !character.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    word.eq_ignore_ascii_case("commit") || word.eq_ignore_ascii_case("end")
}

/// A server answers `COMMIT` with `ROLLBACK`, and no error, where a statement of the transaction had failed.
fn rolled_back() -> SqlRefusal {
    let text = format!("{ROLLED_BACK}: the transaction was rolled back, since a statement of it had failed");
    SqlRefusal { code: ROLLED_BACK.to_owned(), text, ..SqlRefusal::default() }
}
