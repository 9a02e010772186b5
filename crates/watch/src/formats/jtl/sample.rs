//! A sample of JMeter, however it is written, as entries of a record.

use loadstone_metrics::{Outcome, Phases};

use crate::entry::{Entry, RecordTime, Timed, outcome_of, outcome_of_error};

/// Longest entry of several lines, such as a failure message with a stack trace. Bytes.
pub(super) const ENTRY_BYTES_MAX: usize = 1 << 20;

/// The values of one sample.
#[derive(Debug, Default)]
pub(super) struct JtlSample<'a> {
    pub(super) started_ms: u64,
    pub(super) elapsed_ms: u64,
    pub(super) label: &'a str,
    /// An HTTP status, or words such as `Non HTTP response code: java.net.ConnectException`.
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    pub(super) has_failed: bool,
    pub(super) bytes: u64,
    pub(super) sent: u64,
    /// Active threads of all groups.
    pub(super) users: Option<u64>,
    /// Up to the first byte. It includes `connect_ms`.
    pub(super) latency_ms: u64,
    pub(super) connect_ms: u64,
    /// It comes from a transaction controller.
    pub(super) is_transaction: bool,
}

/// Passes on samples, and their number of users when it changes.
#[derive(Debug, Default)]
pub(super) struct SampleSink {
    users: Option<u64>,
}

impl SampleSink {
    pub(super) fn pass_on(&mut self, sample: &JtlSample<'_>, take: &mut dyn FnMut(&Entry<'_>)) {
        let ns = |ms: u64| ms.saturating_mul(1_000_000);
        let ended = RecordTime::Wall(ns(sample.started_ms)).plus(ns(sample.elapsed_ms));
        if let Some(users) = sample.users.filter(|users| self.users != Some(*users)) {
            self.users = Some(users);
            take(&Entry::Users { at: ended, source: 0, count: users });
        }
        let status = sample.code.parse::<u16>().ok().filter(|status| (100..600).contains(status)).unwrap_or(0);
        let outcome = match (sample.has_failed, status) {
            (true, 0) => outcome_of_error(&format!("{} {}", sample.code, sample.message)),
            (true, status) if outcome_of(status) == Outcome::Passed => Outcome::Expect,
            (true, status) => outcome_of(status),
            _ => Outcome::Passed,
        };
        let (connect, latency, duration_ns) = (ns(sample.connect_ms), ns(sample.latency_ms), ns(sample.elapsed_ms));
        let wait = latency.saturating_sub(connect);
        let timed = Timed {
            outcome,
            status,
            message: if outcome == Outcome::Status { "" } else { sample.message },
            phases: Phases { connect, wait, body: duration_ns.saturating_sub(latency), ..Phases::default() },
            bytes_received: sample.bytes,
            bytes_sent: sample.sent,
            ..Timed::new(sample.label, ended, duration_ns)
        };
        if sample.is_transaction {
            let outcome = if outcome == Outcome::Passed { outcome } else { Outcome::Step };
            take(&Entry::Group(Timed { outcome, message: "", phases: Phases::default(), status: 0, ..timed }));
        } else {
            take(&Entry::Request(timed));
        }
    }
}
