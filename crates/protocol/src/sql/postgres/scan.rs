//! Finds the end of an answer and parses its content, in one pass.

use std::rc::Rc;

use bytes::Bytes;

use super::rows::columns;
use super::wire::{WireMessage, fields, malformed, message};
use crate::failure::Failure;
use crate::raw::AnswerFraming;
use crate::sql::answer::SqlAnswer;
use crate::sql::refusal::SqlRefusal;
use crate::sql::value::{RowFormat, SqlColumn};

/// Scans the messages of an answer as they arrive, each once.
#[derive(Debug, Default)]
pub(in crate::sql) struct AnswerScan {
    at: usize,
    rows_at: Option<usize>,
    /// The statement was prepared, even if it failed afterwards.
    pub(super) is_prepared: bool,
    /// Sent when a statement is prepared.
    pub(in crate::sql) columns: Option<Rc<[SqlColumn]>>,
    count: Option<u64>,
    /// The command tag, such as `INSERT 0 1`.
    pub(super) tag: Vec<u8>,
    pub(super) refusal: Option<SqlRefusal>,
    /// `I`dle, in a `T`ransaction, or in one that has fail`E`d.
    pub(super) status: u8,
}

impl AnswerScan {
    fn note(&mut self, tag: u8, body: &[u8], at: usize) -> Result<(), Failure> {
        match tag {
            b'D' => {
                self.rows_at.get_or_insert(at);
            }
            b'1' => self.is_prepared = true,
            b'T' => self.columns = Some(columns(body).ok_or_else(|| malformed("columns cannot be read"))?),
            b'n' => self.columns = Some(Rc::default()),
            b'C' => {
                self.tag = body.strip_suffix(b"\0").unwrap_or(body).to_vec();
                let last = self.tag.rsplit(|byte| *byte == b' ').next();
                self.count = last.and_then(|last| std::str::from_utf8(last).ok()?.parse().ok());
            }
            b'E' => self.refusal = Some(refusal(body)),
            b'Z' => self.status = *body.first().ok_or_else(|| malformed("a state cannot be read"))?,
            // The server now waits for data, or sends endless data.
            b'G' | b'H' | b'W' => return Err(Failure::protocol("COPY FROM STDIN and COPY TO STDOUT are not supported")),
            // BindComplete, CloseComplete, ParameterDescription, EmptyQueryResponse; and messages that may arrive at any time: notices,
            // notifications, settings.
            b'2' | b'3' | b't' | b'I' | b'N' | b'A' | b'S' => {}
            _ => return Err(malformed("a message of an unknown kind")),
        }
        Ok(())
    }

    /// The answer that was scanned.
    pub(in crate::sql) fn answer(&mut self, bytes: Bytes, columns: Rc<[SqlColumn]>) -> SqlAnswer {
        let rows_at = self.rows_at.unwrap_or(bytes.len());
        // An answer without rows does not retain the connection's memory.
        let (bytes, rows_at) = if self.rows_at.is_some() { (bytes, rows_at) } else { (Bytes::new(), 0) };
        SqlAnswer { columns, count: self.count, inserted: None, refusal: self.refusal.take(), bytes, rows_at, format: RowFormat::Postgres }
    }
}

impl AnswerFraming for AnswerScan {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        while self.status == 0 {
            let Some(WireMessage { tag, body, next }) = message(bytes, self.at)? else { return Ok(None) };
            self.note(tag, body, self.at)?;
            self.at = next;
            // A server that shuts down sends the reason and closes. How it closes depends on its unread input.
            if self.refusal.as_ref().is_some_and(|refusal| refusal.is_final) {
                break;
            }
        }
        Ok(Some(self.at))
    }
}

/// Parses an error (PostgreSQL, "Error and Notice Message Fields").
pub(super) fn refusal(body: &[u8]) -> SqlRefusal {
    let (mut refusal, mut message, mut more) = (SqlRefusal::default(), String::new(), String::new());
    for (kind, value) in fields(body) {
        let value = String::from_utf8_lossy(value);
        match kind {
            b'V' => refusal.is_final = matches!(&*value, "FATAL" | "PANIC"),
            b'C' => refusal.code = value.into_owned(),
            b'M' => message = value.into_owned(),
            b'D' => more = format!("{more} DETAIL: {value}"),
            b'H' => more = format!("{more} HINT: {value}"),
            _ => {}
        }
    }
    refusal.text = format!("{}: {message}{more}", refusal.code);
    refusal
}

/// Exactly one message.
#[derive(Debug)]
pub(super) struct OneMessage;

impl AnswerFraming for OneMessage {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        Ok(message(bytes, 0)?.map(|message| message.next))
    }
}

#[cfg(test)]
mod tests {
    use crate::failure::Failure;
    use crate::sql::fuzzing::postgres as whole;

    fn framed(messages: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (tag, body) in messages {
            bytes.push(*tag);
            bytes.extend((body.len() as u32 + 4).to_be_bytes());
            bytes.extend(*body);
        }
        bytes
    }

    /// An answer as in "Message Flow" of PostgreSQL's manual: prepared, described, two rows of two columns, done, ready.
    fn answer() -> Vec<u8> {
        let mut columns = vec![0, 2];
        for name in ["id\0", "note\0"] {
            columns.extend(name.as_bytes());
            columns.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 23, 0, 4, 255, 255, 255, 255, 0, 0]);
        }
        let full = [0, 2, 0, 0, 0, 1, b'7', 255, 255, 255, 255];
        let empty = [0, 2, 0, 0, 0, 0, 0, 0, 0, 2, b'-', b'1'];
        framed(&[
            (b'1', b""),
            (b't', &[0, 0]),
            (b'T', &columns),
            (b'2', b""),
            (b'D', &full),
            (b'N', b"\0"),
            (b'D', &empty),
            (b'C', b"SELECT 2\0"),
            (b'Z', b"I"),
        ])
    }

    #[test]
    fn an_answer_ends_at_ready_for_query_for_any_division() {
        let mut bytes = answer();
        let length = bytes.len();
        bytes.extend(b"more");
        assert_eq!(whole(&bytes, &mut std::iter::once(bytes.len())), Ok(Some((length, 4))));
        for piece in 1..length {
            let mut ends = (piece..=bytes.len()).step_by(piece).chain([bytes.len()]);
            assert_eq!(whole(&bytes, &mut ends), Ok(Some((length, 4))), "pieces of {piece}");
        }
        assert_eq!(whole(&bytes, &mut (0..length)), Ok(None));
    }

    #[test]
    fn the_final_error_of_a_server_is_an_answer() {
        let words = framed(&[(b'E', b"SFATAL\0VFATAL\0C57P01\0Mgoing\0\0")]);
        assert_eq!(whole(&words, &mut std::iter::once(words.len())), Ok(Some((words.len(), 0))));
        let error = framed(&[(b'E', b"SERROR\0VERROR\0C23505\0Mno\0\0")]);
        assert_eq!(whole(&error, &mut std::iter::once(error.len())), Ok(None));
    }

    #[test]
    fn invalid_answers_are_reported() {
        for (bytes, expected) in [
            (vec![b'D', 0, 0, 0, 3], "impossible length"),
            (vec![b'D', 255, 0, 0, 0], "impossible length"),
            (framed(&[(b'q', b"")]), "unknown kind"),
            (framed(&[(b'T', &[0, 9])]), "columns"),
            (framed(&[(b'Z', b"")]), "a state"),
        ] {
            let result = whole(&bytes, &mut std::iter::once(bytes.len()));
            assert!(matches!(&result, Err(Failure { message, .. }) if message.contains(expected)), "{expected}: {result:?}");
        }
    }
}
