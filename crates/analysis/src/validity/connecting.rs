//! Were attempts to connect lost in the network?

use super::check::{CheckInfo, CheckInput};
use crate::facts::slow_connects::{SYN_RETRY_NS, beyond};
use crate::{Grade, ValidityCheck};
use loadstone_metrics::{Role, SeriesKind};
use loadstone_run_directory::SignalSeries;

/// Readings with a connection in the accept queue.
const WAITED_READINGS_MIN: usize = 3;

const INFO: CheckInfo = CheckInfo {
    id: "connecting",
    title: "Connection attempts",
    limits: "suspect when for more than 1 % of the connections a request waited a second or more, and this machine retransmitted SYNs; not where the \
             target's machine shows a full accept queue",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (opened, again) = (input.tally.connections_opened(), input.tally.syn_retransmits());
    if opened + again == 0 {
        return INFO.nothing("no connection was opened");
    }
    if input.lacks_kernel_counters() {
        return INFO.not_examined("retransmitted connection requests");
    }
    // The kernel counts retransmissions for the whole machine. A lost SYN of this run's own connections delays the connection by a second.
    let slow: u64 = input.tally.of_kind(SeriesKind::Request).map(|series| beyond(&series.merged.phases.connect, SYN_RETRY_NS)).sum();
    let is_lost = again > 0 && slow * 100 > opened;
    let grade = if is_lost && !input.accepts_late { Grade::Suspect } else { Grade::Valid };
    let evidence = format!(
        "{} connections were opened, and {} requests waited a second or more for one; the whole machine retransmitted {} SYNs{}",
        loadstone_units::count(opened),
        loadstone_units::count(slow),
        loadstone_units::count(again),
        if is_lost && input.accepts_late { "; the target's accept queue was full, so the wait is the target's" } else { "" }
    );
    let advice = "Each lost SYN delayed a user by a second or more. The target's listen queue overflowed (see its `backlog` and \
     `net.core.somaxconn`), or the network drops packets. Connect times include this wait, which the application did not cause.";
    INFO.graded(grade, evidence, advice)
}

/// Whether the signals show an accept queue that was full, or that held connections for a while.
pub(crate) fn accepts_late(signals: &[SignalSeries]) -> bool {
    let of = |role: Role| signals.iter().filter(move |series| series.signal.role == Some(role));
    let has_grown =
        |series: &SignalSeries| series.points.first().zip(series.points.last()).is_some_and(|(first, last)| last.value > first.value);
    let has_waited = |series: &SignalSeries| series.points.iter().filter(|point| point.value >= 1.0).count() >= WAITED_READINGS_MIN;
    of(Role::ListenOverflows).any(has_grown) || of(Role::AcceptQueue).any(has_waited)
}
