//! The text log of Gatling 3.4 to 3.12.
//!
//! Columns are separated by tabs: `USER scenario START|END time`, `REQUEST groups name start end OK|KO message`, `GROUP groups start end time OK|KO`. Times are
//! milliseconds since 1970.

use loadstone_metrics::Outcome;

use crate::entry::{Entry, RecordTime, Timed, outcome_of_error};
use crate::record_format::UnreadableLine;

#[derive(Default)]
pub(super) struct TextLog {
    users: u64,
}

impl TextLog {
    pub(super) fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?;
        let columns: Vec<&str> = line.split('\t').collect();
        match columns.as_slice() {
            ["RUN" | "ASSERTION" | "ERROR", ..] | [""] => Ok(()),
            ["USER", _scenario, change, at, ..] => {
                self.users = if *change == "START" { self.users + 1 } else { self.users.saturating_sub(1) };
                take(&Entry::Users { at: wall(at)?, source: 0, count: self.users });
                Ok(())
            }
            ["REQUEST", groups, name, started, ended, status, message @ ..] => {
                let message = message.first().map_or("", |message| message.trim());
                let (outcome, status) = if *status == "OK" { (Outcome::Passed, 0) } else { outcome_of_message(message) };
                let group = groups.rsplit(',').next().unwrap_or("");
                let timed = Timed { group, outcome, status, message, ..timed(name, started, ended)? };
                take(&Entry::Request(timed));
                Ok(())
            }
            ["GROUP", groups, started, ended, _cumulated, status, ..] => {
                let outcome = if *status == "OK" { Outcome::Passed } else { Outcome::Step };
                take(&Entry::Group(Timed { outcome, ..timed(groups.rsplit(',').next().unwrap_or(groups), started, ended)? }));
                Ok(())
            }
            _ => Err(UnreadableLine),
        }
    }
}

/// The outcome of a failed request and its status, which the message quotes: `status.find.in(200,…), found 503`.
pub(super) fn outcome_of_message(message: &str) -> (Outcome, u16) {
    let outcome = if message.starts_with("status.find") { Outcome::Status } else { outcome_of_error(message) };
    let status = message.rsplit("found ").next().and_then(|code| code.parse().ok()).filter(|_| outcome == Outcome::Status);
    (outcome, status.unwrap_or(0))
}

fn timed<'a>(name: &'a str, started: &str, ended: &str) -> Result<Timed<'a>, UnreadableLine> {
    let milliseconds = |text: &str| text.parse::<u64>().map_err(|_| UnreadableLine);
    let duration_ms = milliseconds(ended)?.checked_sub(milliseconds(started)?).ok_or(UnreadableLine)?;
    Ok(Timed::new(name, wall(ended)?, duration_ms.saturating_mul(1_000_000)))
}

fn wall(milliseconds: &str) -> Result<RecordTime, UnreadableLine> {
    let milliseconds: u64 = milliseconds.parse().map_err(|_| UnreadableLine)?;
    Ok(RecordTime::Wall(milliseconds.saturating_mul(1_000_000)))
}
