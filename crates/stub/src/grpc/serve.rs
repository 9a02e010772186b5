//! From a call's head to its status. Read [`serve`].

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response as HttpResponse, StatusCode};
use tokio::sync::mpsc;

use super::answer::{GrpcAnswer, GrpcContent, GrpcTurns, UNIMPLEMENTED};
use super::ending::{answered, failure, rejection, trailers};
use super::frame::{AnswerCoding, CallReader, cut, too_large};
use super::talk::Talk;
use crate::StubRequest;
use crate::body::{OutgoingBody, Reset};
use crate::exchange::{Answer, ExchangeGuards, REQUEST_BODY_MAX, request_value};
use crate::held::HeldCall;
use crate::visit::{ArrivedRequest, Decision, DueRequest, ServerState, pass};

/// Whether a request is a gRPC call.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Serves a call. `arrived`: CLOCK_MONOTONIC nanoseconds.
pub(crate) async fn serve(
    state: &Rc<ServerState>,
    (index, content): (usize, &GrpcContent),
    head: Parts,
    incoming: Incoming,
    (at_ns, held): (u64, HeldCall),
) -> Result<Answer, Reset> {
    if !is_grpc(&head.headers) {
        // The status that the protocol requires for other requests.
        let mut answer = HttpResponse::new(OutgoingBody::new("this is a method of gRPC\n".into(), None, None, &state.timer, (None, None)));
        *answer.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Ok(answer);
    }
    let coding = AnswerCoding::of(state.endpoints[index].encoding, &head.headers);
    if content.turns != GrpcTurns::AtEnd {
        let (frames, passed) = mpsc::channel(1);
        tokio::task::spawn_local(Talk { state: Rc::clone(state), index, head, turns: content.turns, coding, frames }.hold(incoming));
        return Ok(begun(&state.endpoints[index].headers, coding, OutgoingBody::passed(passed, (None, None))));
    }
    let messages = match read(&head.headers, incoming).await {
        Ok(messages) => messages,
        Err(refusal) => return Ok(respond(state, HeaderMap::new(), AnswerCoding::Identity, refusal, (None, None))),
    };
    let arrival = ArrivedRequest { at_ns, bytes: messages.iter().map(Bytes::len).sum(), held };
    let request = |moments| StubRequest { messages, ..request_value(&head, Vec::new(), Bytes::new(), moments) };
    let DueRequest { visit, permit, decision } = pass(state, index, arrival, request).await;
    let (headers, answer) = match decision {
        Decision::Silence => std::future::pending().await,
        Decision::Reset => return Err(Reset),
        Decision::Rejected { status, .. } => (HeaderMap::new(), rejection(status)),
        Decision::Failed(status) => (HeaderMap::new(), failure(status)),
        Decision::Answered(reply, request) => {
            let (headers, answer) = answered(state, index, content, reply, request);
            visit.answered(answer.status);
            (headers, answer)
        }
    };
    Ok(respond(state, headers, coding, answer, (Some(visit), permit)))
}

/// A call of an unknown method.
pub(crate) fn no_method(state: &ServerState, path: &str) -> Answer {
    let served: Vec<&str> =
        state.endpoints.iter().filter(|endpoint| endpoint.grpc.is_some()).map(|endpoint| endpoint.route.text()).collect();
    let details = format!("no method {}; this stub serves: {}", path.trim_start_matches('/'), served.join(", "));
    respond(state, HeaderMap::new(), AnswerCoding::Identity, GrpcAnswer::status(UNIMPLEMENTED, details), (None, None))
}

fn respond(state: &ServerState, headers: HeaderMap, coding: AnswerCoding, answer: GrpcAnswer, held: ExchangeGuards) -> Answer {
    let trailers = trailers(&answer);
    let frames: VecDeque<Bytes> = answer.messages.iter().map(|message| coding.framed(message)).collect();
    begun(&headers, coding, OutgoingBody::messages(frames, answer.pause_ns, trailers, &state.timer, held))
}

fn begun(headers: &HeaderMap, coding: AnswerCoding, body: OutgoingBody<ExchangeGuards>) -> Answer {
    let mut answer = HttpResponse::new(body);
    *answer.headers_mut() = headers.clone();
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    if coding == AnswerCoding::Gzip {
        answer.headers_mut().insert("grpc-encoding", HeaderValue::from_static("gzip"));
    }
    answer.headers_mut().insert("grpc-accept-encoding", HeaderValue::from_static("identity,gzip"));
    answer
}

/// Reads all messages of a call.
async fn read(headers: &HeaderMap, incoming: Incoming) -> Result<Vec<Bytes>, GrpcAnswer> {
    let body = Limited::new(incoming, REQUEST_BODY_MAX).collect().await.map_err(|_| too_large())?;
    let mut reader = CallReader::of(headers);
    reader.feed(&body.to_bytes());
    let mut messages = Vec::new();
    while let Some(message) = reader.next()? {
        messages.push(message);
    }
    if reader.is_cut() { Err(cut()) } else { Ok(messages) }
}
