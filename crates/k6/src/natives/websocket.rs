//! `k6/ws` and `k6/websockets`: opening, messages, and the end of a socket. The classes are in TypeScript.

use std::rc::Rc;

use futures_util::future::{Either, select};
use loadstone_metrics::{FailureSample, Nanos, Outcome, SeriesId, SeriesKind};
use loadstone_protocol::Failure;
use loadstone_protocol::http::{CookieJar, Request};
use loadstone_protocol::ws::{Payload, ReceivedItem, SocketOptions, WebSocketOpening};
use loadstone_script::{MessageDirection, request_name};
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, IntoJs, Object, Value};
use url::Url;

use super::crypto::bytes_of;
use super::http::sample;
use super::http_response::headers;
use super::in_flight::InFlight;
use super::jar::jar_of;
use super::metrics::{call_tags, tags_of};
use super::trace::{is_tracing, show_message, show_request};
use crate::open_connections::OpenSocket;
use crate::operations::settlement;
use crate::turn::{Turn, VuState};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("openSocket", Function::new(ctx.clone(), open)?)?;
    native.set("openSocketAsync", Function::new(ctx.clone(), open_async)?)?;
    native.set("socketEvent", Function::new(ctx.clone(), event)?)?;
    native.set("socketEventAsync", Function::new(ctx.clone(), event_async)?)?;
    native.set("socketSend", Function::new(ctx.clone(), send)?)?;
    native.set("socketPing", Function::new(ctx.clone(), ping)?)?;
    native.set("socketClose", Function::new(ctx.clone(), close)?)
}

/// Shown by errors outside of an iteration.
const WHAT: &str = "a WebSocket";
/// Close code for a socket that ended without one (RFC 6455, section 7.1.5).
const ABNORMAL_CLOSURE: u16 = 1006;
/// Close code of a close frame without one (RFC 6455, section 7.1.5).
const NO_STATUS: u16 = 1005;

type CallTags = Vec<(String, String)>;

/// The opening of a socket, ready to be sent.
struct SocketCall {
    request: Request,
    jar: Rc<CookieJar>,
    options: SocketOptions,
    url: String,
    tags: CallTags,
    series: SeriesId,
    due: Option<Nanos>,
    /// The name that it is recorded under.
    name: String,
    /// In k6, an opening that failed has a `ws_session_duration` in k6/ws, and none in k6/websockets.
    failure_is_session: bool,
}

/// The result of an opening.
struct OpenedSocket {
    number: Option<u32>,
    url: String,
    opening: WebSocketOpening,
}

fn open<'js>(ctx: Ctx<'js>, call: Object<'js>) -> rquickjs::Result<Value<'js>> {
    let mut turn = Turn::running(&ctx, WHAT)?;
    let call = SocketCall { failure_is_session: true, ..SocketCall::read(&ctx, &turn, &call)? };
    let work = call.perform(turn.shared());
    turn.wait(&ctx, work)?.into_value(&ctx)
}

fn open_async<'js>(ctx: Ctx<'js>, id: u32, call: Object<'js>) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, WHAT)?;
    let work = SocketCall::read(&ctx, &turn, &call)?.perform(turn.shared());
    turn.vu().operations().begin(async move {
        let opened = work.await;
        (id, settlement(move |ctx| opened.into_value(ctx)))
    });
    Ok(())
}

