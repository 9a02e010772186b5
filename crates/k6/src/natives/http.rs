//! `k6/http`: requests, recorded by Loadstone's definitions and by those of k6, and the cookie jar.

use std::borrow::Cow;
use std::io::Write;
use std::rc::Rc;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use futures_util::StreamExt;
use futures_util::stream;
use loadstone_metrics::{FailureSample, Nanos, Outcome, Sample, SeriesId, SeriesKind};
use loadstone_protocol::http::{BodyUse, CallCookie, CookieJar, Exchange, Hop, Hops, Request};
use loadstone_script::request_name;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Value};
use url::Url;

use super::crypto::bytes_of;
use super::http_response::{CompletedRequest, ResponseType, Timings, error_of, proto, respond};
use super::in_flight::InFlight;
use super::jar::{self, jar_of};
use super::metrics::tags_of;
use super::trace::show_request;
use crate::operations::settlement;
use crate::turn::{Turn, VuState};
use crate::worker::PlainRequest;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("request", Function::new(ctx.clone(), send)?)?;
    native.set("requestPlain", Function::new(ctx.clone(), send_plain)?)?;
    native.set("batch", Function::new(ctx.clone(), batch)?)?;
    native.set("asyncRequest", Function::new(ctx.clone(), send_async)?)?;
    native.set("throws", Function::new(ctx.clone(), throws)?)
}

/// What `http-parts.ts` needs.
pub(super) fn install_parts<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    jar::install(ctx, native)?;
    native.set("resolveUrl", Function::new(ctx.clone(), resolve_url)?)?;
    native.set("compress", Function::new(ctx.clone(), compress)?)
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
    /// 200 to 399.
    Default,
    /// No callback: the request is not judged.
    Unjudged,
}

/// What a call sends.
enum CallRequest {
    Built(Box<Request>),
    /// It was sent before.
    Plain(Rc<PlainRequest>),
}

/// A call of the script, ready to be sent.
struct HttpCall {
    request: CallRequest,
    jar: Rc<CookieJar>,
    cookies: Vec<CallCookie>,
    redirects: u8,
    tags: Vec<(String, String)>,
    expected: Expected,
    response_type: ResponseType,
    series: SeriesId,
    due: Option<Nanos>,
    group: String,
    /// The name that it is recorded under.
    name: Rc<str>,
    /// k6's tag `name`, unless `tags` has it.
    name_tag: Option<String>,
    /// The URL of the request. `None`: parts of the written one are not sent.
    url: Option<Rc<str>>,
}

fn send<'js>(ctx: Ctx<'js>, call: Object<'js>) -> rquickjs::Result<Value<'js>> {
    let turn = Turn::running(&ctx, "requests")?;
    let call = HttpCall::read(&ctx, &turn, &call)?;
    sent(&ctx, turn, call)
}

/// A request without parameters.
fn send_plain<'js>(ctx: Ctx<'js>, method: String, url: String, body: Value<'js>) -> rquickjs::Result<Value<'js>> {
    let turn = Turn::running(&ctx, "requests")?;
    let call = HttpCall::plain(&ctx, &turn, &method, url, &body)?;
    sent(&ctx, turn, call)
}

fn sent<'js>(ctx: &Ctx<'js>, mut turn: Turn, call: Result<HttpCall, InvalidUrl>) -> rquickjs::Result<Value<'js>> {
    let call = match call {
        Ok(call) => call,
        Err(problem) => return invalid(ctx, &problem),
    };
    // On the heap: a VU keeps the pages of its stack, and memory of the heap serves the next request of any VU.
    let work = Box::pin(call.perform(turn.shared()));
    turn.wait(ctx, work)?.into_value(ctx)
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

/// The response to a request with an invalid URL, which k6 does not send either.
fn invalid<'js>(ctx: &Ctx<'js>, problem: &InvalidUrl) -> rquickjs::Result<Value<'js>> {
    if problem.code != UNPARSABLE_URL_CODE {
        record_invalid(&Turn::running(ctx, "requests")?);
    }
    respond(ctx, (0, Value::new_null(ctx.clone()), problem.message.as_str(), problem.code))
}

