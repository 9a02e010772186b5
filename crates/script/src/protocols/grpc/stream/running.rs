//! An open call, measured from its start to its status.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use loadstone_metrics::{FailureSample, Nanos, Outcome, Sample};
use loadstone_protocol::Failure;
use loadstone_protocol::grpc::{GrpcSender, GrpcStatus};
use loadstone_protocol::http::{Exchange, Headers};

use crate::protocols::grpc::conclude::error_text;
use crate::protocols::grpc::expect::GrpcExpectation;
use crate::protocols::grpc::methods::GrpcMethod;
use crate::protocols::http::conclude;
use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, MessageChannel};
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::user::UserState;

/// The close code of a channel whose user leaves before the end.
const GOING_AWAY: u16 = 1001;

/// The channel holds it while the call is open.
pub(super) struct RunningCall {
    pub(super) user: Rc<UserState>,
    pub(super) method: Rc<GrpcMethod>,
    pub(super) step: MeasuredStep,
    pub(super) expect: GrpcExpectation,
    /// In flight until the call has ended.
    pub(super) flight: RefCell<Option<StepInFlight>>,
    /// Its start, and the times of opening it.
    pub(super) opening: Exchange,
    /// Messages in the order of sending.
    pub(super) sender: tokio::sync::Mutex<GrpcSender>,
    /// When the first message was received.
    pub(super) first_at: Cell<Nanos>,
    pub(super) ending: Rc<StreamEnding>,
}

/// The script's view of a call, also after its end.
#[derive(Default)]
pub(super) struct StreamEnding {
    pub(super) status: Cell<Option<GrpcStatus>>,
    pub(super) details: RefCell<String>,
    pub(super) metadata: RefCell<Headers>,
    pub(super) trailers: RefCell<Headers>,
    pub(super) sent: Cell<u64>,
}

/// The script's handle of a call.
pub(super) struct StreamHandle {
    pub(super) channel: Rc<MessageChannel>,
    /// Weak: the call ends when the channel drops it.
    pub(super) call: Weak<RunningCall>,
    pub(super) ending: Rc<StreamEnding>,
    pub(super) method: Rc<GrpcMethod>,
}

/// Received sizes, for the record.
pub(super) struct ReceivedSoFar {
    pub(super) http_status: u16,
    pub(super) bytes: u64,
}

impl RunningCall {
    /// The server has ended the call. Records it, and returns how the channel ends.
    pub(super) fn answered(&self, status: GrpcStatus, at: Nanos, received: &ReceivedSoFar) -> ChannelEnd {
        self.ending.status.set(Some(status));
        match self.expect.judge_status(status) {
            None => {
                self.record(at, Outcome::Passed, received, None);
                ChannelEnd::ordinary(&format!("the server ended the call: {status}"))
            }
            Some((outcome, message)) => {
                self.record(at, outcome, received, Some(&message));
                ChannelEnd::broken(outcome, message)
            }
        }
    }

    /// The call failed.
    pub(super) fn broke(&self, failure: Failure, at: Nanos, received: &ReceivedSoFar) -> ChannelEnd {
        self.record(at, failure.outcome, received, Some(&failure.message));
        ChannelEnd::broken(failure.outcome, failure.message)
    }

    fn record(&self, at: Nanos, outcome: Outcome, received: &ReceivedSoFar, error: Option<&str>) {
        let Some(mut flight) = self.flight.take() else { return };
        flight.end(at);
        let mut sample: Sample = conclude::sample(&self.opening, &[], self.step.due, outcome);
        sample.ended = at.max(sample.started);
        sample.status = received.http_status;
        let first = self.first_at.get();
        let waited_until = if first == 0 { at } else { first };
        let open_ns = sample.phases.queue + sample.phases.dns + sample.phases.connect + sample.phases.tls;
        sample.phases.wait = waited_until.saturating_sub(sample.started + open_ns);
        sample.phases.body = at.saturating_sub(waited_until);
        sample.bytes_sent = self.sender.try_lock().map_or(sample.bytes_sent, |sender| sender.bytes);
        sample.bytes_received = received.bytes;
        match error {
            Some(message) if received.http_status != 0 => {
                self.step.record_failed(&self.user, &sample, error_text(message, outcome, self.ending.status.get()), || {
                    let (metadata, trailers) = (self.ending.metadata.borrow(), self.ending.trailers.borrow());
                    FailureSample::new(received.http_status, metadata.iter().chain(trailers.iter()), &[])
                })
            }
            _ => self.step.record(&self.user, &sample, error),
        }
    }

    fn cancel(&self) {
        if let Ok(mut sender) = self.sender.try_lock() {
            sender.cancel();
        }
    }
}

impl ChannelConnection for RunningCall {
    /// Either the script has ended the call, which is no failure, or its user was cut off, which the flight records.
    fn send_close(&self, code: u16, _: &str) -> Option<ChannelEnd> {
        self.cancel();
        if code == GOING_AWAY {
            drop(self.flight.take());
        } else if self.flight.borrow().is_some() {
            self.ending.status.set(Some(GrpcStatus::CANCELLED));
            self.record(self.user.now(), Outcome::Passed, &ReceivedSoFar { http_status: 0, bytes: 0 }, None);
        }
        Some(ChannelEnd::ordinary("the script ended the call"))
    }
}
