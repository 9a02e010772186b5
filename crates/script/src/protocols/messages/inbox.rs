//! Messages that have arrived and that the script has not read.

use std::collections::VecDeque;

use loadstone_metrics::Nanos;
use loadstone_protocol::ws::Payload;

/// Maximum number of unread messages of one channel.
pub(super) const UNREAD_MAX: usize = 1_000;
/// Maximum unread bytes of one channel. A single message may be larger.
const UNREAD_BYTES_MAX: usize = 16 << 20;

/// An unread message.
#[derive(Debug, Clone)]
pub(in crate::protocols) struct ArrivedMessage {
    pub(in crate::protocols) payload: Payload,
    /// When its last byte was read.
    pub(in crate::protocols) at: Nanos,
    /// Only for a server-sent event.
    pub(in crate::protocols) labels: Option<Box<EventLabels>>,
}

impl ArrivedMessage {
    /// Bytes of its content.
    pub(super) fn size(&self) -> usize {
        match &self.payload {
            Payload::Text(text) => text.len(),
            Payload::Binary(bytes) => bytes.len(),
        }
    }

    fn contains(&self, text: &str) -> bool {
        match &self.payload {
            Payload::Text(whole) => whole.contains(text),
            Payload::Binary(bytes) => String::from_utf8_lossy(bytes).contains(text),
        }
    }
}

/// The fields of a server-sent event.
#[derive(Debug, Clone)]
pub(in crate::protocols) struct EventLabels {
    pub(in crate::protocols) event: String,
    pub(in crate::protocols) id: String,
}

/// The queue of one channel. Messages are numbered in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    messages: VecDeque<(u64, ArrivedMessage)>,
    bytes: usize,
    number_next: u64,
}

impl Inbox {
    /// Number of the next message.
    pub(super) fn number_next(&self) -> u64 {
        self.number_next
    }

    /// A message has arrived.
    pub(super) fn push(&mut self, message: ArrivedMessage) {
        let number = self.number_next;
        self.number_next += 1;
        self.put_back(number, message);
    }

    /// The first message, beginning with a number, that arrived in time and contains the text, if there is one.
    pub(super) fn candidate(&self, from: u64, text: Option<&str>, due: Nanos) -> Option<u64> {
        let fits = |message: &ArrivedMessage| message.at <= due && text.is_none_or(|text| message.contains(text));
        self.messages.iter().find(|(number, message)| *number >= from && fits(message)).map(|(number, _)| *number)
    }

    /// Takes a message out of the queue.
    pub(super) fn take(&mut self, number: u64) -> Option<ArrivedMessage> {
        let at = self.messages.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        let (_, message) = self.messages.remove(at)?;
        self.bytes -= message.size();
        if self.messages.is_empty() {
            // An idle channel has no buffer.
            self.messages = VecDeque::new();
        }
        Some(message)
    }

    /// Returns a message that did not match to the queue.
    pub(super) fn put_back(&mut self, number: u64, message: ArrivedMessage) {
        self.bytes += message.size();
        let at = self.messages.partition_point(|(other, _)| *other < number);
        self.messages.insert(at, (number, message));
    }

    /// Discards all messages before a number.
    pub(super) fn forget_before(&mut self, number: u64) {
        while let Some(first) = self.messages.front().map(|(first, _)| *first).filter(|first| *first < number) {
            self.take(first);
        }
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.messages.len() > UNREAD_MAX || self.bytes > UNREAD_BYTES_MAX && self.messages.len() > 1
    }
}
