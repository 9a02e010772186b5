//! `k6/http`: requests, recorded by Loadstone's definitions and by those of k6, and the cookie jar.

use std::borrow::Cow;
use std::io::Write;
use std::rc::Rc;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use futures_util::StreamExt;
use futures_util::stream;
use loadstone_metrics::{FailureSample, Nanos, Outcome, Phases, Sample, SeriesId, SeriesKind};
use loadstone_protocol::http::{BodyUse, Exchange, Hop, Hops, Request, Response};
use loadstone_script::request_name;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, IntoJs, Object, Value};
use url::Url;

use super::crypto::bytes_of;
use super::error_code::error_code;
use super::in_flight::InFlight;
use super::metrics::tags_of;
use super::trace::show_request;
use crate::operations::settlement;
use crate::turn::{Turn, VuState};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("request", Function::new(ctx.clone(), send)?)?;
    native.set("batch", Function::new(ctx.clone(), batch)?)?;
    native.set("asyncRequest", Function::new(ctx.clone(), send_async)?)?;
    native.set("cookies", Function::new(ctx.clone(), cookies)?)?;
    native.set("setCookie", Function::new(ctx.clone(), set_cookie)?)?;
    native.set("resolveUrl", Function::new(ctx.clone(), resolve_url)?)?;
    native.set("compress", Function::new(ctx.clone(), compress)?)?;
    native.set("throws", Function::new(ctx.clone(), throws)?)
}

/// k6's codes for a URL that has no scheme of HTTP, and for one that cannot be parsed.
const UNSUPPORTED_SCHEME_CODE: u32 = 1000;
const UNPARSABLE_URL_CODE: u32 = 1020;

/// A URL to which nothing is sent.
#[derive(Debug)]
struct InvalidUrl {
    message: String,
    /// k6's `error_code`.
    code: u32,
}

impl InvalidUrl {
    fn scheme(scheme: &str) -> Self {
        Self { message: format!("unsupported protocol scheme \"{scheme}\""), code: UNSUPPORTED_SCHEME_CODE }
    }
}

/// Which statuses are expected.
#[derive(Debug, Clone)]
enum Expected {
    Statuses(Vec<(u16, u16)>),
    /// No callback: the request is not judged.
    Unjudged,
}

/// A call of the script, ready to be sent.
struct HttpCall {
    request: Request,
    redirects: u8,
    tags: Vec<(String, String)>,
    expected: Expected,
    /// `text`, `binary` or `none`.
    response_type: String,
    series: SeriesId,
    due: Option<Nanos>,
    group: String,
    /// The name that it is recorded under.
    name: String,
}

fn send<'js>(ctx: Ctx<'js>, call: Object<'js>) -> rquickjs::Result<Value<'js>> {
    let mut turn = Turn::running(&ctx, "requests")?;
    let call = match HttpCall::read(&ctx, &turn, &call)? {
        Ok(call) => call,
        Err(problem) => return invalid(&ctx, &problem),
    };
    let work = call.perform(turn.shared());
    turn.wait(&ctx, work)?.into_value(&ctx)
}

/// Sends requests at the same time. Returns their responses in order.
fn batch<'js>(ctx: Ctx<'js>, calls: Vec<Object<'js>>) -> rquickjs::Result<Vec<Value<'js>>> {
    let mut turn = Turn::running(&ctx, "requests")?;
    let calls = calls.iter().map(|call| HttpCall::read(&ctx, &turn, call)).collect::<rquickjs::Result<Vec<_>>>()?;
    let most = turn.vu().worker.test.settings.batch;
    let vu = turn.shared();
    let work = stream::iter(calls.into_iter().map(|call| {
        let vu = Rc::clone(&vu);
        async move {
            match call {
                Ok(call) => Ok(call.perform(vu).await),
                Err(problem) => Err(problem),
            }
        }
    }));
    let work = work.buffered(most).collect::<Vec<_>>();
    let ended = turn.wait(&ctx, work)?;
    ended.into_iter().map(|ended| ended.map_or_else(|problem| invalid(&ctx, &problem), |ended| ended.into_value(&ctx))).collect()
}

/// A request whose promise `__k6.complete(id, response)` settles.
fn send_async<'js>(ctx: Ctx<'js>, id: u32, call: Object<'js>) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, "requests")?;
    let call = HttpCall::read(&ctx, &turn, &call)?.map_err(|problem| Exception::throw_message(&ctx, &problem.message))?;
    let vu = turn.shared();
    turn.vu().operations().begin(async move {
        let completed = call.perform(vu).await;
        (id, settlement(move |ctx| completed.into_value(ctx)))
    });
    Ok(())
}

