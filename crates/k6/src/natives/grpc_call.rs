//! Calls of `k6/net/grpc`: one message and one response, or a stream of each.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use loadstone_metrics::{ErrorCause, ErrorText, Nanos, Outcome, Phases, SeriesId, SeriesKind};
use loadstone_protocol::Failure;
use loadstone_protocol::grpc::{
    GrpcReceiver, GrpcReply, GrpcStatus, GrpcStreamOpening, PreparedGrpcCall, ReceivedGrpc, UnaryCall, trailers_of,
};
use loadstone_protocol::http::{Exchange, Headers};
use loadstone_script::{GuestMethod, MessageDirection};
use rquickjs::{Ctx, Exception, Function, Object, Value};

use super::grpc_client::{ConnectedClient, ScriptClients, WHAT, encoded, metadata_of, method_of};
use super::http::sample;
use super::in_flight::InFlight;
use super::metrics::{call_tags, tags_of};
use super::trace::{ShownCall, is_tracing, show_call, show_message, shows_messages};
use crate::open_connections::{SendingStream, StreamRefusal};
use crate::operations::{EndedOperation, settlement};
use crate::turn::{Turn, VuState};

/// Codes for calls without a status (grpc/grpc, doc/statuscodes.md).
const CANCELLED: u8 = 1;
const UNKNOWN: u8 = 2;
const DEADLINE_EXCEEDED: u8 = 4;
const INTERNAL: u8 = 13;
const UNAVAILABLE: u8 = 14;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, clients: &ScriptClients) -> rquickjs::Result<()> {
    let all = Rc::clone(clients);
    let invoke = move |ctx: Ctx<'js>, number: u32, call: Object<'js>| {
        let mut turn = Turn::running(&ctx, WHAT)?;
        let work = ScriptCall::read(&ctx, &mut turn, &all, number, &call)?.perform(turn.shared());
        turn.wait(&ctx, work)?.into_value(&ctx)
    };
    native.set("grpcInvoke", Function::new(ctx.clone(), invoke)?)?;
    let all = Rc::clone(clients);
    let invoke_async = move |ctx: Ctx<'js>, id: u32, number: u32, call: Object<'js>| {
        let mut turn = Turn::running(&ctx, WHAT)?;
        let work = ScriptCall::read(&ctx, &mut turn, &all, number, &call)?.perform(turn.shared());
        turn.vu().operations().begin(async move {
            let ended = work.await;
            (id, settlement(move |ctx| ended.into_value(ctx)))
        });
        Ok::<_, rquickjs::Error>(())
    };
    native.set("grpcInvokeAsync", Function::new(ctx.clone(), invoke_async)?)?;
    let all = Rc::clone(clients);
    native.set(
        "grpcStream",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, number: u32, call: Object<'js>| stream(&ctx, &all, number, &call))?,
    )?;
    let all = Rc::clone(clients);
    native.set(
        "grpcWrite",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, number: u32, call: Object<'js>| write(&ctx, &all, number, &call))?,
    )?;
    native.set("grpcEnd", Function::new(ctx.clone(), end)?)
}

/// The parts of a call that its record needs.
struct CallRecord {
    method: GuestMethod,
    tags: Vec<(String, String)>,
    series: SeriesId,
    due: Option<Nanos>,
    /// The name that it is recorded under.
    name: String,
    url: String,
    metadata: Vec<(String, String)>,
}

/// A call, ready to be sent.
struct ScriptCall {
    connected: Rc<ConnectedClient>,
    prepared: PreparedGrpcCall,
    message: Bytes,
    /// The message as JSON, if `try` shows it.
    shown: Option<String>,
    discards: bool,
    record: CallRecord,
}

/// A call that has ended.
struct EndedCall {
    method: GuestMethod,
    call: UnaryCall,
    discards: bool,
}

/// The method, metadata, time limit and record of a call.
fn begin_call<'js>(
    ctx: &Ctx<'js>,
    turn: &mut Turn,
    clients: &ScriptClients,
    number: u32,
    call: &Object<'js>,
) -> rquickjs::Result<(Rc<ConnectedClient>, PreparedGrpcCall, CallRecord)> {
    let name: String = call.get("method")?;
    let (connected, method) = method_of(ctx, turn, clients, number, &name)?;
    let timeout_ms: Option<f64> = call.get("timeout")?;
    let timeout_ns = timeout_ms.map(|ms| (ms * 1e6) as u64);
    let path = method.path();
    let metadata = metadata_of(call.get("metadata")?);
    let request = connected.request(&path, metadata.clone(), timeout_ns);
    let prepared = PreparedGrpcCall::new(request, timeout_ns.unwrap_or(u64::MAX));
    let own = tags_of(call.get("tags")?)?;
    let named = own.iter().find(|(tag, _)| tag == "name").map_or_else(|| method.shown(), |(_, value)| value.clone());
    let (service, short) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let url = connected.url(&path);
    let known = [("service", service), ("method", short), ("url", &url), ("name", &url)];
    let tags = known.iter().map(|(tag, value)| ((*tag).to_owned(), (*value).to_owned())).chain(own).collect();
    let (scenario, group) = (turn.scenario_id(), turn.group());
    let series = turn.vu().worker.series(&mut turn.recorder(), SeriesKind::Request, scenario, &group, &named);
    let due = turn.take_due();
    Ok((connected, prepared, CallRecord { method, tags, series, due, name: named, url, metadata }))
}

