//! One measured thing: a request, a group or an iteration.

use crate::clock::Nanos;
use crate::outcome::Outcome;
use crate::trace::TraceId;

/// Where a request's time went. Nanoseconds; zero when a phase did not happen (a kept-alive connection has no connect).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// From when it was asked for until it had a connection, or a stream, of those that its user may have at once.
    pub queue: u64,
    pub dns: u64,
    pub connect: u64,
    pub tls: u64,
    /// From the request's last byte handed to the kernel to the response's first byte back.
    pub wait: u64,
    /// From the response's first byte to its last.
    pub body: u64,
}

/// One measured thing. All instants are on the run's clock.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// When it was due. Differs from `started` only for the first request of an open iteration (and the iteration itself).
    pub scheduled: Nanos,
    /// When it was asked for: its wait for a free connection of its user, the look-up or connect of a new one, or the first byte handed to
    /// the kernel, whichever comes first.
    pub started: Nanos,
    /// When its last byte had arrived, or when it was given up.
    pub ended: Nanos,
    pub phases: Phases,
    pub outcome: Outcome,
    /// HTTP status, or 0 where there was none.
    pub status: u16,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// How often it was sent again, since the connection it went out on was being closed as idle. The attempts before are part of its time.
    pub retried: u32,
    /// Its trace, where requests carry one.
    pub trace: Option<TraceId>,
}

impl Sample {
    /// End − scheduled. The headline.
    pub fn response_ns(&self) -> u64 {
        self.ended.saturating_sub(self.scheduled)
    }

    /// End − started.
    pub fn service_ns(&self) -> u64 {
        self.ended.saturating_sub(self.started)
    }

    /// Started − scheduled.
    pub fn lag_ns(&self) -> u64 {
        self.started.saturating_sub(self.scheduled)
    }
}
