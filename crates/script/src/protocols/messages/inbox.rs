//! Messages that have arrived and that nobody has asked for yet.

use std::collections::VecDeque;

use loadstone_metrics::Nanos;
use loadstone_protocol::ws::Payload;

/// Most messages of one channel that wait unread.
pub(super) const UNREAD_MAX: usize = 1_000;
/// Most bytes of one channel that wait unread; one message may be larger.
const UNREAD_BYTES_MAX: usize = 16 << 20;

/// A message as it waits for somebody.
#[derive(Debug, Clone)]
pub(in crate::protocols) struct ArrivedMessage {
    pub(in crate::protocols) payload: Payload,
    /// When its last byte was read.
    pub(in crate::protocols) at: Nanos,
    /// Only of a server-sent event.
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

/// What a server-sent event says of itself.
#[derive(Debug, Clone)]
pub(in crate::protocols) struct EventLabels {
    pub(in crate::protocols) event: String,
    pub(in crate::protocols) id: String,
}

/// The queue of one channel. Messages are numbered as they arrive.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    messages: VecDeque<(u64, ArrivedMessage)>,
    bytes: usize,
    number_next: u64,
}

impl Inbox {
    /// Number that the next message will have.
    pub(super) fn number_next(&self) -> u64 {
        self.number_next
    }

    /// A message has come.
    pub(super) fn push(&mut self, message: ArrivedMessage) {
        let number = self.number_next;
        self.number_next += 1;
        self.put_back(number, message);
    }

    /// The first message from a number on that came in time and, where a text is given, contains it.
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
            // An idle channel holds no buffer.
            self.messages = VecDeque::new();
        }
        Some(message)
    }

    /// Puts a message back that was not the one wanted.
    pub(super) fn put_back(&mut self, number: u64, message: ArrivedMessage) {
        self.bytes += message.size();
        let at = self.messages.partition_point(|(other, _)| *other < number);
        self.messages.insert(at, (number, message));
    }

    /// Forgets all messages before a number.
    pub(super) fn forget_before(&mut self, number: u64) {
        while let Some(first) = self.messages.front().map(|(first, _)| *first).filter(|first| *first < number) {
            self.take(first);
        }
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.messages.len() > UNREAD_MAX || self.bytes > UNREAD_BYTES_MAX && self.messages.len() > 1
    }
}
