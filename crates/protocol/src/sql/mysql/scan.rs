//! Finds the end of an answer and parses its content, in one pass (MySQL, "Command Phase").

use bytes::Bytes;

use super::rows::{column, ends_rows};
use super::wire::{PacketCursor, WirePacket, malformed, packet};
use crate::failure::Failure;
use crate::raw::AnswerFraming;
use crate::sql::answer::SqlAnswer;
use crate::sql::refusal::SqlRefusal;
use crate::sql::value::{RowFormat, SqlColumn};

/// `SERVER_STATUS_IN_TRANS`
const IN_TRANSACTION: u64 = 1;
/// `SERVER_MORE_RESULTS_EXISTS`
const MORE_RESULTS: u64 = 8;
/// Errors with which the server ends the connection: shutdown, `KILL`, idle timeout.
const FINAL: [u64; 4] = [1053, 1927, 3169, 4031];
/// The SQLSTATE class of errors that roll back a whole transaction, such as a deadlock.
const LOST: &str = "40";

/// The expected next packet.
#[derive(Debug, Clone, Copy, Default)]
enum ScanStage {
    #[default]
    Result,
    /// This many columns, and then their end.
    Columns(u64),
    Rows,
    End,
}

/// Scans the packets of an answer as they arrive, each once. Of several results, the first with columns is the answer. The others are skipped.
#[derive(Debug, Default)]
pub(in crate::sql) struct ResultScan {
    at: usize,
    stage: ScanStage,
    is_extended: bool,
    columns: Vec<SqlColumn>,
    rows_at: Option<usize>,
    /// The rows belong to a later result.
    is_later: bool,
    rows: u64,
    changed: u64,
    inserted: u64,
    refusal: Option<SqlRefusal>,
    /// The server has rolled back the transaction.
    pub(super) has_lost: bool,
    /// The server's last report. It reports nothing with an error.
    pub(super) in_transaction: Option<bool>,
}

impl ResultScan {
    pub(in crate::sql) fn new(is_extended: bool) -> Self {
        Self { is_extended, ..Self::default() }
    }

    fn note(&mut self, body: &[u8], at: usize, next: usize) -> Result<(), Failure> {
        let first = *body.first().ok_or_else(|| malformed("an empty packet"))?;
        self.stage = match self.stage {
            _ if first == 0xff => {
                let (refusal, state) = refusal(body);
                self.has_lost = state.starts_with(LOST);
                self.refusal = Some(refusal);
                ScanStage::End
            }
            ScanStage::Result if first == 0 => self.done(body).ok_or_else(|| malformed("an end cannot be read"))?,
            ScanStage::Result if first == 0xfb => return Err(Failure::protocol("LOAD DATA LOCAL is not supported")),
            ScanStage::Result => {
                let count = PacketCursor(body).length().filter(|count| *count > 0);
                self.is_later = self.rows_at.is_some();
                ScanStage::Columns(count.ok_or_else(|| malformed("a number of columns cannot be read"))?)
            }
            ScanStage::Columns(0) => {
                if !self.is_later {
                    self.rows_at = Some(next);
                }
                ScanStage::Rows
            }
            ScanStage::Columns(left) => {
                if !self.is_later {
                    self.columns.push(column(body, self.is_extended).ok_or_else(|| malformed("a column cannot be read"))?);
                }
                ScanStage::Columns(left - 1)
            }
            ScanStage::Rows if ends_rows(body) => {
                // Preceded by the number of warnings.
                let status = PacketCursor(body.get(3..).unwrap_or_default()).number(2);
                self.ended(status.ok_or_else(|| malformed("an end of rows cannot be read"))?)
            }
            ScanStage::Rows => {
                self.rows += u64::from(!self.is_later);
                ScanStage::Rows
            }
            ScanStage::End => return Err(malformed(&format!("unexpected bytes after the end, at byte {at}"))),
        };
        Ok(())
    }

    /// Parses a result without rows.
    fn done(&mut self, body: &[u8]) -> Option<ScanStage> {
        let mut cursor = PacketCursor(&body[1..]);
        self.changed += cursor.length()?;
        let inserted = cursor.length()?;
        if self.inserted == 0 {
            self.inserted = inserted;
        }
        let status = cursor.number(2)?;
        Some(self.ended(status))
    }

    fn ended(&mut self, status: u64) -> ScanStage {
        self.in_transaction = Some(status & IN_TRANSACTION != 0);
        if status & MORE_RESULTS == 0 { ScanStage::End } else { ScanStage::Result }
    }

    /// The answer that was scanned.
    pub(in crate::sql) fn answer(&mut self, bytes: Bytes, format: RowFormat) -> SqlAnswer {
        let (bytes, rows_at) = match self.rows_at.filter(|_| self.rows > 0) {
            Some(rows_at) => (bytes, rows_at),
            // An answer without rows does not retain the connection's memory.
            None => (Bytes::new(), 0),
        };
        let refusal = self.refusal.take();
        let count = if self.rows_at.is_some() { self.rows } else { self.changed };
        SqlAnswer {
            columns: std::mem::take(&mut self.columns).into(),
            count: refusal.is_none().then_some(count),
            inserted: Some(self.inserted).filter(|number| *number > 0),
            refusal,
            bytes,
            rows_at,
            format,
        }
    }
}

impl AnswerFraming for ResultScan {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        while !matches!(self.stage, ScanStage::End) {
            let Some(WirePacket { body, next, .. }) = packet(bytes, self.at)? else { return Ok(None) };
            self.note(body, self.at, next)?;
            self.at = next;
        }
        Ok(Some(self.at))
    }
}

