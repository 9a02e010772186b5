//! One operation's wait on a channel.

use std::rc::Rc;
use std::task::{Context, Poll};

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Timer;

use super::channel::MessageChannel;
use super::waiter::ChannelWaiter;

/// The event that a wait is for.
pub(in crate::protocols) enum WaitedFor {
    /// A message, which contains this text if there is one.
    Message(Option<String>),
    /// The answer to the ping of this number.
    Pong(u64),
    /// The end of the channel.
    End,
}

/// The result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::protocols) enum WaitResult {
    /// The message of this number may match.
    Message(u64),
    /// When the pong arrived.
    Pong(Nanos),
    /// The channel has ended.
    Ended,
    /// The time limit has passed.
    Late,
}

/// Waits on a channel until the event occurs, or a time limit passes. Dropping it ends the wait.
pub(in crate::protocols) struct ChannelWait {
    channel: Rc<MessageChannel>,
    waited_for: WaitedFor,
    waiter: Rc<ChannelWaiter>,
    limit: Timer,
    due: Nanos,
}

impl ChannelWait {
    /// `due`: the time limit, `Nanos::MAX` for none. Messages before [`ChannelWait::consider_from`] do not count.
    pub(in crate::protocols) fn new(channel: &Rc<MessageChannel>, waited_for: WaitedFor, measured: bool, due: Nanos) -> Self {
        let waiter = Rc::new(ChannelWaiter::new(measured));
        channel.join(Rc::clone(&waiter));
        let limit = channel.identity.user.worker.clock.sleep_until(due);
        Self { channel: Rc::clone(channel), waited_for, waiter, limit, due }
    }

    pub(in crate::protocols) fn channel(&self) -> &Rc<MessageChannel> {
        &self.channel
    }

    /// Considers messages from this number on.
    pub(in crate::protocols) fn consider_from(&self, number: u64) {
        self.waiter.want_from(number);
    }

    pub(in crate::protocols) fn set_due(&mut self, due: Nanos) {
        self.due = due;
        self.limit.reset(due);
    }

    pub(in crate::protocols) fn due(&self) -> Nanos {
        self.due
    }

    pub(in crate::protocols) fn poll(&self, context: &mut Context<'_>) -> Poll<WaitResult> {
        if let Some(result) = self.result() {
            return Poll::Ready(result);
        }
        if self.channel.has_ended() {
            return Poll::Ready(WaitResult::Ended);
        }
        if self.limit.poll_due(context).is_ready() {
            return Poll::Ready(WaitResult::Late);
        }
        self.waiter.woken_by(context.waker());
        Poll::Pending
    }

    fn result(&self) -> Option<WaitResult> {
        match &self.waited_for {
            WaitedFor::Message(text) => {
                let from = self.waiter.wants_from()?;
                let candidate = self.channel.candidate(from, text.as_deref(), self.due);
                if candidate.is_none() {
                    // None of the present messages can match any more.
                    self.waiter.want_from(self.channel.number_next());
                }
                candidate.map(WaitResult::Message)
            }
            WaitedFor::Pong(number) => self.channel.ponged(*number).filter(|at| *at <= self.due).map(WaitResult::Pong),
            WaitedFor::End => None,
        }
    }

    /// Ready when sending has exceeded the time limit.
    pub(in crate::protocols) fn poll_late(&self, context: &mut Context<'_>) -> Poll<()> {
        self.limit.poll_due(context)
    }
}

impl Drop for ChannelWait {
    fn drop(&mut self) {
        self.channel.leave_off(&self.waiter);
    }
}
