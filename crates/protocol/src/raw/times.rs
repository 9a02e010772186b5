//! Instants and bytes of one step on a raw connection.

use loadstone_metrics::{Nanos, Phases};

/// What one step took; instants are zero until they happen.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawTimes {
    pub started: Nanos,
    /// The last byte was handed to the kernel.
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
    /// Of a step that starts now.
    pub fn from(started: Nanos) -> Self {
        Self { started, ..Self::default() }
    }

    /// The step is over: what lay between its instants becomes phases.
    pub(crate) fn end(&mut self, at: Nanos) {
        self.ended = at.max(self.started);
        let asked = if self.sent == 0 { self.started } else { self.sent };
        if self.first_byte == 0 {
            self.phases.wait = self.ended.saturating_sub(asked);
        } else {
            // An answer may begin before all is written; it did not keep us waiting.
            self.phases.wait = self.first_byte.saturating_sub(asked);
            self.phases.body = self.ended.saturating_sub(self.first_byte);
        }
    }
}