/// k6 counts it as a failed request that took no time.
fn record_invalid(turn: &Turn) {
    let of_call = [("expected_response", "false".into()), ("error_code", UNSUPPORTED_SCHEME_CODE.to_string().into())];
    let tag = turn.vu().tag_of(&of_call, &[]);
    let mut recorder = turn.recorder();
    let mut own = |name: &str, value: f64| turn.vu().worker.record_own(&mut recorder, name, value, &tag);
    own("http_reqs", 1.0);
    own("http_req_failed", 1.0);
    for part in ["duration", "blocked", "connecting", "tls_handshaking", "sending", "waiting", "receiving"] {
        own(&format!("http_req_{part}"), 0.0);
    }
}

/// What a call may set for its request, beyond method, URL and body.
#[derive(Default)]
struct CallParameters {
    headers: Vec<(String, String)>,
    timeout_ns: Option<u64>,
    response_type: Option<String>,
    redirects: Option<f64>,
    tags: Vec<(String, String)>,
    /// The name of `http.url`.
    name: Option<String>,
    expected: Option<Expected>,
    jar: Option<Rc<CookieJar>>,
    cookies: Vec<CallCookie>,
}

impl CallParameters {
    fn read<'js>(turn: &Turn, call: &Object<'js>) -> rquickjs::Result<Self> {
        let headers = call.get::<_, Vec<Vec<String>>>("headers")?.into_iter();
        let headers =
            headers.map(|header| <[String; 2]>::try_from(header).map_or_else(|_| Default::default(), |[name, value]| (name, value)));
        let timeout_ms: f64 = call.get("timeout")?;
        let ranges: Option<Vec<Vec<u16>>> = call.get("expected")?;
        let expected = ranges.map_or(Expected::Unjudged, |ranges| {
            Expected::Statuses(ranges.iter().filter_map(|range| Some((*range.first()?, *range.get(1)?))).collect())
        });
        Ok(Self {
            headers: headers.collect(),
            timeout_ns: Some((timeout_ms * 1e6) as u64),
            response_type: call.get("responseType")?,
            redirects: call.get("redirects")?,
            tags: tags_of(call.get("tags")?)?,
            name: call.get("name")?,
            expected: Some(expected),
            jar: Some(jar_of(turn, call)?),
            cookies: jar::call_cookies(call)?,
        })
    }
}

/// The URL of a request.
fn parsed(written: &str) -> Result<Url, InvalidUrl> {
    match Url::parse(written.trim()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        Ok(url) => Err(InvalidUrl::scheme(url.scheme())),
        Err(url::ParseError::RelativeUrlWithoutBase | url::ParseError::EmptyHost) => Err(InvalidUrl::scheme("")),
        Err(error) => Err(InvalidUrl { message: format!("invalid URL \"{written}\": {error}"), code: UNPARSABLE_URL_CODE }),
    }
}

impl CallRequest {
    fn request(&self) -> &Request {
        match self {
            Self::Built(request) => request,
            Self::Plain(plain) => plain.prepared.request(),
        }
    }
}

fn series_of(turn: &Turn, name: &str) -> SeriesId {
    let (scenario, group) = (turn.scenario_id(), turn.group());
    turn.vu().worker.series(&mut turn.recorder(), SeriesKind::Request, scenario, &group, name)
}

/// Whether a URL has no fragment and no credentials, which are no part of `res.url`.
fn is_sent_whole(url: &Url) -> bool {
    url.fragment().is_none() && url.username().is_empty() && url.password().is_none()
}

