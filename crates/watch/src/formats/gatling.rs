//! Gatling: `simulation.log` as text, of Gatling 3.4 to 3.11. Later versions write a binary log, which is not read yet.
//!
//! Columns are separated by tabs: `USER scenario START|END time`, `REQUEST groups name start end OK|KO message`, `GROUP groups start end time OK|KO`. Times are
//! milliseconds since 1970.

use loadstone_metrics::Outcome;
use loadstone_plan::LoadModel;

use crate::entry::{Entry, RecordTime, Timed, outcome_of_error};
use crate::record_format::{RecordFormat, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "gatling",
    tool: "Gatling",
    resolution_ns: 1_000_000,
    model: LoadModel::Arrivals,
    has_iterations: false,
    comes_at_end: false,
    lacks: &[
        "the schedule: when each user was due",
        "connection phases",
        "statuses, except in messages",
        "requests in flight when Gatling was killed",
    ],
    make: |_| Ok(Box::<GatlingReader>::default()),
};

#[derive(Default)]
struct GatlingReader {
    users: u64,
}

impl RecordReader for GatlingReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
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
                let found = if message.starts_with("status.find") { Outcome::Status } else { outcome_of_error(message) };
                let outcome = if *status == "OK" { Outcome::Passed } else { found };
                // The message quotes the status: `status.find.in(200,…), found 503`.
                let status = message.rsplit("found ").next().and_then(|code| code.parse().ok()).filter(|_| outcome == Outcome::Status);
                let group = groups.rsplit(',').next().unwrap_or("");
                let timed = Timed { group, outcome, status: status.unwrap_or(0), message, ..timed(name, started, ended)? };
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

fn timed<'a>(name: &'a str, started: &str, ended: &str) -> Result<Timed<'a>, UnreadableLine> {
    let milliseconds = |text: &str| text.parse::<u64>().map_err(|_| UnreadableLine);
    let duration_ms = milliseconds(ended)?.checked_sub(milliseconds(started)?).ok_or(UnreadableLine)?;
    Ok(Timed::new(name, wall(ended)?, duration_ms.saturating_mul(1_000_000)))
}

fn wall(milliseconds: &str) -> Result<RecordTime, UnreadableLine> {
    let milliseconds: u64 = milliseconds.parse().map_err(|_| UnreadableLine)?;
    Ok(RecordTime::Wall(milliseconds.saturating_mul(1_000_000)))
}