/// The response to a request to prepare a statement.
#[derive(Debug, Default)]
pub(super) struct PrepareScan {
    at: usize,
    /// Remaining packets. `None` before the first.
    left: Option<u64>,
    pub(super) number: u32,
    /// The number of placeholders in the statement.
    pub(super) places: usize,
    pub(super) refusal: Option<SqlRefusal>,
}

impl PrepareScan {
    fn begun(&mut self, body: &[u8]) -> Option<u64> {
        if body.first() == Some(&0xff) {
            self.refusal = Some(refusal(body).0);
            return Some(0);
        }
        let mut cursor = PacketCursor(body);
        if cursor.number(1)? != 0 {
            return None;
        }
        self.number = cursor.number(4)? as u32;
        let (columns, places) = (cursor.number(2)?, cursor.number(2)?);
        self.places = places as usize;
        // Each list has an end packet.
        Some([columns, places].into_iter().filter(|count| *count > 0).map(|count| count + 1).sum())
    }
}

impl AnswerFraming for PrepareScan {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        while self.left != Some(0) {
            let Some(WirePacket { body, next, .. }) = packet(bytes, self.at)? else { return Ok(None) };
            self.left = Some(match self.left {
                None => self.begun(body).ok_or_else(|| malformed("no response to a prepare request"))?,
                Some(left) => left - 1,
            });
            self.at = next;
        }
        Ok(Some(self.at))
    }
}

/// Exactly one packet.
#[derive(Debug)]
pub(super) struct OnePacket;

impl AnswerFraming for OnePacket {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        Ok(packet(bytes, 0)?.map(|packet| packet.next))
    }
}

/// An error with its number and its SQLSTATE, which many errors share.
pub(super) fn refusal(body: &[u8]) -> (SqlRefusal, String) {
    let mut cursor = PacketCursor(body.get(1..).unwrap_or_default());
    let number = cursor.number(2).unwrap_or(0);
    let mut state = String::new();
    // There is no SQLSTATE before the login has completed.
    if cursor.0.first() == Some(&b'#') {
        state = String::from_utf8_lossy(cursor.take(6).map_or(&[][..], |marked| &marked[1..])).into_owned();
    }
    let message = String::from_utf8_lossy(cursor.0);
    let text = if state.is_empty() { format!("{number}: {message}") } else { format!("{number} ({state}): {message}") };
    (SqlRefusal { code: number.to_string(), text, is_final: FINAL.contains(&number) }, state)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::wire::{write, write_text};
    use crate::failure::Failure;
    use crate::sql::fuzzing::mysql as whole;

    fn framed(packets: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        packets.iter().zip(1..).for_each(|(body, number)| write(body, number, &mut bytes));
        bytes
    }

    /// A column as in "Column Definition" of MySQL's manual.
    fn column(name: &str, kind: u8) -> Vec<u8> {
        let mut body = Vec::new();
        for text in ["def", "", "", "", name, ""] {
            write_text(text.as_bytes(), &mut body);
        }
        body.extend([12, 45, 0, 255, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
        body
    }

    const END_OF_ROWS: &[u8] = &[0xfe, 0, 0, 2, 0];
    const MORE: &[u8] = &[0xfe, 0, 0, 10, 0];
    const DONE: &[u8] = &[0, 1, 0, 2, 0, 0, 0];

    #[test]
    fn an_answer_ends_with_its_last_result_for_any_division() {
        let (id, note) = (column("id", 3), column("note", 253));
        let first: [&[u8]; 7] = [&[2], &id, &note, END_OF_ROWS, b"\x017\xfb", b"\x0212\x01-", MORE];
        let second: [&[u8]; 6] = [&[1], &id, END_OF_ROWS, b"\x019", MORE, DONE];
        let mut bytes = framed(&[&first[..], &second[..]].concat());
        let length = bytes.len();
        bytes.extend(b"more");
        // Two rows of two values, read as text. Read as binary they are invalid, and yield no values.
        let found = whole(&bytes, &mut std::iter::once(bytes.len())).unwrap().unwrap();
        assert_eq!(found.0, length);
        for piece in 1..length {
            let mut ends = (piece..=bytes.len()).step_by(piece).chain([bytes.len()]);
            assert_eq!(whole(&bytes, &mut ends), Ok(Some(found)), "pieces of {piece}");
        }
        assert_eq!(whole(&bytes, &mut (0..length)), Ok(None));
    }

    #[test]
    fn invalid_answers_are_reported() {
        for (bytes, expected) in [
            (framed(&[b""]), "an empty packet"),
            (framed(&[&[0xfb]]), "LOAD DATA LOCAL"),
            (framed(&[&[0, 1]]), "an end cannot be read"),
            (framed(&[&[1], &[9, 9]]), "a column"),
            (framed(&[&[1], &column("id", 3), END_OF_ROWS, &[0xfe, 0]]), "an end of rows"),
            (vec![0xff, 0xff, 0xff, 0], "16 MiB"),
        ] {
            let result = whole(&bytes, &mut std::iter::once(bytes.len()));
            assert!(matches!(&result, Err(Failure { message, .. }) if message.contains(expected)), "{expected}: {result:?}");
        }
    }

    proptest! {
        /// Packets that a server would hardly send, cut anywhere: the result does not depend on the cuts, and nothing panics.
        #[test]
        fn arbitrary_packets_are_read_the_same_for_any_division(
            cuts in prop::array::uniform4(any::<u8>()),
            kind in any::<u8>(),
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..24), 0..8),
        ) {
            let column = column("c", kind);
            let head: [&[u8]; 3] = [&[1], &column, END_OF_ROWS];
            let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
            for packets in [bodies.clone(), [&head[..], &bodies, &[END_OF_ROWS]].concat()] {
                crate::fuzzing::sql(&[&cuts[..], &framed(&packets)].concat());
            }
        }
    }
}