impl SocketCall {
    fn read<'js>(ctx: &Ctx<'js>, turn: &Turn, call: &Object<'js>) -> rquickjs::Result<Self> {
        let written: String = call.get("url")?;
        let wrong = |problem: &dyn std::fmt::Display| Exception::throw_message(ctx, &format!("\"{written}\": {problem}"));
        let mut url = Url::parse(written.trim()).map_err(|error| wrong(&error))?;
        let scheme = match url.scheme() {
            "ws" => "http",
            "wss" => "https",
            other => return Err(wrong(&format!("the scheme of a WebSocket is ws or wss, not {other}"))),
        };
        // `Url::set_scheme` refuses no change between these.
        url = Url::parse(&format!("{scheme}{}", &url.as_str()[url.scheme().len()..])).map_err(|error| wrong(&error))?;
        let vu = turn.vu();
        let mut request = vu.session.request("GET", &url);
        for header in call.get::<_, Vec<Vec<String>>>("headers")? {
            let [name, value] = <[String; 2]>::try_from(header).unwrap_or_default();
            request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        let tags = tags_of(call.get("tags")?)?;
        let named = tags.iter().find(|(name, _)| name == "name").map(|(_, value)| value.clone());
        let name = named.unwrap_or_else(|| request_name("WS", &request.path));
        let options = SocketOptions {
            protocols: call.get("protocols")?,
            compression: call.get("compression")?,
            message_bytes_max: vu.worker.test.plan.options.body_bytes_max,
        };
        let (scenario, group) = (turn.scenario_id(), turn.group());
        let series = vu.worker.series(&mut turn.recorder(), SeriesKind::Request, scenario, &group, &name);
        Ok(Self {
            request,
            jar: jar_of(turn, call)?,
            options,
            url: written,
            tags,
            series,
            due: turn.take_due(),
            name,
            failure_is_session: false,
        })
    }

    async fn perform(self, vu: Rc<VuState>) -> OpenedSocket {
        let Self { request, jar, options, url, tags, series, due, name, failure_is_session } = self;
        if vu.worker.network.limits_connections() {
            vu.worker.network.admit().await;
        }
        let flight = InFlight::begin(Rc::clone(&vu), series, due);
        let shown = is_tracing(&vu).then(|| request.clone());
        let mut opening = vu.session.open_socket_with_jar(request, &options, &jar).await;
        let exchange = &opening.exchange;
        flight.end(exchange.ended);
        let failure = match (&opening.socket, &exchange.result) {
            (Some(_), _) => None,
            (None, Err(failure)) => Some((failure.outcome, failure.message.clone())),
            (None, Ok(response)) => Some((Outcome::Status, format!("status {} instead of a WebSocket", response.status))),
        };
        let outcome = failure.as_ref().map_or(Outcome::Passed, |(outcome, _)| *outcome);
        let sample = sample(exchange, &[], due, outcome);
        vu.note_request(exchange.response().is_some());
        if let Some(request) = &shown {
            show_request(&vu, &name, &[], (request, exchange), outcome);
        }
        let mut recorder = vu.worker.recorder_at_end();
        recorder.record(series, &sample);
        if let Some((_, message)) = &failure {
            vu.fail_groups();
            match exchange.response() {
                Some(response) => {
                    let answer = || FailureSample::new(response.status, response.headers.iter(), &response.body);
                    recorder.failed_with(series, &sample, message.as_str(), answer);
                }
                None => recorder.failed(series, &sample, message.as_str()),
            }
        }
        drop(recorder);
        let tags = (of_opening(&url, &opening), tags);
        let (began, connecting) = (exchange.started, exchange.ended.saturating_sub(exchange.started));
        record(&vu, &tags, &[("ws_sessions", 1.0), ("ws_connecting", connecting as f64 / 1e6)]);
        if failure_is_session && opening.socket.is_none() {
            record(&vu, &tags, &[("ws_session_duration", connecting as f64 / 1e6)]);
        }
        record(&vu, &tags, &[("data_sent", exchange.bytes_sent as f64), ("data_received", exchange.bytes_received as f64)]);
        let number = opening.socket.take().map(|socket| {
            let of_end = Rc::clone(&vu);
            let on_end = move || {
                let ms = of_end.worker.clock.now().saturating_sub(began) as f64 / 1e6;
                record(&of_end, &tags, &[("ws_session_duration", ms)]);
            };
            vu.connections.sockets.add(Rc::new(OpenSocket::new(socket, name, on_end)))
        });
        OpenedSocket { number, url, opening }
    }
}

