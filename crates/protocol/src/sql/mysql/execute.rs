//! Commands: a statement as text, its preparation, and its execution with values (MySQL, "COM_STMT_EXECUTE").

use mysql_common::constants::{ColumnType, Command};

use super::wire::{write, write_text};
use crate::sql::parameter::SqlParameter;

/// The second byte of a parameter's type if the number is unsigned.
const UNSIGNED: u8 = 0x80;

/// A command with its text, in packets.
pub(super) fn command(command: Command, text: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(1 + text.len());
    body.push(command as u8);
    body.extend_from_slice(text);
    let mut wire = Vec::with_capacity(body.len() + 4);
    write(&body, 0, &mut wire);
    wire
}

/// This command has no answer.
pub(super) fn close(number: u32) -> Vec<u8> {
    command(Command::COM_STMT_CLOSE, &number.to_le_bytes())
}

/// A value as a statement accepts it.
enum BoundValue<'a> {
    Null,
    Integer(i64),
    Unsigned(u64),
    Double(f64),
    Text(std::borrow::Cow<'a, str>),
    Bytes(&'a [u8]),
}

impl<'a> BoundValue<'a> {
    fn of(parameter: &'a SqlParameter) -> Self {
        match parameter {
            SqlParameter::Null => Self::Null,
            SqlParameter::Boolean(value) => Self::Integer(i64::from(*value)),
            SqlParameter::Number(text) => Self::number(text),
            // Servers accept neither the letter between date and time nor the one at the end.
            SqlParameter::Time(text) => Self::Text(text.trim_end_matches('Z').replacen('T', " ", 1).into()),
            SqlParameter::Text(text) | SqlParameter::List(text) => Self::Text(text.into()),
            SqlParameter::Bytes(bytes) => Self::Bytes(bytes),
        }
    }

    fn number(text: &'a str) -> Self {
        let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match (text.parse(), text.parse(), text.parse::<f64>()) {
            (Ok(integer), ..) => Self::Integer(integer),
            (_, Ok(unsigned), _) => Self::Unsigned(unsigned),
            (.., Ok(double)) if double.is_finite() && !is_whole => Self::Double(double),
            // Larger than the server's largest integer, or not a number. The server decides.
            _ => Self::Text(text.into()),
        }
    }

    fn kind(&self) -> [u8; 2] {
        match self {
            Self::Null => [ColumnType::MYSQL_TYPE_NULL as u8, 0],
            Self::Integer(_) => [ColumnType::MYSQL_TYPE_LONGLONG as u8, 0],
            Self::Unsigned(_) => [ColumnType::MYSQL_TYPE_LONGLONG as u8, UNSIGNED],
            Self::Double(_) => [ColumnType::MYSQL_TYPE_DOUBLE as u8, 0],
            Self::Text(_) => [ColumnType::MYSQL_TYPE_VAR_STRING as u8, 0],
            Self::Bytes(_) => [ColumnType::MYSQL_TYPE_BLOB as u8, 0],
        }
    }

    fn write(&self, into: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Integer(number) => into.extend_from_slice(&number.to_le_bytes()),
            Self::Unsigned(number) => into.extend_from_slice(&number.to_le_bytes()),
            Self::Double(number) => into.extend_from_slice(&number.to_le_bytes()),
            Self::Text(text) => write_text(text.as_bytes(), into),
            Self::Bytes(bytes) => write_text(bytes, into),
        }
    }
}

/// Executes the statement that was prepared under this number, with at least one value.
pub(super) fn execute(number: u32, parameters: &[SqlParameter]) -> Vec<u8> {
    let values: Vec<BoundValue<'_>> = parameters.iter().map(BoundValue::of).collect();
    let mut body = number.to_le_bytes().to_vec();
    // No cursor, one iteration.
    body.extend_from_slice(&[0, 1, 0, 0, 0]);
    let nulls_at = body.len();
    body.resize(nulls_at + values.len().div_ceil(8), 0);
    for (place, _) in values.iter().enumerate().filter(|(_, value)| matches!(value, BoundValue::Null)) {
        body[nulls_at + place / 8] |= 1 << (place % 8);
    }
    // Types follow, since those of the same text may differ each time.
    body.push(1);
    values.iter().for_each(|value| body.extend_from_slice(&value.kind()));
    values.iter().for_each(|value| value.write(&mut body));
    command(Command::COM_STMT_EXECUTE, &body)
}
