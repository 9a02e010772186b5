//! vegeta: the lines of `vegeta encode --to csv`.
//!
//! Time, status, latency, bytes out, bytes in, error, body, attack, sequence, method, URL, headers. vegeta sends at a rate and measures from the instant at
//! which it sent. With `-rate`, the request with the number N is due N/rate after the first one (vegeta's `ConstantPacer`), so late sends are known.

use std::borrow::Cow;

use loadstone_metrics::Outcome;
use loadstone_plan::LoadModel;

use super::{fields, request_name};
use crate::entry::{Entry, RecordTime, Timed, outcome_of, outcome_of_error};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "vegeta-csv",
    tool: "vegeta",
    resolution_ns: 1,
    model: LoadModel::Arrivals,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["connection phases", "users", "requests in flight when vegeta was killed"],
    make: |choices| Ok(Box::new(VegetaReader { rate: choices.rate, first_due: None, has_target: false })),
};

struct VegetaReader {
    /// Requests per second. `None`: the schedule is not known.
    rate: Option<f64>,
    /// When the request with the number 0 was due at the latest: no request is sent early. Nanoseconds since 1970.
    first_due: Option<u64>,
    has_target: bool,
}

impl VegetaReader {
    /// How late a request was sent. Nanoseconds.
    fn late_ns(&mut self, number: u64, started: u64) -> u64 {
        let Some(rate) = self.rate else { return 0 };
        let after_first = (number as f64 / rate * 1e9) as u64;
        let first_due = self.first_due.map_or(started.saturating_sub(after_first), |due| due.min(started.saturating_sub(after_first)));
        self.first_due = Some(first_due);
        started.saturating_sub(first_due.saturating_add(after_first))
    }
}

impl RecordReader for VegetaReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?;
        let values = fields::split(line);
        let text = |at: usize| values.get(at).map_or("", Cow::as_ref);
        let number = |at: usize| text(at).parse::<u64>().map_err(|_| UnreadableLine);
        if values.len() < 11 {
            return Err(UnreadableLine);
        }
        let (started, duration_ns) = (number(0)?, number(2)?);
        let status = text(1).parse::<u16>().map_err(|_| UnreadableLine)?;
        let error = text(5);
        let outcome = match (status, error.is_empty()) {
            (0, false) => outcome_of_error(error),
            (_, true) => Outcome::Passed,
            (status, false) if outcome_of(status) == Outcome::Passed => Outcome::Expect,
            (status, false) => outcome_of(status),
        };
        if !std::mem::replace(&mut self.has_target, true) {
            take(&Entry::Target { url: text(10) });
        }
        take(&Entry::Request(Timed {
            outcome,
            status,
            message: if outcome == Outcome::Status { "" } else { error },
            late_ns: self.late_ns(number(8)?, started),
            bytes_sent: number(3).unwrap_or(0),
            bytes_received: number(4).unwrap_or(0),
            ..Timed::new(&request_name::of_url(text(9), text(10)), RecordTime::Wall(started).plus(duration_ns), duration_ns)
        }));
        Ok(())
    }

    fn knows_schedule(&self) -> bool {
        self.rate.is_some()
    }
}