impl ScriptCall {
    fn read<'js>(ctx: &Ctx<'js>, turn: &mut Turn, clients: &ScriptClients, number: u32, call: &Object<'js>) -> rquickjs::Result<Self> {
        let (connected, prepared, record) = begin_call(ctx, turn, clients, number, call)?;
        if !record.method.is_unary() {
            let problem = format!("{} streams messages: use `new grpc.Stream(client, …)`", record.method.shown());
            return Err(Exception::throw_message(ctx, &problem));
        }
        let json: String = call.get("message")?;
        let message = encoded(ctx, &record.method, &json)?;
        let shown = is_tracing(turn.vu()).then_some(json);
        Ok(Self { connected, prepared, message, shown, discards: call.get("discards")?, record })
    }

    async fn perform(self, vu: Rc<VuState>) -> EndedCall {
        let Self { connected, prepared, message, shown, discards, record } = self;
        let flight = InFlight::begin(Rc::clone(&vu), record.series, record.due);
        let call = match connected.refuses(&message) {
            Some(reason) => unsent(vu.worker.clock.now(), reason),
            None => connected.client.unary(&prepared, &message).await,
        };
        flight.end(call.exchange.ended);
        let result = call.reply.as_ref().map(|reply| (reply.status, reply.details.clone())).map_err(Clone::clone);
        if let Some(message) = &shown {
            let (outcome, error) = outcome_of(&result);
            let CallRecord { method, name, url, metadata, .. } = &record;
            let shown = ShownCall { name, url, metadata: metadata.clone(), message, method, outcome, error: error.as_deref() };
            show_call(&vu, shown, &call);
        }
        record.ended(&vu, &call.exchange, &result);
        EndedCall { method: record.method, call, discards }
    }
}

/// The result of a call that the client refused: as in k6, it has a status.
fn unsent(now: Nanos, reason: String) -> UnaryCall {
    let exchange = Exchange {
        started: now,
        ended: now,
        phases: Phases::default(),
        result: Err(Failure::new(Outcome::Status, reason.clone())),
        answer: None,
        bytes_sent: 0,
        bytes_received: 0,
        connected: false,
        retried: 0,
        trace: None,
        peer: None,
    };
    UnaryCall { exchange, reply: Ok(GrpcReply { status: GrpcStatus::RESOURCE_EXHAUSTED, details: reason, message: None }) }
}

/// The status of a call, or why there is none.
type CallResult = Result<(GrpcStatus, String), Failure>;

impl CallRecord {
    fn ended(&self, vu: &VuState, exchange: &Exchange, result: &CallResult) {
        let (outcome, error) = outcome_of(result);
        let sample = sample(exchange, &[], self.due, outcome);
        vu.note_request(result.is_ok());
        let mut recorder = vu.worker.recorder_at_end();
        recorder.record(self.series, &sample);
        if let Some(message) = &error {
            vu.fail_groups();
            let cause = matches!(result, Ok((GrpcStatus::RESOURCE_EXHAUSTED, _))).then_some(ErrorCause::ResourceExhausted);
            recorder.failed(self.series, &sample, ErrorText { message, cause });
        }
        drop(recorder);
        let code = code_of(result).to_string();
        let ms = exchange.ended.saturating_sub(exchange.started) as f64 / 1e6;
        let values =
            [("grpc_req_duration", ms), ("data_sent", exchange.bytes_sent as f64), ("data_received", exchange.bytes_received as f64)];
        self.count(vu, Some(&code), &values);
    }

    fn count(&self, vu: &VuState, status: Option<&str>, values: &[(&str, f64)]) {
        let (of_status, of_call) = ([("status", status.unwrap_or_default().into())], call_tags(&self.tags));
        let tag = vu.tag_of(if status.is_some() { &of_status } else { &[] }, &of_call);
        let mut recorder = vu.worker.recorder_at_end();
        for (name, value) in values {
            vu.worker.record_own(&mut recorder, name, *value, &tag);
        }
    }
}