impl HttpCall {
    /// The inner error is an invalid URL.
    fn read<'js>(ctx: &Ctx<'js>, turn: &Turn, call: &Object<'js>) -> rquickjs::Result<Result<Self, InvalidUrl>> {
        let (method, written): (String, String) = (call.get("method")?, call.get("url")?);
        let body: Value<'js> = call.get("body")?;
        Self::new(ctx, turn, (&method, written, &body), CallParameters::read(turn, call)?)
    }

    fn plain<'js>(
        ctx: &Ctx<'js>,
        turn: &Turn,
        method: &str,
        written: String,
        body: &Value<'js>,
    ) -> rquickjs::Result<Result<Self, InvalidUrl>> {
        let worker = &turn.vu().worker;
        let has_body = !body.is_null() && !body.is_undefined();
        if !has_body && let Some(known) = worker.plain(method, &written) {
            return Ok(Ok(Self::again(turn, known, written)));
        }
        let address = (!has_body).then(|| written.clone());
        let call = Self::new(ctx, turn, (method, written, body), CallParameters::default())?;
        if let (Ok(Self { request: CallRequest::Built(request), name, url, .. }), Some(address)) = (&call, address)
            // Otherwise, sending it shows what is wrong.
            && let Ok(prepared) = turn.vu().session.prepare(Request::clone(request))
        {
            let (name, url) = (Rc::clone(name), url.clone());
            worker.keep_plain(&address, &Rc::new(PlainRequest { method: method.into(), prepared, name, url }));
        }
        Ok(call)
    }

    /// A plain request that was sent before.
    fn again(turn: &Turn, plain: Rc<PlainRequest>, written: String) -> Self {
        let vu = turn.vu();
        let settings = &vu.worker.test.settings;
        Self {
            series: series_of(turn, &plain.name),
            jar: vu.session.jar(),
            cookies: Vec::new(),
            redirects: settings.redirects_max,
            tags: Vec::new(),
            expected: Expected::Default,
            response_type: ResponseType::by_default(settings.discards_bodies),
            due: turn.take_due(),
            group: turn.group_path(),
            name: Rc::clone(&plain.name),
            name_tag: Some(written),
            url: plain.url.clone(),
            request: CallRequest::Plain(plain),
        }
    }

    fn new<'js>(
        ctx: &Ctx<'js>,
        turn: &Turn,
        (method, written, body): (&str, String, &Value<'js>),
        parameters: CallParameters,
    ) -> rquickjs::Result<Result<Self, InvalidUrl>> {
        let known = turn.vu().worker.urls.borrow().get(written.as_str()).cloned();
        let url = match known.map_or_else(|| parsed(&written), Ok) {
            Ok(url) => url,
            Err(problem) => return Ok(Err(problem)),
        };
        turn.vu().worker.keep_url(&written, &url);
        let CallParameters { headers, timeout_ns, response_type, redirects, tags, name: named_by_url, expected, jar, cookies } = parameters;
        let vu = turn.vu();
        let mut request = vu.session.request(method, &url);
        for (name, value) in headers {
            // As in Go's client, the length follows from the body.
            if name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding") {
                continue;
            }
            request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        if !body.is_null() && !body.is_undefined() {
            request.body = bytes_of(ctx, body)?.into();
        }
        let sent_body = if let [body] = request.body.pieces() { body } else { &b""[..] };
        vu.worker.learnt.of_request(&vu.worker.test.plan.secrets, &request.headers, &request.path, sent_body);
        let pairs = cookies.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect::<Vec<_>>();
        vu.worker.learnt.of_cookies(&vu.worker.test.plan.secrets, pairs.iter().map(String::as_str));
        request.timeout_ns = timeout_ns.unwrap_or(request.timeout_ns);
        let settings = &vu.worker.test.settings;
        let response_type = match response_type {
            None => ResponseType::by_default(settings.discards_bodies),
            Some(written) => ResponseType::of(&written),
        };
        if response_type == ResponseType::None {
            request.body_use = BodyUse::Discard;
        }
        let named = tags.iter().find(|(name, _)| name == "name").map(|(_, value)| value.clone());
        let name_tag = named.is_none().then(|| named_by_url.unwrap_or(written));
        let name: Rc<str> = named.unwrap_or_else(|| request_name(method, &request.path)).into();
        let series = series_of(turn, &name);
        Ok(Ok(Self {
            request: CallRequest::Built(Box::new(request)),
            jar: jar.unwrap_or_else(|| vu.session.jar()),
            cookies,
            redirects: redirects.map_or(settings.redirects_max, |most| most.clamp(0.0, 255.0) as u8),
            tags,
            expected: expected.unwrap_or(Expected::Default),
            response_type,
            series,
            due: turn.take_due(),
            group: turn.group_path(),
            name,
            name_tag,
            url: is_sent_whole(&url).then(|| url.as_str().into()),
        }))
    }

    async fn perform(self, vu: Rc<VuState>) -> CompletedRequest {
        let Self { request, jar, cookies, redirects, tags, expected, response_type, series, due, group, name, name_tag, url } = self;
        if let Some(limit) = &vu.worker.test.rate_limit {
            let clock = &vu.worker.clock;
            clock.sleep_until(limit.reserve(clock.now())).await;
        }
        let session = &vu.session;
        if vu.worker.network.limits_connections() {
            session.client().admit(request.request()).await;
        }
        let flight = InFlight::begin(Rc::clone(&vu), series, due);
        let hops = match request {
            CallRequest::Plain(plain) if !session.has_cookies() => {
                let exchange = session.client().send_prepared_at(&plain.prepared, flight.began()).await;
                if session.is_last(&exchange, redirects) {
                    Hops { last: Hop { request: plain.prepared.shared_request(), exchange }, before: Vec::new() }
                } else {
                    Box::pin(session.follow_prepared(&plain.prepared, exchange, redirects)).await
                }
            }
            other => {
                let request = match other {
                    CallRequest::Built(request) => *request,
                    CallRequest::Plain(plain) => plain.prepared.request().clone(),
                };
                Box::pin(session.send_with_cookies_at(request, redirects, (&jar, &cookies), flight.began())).await
            }
        };
        flight.end(hops.last.exchange.ended);
        learn(&vu, &hops, response_type);
        record(&vu, &hops, &RequestRecord { tags, expected, series, due, group, name, name_tag });
        CompletedRequest { hops, response_type, url }
    }
}