/// A link, relative to the address of its page.
fn resolve_url(ctx: Ctx<'_>, link: String, base: String) -> rquickjs::Result<String> {
    let resolved = Url::parse(&base).and_then(|base| base.join(&link));
    resolved.map(String::from).map_err(|error| Exception::throw_message(&ctx, &format!("\"{link}\": {error}")))
}

/// A compressed body, for the parameter `compression`.
fn compress<'js>(ctx: Ctx<'js>, body: Value<'js>, kind: String) -> rquickjs::Result<ArrayBuffer<'js>> {
    let bytes = bytes_of(&ctx, &body)?;
    let compressed = match kind.as_str() {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&bytes).and_then(|()| encoder.finish())
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&bytes).and_then(|()| encoder.finish())
        }
        other => {
            let problem = format!("Loadstone does not support the compression \"{other}\" of requests: see docs/k6-compatibility.md");
            return Err(Exception::throw_message(&ctx, &problem));
        }
    };
    ArrayBuffer::new(ctx.clone(), compressed.map_err(|error| Exception::throw_message(&ctx, &error.to_string()))?)
}

/// The script's option `throw`.
fn throws(ctx: Ctx<'_>) -> rquickjs::Result<bool> {
    Ok(Turn::of(&ctx)?.vu().worker.test.settings.throws)
}

/// The `Cookie` value of a request to a URL.
fn cookies(ctx: Ctx<'_>, url: String) -> rquickjs::Result<Option<String>> {
    let url = Url::parse(&url).map_err(|error| Exception::throw_message(&ctx, &format!("\"{url}\": {error}")))?;
    Ok(Turn::running(&ctx, "the cookie jar")?.vu().session.cookies(&url))
}

fn set_cookie(ctx: Ctx<'_>, url: String, line: String) -> rquickjs::Result<()> {
    let url = Url::parse(&url).map_err(|error| Exception::throw_message(&ctx, &format!("\"{url}\": {error}")))?;
    Turn::running(&ctx, "the cookie jar")?.vu().session.take_cookie(&url, &line);
    Ok(())
}

/// The response to a request with an invalid URL, which k6 does not send either.
fn invalid<'js>(ctx: &Ctx<'js>, problem: &InvalidUrl) -> rquickjs::Result<Value<'js>> {
    if problem.code != UNPARSABLE_URL_CODE {
        record_invalid(&Turn::running(ctx, "requests")?);
    }
    let response = Object::new(ctx.clone())?;
    response.set("status", 0)?;
    response.set("error", problem.message.as_str())?;
    response.set("error_code", problem.code)?;
    Ok(response.into_value())
}

/// k6 counts it as a failed request that took no time.
fn record_invalid(turn: &Turn) {
    let of_call = [("expected_response", "false".into()), ("error_code", UNSUPPORTED_SCHEME_CODE.to_string().into())];
    let tag = turn.vu().tag_of(&of_call);
    let mut recorder = turn.recorder();
    let mut own = |name: &str, value: f64| turn.vu().worker.record_own(&mut recorder, name, value, &tag);
    own("http_reqs", 1.0);
    own("http_req_failed", 1.0);
    for part in ["duration", "blocked", "connecting", "tls_handshaking", "sending", "waiting", "receiving"] {
        own(&format!("http_req_{part}"), 0.0);
    }
}