fn outcome_of(result: &CallResult) -> (Outcome, Option<String>) {
    match result {
        Ok((status, _)) if *status == GrpcStatus::OK => (Outcome::Passed, None),
        Ok((status, details)) => (Outcome::Status, Some(format!("{status}{}{details}", if details.is_empty() { "" } else { ": " }))),
        Err(failure) => (failure.outcome, Some(failure.message.clone())),
    }
}

/// The code that k6 shows. A call without a status has the one that gRPC's clients assign.
fn code_of(result: &CallResult) -> u8 {
    match result {
        Ok((status, _)) => status.code(),
        Err(failure) => match failure.outcome {
            Outcome::Timeout => DEADLINE_EXCEEDED,
            Outcome::Interrupted => CANCELLED,
            Outcome::Dns | Outcome::Connect | Outcome::Refused | Outcome::Reset | Outcome::Closed | Outcome::Tls => UNAVAILABLE,
            Outcome::Protocol => INTERNAL,
            _ => UNKNOWN,
        },
    }
}

/// `{ code, message, details }`, or `null`.
fn error_object<'js>(ctx: &Ctx<'js>, result: &CallResult) -> rquickjs::Result<Value<'js>> {
    let code = code_of(result);
    if code == 0 {
        return Ok(Value::new_null(ctx.clone()));
    }
    let object = Object::new(ctx.clone())?;
    object.set("code", code)?;
    object.set(
        "message",
        match result {
            Ok((_, details)) => details,
            Err(failure) => &failure.message,
        },
    )?;
    object.set("details", Vec::<String>::new())?;
    Ok(object.into_value())
}

/// Names and lists of values.
fn metadata<'js>(ctx: &Ctx<'js>, fields: Option<&Headers>) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let Some(fields) = fields else { return Ok(object) };
    for (name, _) in fields.iter().filter(|(name, _)| !matches!(*name, "grpc-status" | "grpc-message")) {
        if !object.contains_key(name)? {
            object.set(name, fields.all(name).map(str::to_owned).collect::<Vec<_>>())?;
        }
    }
    Ok(object)
}

fn message_value<'js>(ctx: &Ctx<'js>, method: &GuestMethod, message: Bytes) -> rquickjs::Result<Value<'js>> {
    let json = method.decode(message).map_err(|problem| Exception::throw_message(ctx, &format!("{}: {problem}", method.shown())))?;
    ctx.json_parse(json)
}

impl EndedCall {
    fn into_value<'js>(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let Self { method, call: UnaryCall { exchange, reply }, discards } = self;
        let object = Object::new(ctx.clone())?;
        let response = exchange.response();
        object.set("headers", metadata(ctx, response.map(|response| &response.headers))?)?;
        object.set("trailers", metadata(ctx, response.map(|response| trailers_of(&response.headers, &response.trailers)))?)?;
        let message = match &reply {
            Ok(GrpcReply { message: Some(message), .. }) if !discards => message_value(ctx, &method, message.clone())?,
            _ => Value::new_null(ctx.clone()),
        };
        object.set("message", message)?;
        let result = reply.map(|reply| (reply.status, reply.details));
        object.set("status", code_of(&result))?;
        object.set("error", error_object(ctx, &result)?)?;
        Ok(object.into_value())
    }
}

/// Begins a stream. Its events arrive by `__k6.complete(events, event)`. Returns its number, for sending.
fn stream<'js>(ctx: &Ctx<'js>, clients: &ScriptClients, number: u32, call: &Object<'js>) -> rquickjs::Result<u32> {
    let mut turn = Turn::running(ctx, WHAT)?;
    let (connected, prepared, record) = begin_call(ctx, &mut turn, clients, number, call)?;
    if record.method.is_unary() {
        let problem = format!("{} has one message and one response: call it with `client.invoke(…)`", record.method.shown());
        return Err(Exception::throw_message(ctx, &problem));
    }
    let flight = InFlight::begin(turn.shared(), record.series, record.due);
    let GrpcStreamOpening { mut exchange, opened } = turn.wait(ctx, connected.client.stream(&prepared))?;
    let (sender, receiver) = match opened {
        Ok(halves) => halves,
        Err(failure) => {
            exchange.ended = exchange.ended.max(turn.now());
            flight.end(exchange.ended);
            let problem = failure.message.clone();
            record.ended(turn.vu(), &exchange, &Err(failure));
            return Err(Exception::throw_message(ctx, &problem));
        }
    };
    record.count(turn.vu(), None, &[("grpc_streams", 1.0)]);
    let record = Rc::new(record);
    let open = Rc::new(SendingStream { name: record.name.clone(), sender: RefCell::new(Some(sender)), refusal: StreamRefusal::default() });
    let stream = turn.vu().connections.streams.add(Rc::clone(&open));
    let following = FollowedStream { vu: turn.shared(), open, stream, receiver, flight, exchange, record, events: call.get("events")? };
    turn.vu().operations().begin(following.next());
    Ok(stream)
}

