//! What `try` shows of requests, messages and calls.

use loadstone_metrics::Outcome;
use loadstone_protocol::grpc::{GrpcReply, UnaryCall, trailers_of};
use loadstone_protocol::http::{Exchange, Hop, Request};
use loadstone_protocol::raw::RawTimes;
use loadstone_script::{
    GuestMethod, MessageDirection, TracedEnd, TracedExchange, TracedMessage, TracedOwner, TracedRequest, TracedResponse, trace_hops,
};

use crate::turn::VuState;

/// Whether anything is shown: what is only shown need not be kept.
pub(super) fn is_tracing(vu: &VuState) -> bool {
    vu.worker.sinks.exchanges.is_some()
}

fn owner<'a>(vu: &'a VuState, name: &'a str) -> TracedOwner<'a> {
    TracedOwner { scenario: vu.worker.test.scenario_name(vu.scenario_id()), user: vu.id, name }
}

/// An HTTP request with its redirects.
pub(super) fn show_request(vu: &VuState, name: &str, before: &[Hop], (request, exchange): (&Request, &Exchange), outcome: Outcome) {
    let Some(sink) = &vu.worker.sinks.exchanges else { return };
    let error = exchange.result.as_ref().err().map(|failure| failure.message.as_str());
    let end = TracedEnd { request: Some(request), exchange, outcome, error, expectations: Vec::new() };
    trace_hops(&**sink, owner(vu, name), before, end);
}

/// Whether messages are shown.
pub(super) fn shows_messages(vu: &VuState) -> bool {
    vu.worker.sinks.messages.is_some()
}

/// A message of a WebSocket, or of a gRPC stream as JSON.
pub(super) fn show_message(vu: &VuState, name: &str, direction: MessageDirection, body: &[u8]) {
    if let Some(sink) = &vu.worker.sinks.messages {
        let scenario = vu.worker.test.scenario_name(vu.scenario_id());
        sink(&TracedMessage { scenario, name, direction, body, event: None, id: None });
    }
}

/// A gRPC call with one message and one response.
pub(super) struct ShownCall<'a> {
    pub(super) name: &'a str,
    pub(super) url: &'a str,
    pub(super) metadata: Vec<(String, String)>,
    /// The message, as JSON.
    pub(super) message: &'a str,
    pub(super) method: &'a GuestMethod,
    pub(super) outcome: Outcome,
    pub(super) error: Option<&'a str>,
}

pub(super) fn show_call(vu: &VuState, shown: ShownCall<'_>, call: &UnaryCall) {
    let Some(sink) = &vu.worker.sinks.exchanges else { return };
    let exchange = &call.exchange;
    let body = match &call.reply {
        Ok(GrpcReply { message: Some(message), .. }) => shown.method.decode(message.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    let response = exchange.response().map(|response| TracedResponse {
        status: call.reply.as_ref().map_or(0, |reply| u16::from(reply.status.code())),
        fields: (response.headers.iter().chain(trailers_of(&response.headers, &response.trailers).iter()))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: body.into_bytes(),
        bytes_received: exchange.bytes_received,
    });
    let TracedOwner { scenario, user, name } = owner(vu, shown.name);
    sink(&TracedExchange {
        scenario,
        user,
        name,
        outcome: shown.outcome,
        error: shown.error,
        expectations: Vec::new(),
        request: TracedRequest {
            method: "GRPC".to_owned(),
            address: shown.url.to_owned(),
            fields: shown.metadata,
            body: shown.message.as_bytes().to_vec(),
        },
        response,
        service_ns: exchange.ended.saturating_sub(exchange.started),
        phases: exchange.phases,
        connected: exchange.connected,
    });
}

/// A command of Redis and its reply, as text.
pub(super) struct ShownCommand<'a> {
    pub(super) name: &'a str,
    pub(super) address: String,
    pub(super) command: &'a str,
    /// `None`: there was none.
    pub(super) reply: Option<String>,
    pub(super) outcome: Outcome,
    pub(super) error: Option<&'a str>,
}

pub(super) fn show_command(vu: &VuState, shown: ShownCommand<'_>, times: &RawTimes) {
    let Some(sink) = &vu.worker.sinks.exchanges else { return };
    let TracedOwner { scenario, user, name } = owner(vu, shown.name);
    let body = shown.command.as_bytes().to_vec();
    let answered =
        |reply: String| TracedResponse { status: 0, fields: Vec::new(), body: reply.into_bytes(), bytes_received: times.bytes_received };
    sink(&TracedExchange {
        scenario,
        user,
        name,
        outcome: shown.outcome,
        error: shown.error,
        expectations: Vec::new(),
        request: TracedRequest { method: "REDIS".to_owned(), address: shown.address, body, ..TracedRequest::default() },
        response: shown.reply.map(answered),
        service_ns: times.ended.saturating_sub(times.started),
        phases: times.phases,
        connected: times.connected,
    });
}
