//! Messages between a controller and one agent, each delivered once and in order, over a bus that may lose, duplicate, delay and reorder.
//!
//! A message is split into numbered parts. The receiver acknowledges the number up to which it has all parts. Parts without a timely acknowledgement
//! are sent again (selective repeat: Tanenbaum and Wetherall, Computer Networks, 5th ed. 2011, 3.4.3). No I/O and no clock: [`ReliableLink::due`]
//! returns the parts to send.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use loadstone_metrics::Nanos;

use crate::packet::{MessagePart, PART_BYTES_MAX};

/// Limit on unacknowledged parts, in one direction.
const PARTS_IN_FLIGHT_MAX: usize = 32;
/// Limit on a message: a test with its files, compressed. Bytes.
const MESSAGE_BYTES_MAX: usize = 128 << 20;
/// A part that is not acknowledged within this time is sent again.
pub(crate) const RESEND_NS: Nanos = 200_000_000;

/// One end of a link.
#[derive(Debug, Default)]
pub(crate) struct ReliableLink {
    /// Parts that are not acknowledged yet, from number `first` on.
    outgoing: VecDeque<OutgoingPart>,
    first: u64,
    /// All parts below this number have arrived.
    received: u64,
    /// Parts that arrived before a part with a lower number.
    early: BTreeMap<u64, MessagePart>,
    /// The beginning of an incomplete message.
    begun: Vec<u8>,
    acknowledge: bool,
}

#[derive(Debug)]
struct OutgoingPart {
    bytes: Bytes,
    goes_on: bool,
    sent: Option<Nanos>,
}

impl ReliableLink {
    pub(crate) fn send(&mut self, message: impl Into<Bytes>) {
        let mut rest: Bytes = message.into();
        loop {
            let bytes = rest.split_to(rest.len().min(PART_BYTES_MAX));
            let goes_on = !rest.is_empty();
            self.outgoing.push_back(OutgoingPart { bytes, goes_on, sent: None });
            if !goes_on {
                return;
            }
        }
    }

    /// Handles a part, and returns the messages that it completes.
    pub(crate) fn receive(&mut self, part: MessagePart) -> Vec<Vec<u8>> {
        while self.first < part.received && self.outgoing.pop_front().is_some() {
            self.first += 1;
        }
        let Some(number) = part.number else { return Vec::new() };
        self.acknowledge = true;
        if part.bytes.len() <= PART_BYTES_MAX
            && number >= self.received
            && number < self.received.saturating_add(PARTS_IN_FLIGHT_MAX as u64)
        {
            self.early.insert(number, part);
        }
        let mut messages = Vec::new();
        while let Some(next) = self.early.remove(&self.received) {
            self.received += 1;
            // A message without an end does not fill the memory. What follows it is no message that anybody can read.
            if self.begun.len() + next.bytes.len() > MESSAGE_BYTES_MAX {
                self.begun.clear();
            }
            self.begun.extend_from_slice(&next.bytes);
            if !next.goes_on {
                messages.push(std::mem::take(&mut self.begun));
            }
        }
        messages
    }

    /// The parts to send now.
    pub(crate) fn due(&mut self, now: Nanos) -> Vec<MessagePart> {
        let (first, received) = (self.first, self.received);
        let is_due = |part: &&mut OutgoingPart| part.sent.is_none_or(|sent| now >= sent + RESEND_NS);
        let mut parts = Vec::new();
        for (number, part) in (first..).zip(self.outgoing.iter_mut().take(PARTS_IN_FLIGHT_MAX)).filter(|(_, part)| is_due(part)) {
            part.sent = Some(now);
            parts.push(MessagePart { number: Some(number), received, goes_on: part.goes_on, bytes: part.bytes.clone() });
        }
        if std::mem::take(&mut self.acknowledge) && parts.is_empty() {
            parts.push(MessagePart { number: None, received, goes_on: false, bytes: Bytes::new() });
        }
        parts
    }

    /// Whether everything that was sent has been acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.outgoing.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Transfers two ends' messages over a bus that loses a third, duplicates a third, and delivers in any order.
    fn carried(seed: u64, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut near, mut far) = (ReliableLink::default(), ReliableLink::default());
        let (mut there, mut back, mut arrived) = (Vec::new(), Vec::new(), Vec::new());
        messages.iter().for_each(|message| near.send(message.clone()));
        for step in 0..10_000 {
            let now = step * 50_000_000;
            for (from, way) in [(&mut near, &mut there), (&mut far, &mut back)] {
                for part in from.due(now) {
                    (0..random.next_u64() % 3).for_each(|_| way.push(part.clone()));
                }
            }
            for (to, way) in [(&mut far, &mut there), (&mut near, &mut back)] {
                for _ in 0..2 {
                    if !way.is_empty() {
                        let chosen = (random.next_u64() % way.len() as u64) as usize;
                        arrived.extend(to.receive(way.swap_remove(chosen)));
                    }
                }
            }
            if near.is_settled() {
                break;
            }
        }
        assert!(near.is_settled(), "seed {seed}: everything is acknowledged in the end");
        arrived
    }

    #[test]
    fn every_message_arrives_once_and_in_order_over_a_faulty_bus() {
        let messages: Vec<Vec<u8>> = (0u8..60).map(|number| vec![number; usize::from(number)]).collect();
        for seed in 0..50 {
            assert_eq!(carried(seed, &messages), messages, "seed {seed}");
        }
    }

    #[test]
    fn a_long_message_is_reassembled() {
        let message: Vec<u8> = (0..3 * PART_BYTES_MAX + 5).map(|index| (index % 251) as u8).collect();
        assert!(carried(1, &[message.clone(), vec![], vec![1]]) == [message, vec![], vec![1]]);
    }
}