/// The tags that k6 adds to those of the call.
fn of_opening(url: &str, opening: &WebSocketOpening) -> CallTags {
    let status = opening.exchange.response().map_or(0, |response| response.status);
    let protocol = opening.socket.as_ref().and_then(|socket| socket.protocol()).unwrap_or_default();
    let own = [("url", url.to_owned()), ("status", status.to_string()), ("subproto", protocol.to_owned())];
    own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn record(vu: &VuState, (of_opening, of_call): &(CallTags, CallTags), values: &[(&str, f64)]) {
    let (of_opening, of_call) = (call_tags(of_opening), call_tags(of_call));
    let tag = vu.tag_of(&of_opening, &of_call);
    let mut recorder = vu.worker.recorder_at_end();
    for (name, value) in values {
        vu.worker.record_own(&mut recorder, name, *value, &tag);
    }
}

impl OpenedSocket {
    fn into_value<'js>(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let exchange = self.opening.exchange;
        let object = Object::new(ctx.clone())?;
        object.set("socket", self.number)?;
        object.set("url", self.url)?;
        let response = exchange.response();
        object.set("status", response.map_or(0, |response| response.status))?;
        object.set("body", response.map(|response| String::from_utf8_lossy(&response.body).into_owned()).unwrap_or_default())?;
        object.set("protocol", response.and_then(|response| response.headers.get("sec-websocket-protocol")).unwrap_or_default())?;
        let lines = response.map(|response| response.headers.iter().collect::<Vec<_>>()).unwrap_or_default();
        object.set("headers", headers(ctx, lines.into_iter())?)?;
        let error = match (&exchange.result, self.number) {
            (_, Some(_)) => String::new(),
            (Err(failure), None) => failure.message.clone(),
            (Ok(_), None) => "websocket: bad handshake".to_owned(),
        };
        object.set("error", error)?;
        Ok(object.into_value())
    }
}

/// What a socket received.
type Received = Result<ReceivedItem, Failure>;

fn socket_of(ctx: &Ctx<'_>, turn: &Turn, number: u32) -> rquickjs::Result<Rc<OpenSocket>> {
    turn.vu().connections.sockets.get(number).ok_or_else(|| Exception::throw_message(ctx, "the WebSocket is closed"))
}

/// The next event of a socket, or `undefined` after `limit_ms`.
fn event<'js>(ctx: Ctx<'js>, number: u32, limit_ms: Option<f64>) -> rquickjs::Result<Value<'js>> {
    let mut turn = Turn::running(&ctx, WHAT)?;
    let open = socket_of(&ctx, &turn, number)?;
    let vu = turn.shared();
    let work = async {
        let receive = std::pin::pin!(open.socket.receive());
        match limit_ms {
            None => Some(receive.await),
            Some(ms) => {
                let timer = std::pin::pin!(vu.worker.clock.sleep((ms.max(0.0) * 1e6) as u64));
                match select(receive, timer).await {
                    Either::Left((received, _)) => Some(received),
                    Either::Right(_) => None,
                }
            }
        }
    };
    match turn.wait(&ctx, work)? {
        Some(received) => received_value(&ctx, &vu, number, received),
        None => Ok(Value::new_undefined(ctx)),
    }
}

fn event_async(ctx: Ctx<'_>, id: u32, number: u32) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, WHAT)?;
    let (vu, open) = (turn.shared(), socket_of(&ctx, &turn, number)?);
    turn.vu().operations().begin(async move {
        let received = open.socket.receive().await;
        (id, settlement(move |ctx| received_value(ctx, &vu, number, received)))
    });
    Ok(())
}

