//! Reads a call while it is open: its messages are timed whether or not the script waits for them.

use std::rc::Rc;

use loadstone_metrics::Outcome;
use loadstone_protocol::Failure;
use loadstone_protocol::grpc::{GrpcReceiver, ReceivedGrpc};
use loadstone_protocol::ws::Payload;

use super::running::{ReceivedSoFar, RunningCall};
use crate::protocols::grpc::json::decode;
use crate::protocols::messages::channel::{ChannelEnd, MessageChannel, READ_AT_ONCE_MAX, yield_now};
use crate::protocols::messages::inbox::ArrivedMessage;
use crate::runtime::step::{MeasuredStep, StepInFlight};

/// From the start of a call to its first message.
pub(super) struct FirstMessage {
    pub(super) step: MeasuredStep,
    pub(super) flight: StepInFlight,
}

pub(super) async fn follow(
    channel: Rc<MessageChannel>,
    call: Rc<RunningCall>,
    mut receiver: GrpcReceiver,
    mut first: Option<FirstMessage>,
) {
    let mut items = 0;
    let end = loop {
        let received = receiver.next().await;
        let so_far = ReceivedSoFar { http_status: receiver.http_status(), bytes: receiver.bytes };
        if items == 0 {
            *call.ending.metadata.borrow_mut() = receiver.headers().clone();
        }
        let (message, at) = match received {
            Ok(ReceivedGrpc::Message { message, at }) => (message, at),
            Ok(ReceivedGrpc::End { status, details, trailers, at }) => {
                *call.ending.details.borrow_mut() = details;
                *call.ending.trailers.borrow_mut() = trailers;
                break call.answered(status, at, &so_far);
            }
            Err(failure) => break call.broke(failure, call.user.now(), &so_far),
        };
        if items == 0 {
            call.first_at.set(at);
        }
        if let Some(FirstMessage { step, mut flight }) = first.take() {
            flight.end(at);
            let mut sample = step.sample(call.opening.started, at, Outcome::Passed);
            sample.bytes_received = message.len() as u64;
            step.record(&call.user, &sample, None);
        }
        match decode(&call.method.output, message) {
            Ok(json) => channel.keep(ArrivedMessage { payload: Payload::Text(json), at, labels: None }),
            Err(message) => break call.broke(Failure::new(Outcome::Protocol, message), at, &so_far),
        }
        if channel.is_overfull() {
            let ChannelEnd { outcome, message, .. } = ChannelEnd::overfull();
            break call.broke(Failure::new(outcome, message), at, &so_far);
        }
        items += 1;
        if items % READ_AT_ONCE_MAX == 0 {
            yield_now().await;
        }
    };
    if let Some(FirstMessage { mut flight, .. }) = first {
        // The record of the call reports why there was none.
        flight.end(call.user.now());
    }
    channel.end_with(end);
}