impl HttpCall {
    /// The inner error is an invalid URL.
    fn read<'js>(ctx: &Ctx<'js>, turn: &Turn, call: &Object<'js>) -> rquickjs::Result<Result<Self, InvalidUrl>> {
        let written: String = call.get("url")?;
        let url = match Url::parse(written.trim()) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => url,
            Ok(url) => return Ok(Err(InvalidUrl::scheme(url.scheme()))),
            Err(url::ParseError::RelativeUrlWithoutBase | url::ParseError::EmptyHost) => return Ok(Err(InvalidUrl::scheme(""))),
            Err(error) => return Ok(Err(InvalidUrl { message: format!("invalid URL \"{written}\": {error}"), code: UNPARSABLE_URL_CODE })),
        };
        let method: String = call.get("method")?;
        let vu = turn.vu();
        let mut request = vu.session.request(&method, &url);
        for header in call.get::<_, Vec<Vec<String>>>("headers")? {
            let [name, value] = <[String; 2]>::try_from(header).unwrap_or_default();
            // As in Go's client, the length follows from the body.
            if name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding") {
                continue;
            }
            request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        let body: Value<'js> = call.get("body")?;
        if !body.is_null() && !body.is_undefined() {
            request.body = bytes_of(ctx, &body)?.into();
        }
        let body = if let [body] = request.body.pieces() { body } else { &b""[..] };
        vu.worker.learnt.of_request(&vu.worker.test.plan.secrets, &request.headers, &request.path, body);
        let timeout_ms: f64 = call.get("timeout")?;
        request.timeout_ns = (timeout_ms * 1e6) as u64;
        let settings = &vu.worker.test.settings;
        let response_type: Option<String> = call.get("responseType")?;
        let response_type = response_type.unwrap_or_else(|| if settings.discards_bodies { "none" } else { "text" }.to_owned());
        if response_type == "none" {
            request.body_use = BodyUse::Discard;
        }
        let redirects: Option<f64> = call.get("redirects")?;
        let mut tags = tags_of(call.get("tags")?)?;
        let named = tags.iter().find(|(name, _)| name == "name").map(|(_, value)| value.clone());
        let name = named.clone().unwrap_or_else(|| request_name(&method, &request.path));
        if named.is_none() {
            let name: Option<String> = call.get("name")?;
            tags.push(("name".to_owned(), name.unwrap_or_else(|| written.clone())));
        }
        let ranges: Option<Vec<Vec<u16>>> = call.get("expected")?;
        let expected = match ranges {
            None => Expected::Unjudged,
            Some(ranges) => Expected::Statuses(ranges.iter().filter_map(|range| Some((*range.first()?, *range.get(1)?))).collect()),
        };
        let series = {
            let (scenario, group) = (turn.scenario_id(), turn.group());
            vu.worker.series(&mut turn.recorder(), SeriesKind::Request, scenario, &group, &name)
        };
        let redirects = redirects.map_or(settings.redirects_max, |most| most.clamp(0.0, 255.0) as u8);
        Ok(Ok(Self { request, redirects, tags, expected, response_type, series, due: turn.take_due(), group: turn.group_path(), name }))
    }

    async fn perform(self, vu: Rc<VuState>) -> CompletedRequest {
        let Self { request, redirects, tags, expected, response_type, series, due, group, name } = self;
        if let Some(limit) = &vu.worker.test.rate_limit {
            let clock = &vu.worker.clock;
            clock.sleep_until(limit.reserve(clock.now())).await;
        }
        if vu.worker.network.limits_connections() {
            vu.session.client().admit(&request).await;
        }
        let flight = InFlight::begin(Rc::clone(&vu), series, due);
        let hops = vu.session.send_at(request, redirects, flight.began()).await;
        flight.end(hops.last.exchange.ended);
        learn(&vu, &hops, &response_type);
        record(&vu, &hops, &RequestRecord { tags, expected, series, due, group, name });
        CompletedRequest { hops, response_type }
    }
}

/// Learns the credentials of responses: the script receives the last body, and the report shows that of a failed request.
fn learn(vu: &VuState, hops: &Hops, response_type: &str) {
    let (learnt, secrets) = (&vu.worker.learnt, &vu.worker.test.plan.secrets);
    for response in hops.iter().filter_map(|hop| hop.exchange.response()).filter(|response| response.headers.sets_cookies()) {
        learnt.of_cookies(secrets, response.headers.all("set-cookie"));
    }
    if let Some(response) = hops.last.exchange.response()
        && (response_type != "none" || response.status >= 400)
    {
        learnt.of_fields(secrets, &response.body);
    }
}

/// A request that has ended, for its script.
struct CompletedRequest {
    hops: Hops,
    /// `text`, `binary` or `none`.
    response_type: String,
}

/// What of a call is recorded.
struct RequestRecord {
    tags: Vec<(String, String)>,
    expected: Expected,
    series: SeriesId,
    due: Option<Nanos>,
    group: String,
    name: String,
}

impl Expected {
    fn holds(&self, status: u16) -> Option<bool> {
        match self {
            Expected::Unjudged => None,
            Expected::Statuses(ranges) => Some(ranges.iter().any(|(low, high)| (*low..=*high).contains(&status))),
        }
    }
}