/// The receiving half of a stream.
struct FollowedStream {
    vu: Rc<VuState>,
    open: Rc<SendingStream>,
    stream: u32,
    receiver: GrpcReceiver,
    flight: InFlight,
    exchange: Exchange,
    record: Rc<CallRecord>,
    events: u32,
}

impl FollowedStream {
    /// The next event. If it is not the end, the conversion of its value waits for the one after it.
    async fn next(mut self) -> EndedOperation {
        let received = {
            let (refusal, clock) = (&self.open.refusal, &self.vu.worker.clock);
            let mut receiving = pin!(self.receiver.next());
            poll_fn(|context| match refusal.poll(context) {
                Poll::Ready(details) => Poll::Ready(Ok(ReceivedGrpc::End {
                    status: GrpcStatus::RESOURCE_EXHAUSTED,
                    details,
                    trailers: Headers::default(),
                    at: clock.now(),
                })),
                Poll::Pending => receiving.as_mut().poll(context),
            })
            .await
        };
        let events = self.events;
        (events, settlement(move |ctx| self.event(ctx, received)))
    }

    fn event<'js>(self, ctx: &Ctx<'js>, received: Result<ReceivedGrpc, Failure>) -> rquickjs::Result<Value<'js>> {
        let event = Object::new(ctx.clone())?;
        let result = match received {
            Ok(ReceivedGrpc::Message { message, .. }) => {
                self.record.count(&self.vu, None, &[("grpc_streams_msgs_received", 1.0)]);
                if shows_messages(&self.vu) {
                    let json = self.record.method.decode(message.clone()).unwrap_or_default();
                    show_message(&self.vu, &self.record.name, MessageDirection::Received, json.as_bytes());
                }
                event.set("kind", "data")?;
                event.set("data", message_value(ctx, &self.record.method, message)?)?;
                event.set("metadata", metadata(ctx, Some(self.receiver.headers()))?)?;
                let vu = Rc::clone(&self.vu);
                vu.operations().begin(self.next());
                return Ok(event.into_value());
            }
            Ok(ReceivedGrpc::End { status, details, trailers, at }) => {
                event.set("trailers", metadata(ctx, Some(&trailers))?)?;
                (Ok((status, details)), at)
            }
            Err(failure) => (Err(failure), self.vu.worker.clock.now()),
        };
        let Self { vu, open, stream, receiver, flight, mut exchange, record, .. } = self;
        let (result, at) = result;
        flight.end(at);
        exchange.ended = at;
        exchange.bytes_received += receiver.bytes;
        exchange.bytes_sent = open.sender.borrow().as_ref().map_or(exchange.bytes_sent, |sender| sender.bytes);
        record.ended(&vu, &exchange, &result);
        vu.connections.streams.remove(stream);
        event.set("kind", "end")?;
        event.set("error", error_object(ctx, &result)?)?;
        Ok(event.into_value())
    }
}

/// Sends a message of a stream. `false`: the call has ended.
fn write<'js>(ctx: &Ctx<'js>, clients: &ScriptClients, number: u32, call: &Object<'js>) -> rquickjs::Result<bool> {
    let mut turn = Turn::running(ctx, WHAT)?;
    let (method, json): (String, String) = (call.get("method")?, call.get("message")?);
    let (connected, method) = method_of(ctx, &mut turn, clients, number, &method)?;
    let message = encoded(ctx, &method, &json)?;
    let Some(open) = turn.vu().connections.streams.get(call.get("stream")?) else { return Ok(false) };
    if let Some(reason) = connected.refuses(&message) {
        open.refusal.set(reason);
        return Ok(false);
    }
    let Some(mut sender) = open.sender.take() else { return Ok(false) };
    let sent = turn.wait(ctx, sender.send(&message))?;
    open.sender.replace(Some(sender));
    if sent.is_ok() {
        show_message(turn.vu(), &open.name, MessageDirection::Sent, json.as_bytes());
        let tags = tags_of(call.get("tags")?)?;
        let of_call = call_tags(&tags);
        let tag = turn.vu().tag_of(&[], &of_call);
        turn.vu().worker.record_own(&mut turn.recorder(), "grpc_streams_msgs_sent", 1.0, &tag);
    }
    Ok(sent.is_ok())
}

/// No message follows.
fn end(ctx: Ctx<'_>, stream: u32) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, WHAT)?;
    if let Some(open) = turn.vu().connections.streams.get(stream)
        && let Some(sender) = &mut *open.sender.borrow_mut()
    {
        sender.end();
    }
    Ok(())
}
