//! A call whose messages are answered one by one. Read [`Talk`].

use std::rc::Rc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use hyper::http::request::Parts;
use tokio::sync::mpsc;

use super::answer::{GrpcAnswer, GrpcTurns};
use super::ending::{answered, failure, rejection, trailers};
use super::frame::{AnswerCoding, CallReader, cut};
use crate::StubRequest;
use crate::body::{PassedFrame, Reset};
use crate::clock::now_ns;
use crate::exchange::request_value;
use crate::visit::{ArrivedRequest, Decision, DueRequest, ServerState, pass};

/// The stub's side of a call, after its head.
pub(super) struct Talk {
    pub(super) state: Rc<ServerState>,
    pub(super) index: usize,
    pub(super) head: Parts,
    pub(super) turns: GrpcTurns,
    pub(super) coding: AnswerCoding,
    /// The response. Closed when the caller has left.
    pub(super) frames: mpsc::Sender<PassedFrame>,
}

/// The response can no longer be sent.
struct Gone;

impl Talk {
    /// Answers until either side ends the call.
    pub(super) async fn hold(self, incoming: Incoming) {
        let frames = self.frames.clone();
        tokio::select! {
            // Either the call has ended, or the caller has left.
            _ = self.answer_all(incoming) => {}
            () = frames.closed() => {}
        }
    }

    async fn answer_all(&self, mut incoming: Incoming) -> Result<(), Gone> {
        let mut reader = CallReader::of(&self.head.headers);
        loop {
            match self.next(&mut reader, &mut incoming).await {
                Ok(Some(message)) => {
                    if !self.answer(message).await? {
                        return Ok(());
                    }
                }
                Ok(None) if self.turns == GrpcTurns::Watch => std::future::pending().await,
                Ok(None) => return self.end(&GrpcAnswer::default()).await,
                Err(refusal) => return self.end(&refusal).await,
            }
        }
    }

    /// The next message. `None` when the caller has sent the last one.
    async fn next(&self, reader: &mut CallReader, incoming: &mut Incoming) -> Result<Option<Bytes>, GrpcAnswer> {
        loop {
            if let Some(message) = reader.next()? {
                return Ok(Some(message));
            }
            match incoming.frame().await {
                // An error that ends the call also ends the response.
                None | Some(Err(_)) if reader.is_cut() => return Err(cut()),
                None | Some(Err(_)) => return Ok(None),
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        reader.feed(bytes);
                    }
                }
            }
        }
    }

    /// Returns whether the call continues.
    async fn answer(&self, message: Bytes) -> Result<bool, Gone> {
        let Self { state, index, head, .. } = self;
        let Some(content) = &state.endpoints[*index].grpc else { return Ok(false) };
        let arrival = ArrivedRequest { at_ns: now_ns(), bytes: message.len(), held: state.held.enter() };
        let request = |moments| StubRequest { messages: vec![message], ..request_value(head, Vec::new(), Bytes::new(), moments) };
        let DueRequest { visit, permit: _permit, decision } = pass(state, *index, arrival, request).await;
        let answer = match decision {
            Decision::Silence => std::future::pending().await,
            Decision::Reset => {
                self.send(Err(Reset)).await?;
                return Ok(false);
            }
            Decision::Rejected { status, .. } => rejection(status),
            Decision::Failed(status) => failure(status),
            Decision::Answered(reply, request) => {
                let (_, answer) = answered(state, *index, content, reply, request);
                visit.answered(answer.status);
                answer
            }
        };
        for (number, message) in answer.messages.iter().enumerate() {
            if number > 0 && answer.pause_ns > 0 {
                state.timer.sleep_until(now_ns().saturating_add(answer.pause_ns)).await;
            }
            self.send(Ok(Frame::data(self.coding.framed(message)))).await?;
        }
        if answer.status != 0 {
            self.end(&answer).await?;
        }
        Ok(answer.status == 0)
    }

    async fn end(&self, answer: &GrpcAnswer) -> Result<(), Gone> {
        self.send(Ok(Frame::trailers(trailers(answer)))).await
    }

    async fn send(&self, frame: PassedFrame) -> Result<(), Gone> {
        self.frames.send(frame).await.map_err(|_| Gone)
    }
}