/// `{ kind, data, code, reason }`.
fn received_value<'js>(ctx: &Ctx<'js>, vu: &Rc<VuState>, number: u32, received: Received) -> rquickjs::Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let kind = |kind: &str, data: Value<'js>| {
        object.set("kind", kind)?;
        object.set("data", data)
    };
    let mut ended = None;
    match received {
        Ok(ReceivedItem::Message(message)) => {
            let bytes: &[u8] = match &message.payload {
                Payload::Text(text) => text.as_bytes(),
                Payload::Binary(bytes) => bytes,
            };
            record(vu, &Default::default(), &[("ws_msgs_received", 1.0), ("data_received", bytes.len() as f64)]);
            if let Some(open) = vu.connections.sockets.get(number) {
                show_message(vu, &open.name, MessageDirection::Received, bytes);
            }
            match message.payload {
                Payload::Text(text) => kind("message", text.into_js(ctx)?)?,
                Payload::Binary(bytes) => kind("binary", ArrayBuffer::new(ctx.clone(), bytes.to_vec())?.into_value())?,
            }
        }
        Ok(ReceivedItem::Pong(pong)) => {
            let sent = vu.connections.sockets.get(number).and_then(|open| open.pings.borrow_mut().remove(&pong.payload));
            if let Some(sent) = sent {
                record(vu, &Default::default(), &[("ws_ping", pong.at.saturating_sub(sent) as f64 / 1e6)]);
            }
            kind("pong", String::from_utf8_lossy(&pong.payload).into_owned().into_js(ctx)?)?;
        }
        Ok(ReceivedItem::Closed(close)) => {
            kind("close", Value::new_undefined(ctx.clone()))?;
            ended = Some((close.code.unwrap_or(NO_STATUS), close.reason));
        }
        Err(failure) => {
            kind("error", failure.message.into_js(ctx)?)?;
            ended = Some((ABNORMAL_CLOSURE, String::new()));
        }
    }
    if let Some((code, reason)) = ended {
        object.set("code", code)?;
        object.set("reason", reason)?;
        if let Some(open) = vu.connections.sockets.remove(number) {
            open.end();
        }
    }
    Ok(object.into_value())
}

/// Sends a message. `undefined`, or why it could not be sent.
fn send<'js>(ctx: Ctx<'js>, number: u32, data: Value<'js>) -> rquickjs::Result<Option<String>> {
    let mut turn = Turn::running(&ctx, WHAT)?;
    let open = socket_of(&ctx, &turn, number)?;
    let sent = match data.as_string() {
        Some(text) => {
            let text = text.to_string()?;
            show_message(turn.vu(), &open.name, MessageDirection::Sent, text.as_bytes());
            turn.wait(&ctx, open.socket.send_text(&text))?
        }
        None => {
            let bytes = bytes_of(&ctx, &data)?;
            show_message(turn.vu(), &open.name, MessageDirection::Sent, &bytes);
            turn.wait(&ctx, open.socket.send_binary(&bytes))?
        }
    };
    match sent {
        Ok(times) => {
            record(turn.vu(), &Default::default(), &[("ws_msgs_sent", 1.0), ("data_sent", times.bytes as f64)]);
            Ok(None)
        }
        Err(failure) => Ok(Some(failure.message)),
    }
}

fn ping(ctx: Ctx<'_>, number: u32, payload: String) -> rquickjs::Result<Option<String>> {
    let mut turn = Turn::running(&ctx, WHAT)?;
    let open = socket_of(&ctx, &turn, number)?;
    open.pings.borrow_mut().insert(payload.clone().into_bytes(), turn.now());
    let sent = turn.wait(&ctx, open.socket.ping(payload.as_bytes()))?;
    Ok(sent.err().map(|failure| failure.message))
}

/// Sends a close frame. `ends`: the socket ends without the server's close frame.
fn close(ctx: Ctx<'_>, number: u32, code: u16, reason: String, ends: bool) -> rquickjs::Result<()> {
    let turn = Turn::of(&ctx)?;
    let sockets = &turn.vu().connections.sockets;
    if let Some(open) = sockets.get(number) {
        open.socket.send_close(code, &reason);
        if ends {
            sockets.remove(number);
            open.end();
        }
    }
    Ok(())
}