/// Learns the credentials of responses: the script receives the last body, and the report shows that of a failed request.
fn learn(vu: &VuState, hops: &Hops, response_type: ResponseType) {
    let (learnt, secrets) = (&vu.worker.learnt, &vu.worker.test.plan.secrets);
    for response in hops.iter().filter_map(|hop| hop.exchange.response()).filter(|response| response.headers.sets_cookies()) {
        learnt.of_cookies(secrets, response.headers.all("set-cookie"));
    }
    if let Some(response) = hops.last.exchange.response()
        && (response_type != ResponseType::None || response.status >= 400)
    {
        learnt.of_fields(secrets, &response.body);
    }
}

/// What of a call is recorded.
struct RequestRecord {
    tags: Vec<(String, String)>,
    expected: Expected,
    series: SeriesId,
    due: Option<Nanos>,
    group: String,
    name: Rc<str>,
    name_tag: Option<String>,
}

impl Expected {
    fn holds(&self, status: u16) -> Option<bool> {
        match self {
            Expected::Unjudged => None,
            Expected::Default => Some((200..=399).contains(&status)),
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
    // Few tests have a threshold or a summary that needs them.
    if !worker.records_requests {
        return;
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
        of_call.extend(call.name_tag.as_deref().map(|name| ("name", name.into())));
        if let Some(peer) = &exchange.peer {
            of_call.extend(peer.address.map(|address| ("ip", address.ip().to_string().into())));
            of_call.extend(peer.tls.as_ref().map(|tls| ("tls_version", format!("tls{}", tls.version).into())));
        }
        let own: Vec<_> = call.tags.iter().map(|(name, value)| (name.as_str(), Cow::from(value.as_str()))).collect();
        let tag = vu.tag_of(&of_call, &own);
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
