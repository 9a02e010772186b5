//! Seconds that an agent keeps until they are on the controller's disk, in case the controller dies.

use std::collections::VecDeque;

use bytes::Bytes;
use loadstone_metrics::Nanos;

use crate::link::ReliableLink;
use crate::message::ToController;
use crate::packet::MessagePart;

/// Limit on the packed seconds that are kept: an hour of 50 names at 10,000 requests/s. Beyond it, the oldest are dropped.
const KEPT_BYTES_MAX: usize = 128 << 20;

/// The seconds of one run.
#[derive(Debug)]
pub(crate) struct KeptSeconds {
    pub(crate) run: String,
    /// The agent's number in the run.
    agent: u32,
    /// By number, packed.
    seconds: VecDeque<(u32, Bytes)>,
    bytes: usize,
    /// The transfer to a collector.
    transfer: Option<Transfer>,
}

#[derive(Debug)]
struct Transfer {
    link: ReliableLink,
    last_heard: Nanos,
}

impl KeptSeconds {
    pub(crate) fn new(run: String, agent: u32) -> Self {
        Self { run, agent, seconds: VecDeque::new(), bytes: 0, transfer: None }
    }

    pub(crate) fn add(&mut self, number: u32, packed: Bytes) {
        self.bytes += packed.len();
        self.seconds.push_back((number, packed));
        while self.bytes > KEPT_BYTES_MAX
            && let Some((_, oldest)) = self.seconds.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// Drops all seconds before this one, since they are on disk.
    pub(crate) fn written(&mut self, before: u32) {
        while let Some((_, oldest)) = self.seconds.pop_front_if(|(number, _)| *number < before) {
            self.bytes -= oldest.len();
        }
    }

    /// Starts sending the seconds to a collector. A previous collector is dropped.
    pub(crate) fn give(&mut self, now: Nanos) {
        let mut link = ReliableLink::default();
        link.send(ToController::Kept { agent: self.agent }.pack());
        self.seconds.iter().for_each(|(_, second)| link.send(second.clone()));
        link.send(ToController::Done.pack());
        self.transfer = Some(Transfer { link, last_heard: now });
    }

    pub(crate) fn is_transferring(&self) -> bool {
        self.transfer.is_some()
    }

    /// Handles a part from the collector, which only contains acknowledgements.
    pub(crate) fn receive(&mut self, part: MessagePart, now: Nanos) {
        if let Some(transfer) = &mut self.transfer {
            transfer.last_heard = now;
            transfer.link.receive(part);
        }
    }

    /// The parts to send now. `silence`: a collector that is silent for this long has gone. Nanoseconds.
    pub(crate) fn due(&mut self, now: Nanos, silence: Nanos) -> Vec<MessagePart> {
        if self.transfer.as_ref().is_some_and(|transfer| now > transfer.last_heard + silence || transfer.link.is_settled()) {
            self.transfer = None;
        }
        self.transfer.as_mut().map_or_else(Vec::new, |transfer| transfer.link.due(now))
    }
}
