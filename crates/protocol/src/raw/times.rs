//! Instants and bytes of one step on a raw connection.

use loadstone_metrics::{Nanos, Phases};

/// The cost of one step. Instants are zero until they happen.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawTimes {
    pub started: Nanos,
    /// The last byte was passed to the kernel.
    pub sent: Nanos,
    pub first_byte: Nanos,
    pub ended: Nanos,
    pub phases: Phases,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// A connection was opened for it.
    pub connected: bool,
}

impl RawTimes {
    /// For a step that starts now.
    pub fn from(started: Nanos) -> Self {
        Self { started, ..Self::default() }
    }

    /// Ends the step, and computes the phases from its instants.
    pub(crate) fn end(&mut self, at: Nanos) {
        self.ended = at.max(self.started);
        let wait_started = if self.sent == 0 { self.started } else { self.sent };
        if self.first_byte == 0 {
            self.phases.wait = self.ended.saturating_sub(wait_started);
        } else {
            // An answer may begin before everything is written. The client did not wait for it.
            self.phases.wait = self.first_byte.saturating_sub(wait_started);
            self.phases.body = self.ended.saturating_sub(self.first_byte);
        }
    }
}