/// One sample for the request with its redirects, and the metrics of k6, which count each redirect.
fn record(vu: &Rc<VuState>, hops: &Hops, call: &RequestRecord) {
    let worker = &vu.worker;
    let last = &hops.last.exchange;
    let outcome = match &last.result {
        Ok(response) if call.expected.holds(response.status) == Some(false) => Outcome::Status,
        Ok(_) => Outcome::Passed,
        Err(failure) => failure.outcome,
    };
    show_request(vu, &call.name, &hops.before, (&hops.last.request, last), outcome);
    let sample = sample(last, &hops.before, call.due, outcome);
    vu.note_request(last.response().is_some());
    if outcome.is_failure() {
        vu.fail_groups();
    }
    let mut recorder = worker.recorder_at_end();
    recorder.record(call.series, &sample);
    match &last.result {
        Err(failure) => recorder.failed(call.series, &sample, &failure.message),
        Ok(response) if outcome == Outcome::Status => {
            let answer = || FailureSample::new(response.status, response.headers.iter(), &response.body);
            recorder.failed_with(call.series, &sample, &format!("status {}", response.status), answer);
        }
        Ok(_) => {}
    }
    for hop in hops.iter() {
        let exchange = &hop.exchange;
        let status = exchange.response().map_or(0, |response| response.status);
        let (error_code, error) = error_of(exchange);
        let expected = if exchange.result.is_err() { Some(false) } else { call.expected.holds(status) };
        let url = hop.url().map(String::from).unwrap_or_default();
        let mut of_call: Vec<(&str, Cow<'_, str>)> = vec![
            ("url", url.as_str().into()),
            ("method", (&*hop.request.method).into()),
            ("status", status.to_string().into()),
            ("proto", proto(exchange).into()),
            ("group", call.group.as_str().into()),
        ];
        if let Some(expected) = expected {
            of_call.push(("expected_response", expected.to_string().into()));
        }
        if error_code > 0 {
            of_call.push(("error_code", error_code.to_string().into()));
            of_call.push(("error", error.clone().into()));
        }
        of_call.extend(call.tags.iter().map(|(name, value)| (name.as_str(), Cow::from(value.as_str()))));
        let tag = vu.tag_of(&of_call);
        let times = Timings::of(exchange);
        let mut own = |name: &str, value: f64| worker.record_own(&mut recorder, name, value, &tag);
        own("http_reqs", 1.0);
        own("http_req_duration", times.sending + times.waiting + times.receiving);
        own("http_req_blocked", times.blocked);
        own("http_req_connecting", times.connecting);
        own("http_req_tls_handshaking", times.tls);
        own("http_req_sending", times.sending);
        own("http_req_waiting", times.waiting);
        own("http_req_receiving", times.receiving);
        if let Some(expected) = expected {
            own("http_req_failed", f64::from(u8::from(!expected)));
        }
        own("data_sent", exchange.bytes_sent as f64);
        own("data_received", exchange.bytes_received as f64);
    }
}

/// `res.timings`. Milliseconds.
struct Timings {
    blocked: f64,
    looking_up: f64,
    connecting: f64,
    tls: f64,
    sending: f64,
    waiting: f64,
    receiving: f64,
}

impl Timings {
    fn of(exchange: &Exchange) -> Self {
        let Phases { queue, dns, connect, tls, wait, body } = exchange.phases;
        let total = exchange.ended.saturating_sub(exchange.started);
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            blocked: ms(queue + dns),
            looking_up: ms(dns),
            connecting: ms(connect),
            tls: ms(tls),
            sending: ms(total.saturating_sub(queue + dns + connect + tls + wait + body)),
            waiting: ms(wait),
            receiving: ms(body),
        }
    }
}

/// k6's `error_code`, and `error`, which is empty for a response with a status.
fn error_of(exchange: &Exchange) -> (u32, String) {
    match &exchange.result {
        Ok(response) if response.status >= 400 => (1000 + u32::from(response.status), String::new()),
        Ok(_) => (0, String::new()),
        Err(failure) => (error_code(failure), failure.message.clone()),
    }
}

fn proto(exchange: &Exchange) -> &'static str {
    match exchange.response() {
        None => "",
        Some(response) if response.headers.is_http2() => "HTTP/2.0",
        Some(_) => "HTTP/1.1",
    }
}

/// As Loadstone's own tests record requests with redirects.
pub(super) fn sample(last: &Exchange, before: &[Hop], due: Option<Nanos>, outcome: Outcome) -> Sample {
    let first = before.first().map_or(last, |hop| &hop.exchange);
    let mut sample = Sample {
        scheduled: due.unwrap_or(first.started),
        started: first.started,
        ended: last.ended,
        phases: last.phases,
        outcome,
        status: last.response().map_or(0, |response| response.status),
        bytes_sent: last.bytes_sent,
        bytes_received: last.bytes_received,
        retried: last.retried,
        trace: last.trace.as_ref().map(|parent| parent.trace),
    };
    for Hop { exchange, .. } in before {
        let (sum, own) = (&mut sample.phases, exchange.phases);
        sum.queue += own.queue;
        sum.dns += own.dns;
        sum.connect += own.connect;
        sum.tls += own.tls;
        sum.wait += own.wait;
        sum.body += own.body;
        sample.bytes_sent += exchange.bytes_sent;
        sample.bytes_received += exchange.bytes_received;
        sample.retried += exchange.retried;
    }
    sample
}

