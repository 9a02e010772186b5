//! One measured item: a request, a group or an iteration.

use std::ops::AddAssign;

use crate::clock::Nanos;
use crate::outcome::Outcome;
use crate::trace::TraceId;

/// The phases of a request. Nanoseconds. A phase that did not happen is zero (a kept-alive connection has no connect).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// From the request's start until it had one of the connections, or streams, that its user may have at once.
    pub queue: u64,
    pub dns: u64,
    pub connect: u64,
    pub tls: u64,
    /// From the request's last byte handed to the kernel to the response's first byte back.
    pub wait: u64,
    /// From the response's first byte to its last.
    pub body: u64,
}

/// The phases of two attempts in a row, such as a redirect and its target: phase by phase.
impl AddAssign for Phases {
    fn add_assign(&mut self, next: Phases) {
        self.queue += next.queue;
        self.dns += next.dns;
        self.connect += next.connect;
        self.tls += next.tls;
        self.wait += next.wait;
        self.body += next.body;
    }
}

/// One measured item. All instants are on the run's clock.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// When it was due. It differs from `started` only for the first request of an open iteration (and for the iteration itself).
    pub scheduled: Nanos,
    /// When the script requested it: the earliest of three instants. These are the beginning of its wait for a free connection of its user, of the
    /// look-up or connect of a new one, and of sending its first byte.
    pub started: Nanos,
    /// When its last byte had arrived, or when the user stopped waiting.
    pub ended: Nanos,
    pub phases: Phases,
    pub outcome: Outcome,
    /// HTTP status, or 0 if there was none.
    pub status: u16,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// How often it was resent because the server had not processed it: the connection was closing, or the HTTP/2 stream was refused. Earlier
    /// attempts are part of its time.
    pub retried: u32,
    /// Its trace, if requests carry one.
    pub trace: Option<TraceId>,
}

impl Sample {
    /// End − scheduled. The headline metric.
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
