//! The binary log, as `LogFileDataWriter` of Gatling 3.13 to 3.15 writes it.
//!
//! A byte says what follows: the run (0), a request (1), the start or end of a user (2), a group (3) or an error (4). Times are milliseconds since the run's
//! start. A name is written once with a number, and later as the negative number.

use std::collections::HashMap;

use loadstone_metrics::Outcome;

use super::bytes::{BytesError, LogBytes};
use super::text::outcome_of_message;
use crate::entry::{Entry, RecordTime, Timed};

/// The first byte of a binary log.
pub(super) const RUN: u8 = 0;
const REQUEST: u8 = 1;
const USER: u8 = 2;
const GROUP: u8 = 3;
const ERROR: u8 = 4;

/// Groups within groups, scenarios and assertions.
const LIST_MAX: i32 = 100_000;
/// Distinct names and messages. Later ones are read as empty.
const NAMES_MAX: usize = 100_000;
/// Largest assertion. Bytes.
const ASSERTION_BYTES_MAX: i32 = 1 << 20;
/// Bytes without a complete record. The longest strings fit.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// What is known from the records so far.
#[derive(Default)]
pub(super) struct BinaryLog {
    started_ms: i64,
    names: HashMap<i32, String>,
    users: u64,
}

impl BinaryLog {
    /// Passes on the complete records, and returns their length.
    ///
    /// # Errors
    /// What is wrong with the log.
    pub(super) fn records(&mut self, bytes: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<usize, String> {
        let mut read = 0;
        loop {
            let mut cursor = LogBytes(&bytes[read..]);
            match self.record(&mut cursor, take) {
                Ok(()) => read = bytes.len() - cursor.0.len(),
                Err(BytesError::Incomplete) if bytes.len() - read <= RECORD_BYTES_MAX => return Ok(read),
                Err(_) => {
                    return Err("a record of Gatling's binary log is not one of Gatling 3.13 to 3.15: the rest is not read".to_owned());
                }
            }
        }
    }

    fn record(&mut self, bytes: &mut LogBytes<'_>, take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), BytesError> {
        match bytes.byte()? {
            RUN => self.run(bytes),
            REQUEST => self.request(bytes, take),
            USER => self.user(bytes, take),
            GROUP => self.group(bytes, take),
            ERROR => {
                let message = NameReference::read(bytes)?;
                bytes.int()?;
                self.learn([message]);
                Ok(())
            }
            _ => Err(BytesError::Invalid),
        }
    }

    fn run(&mut self, bytes: &mut LogBytes<'_>) -> Result<(), BytesError> {
        let (_version, _class) = (bytes.string()?, bytes.string()?);
        let started_ms = bytes.long()?;
        let _description = bytes.string()?;
        for _ in 0..bytes.count(LIST_MAX)? {
            bytes.string()?;
        }
        for _ in 0..bytes.count(LIST_MAX)? {
            let length = bytes.count(ASSERTION_BYTES_MAX)?;
            bytes.take(length)?;
        }
        self.started_ms = started_ms;
        Ok(())
    }

    fn user(&mut self, bytes: &mut LogBytes<'_>, take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), BytesError> {
        let _scenario = bytes.int()?;
        let (is_start, at) = (bytes.flag()?, bytes.int()?);
        self.users = if is_start { self.users + 1 } else { self.users.saturating_sub(1) };
        take(&Entry::Users { at: self.wall(at), source: 0, count: self.users });
        Ok(())
    }

    fn request(&mut self, bytes: &mut LogBytes<'_>, take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), BytesError> {
        let mut groups = Vec::new();
        for _ in 0..bytes.count(LIST_MAX)? {
            groups.push(NameReference::read(bytes)?);
        }
        let name = NameReference::read(bytes)?;
        let (started, ended, passed) = (bytes.int()?, bytes.int()?, bytes.flag()?);
        let message = NameReference::read(bytes)?;
        let (group, name_number, message_number) = (groups.last().map(NameReference::number), name.number(), message.number());
        self.learn(groups.into_iter().chain([name, message]));
        if ended < started {
            // A message of a WebSocket or event stream that no check waited for has no end.
            return Ok(());
        }
        let text = self.name(message_number).trim();
        let (outcome, status) = if passed { (Outcome::Passed, 0) } else { outcome_of_message(text) };
        let group = group.map_or("", |number| self.name(number));
        let timed = Timed { group, outcome, status, message: text, ..self.timed(self.name(name_number), started, ended) };
        take(&Entry::Request(timed));
        Ok(())
    }

    fn group(&mut self, bytes: &mut LogBytes<'_>, take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), BytesError> {
        let mut groups = Vec::new();
        for _ in 0..bytes.count(LIST_MAX)? {
            groups.push(NameReference::read(bytes)?);
        }
        let (started, ended, _cumulated_ms, passed) = (bytes.int()?, bytes.int()?, bytes.int()?, bytes.flag()?);
        let innermost = groups.last().map(NameReference::number);
        self.learn(groups);
        let outcome = if passed { Outcome::Passed } else { Outcome::Step };
        let name = innermost.map_or("", |number| self.name(number));
        take(&Entry::Group(Timed { outcome, ..self.timed(name, started, ended) }));
        Ok(())
    }

    fn timed<'a>(&self, name: &'a str, started: i32, ended: i32) -> Timed<'a> {
        let duration_ms = u64::from(ended.abs_diff(started));
        Timed::new(name, self.wall(ended), duration_ms * 1_000_000)
    }

    fn wall(&self, since_start_ms: i32) -> RecordTime {
        let at = self.started_ms.saturating_add(i64::from(since_start_ms));
        RecordTime::Wall(u64::try_from(at).unwrap_or(0).saturating_mul(1_000_000))
    }

    /// Only of complete records: an incomplete one is read again.
    fn learn<'a>(&mut self, names: impl IntoIterator<Item = NameReference<'a>>) {
        for name in names {
            if let NameReference::New(number, text) = name
                && self.names.len() < NAMES_MAX
            {
                self.names.insert(number, text.into_owned());
            }
        }
    }

    fn name(&self, number: i32) -> &str {
        self.names.get(&number).map_or("", String::as_str)
    }
}

/// A name that is written for the first time, or the number of a known one.
enum NameReference<'a> {
    New(i32, std::borrow::Cow<'a, str>),
    Known(i32),
}

impl<'a> NameReference<'a> {
    fn read(bytes: &mut LogBytes<'a>) -> Result<Self, BytesError> {
        match bytes.int()? {
            number if number >= 0 => Ok(Self::New(number, bytes.string()?)),
            i32::MIN => Err(BytesError::Invalid),
            number => Ok(Self::Known(-number)),
        }
    }

    fn number(&self) -> i32 {
        match self {
            Self::New(number, _) | Self::Known(number) => *number,
        }
    }
}