impl CompletedRequest {
    /// The response, without the members that `http.ts` derives.
    fn into_value<'js>(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let Self { hops, response_type } = self;
        let Hops { last: Hop { request: last, exchange }, before } = hops;
        let first = before.into_iter().next().map(|hop| hop.request);
        let (error_code, error) = error_of(&exchange);
        let object = Object::new(ctx.clone())?;
        object.set("url", last.url().map(String::from).unwrap_or_default())?;
        let request = first.unwrap_or(last);
        let url = request.url().map(String::from).unwrap_or_default();
        object.set("proto", proto(&exchange))?;
        object.set("error", error)?;
        object.set("error_code", error_code)?;
        let sent = Object::new(ctx.clone())?;
        sent.set("method", &*request.method)?;
        sent.set("url", url)?;
        let lines = Object::new(ctx.clone())?;
        for (name, value) in request.headers.iter().filter(|(_, value)| !value.is_empty()) {
            lines.set(canonical(name), vec![value.as_str()])?;
        }
        sent.set("headers", lines)?;
        sent.set("body", String::from_utf8_lossy(&request.body.to_vec()).into_owned())?;
        object.set("request", sent)?;
        object.set("timings", timings(ctx, &exchange)?)?;
        // As in k6, a response that failed after its head has no status.
        let response = exchange.result.as_ref().ok();
        object.set("status", response.map_or(0, |response| response.status))?;
        object.set("body", response.map_or_else(|| Ok(Value::new_null(ctx.clone())), |response| body(ctx, response, &response_type))?)?;
        match response {
            Some(response) => {
                // Go's client removes the framing of HTTP/1.1.
                let lines = response.headers.iter().filter(|(name, _)| *name != "transfer-encoding");
                object.set("headers", headers(ctx, lines)?)?;
                object.set("setCookies", response.headers.all("set-cookie").map(str::to_owned).collect::<Vec<_>>())?;
            }
            None => {
                object.set("headers", Object::new(ctx.clone())?)?;
                object.set("setCookies", Vec::<String>::new())?;
            }
        }
        Ok(object.into_value())
    }
}

fn body<'js>(ctx: &Ctx<'js>, response: &Response, response_type: &str) -> rquickjs::Result<Value<'js>> {
    match response_type {
        "none" => Ok(Value::new_null(ctx.clone())),
        "binary" => ArrayBuffer::new(ctx.clone(), response.body.to_vec()).map(ArrayBuffer::into_value),
        _ => String::from_utf8_lossy(&response.body).into_owned().into_js(ctx),
    }
}

fn timings<'js>(ctx: &Ctx<'js>, exchange: &Exchange) -> rquickjs::Result<Object<'js>> {
    let times = Timings::of(exchange);
    let object = Object::new(ctx.clone())?;
    object.set("duration", times.sending + times.waiting + times.receiving)?;
    object.set("blocked", times.blocked)?;
    object.set("looking_up", times.looking_up)?;
    object.set("connecting", times.connecting)?;
    object.set("tls_handshaking", times.tls)?;
    object.set("sending", times.sending)?;
    object.set("waiting", times.waiting)?;
    object.set("receiving", times.receiving)?;
    Ok(object)
}

/// Header lines under their canonical names (`Content-Type`), as in Go. Several values of a name are joined.
pub(super) fn headers<'js, 'h>(ctx: &Ctx<'js>, lines: impl Iterator<Item = (&'h str, &'h str)>) -> rquickjs::Result<Object<'js>> {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in lines {
        let name = canonical(name);
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => {
                known.push_str(", ");
                known.push_str(value);
            }
            None => joined.push((name, value.to_owned())),
        }
    }
    let object = Object::new(ctx.clone())?;
    for (name, value) in joined {
        object.set(name, value)?;
    }
    Ok(object)
}

fn canonical(name: &str) -> String {
    let mut starts = true;
    name.chars()
        .map(|c| {
            let c = if starts { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            starts = c == '-';
            c
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_are_canonical_as_in_go() {
        for (name, canonical_name) in [("content-type", "Content-Type"), ("X-API-key", "X-Api-Key"), ("etag", "Etag"), ("x-1-a", "X-1-A")] {
            assert_eq!(canonical(name), canonical_name);
        }
    }
}
