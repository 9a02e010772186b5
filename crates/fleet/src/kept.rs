//! Seconds that an agent keeps until they are on the controller's disk, should the controller die.

use std::collections::VecDeque;

use bytes::Bytes;
use loadstone_metrics::Nanos;

use crate::link::ReliableLink;
use crate::message::ToController;
use crate::packet::MessagePart;

/// Most bytes that are kept, packed: an hour of 50 names at 10,000 requests/s. The oldest go first.
const BYTES_MAX: usize = 128 << 20;

/// The seconds of one run.
#[derive(Debug)]
pub(crate) struct KeptSeconds {
    pub(crate) run: String,
    /// The agent's number in it.
    agent: u32,
    /// By number, packed.
    seconds: VecDeque<(u32, Bytes)>,
    bytes: usize,
    /// To whoever collects them.
    giving: Option<Giving>,
}

#[derive(Debug)]
struct Giving {
    link: ReliableLink,
    heard: Nanos,
}

impl KeptSeconds {
    pub(crate) fn new(run: String, agent: u32) -> Self {
        Self { run, agent, seconds: VecDeque::new(), bytes: 0, giving: None }
    }

    pub(crate) fn add(&mut self, number: u32, packed: Bytes) {
        self.bytes += packed.len();
        self.seconds.push_back((number, packed));
        while self.bytes > BYTES_MAX
            && let Some((_, oldest)) = self.seconds.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// All before this one are on disk.
    pub(crate) fn written(&mut self, before: u32) {
        while let Some((_, oldest)) = self.seconds.pop_front_if(|(number, _)| *number < before) {
            self.bytes -= oldest.len();
        }
    }

    /// Somebody asks for them. Whoever asked before is forgotten.
    pub(crate) fn give(&mut self, now: Nanos) {
        let mut link = ReliableLink::default();
        link.send(ToController::Kept { agent: self.agent }.pack());
        self.seconds.iter().for_each(|(_, second)| link.send(second.clone()));
        link.send(ToController::Done.pack());
        self.giving = Some(Giving { link, heard: now });
    }

    pub(crate) fn is_given(&self) -> bool {
        self.giving.is_some()
    }

    /// A part of whoever collects; all that it says is what has arrived.
    pub(crate) fn receive(&mut self, part: MessagePart, now: Nanos) {
        if let Some(giving) = &mut self.giving {
            giving.heard = now;
            giving.link.receive(part);
        }
    }

    /// What is to be sent now. `silence`: whoever says nothing for so long is gone. Nanoseconds.
    pub(crate) fn due(&mut self, now: Nanos, silence: Nanos) -> Vec<MessagePart> {
        if self.giving.as_ref().is_some_and(|giving| now > giving.heard + silence || giving.link.is_settled()) {
            self.giving = None;
        }
        self.giving.as_mut().map_or_else(Vec::new, |giving| giving.link.due(now))
    }
}
